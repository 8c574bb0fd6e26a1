//! The progress of long work, and whether its caller still waits.

/// Receives the progress of long work, and decides whether it continues.
pub trait Progress: Sync {
    /// Reports that `done` of `total` units are finished. Returns `false` if the caller is gone:
    /// the work then stops at its next safe point.
    fn at(&self, done: u64, total: u64) -> bool;

    /// Reports a line of text for the user.
    fn line(&self, _line: &str) {}

    /// Reports the next piece of an answer in prose.
    fn text(&self, _text: &str) {}
}

/// Ignores all progress.
pub struct NoProgress;

impl Progress for NoProgress {
    fn at(&self, _done: u64, _total: u64) -> bool {
        true
    }
}
