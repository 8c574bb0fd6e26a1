//! Tells interfaces that something changed: pages, or the number of waiting jobs.

use std::sync::Arc;

use brain_store::CommitHook;
use tokio::sync::watch;

/// A counter of changes that interfaces can wait for. It says that something changed, not what.
#[derive(Debug)]
pub struct ChangeFeed(watch::Sender<u64>);

impl ChangeFeed {
    pub(crate) fn new() -> Arc<Self> {
        Arc::new(Self(watch::Sender::new(0)))
    }

    /// Returns the number of changes since the start of the daemon.
    #[must_use]
    pub fn current(&self) -> u64 {
        *self.0.borrow()
    }

    /// Returns a receiver of the number. It counts the present value as seen.
    #[must_use]
    pub fn subscribe(&self) -> watch::Receiver<u64> {
        self.0.subscribe()
    }

    /// Counts a change.
    pub(crate) fn notify(&self) {
        self.0.send_modify(|changes| *changes += 1);
    }

    /// Returns a hook that counts each commit after `hook` got its changes.
    pub(crate) fn hook(self: &Arc<Self>, hook: CommitHook) -> CommitHook {
        let feed = Arc::clone(self);
        Box::new(move |changes| {
            hook(changes);
            feed.notify();
        })
    }
}
