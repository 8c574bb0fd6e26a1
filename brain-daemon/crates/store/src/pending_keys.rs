//! Duplicate keys of waiting jobs, in memory.

use std::collections::{BTreeMap, HashMap};

use parking_lot::Mutex;

use super::record::{Hash, JobRecord};

/// Duplicate keys of waiting jobs, in memory. In a table they would double the cost of accepting a
/// job, because their order is random. They are written when the job finishes. The writer, which
/// alone uses them, loads them from the jobs on first use.
#[derive(Default)]
pub(super) struct PendingKeys {
    pub(super) waiting: Mutex<Option<HashMap<Hash, u64>>>,
    /// Jobs that wait for the log of a shared brain, without their text, by the number in the
    /// spool.
    pub(super) spooled: Mutex<BTreeMap<u64, JobRecord>>,
}

/// Changes to [`PendingKeys`] by one transaction, applied after its commit.
#[derive(Default)]
pub(super) struct PendingKeysChange {
    /// Keys of added jobs, with the latest job of each.
    pub(super) added: HashMap<Hash, u64>,
    /// Keys that the transaction wrote to the table, with their jobs.
    pub(super) settled: Vec<(Hash, u64)>,
}

impl PendingKeys {
    /// Applies the changes of a committed transaction.
    pub(super) fn apply(&self, change: PendingKeysChange) {
        let mut keys = self.waiting.lock();
        // Not loaded yet: loading reads these jobs too.
        let Some(keys) = keys.as_mut() else { return };
        keys.extend(change.added);
        for (key, id) in change.settled {
            if keys.get(&key) == Some(&id) {
                keys.remove(&key);
            }
        }
        if keys.is_empty() {
            *keys = HashMap::new();
        }
    }

    /// Clears the keys after a failed transaction, in which they may have been loaded.
    pub(super) fn forget(&self) {
        *self.waiting.lock() = None;
    }
}
