//! Notifies interfaces of commits of the store, and of changes to the number of waiting jobs.

use std::sync::Arc;

use brain_store::CommitHook;
use tokio::sync::watch;

/// A counter of changes that interfaces can wait for. It shows that something changed, not what.
#[derive(Debug)]
pub struct ChangeFeed(watch::Sender<u64>);

impl ChangeFeed {
    /// Creates a feed without changes.
    #[must_use]
    pub fn new() -> Arc<Self> {
        Arc::new(Self(watch::Sender::new(0)))
    }

    /// Returns the number of changes since the start of the daemon.
    #[must_use]
    pub fn current(&self) -> u64 {
        *self.0.borrow()
    }

    /// Returns a receiver of the number. The receiver waits for changes after this call.
    #[must_use]
    pub fn subscribe(&self) -> watch::Receiver<u64> {
        self.0.subscribe()
    }

    /// Counts a change.
    pub fn notify(&self) {
        self.0.send_modify(|changes| *changes += 1);
    }

    /// Returns a hook that passes the changes of a commit to `hook`, and then counts the commit.
    pub fn hook(self: &Arc<Self>, hook: CommitHook) -> CommitHook {
        let feed = Arc::clone(self);
        Box::new(move |changes| {
            hook(changes);
            feed.notify();
        })
    }
}
