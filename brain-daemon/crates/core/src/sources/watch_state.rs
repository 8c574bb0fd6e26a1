//! The state that the file watcher shares with sources and `doctor`.

use std::path::PathBuf;
use std::sync::Arc;

use brain_base::caller::Visibility;
use brain_protocol::{Fault, SourceId};
use brain_store::{SourceSettings, Sources};
use parking_lot::Mutex;
use tokio::sync::watch;

use super::own_sources;
use crate::SourceService;

pub use brain_page::is_markdown;
pub use brain_store::files::{IgnoreRules, is_rule_file};

/// The state of the watcher.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum WatchState {
    /// The watcher is off in the configuration.
    Off,
    /// The watcher is on, and does not watch yet: the daemon has just started.
    Starting,
    /// The watcher works.
    Watching {
        /// The number of watched directories.
        directories: usize,
    },
    /// Some directories cannot be watched, so all sources are scanned every minute.
    Failing(String),
}

/// The state of the watcher, and its signal that sources have changed.
pub(crate) struct WatcherStatus {
    state: Mutex<WatchState>,
    source_changes: watch::Sender<()>,
    known: Mutex<Option<KnownSources>>,
}

/// What [`SourceService::notice_remote_changes`] saw last.
struct KnownSources {
    /// All sources, from the store's cache.
    sources: Arc<Sources>,
    /// What the watcher uses: the sources of this machine, their directories and settings. A sync
    /// changes other fields of a source.
    watched: Vec<(SourceId, Option<String>, SourceSettings)>,
}

impl WatcherStatus {
    pub(crate) fn new(is_configured: bool) -> Self {
        let state = if is_configured { WatchState::Starting } else { WatchState::Off };
        Self {
            state: Mutex::new(state),
            source_changes: watch::channel(()).0,
            known: Mutex::default(),
        }
    }

    /// Tells the watcher that a source was added, changed or removed.
    pub(crate) fn notify_sources_changed(&self) {
        self.source_changes.send_replace(());
    }

    pub(crate) fn state(&self) -> WatchState {
        self.state.lock().clone()
    }
}

impl SourceService {
    /// Tells the watcher of changes of sources that other machines made.
    ///
    /// # Errors
    /// When the store cannot be read.
    pub(crate) fn notice_remote_changes(&self) -> Result<(), Fault> {
        // The store reads the sources again after a change.
        let sources = self.store.sources()?;
        let mut known = self.watcher.known.lock();
        if known.as_ref().is_some_and(|known| Arc::ptr_eq(&known.sources, &sources)) {
            return Ok(());
        }
        let reader = self.store.read(Visibility::All)?;
        let mut watched = Vec::new();
        for (id, record) in own_sources(&reader)? {
            let settings = reader.source_settings(&id)?;
            watched.push((id, record.path, settings));
        }
        let former = known.as_ref().map(|known| &known.watched);
        if former.is_some_and(|former| *former != watched) {
            self.watcher.notify_sources_changed();
        }
        *known = Some(KnownSources { sources, watched });
        Ok(())
    }

    /// Returns a receiver that is notified when a source or its settings change.
    #[must_use]
    pub fn subscribe_sources_changed(&self) -> watch::Receiver<()> {
        self.watcher.source_changes.subscribe()
    }

    /// Returns the sources with their directories and rules. Returns none, with a warning in the
    /// log, if they cannot be read.
    #[must_use]
    pub fn watched_sources(&self) -> Vec<(SourceId, PathBuf, Arc<IgnoreRules>)> {
        self.sources_to_watch().unwrap_or_else(|fault| {
            tracing::warn!(%fault, "the sources cannot be watched");
            Vec::new()
        })
    }

    fn sources_to_watch(&self) -> Result<Vec<(SourceId, PathBuf, Arc<IgnoreRules>)>, Fault> {
        let reader = self.store.read(Visibility::All)?;
        let mut watched = Vec::new();
        for (id, record) in own_sources(&reader)? {
            let rules = self.rules(&reader, &id, &record)?;
            watched.push((id, self.source_dir(&record), rules));
        }
        Ok(watched)
    }

    /// Sets the state of the watcher.
    pub fn set_watch_state(&self, state: WatchState) {
        *self.watcher.state.lock() = state;
    }
}
