//! Writes the files of pages that other machines of a shared brain changed.

use std::time::{Duration, Instant};

use crate::files::FileService;
use brain_service::batch::map_in_parallel;

/// How many files are written between two checks of the time limit.
const CHUNK: usize = 64;
/// How long one call writes files.
const CALL_LIMIT: Duration = Duration::from_millis(500);

impl FileService {
    /// Queues the outbox rows of these pages.
    pub fn add_remote_changes(&self, ids: Vec<u64>) {
        if !ids.is_empty() {
            self.outbox.remote_changes.lock().extend(ids);
            self.outbox.remote_changes_added.notify_one();
        }
    }

    /// Completes when outbox rows were added since the last call.
    pub async fn wait_for_remote_changes(&self) {
        self.outbox.remote_changes_added.notified().await;
    }

    /// Processes queued outbox rows for about half a second. Returns whether the queue is empty. A
    /// file that cannot be written is tried again with the other failed files.
    pub fn write_remote_changes(&self) -> bool {
        let until = Instant::now() + CALL_LIMIT;
        while Instant::now() < until && !self.stop.is_cancelled() {
            let chunk: Vec<u64> = {
                let mut waiting = self.outbox.remote_changes.lock();
                let len = CHUNK.min(waiting.len());
                waiting.drain(..len).collect()
            };
            if chunk.is_empty() {
                return true;
            }
            // A page that cannot be read because of damage must not stop the others.
            map_in_parallel(&chunk, |id| {
                self.store.with_damage_report(|| Ok(self.write_file(*id, None).0.is_ok()))
            });
        }
        false
    }
}
