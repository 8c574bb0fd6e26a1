//! Writes vectors to disk, periodically and only with enough free space.
//!
//! Vectors that cannot be written stay in memory, are searchable, and are written later.

use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use super::EmbeddingService;
use super::state::{OpenVectors, RoundState};
use brain_base::home::free_bytes;

/// Interval and amount after which vectors are written. A crash loses at most this much, which must
/// be computed, and possibly paid, again.
pub(super) const FLUSH_EVERY: Duration = Duration::from_secs(10);
const FLUSH_BYTES: usize = 32 * 1024;

impl EmbeddingService {
    /// Writes vectors that are only in memory, for the next start.
    pub(crate) fn flush_vectors(&self) {
        if let Some(open) = self.state.shared.open_vectors() {
            self.flush_open_vectors(&open);
        }
    }

    /// Writes the vectors of `open`, which may have been closed since.
    pub(super) fn flush_open_vectors(&self, open: &OpenVectors) {
        if let Err(error) =
            open.vectors.flush(self.state.shared.applied_seq.load(Ordering::Acquire))
        {
            tracing::warn!(%error, "cannot write the last vectors; they are computed again after the \
                                    next start");
        }
    }

    /// Writes vectors if a write is due or `now` is set.
    pub(super) fn flush_if_due(&self, work: &mut RoundState, open: &OpenVectors, now: bool) {
        let seen = self.state.shared.applied_seq.load(Ordering::Acquire);
        let is_much = open.vectors.pending_bytes() >= FLUSH_BYTES && !work.flush_failed;
        let is_due = is_much || work.flushed_at.elapsed() >= FLUSH_EVERY;
        if (self.is_flushed(work, open) && open.vectors.seen() == seen) || !(now || is_due) {
            return;
        }
        work.flushed_at = Instant::now();
        let written = self
            .check_free_space()
            .and_then(|()| open.vectors.flush(seen).map_err(|e| e.to_string()));
        if let Err(error) = &written {
            if !work.flush_failed {
                tracing::warn!(error, "cannot write vectors; they are only in memory");
            }
            let hint = "make room on that disk; then they are written".to_owned();
            self.state.set_problem(Some((error.clone(), Some(hint))));
        } else if work.flush_failed && work.failures == 0 {
            self.state.set_problem(None);
        }
        work.flush_failed = written.is_err();
    }

    /// Returns whether all vectors are on disk.
    pub(super) fn is_flushed(&self, work: &RoundState, open: &OpenVectors) -> bool {
        !work.flush_failed && open.vectors.pending_bytes() == 0
    }

    /// Checks the free disk space. Derived data must not use the reserve of the store.
    fn check_free_space(&self) -> Result<(), String> {
        let Ok(free) = free_bytes(self.env.home.root()) else { return Ok(()) };
        let free = free / 1_000_000;
        let reserve = self.env.config.store.min_free_mb;
        if free < reserve {
            return Err(format!(
                "vectors are not written: the disk has {free} MB free, and brain reserves \
                 {reserve} MB"
            ));
        }
        Ok(())
    }

    /// Removes vectors of other models once all pages have vectors.
    pub(super) fn remove_other_models(&self, work: &mut RoundState, open: &OpenVectors) {
        if work.others_removed || !self.state.shared.suppressed_pages.lock().is_empty() {
            return;
        }
        // The new vectors must be on disk first.
        self.flush_if_due(work, open, true);
        if work.flush_failed {
            return;
        }
        match open.vectors.remove_others() {
            Ok(0) => work.others_removed = true,
            Ok(count) => {
                work.others_removed = true;
                tracing::info!(count, "deleted the vectors of former models");
            }
            Err(error) => {
                tracing::warn!(%error, "cannot delete the vectors of former models");
            }
        }
    }
}
