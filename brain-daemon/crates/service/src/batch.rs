//! Reads files on several threads, and stores them in batches with one commit each. While one batch
//! is stored, the next one is read.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::sync_channel;

use brain_protocol::{Fault, ImportFailure};
use parking_lot::Mutex;

use brain_base::threads::lower_priority;

/// Maximum number of files in one commit. A commit writes each leaf of a table once, however many
/// of its rows changed, so large batches write less. But a capture waits while a batch is stored:
/// about 250 ms with 100,000 pages.
pub const BATCH: usize = 2000;
/// Bytes of files after which a batch ends, to limit the memory. A text that is all links takes 35
/// times its length in memory, and two batches are in memory at the same time.
const BATCH_BYTES: u64 = 4_000_000;
/// The maximum number of failures that a reply names.
const MAX_NAMED: usize = 1000;

/// Files that could not be stored.
#[derive(Debug, Default)]
pub struct Failures {
    /// The first failures, at most 1000.
    pub named: Vec<ImportFailure>,
    /// The number of all failures.
    pub total: u64,
}

impl Failures {
    /// Counts a file that could not be stored, and names it while there is room.
    pub fn add(&mut self, path: impl Into<String>, reason: impl Into<String>) {
        self.total += 1;
        if self.named.len() < MAX_NAMED {
            self.named.push(ImportFailure { path: path.into(), reason: reason.into() });
        }
    }
}

/// Calls `read` for each item, and `store` with the results of each batch, in the order of the
/// items. While one batch is stored, the next one is read.
///
/// # Errors
/// The first error of `store`. No batch is stored after it.
pub fn in_batches<I: Sync, O: Send>(
    items: &[I],
    bytes: impl Fn(&I) -> u64,
    read: impl Fn(&I) -> O + Sync,
    mut store: impl FnMut(Vec<O>) -> Result<(), Fault>,
) -> Result<(), Fault> {
    let (batches, read) = (cut(items, bytes), &read);
    std::thread::scope(|scope| {
        let (send, batches_read) = sync_channel(0);
        scope.spawn(move || {
            // After an error of `store`, sending fails, which ends the reading.
            batches.into_iter().all(|batch| send.send(map_in_parallel(batch, read)).is_ok())
        });
        for batch in batches_read {
            store(batch)?;
        }
        Ok(())
    })
}

/// Cuts the items into batches of at most [`BATCH`] items and about [`BATCH_BYTES`] bytes.
fn cut<I>(items: &[I], size: impl Fn(&I) -> u64) -> Vec<&[I]> {
    let (mut out, mut start, mut bytes) = (Vec::new(), 0, 0);
    for (i, item) in items.iter().enumerate() {
        if i > start && (i - start == BATCH || bytes > BATCH_BYTES) {
            out.push(&items[start..i]);
            (start, bytes) = (i, 0);
        }
        bytes += size(item);
    }
    if start < items.len() {
        out.push(&items[start..]);
    }
    out
}

/// Calls `work` for each item, on one thread per core, at most 8. Returns the results in the order
/// of the items.
pub fn map_in_parallel<I: Sync, O: Send>(items: &[I], work: impl Fn(&I) -> O + Sync) -> Vec<O> {
    let next = AtomicUsize::new(0);
    let results = Mutex::new(Vec::with_capacity(items.len()));
    let threads =
        std::thread::available_parallelism().map_or(2, usize::from).min(8).min(items.len());
    std::thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| {
                lower_priority();
                let mut own_results = Vec::new();
                loop {
                    let i = next.fetch_add(1, Ordering::Relaxed);
                    let Some(item) = items.get(i) else { break };
                    own_results.push((i, work(item)));
                }
                results.lock().extend(own_results);
            });
        }
    });
    let mut results = results.into_inner();
    results.sort_unstable_by_key(|(i, _)| *i);
    results.into_iter().map(|(_, result)| result).collect()
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use brain_protocol::FaultCode;

    #[test]
    fn batches_keep_the_order_and_stop_at_the_first_failure() {
        let items: Vec<u64> = (0..4234).collect();
        let mut batch_sizes = Vec::new();
        in_batches(
            &items,
            |_| 1,
            |n| n * 2,
            |batch| {
                batch_sizes.push(batch.len());
                Ok(())
            },
        )
        .unwrap();
        assert_eq!(batch_sizes, [2000, 2000, 234]);
        let mut order = Vec::new();
        in_batches(
            &items,
            |_| 3_000_000,
            |n| *n,
            |batch| {
                order.extend(batch);
                Ok(())
            },
        )
        .unwrap();
        assert_eq!(order, items);
        let mut stored = 0;
        let result = in_batches(
            &items,
            |_| 1,
            |n| *n,
            |_| {
                stored += 1;
                Err(Fault::new(FaultCode::Cancelled, "enough"))
            },
        );
        assert_eq!((result.unwrap_err().code, stored), (FaultCode::Cancelled, 1));
    }
}
