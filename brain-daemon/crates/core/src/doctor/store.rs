//! Health of the store.

use std::sync::Arc;
use std::sync::mpsc::sync_channel;
use std::time::{Duration, Instant};

use brain_base::caller::Visibility;
use brain_store::{SCHEMA, Store, StoreOptions, Usage};

use crate::health::{Finding, Health, HealthCheck, fail, ok, warn};

/// The number of newest pages that are read back, and the time for it.
const MAX_READ_BACK: u64 = 2000;
const MAX_READ_BACK_TIME: Duration = Duration::from_secs(1);
/// The time for counting the used part of the store.
const COUNT_TIME: Duration = Duration::from_secs(2);
/// Bytes of a store above which its used part is not counted, since all of it must be read.
const MAX_COUNTED: u64 = 4_000_000_000;

impl Health for Store {
    fn checks(self: Arc<Self>) -> Vec<HealthCheck> {
        vec![
            HealthCheck::new("store integrity", &self, integrity),
            HealthCheck::new("store size", &self, size),
            HealthCheck::new("schema version", &self, schema),
            HealthCheck::new("spool", &self, spool),
        ]
    }
}

fn integrity(store: &Store) -> Finding {
    // Reads the newest pages with their texts.
    let (mut read_count, began) = (0, Instant::now());
    let counts = store.read_through(|reader| {
        reader.newest(u64::MAX, |(_, _, record)| {
            reader.content(&record)?;
            read_count += 1;
            Ok(read_count < MAX_READ_BACK && began.elapsed() < MAX_READ_BACK_TIME)
        })?;
        reader.counts()
    })?;
    let size = std::fs::metadata(store.path()).map_or(0, |m| m.len());
    ok(format!(
        "{} pages, {} deleted, {} MB; the newest {read_count} read back",
        counts.active,
        counts.deleted,
        size / 1_000_000
    ))
}

fn size(store: &Store) -> Finding {
    let on_disk = store.bytes_on_disk()?;
    let shown = format!("{} MB on the disk", on_disk / 1_000_000);
    if on_disk > MAX_COUNTED {
        return ok(format!(
            "{shown}; more than {} GB are not counted",
            MAX_COUNTED / 1_000_000_000
        ));
    }
    let reader = store.read(Visibility::All)?;
    let (sender, receiver) = sync_channel(1);
    let counting = std::thread::Builder::new().name("doctor".into()).spawn(move || {
        let _ = sender.send(reader.bytes_in_use());
    });
    let Some(in_use) = counting.ok().and_then(|_| receiver.recv_timeout(COUNT_TIME).ok()) else {
        return ok(format!("{shown}; it takes too long to count how much of it is in use"));
    };
    let min_returned_bytes = StoreOptions::MIN_RETURNED_BYTES;
    let usage = Usage { on_disk, in_use: in_use?, min_returned_bytes };
    let shown = format!("{shown}, {} MB in use; the rest is reusable", usage.in_use / 1_000_000);
    if usage.is_due() {
        return ok(format!("{shown}; the next start returns it to the file system"));
    }
    if usage.is_wasteful() {
        let hint = "brain backup FILE, then `brain backup restore FILE` into an empty home: \
                    a copy has no gaps";
        return warn(format!("{shown}, but a start cannot return that much"), hint);
    }
    ok(shown)
}

fn schema(store: &Store) -> Finding {
    let found = store.read(Visibility::All)?.counts()?.schema;
    if found == SCHEMA {
        ok(format!("{found}"))
    } else {
        fail(format!("{found}, expected {SCHEMA}"), "brain stop")
    }
}

fn spool(store: &Store) -> Finding {
    match store.set_aside_spools()?.as_slice() {
        [] => ok("nothing was put aside"),
        [first, others @ ..] => {
            let more = if others.is_empty() {
                String::new()
            } else {
                format!(" (and {} more)", others.len())
            };
            let message = format!(
                "{}{more} was put aside: it may have accepted items that this store does not have",
                first.display()
            );
            warn(
                message,
                "where brain is stopped and has no brain.redb.spool, put it beside its store under \
                 that name; or remove it",
            )
        }
    }
}
