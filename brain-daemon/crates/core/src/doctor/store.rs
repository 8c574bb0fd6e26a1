//! Health of the store.

use brain_protocol::{Command, hint};
use std::sync::Arc;
use std::sync::mpsc::sync_channel;
use std::time::{Duration, Instant};

use brain_base::caller::Visibility;
use brain_store::{SCHEMA, SpaceUsage, Store, StoreOptions};

use brain_service::health::{Finding, Health, HealthCheck, fail, ok, warn};

/// Maximum number of newest pages that are read back.
const MAX_READ_BACK: u64 = 2000;
/// Time after which no further page is read back.
const MAX_READ_BACK_TIME: Duration = Duration::from_secs(1);
/// Maximum time for counting the used part of the store.
const MAX_COUNT_TIME: Duration = Duration::from_secs(2);
/// Size of a store above which its used part is not counted, because that reads the whole store.
const MAX_COUNTED_BYTES: u64 = 4_000_000_000;

/// The checks of the store.
pub(crate) struct StoreHealth(pub(crate) Arc<Store>);

impl Health for StoreHealth {
    fn checks(self: Arc<Self>) -> Vec<HealthCheck> {
        vec![
            HealthCheck::new("store integrity", &self.0, integrity),
            HealthCheck::new("store size", &self.0, size),
            HealthCheck::new("schema version", &self.0, schema),
            HealthCheck::new("spool", &self.0, spool),
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

/// Warns if much of the store is unused and a start cannot return it to the file system.
fn size(store: &Store) -> Finding {
    let on_disk = store.bytes_on_disk()?;
    let shown = format!("{} MB on the disk", on_disk / 1_000_000);
    if on_disk > MAX_COUNTED_BYTES {
        return ok(format!(
            "{shown}; the part in use is not counted above {} GB",
            MAX_COUNTED_BYTES / 1_000_000_000
        ));
    }
    let reader = store.read(Visibility::All)?;
    let (sender, receiver) = sync_channel(1);
    let thread = std::thread::Builder::new().name("doctor".into()).spawn(move || {
        let _ = sender.send(reader.bytes_in_use());
    });
    let Some(in_use) = thread.ok().and_then(|_| receiver.recv_timeout(MAX_COUNT_TIME).ok()) else {
        return ok(format!("{shown}; counting the part in use takes too long"));
    };
    let min_returned_bytes = StoreOptions::MIN_RETURNED_BYTES;
    let usage = SpaceUsage { on_disk, in_use: in_use?, min_returned_bytes };
    let shown = format!("{shown}, {} MB in use; the rest is reusable", usage.in_use / 1_000_000);
    if usage.is_due() {
        return ok(format!("{shown}; the next start returns it to the file system"));
    }
    if usage.is_wasteful() {
        let hint = hint!(
            "{}, then {} into an empty home: a copy has no gaps",
            Command::BackupCreate { file: None },
            Command::BackupRestore { file: None }
        );
        return warn(format!("{shown}, but a start cannot return that much"), hint);
    }
    ok(shown)
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
