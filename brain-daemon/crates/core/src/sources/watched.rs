//! The state that the file watcher shares with sources and `doctor`.

use std::path::PathBuf;

use brain_protocol::SourceId;
use parking_lot::Mutex;
use tokio::sync::watch;

use crate::SourceService;
use brain_base::caller::Visibility;

pub use brain_page::is_markdown;

/// The state of the watcher.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum WatchState {
    /// The watcher is not configured.
    Off,
    /// The watcher works.
    Watching {
        /// The number of watched directories.
        directories: usize,
    },
    /// Some directories cannot be watched, so all sources are scanned every minute.
    Failing(String),
}

/// The state of the watcher in a brain.
pub(crate) struct Watched {
    state: Mutex<WatchState>,
    changed: watch::Sender<()>,
}

impl Watched {
    pub(crate) fn new() -> Self {
        Self { state: Mutex::new(WatchState::Off), changed: watch::channel(()).0 }
    }

    /// Tells the watcher that a source was added or removed.
    pub(crate) fn sources_changed(&self) {
        self.changed.send_replace(());
    }

    pub(crate) fn state(&self) -> WatchState {
        self.state.lock().clone()
    }
}

impl SourceService {
    /// Returns a counter that changes when a source is added or removed.
    #[must_use]
    pub fn sources_changed(&self) -> watch::Receiver<()> {
        self.watched.changed.subscribe()
    }

    /// Returns the sources and their directories.
    #[must_use]
    pub fn watched_sources(&self) -> Vec<(SourceId, PathBuf)> {
        match self.store.read(Visibility::All).and_then(|reader| reader.sources()) {
            Ok(sources) => {
                sources.into_iter().map(|(id, record)| (id, self.source_dir(&record))).collect()
            }
            Err(error) => {
                tracing::warn!(%error, "the sources cannot be watched");
                Vec::new()
            }
        }
    }

    /// Sets the state of the watcher.
    pub fn note_watch(&self, state: WatchState) {
        *self.watched.state.lock() = state;
    }
}
