//! Health of the store.

use std::sync::Arc;
use std::time::{Duration, Instant};

use brain_base::caller::Visibility;
use brain_protocol::Command;
use brain_store::{SCHEMA, Store};

use super::store_size::StoreSize;
use brain_service::health::{Finding, Health, HealthCheck, fail, ok, warn};

/// Maximum number of newest pages that are read back.
const MAX_READ_BACK: u64 = 2000;
/// Time after which no further page is read back.
const MAX_READ_BACK_TIME: Duration = Duration::from_millis(100);

/// The checks of the store.
pub(crate) struct StoreHealth {
    store: Arc<Store>,
    size: Arc<StoreSize>,
}

impl StoreHealth {
    /// Creates the checks of `store`.
    pub(crate) fn new(store: Arc<Store>) -> Self {
        Self { size: Arc::new(StoreSize::new(Arc::clone(&store))), store }
    }
}

impl Health for StoreHealth {
    fn checks(self: Arc<Self>) -> Vec<HealthCheck> {
        vec![
            HealthCheck::new("store integrity", &self.store, integrity),
            HealthCheck::new("store size", &self.size, StoreSize::finding),
            HealthCheck::new("schema version", &self.store, schema),
            HealthCheck::new("spool", &self.store, spool),
        ]
    }
}

/// Reads the newest pages with their texts. Fails if one of them is damaged.
fn integrity(store: &Store) -> Finding {
    let (mut read_count, began) = (0, Instant::now());
    let counts = store.read_through(|reader| {
        reader.newest_pages(u64::MAX, |(_, _, record)| {
            reader.content(&record)?;
            read_count += 1;
            Ok(read_count < MAX_READ_BACK && began.elapsed() < MAX_READ_BACK_TIME)
        })?;
        reader.counts()
    })?;
    let size = std::fs::metadata(store.path()).map_or(0, |m| m.len());
    ok(format!(
        "pages: {}, deleted: {}, {} MB; newest pages read back: {read_count}",
        counts.active,
        counts.deleted,
        size / 1_000_000
    ))
}

fn schema(store: &Store) -> Finding {
    let found = store.read(Visibility::All)?.counts()?.schema;
    if found == SCHEMA {
        ok(format!("{found}"))
    } else {
        fail(format!("{found}, expected {SCHEMA}"), Command::Stop)
    }
}

/// Warns about spool files that a start moved aside.
fn spool(store: &Store) -> Finding {
    match store.quarantined_spools()?.as_slice() {
        [] => ok("no spool was set aside"),
        [first, others @ ..] => {
            let more = if others.is_empty() {
                String::new()
            } else {
                format!(" (and {} more)", others.len())
            };
            let message = format!(
                "{}{more} was set aside: it may contain accepted jobs that this store lacks",
                first.display()
            );
            warn(
                message,
                "to recover the jobs, stop the brain that accepted them, and move the file beside \
                 its store as brain.redb.spool, if there is none; else move it to another \
                 directory",
            )
        }
    }
}
