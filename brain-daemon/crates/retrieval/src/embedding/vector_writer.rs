//! Writes vectors to disk, periodically and only with enough free space.
//!
//! Vectors that cannot be written stay in memory, are searchable, and are written later.

use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use super::EmbeddingService;
use super::state::{OpenVectors, RoundState};
use brain_base::home::free_bytes;

/// Time after which vectors are written. Vectors that a crash loses must be computed, and possibly
/// paid, again.
pub(super) const FLUSH_EVERY: Duration = Duration::from_secs(10);
/// Amount of unwritten bytes at which vectors are written earlier.
const FLUSH_BYTES: usize = 32 * 1024;

impl EmbeddingService {
    /// Writes vectors that are only in memory, before the daemon ends.
    pub fn flush_vectors(&self) {
        if let Some(open) = self.state.shared.open_vectors() {
            self.flush_open_vectors(&open);
        }
    }

    /// Writes the vectors of `open`, even if they are no longer in use.
    pub(super) fn flush_open_vectors(&self, open: &OpenVectors) {
        if let Err(error) =
            open.vectors.flush(self.state.shared.applied_seq.load(Ordering::Acquire))
        {
            tracing::warn!(
                %error,
                "cannot write the last vectors; they are computed again after the next start"
            );
        }
    }

    /// Writes vectors if there are unwritten ones, and a write is due or `force` is set.
    pub(super) fn flush_if_due(
        &self,
        round_state: &mut RoundState,
        open: &OpenVectors,
        force: bool,
    ) {
        let applied_seq = self.state.shared.applied_seq.load(Ordering::Acquire);
        let has_many_bytes = open.vectors.pending_bytes() >= FLUSH_BYTES;
        let is_due = has_many_bytes && !round_state.flush_failed
            || round_state.flushed_at.elapsed() >= FLUSH_EVERY;
        let is_current =
            self.is_flushed(round_state, open) && open.vectors.applied_seq() == applied_seq;
        if is_current || !(force || is_due) {
            return;
        }
        round_state.flushed_at = Instant::now();
        let written = self
            .check_free_space()
            .and_then(|()| open.vectors.flush(applied_seq).map_err(|e| e.to_string()));
        if let Err(error) = &written {
            if !round_state.flush_failed {
                tracing::warn!(error, "cannot write vectors; they are only in memory");
            }
            let hint = "make room on that disk; then they are written".to_owned();
            self.state.set_problem(Some((error.clone(), Some(hint.into()))));
        } else if round_state.flush_failed && round_state.failures == 0 {
            self.state.set_problem(None);
        }
        round_state.flush_failed = written.is_err();
    }

    /// Returns whether all vectors are on disk.
    pub(super) fn is_flushed(&self, round_state: &RoundState, open: &OpenVectors) -> bool {
        !round_state.flush_failed && open.vectors.pending_bytes() == 0
    }

    /// Checks that the disk has more free space than the store's reserve, which derived data must
    /// not use.
    ///
    /// # Errors
    /// A message if the space is below the reserve.
    fn check_free_space(&self) -> Result<(), String> {
        let Ok(free) = free_bytes(self.env.home.root()) else { return Ok(()) };
        let free = free / 1_000_000;
        let reserve = self.env.min_free_mb;
        if free < reserve {
            return Err(format!(
                "vectors are not written: the disk has {free} MB free, and brain reserves \
                 {reserve} MB"
            ));
        }
        Ok(())
    }

    /// Removes the vectors of other models, once. The caller must have found no pending pages.
    pub(super) fn remove_other_models(&self, round_state: &mut RoundState, open: &OpenVectors) {
        if round_state.others_removed || !self.state.shared.suppressed_pages.lock().is_empty() {
            return;
        }
        // The new vectors must be on disk first.
        self.flush_if_due(round_state, open, true);
        if round_state.flush_failed {
            return;
        }
        match open.vectors.remove_others() {
            Ok(0) => round_state.others_removed = true,
            Ok(count) => {
                round_state.others_removed = true;
                tracing::info!(count, "deleted the vectors of former models");
            }
            Err(error) => {
                tracing::warn!(%error, "cannot delete the vectors of former models");
            }
        }
    }
}
