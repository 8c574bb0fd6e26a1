//! Writes the files of pages that other machines of a shared brain changed.

use std::time::Instant;

use crate::FileService;
use crate::batch::map_in_parallel;

/// How many files are written between two looks at the time.
const CHUNK: usize = 64;

impl FileService {
    /// Adds these outbox rows to those that wait, and processes them until a time. Returns whether
    /// all are done. A file that cannot be written is tried again with the other failed files.
    pub(crate) fn write_outside_changes(&self, ids: Vec<u64>, until: Instant) -> bool {
        let mut waiting = self.outbox.outside_changes.lock();
        waiting.extend(ids);
        while !waiting.is_empty() && Instant::now() < until && !self.stop.is_cancelled() {
            let chunk: Vec<u64> = {
                let len = CHUNK.min(waiting.len());
                waiting.drain(..len).collect()
            };
            // A page that cannot be read because of damage must not stop the others.
            map_in_parallel(&chunk, |id| {
                self.store.with_damage_report(|| Ok(self.update_file_by_id(*id).is_ok()))
            });
        }
        waiting.is_empty()
    }
}
