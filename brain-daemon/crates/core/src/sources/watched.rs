//! What the watcher needs to know of the sources, and what `doctor` needs to know of the watcher.

use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};

use brain_protocol::SourceId;
use tokio::sync::watch;

use crate::SourceService;
use brain_base::caller::Visibility;

pub use brain_page::is_markdown;

/// How the watcher is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum WatchState {
    /// Nobody asked for it.
    Off,
    /// At work.
    Watching {
        /// Directories that it watches.
        directories: usize,
    },
    /// Not everything can be watched; the sources are looked through every minute.
    Failing(String),
}

/// The watcher's side of a brain.
pub(crate) struct Watched {
    state: Mutex<WatchState>,
    changed: watch::Sender<()>,
}

impl Watched {
    pub(crate) fn new() -> Self {
        Self { state: Mutex::new(WatchState::Off), changed: watch::channel(()).0 }
    }

    /// Tells the watcher that a source came or went.
    pub(crate) fn sources_changed(&self) {
        self.changed.send_replace(());
    }

    pub(crate) fn state(&self) -> WatchState {
        self.state.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

impl SourceService {
    /// Changes whenever a source is registered or unregistered.
    #[must_use]
    pub fn sources_changed(&self) -> watch::Receiver<()> {
        self.watched.changed.subscribe()
    }

    /// The sources and their directories.
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

    /// Notes how the watcher is.
    pub fn note_watch(&self, state: WatchState) {
        *self.watched.state.lock().unwrap_or_else(PoisonError::into_inner) = state;
    }
}
