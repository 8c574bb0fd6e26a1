//! Putting vectors on the disk: now and then, and where there is room. What cannot be written stays in memory, is found, and is written later.

use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use super::Brain;
use super::state::{InUse, Work, locked};
use brain_base::home::free_bytes;

/// What was made is written this often, and when it is so much: a round's work. What a crash takes is made again, and may be paid again.
pub(super) const FLUSH_EVERY: Duration = Duration::from_secs(10);
const FLUSH_BYTES: usize = 32 * 1024;

impl Brain {
    /// Puts on the disk what is only in memory, for the next start.
    pub(crate) fn settle_vectors(&self) {
        if let Some(open) = self.meaning.shared.in_use() {
            self.settle_these(&open);
        }
    }

    /// The same of vectors that are, or were, in use.
    pub(super) fn settle_these(&self, open: &InUse) {
        if let Err(error) = open.vectors.flush(self.meaning.shared.seen.load(Ordering::Acquire)) {
            tracing::warn!(%error, "the last vectors are made again after the next start");
        }
    }

    /// Writes what was made, when it is time.
    pub(super) fn keep(&self, work: &mut Work, open: &InUse, now: bool) {
        let seen = self.meaning.shared.seen.load(Ordering::Acquire);
        let is_much = open.vectors.waiting() >= FLUSH_BYTES && !work.unkept;
        let is_due = is_much || work.flushed.elapsed() >= FLUSH_EVERY;
        if (self.is_kept(work, open) && open.vectors.seen() == seen) || !(now || is_due) {
            return;
        }
        work.flushed = Instant::now();
        let kept = self.room().and_then(|()| open.vectors.flush(seen).map_err(|e| e.to_string()));
        if let Err(error) = &kept {
            if !work.unkept {
                tracing::warn!(error, "vectors are only in memory");
            }
            let hint = "make room on that disk: they are written as soon as there is".to_owned();
            self.meaning.set_problem(Some((error.clone(), Some(hint))));
        } else if work.unkept && work.failures == 0 {
            self.meaning.set_problem(None);
        }
        work.unkept = kept.is_err();
    }

    /// Whether nothing is in memory only.
    pub(super) fn is_kept(&self, work: &Work, open: &InUse) -> bool {
        !work.unkept && open.vectors.waiting() == 0
    }

    /// Refuses where the store refuses: what is derived does not take the last room from what is not.
    fn room(&self) -> Result<(), String> {
        let Ok(free) = free_bytes(self.home.root()) else { return Ok(()) };
        let free = free / 1_000_000;
        let least = self.config.store_min_free_mb();
        if free < least {
            return Err(format!(
                "vectors are not kept: the disk has {free} MB free, and brain keeps {least} MB"
            ));
        }
        Ok(())
    }

    /// Everything has its vectors: those of models that were used before are not needed any more.
    pub(super) fn forget_others(&self, work: &mut Work, open: &InUse) {
        if work.alone || !locked(&self.meaning.shared.held).is_empty() {
            return;
        }
        // First the new ones are safe.
        self.keep(work, open, true);
        if work.unkept {
            return;
        }
        match open.vectors.remove_others() {
            Ok(0) => work.alone = true,
            Ok(count) => {
                work.alone = true;
                tracing::info!(count, "the vectors of models that were used before are deleted");
            }
            Err(error) => {
                tracing::warn!(%error, "the vectors of models that were used before are still there");
            }
        }
    }
}
