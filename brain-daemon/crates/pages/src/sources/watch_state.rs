//! The state that the file watcher shares with sources and `doctor`.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use brain_base::caller::Visibility;
use brain_protocol::{Fault, SourceId};
use brain_store::{SourceSettingsRecord, Sources};
use parking_lot::Mutex;
use tokio::sync::watch;

use super::own_sources;
use crate::presence::CheckDepth;
use crate::sources::SourceService;
use brain_files::is_away;

pub use brain_files::{IgnoreRules, is_rule_file};
pub use brain_page::is_markdown;

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
        /// The sources that are also looked through now and then, because files in them can change
        /// without an event.
        looked_through: Vec<SourceId>,
    },
    /// Some directories cannot be watched, so all sources are scanned every minute.
    Failing(String),
}

/// The state of the watcher, and its signal that sources have changed.
pub(crate) struct WatcherStatus {
    state: Mutex<WatchState>,
    source_changes: watch::Sender<()>,
    known: Mutex<Option<KnownSources>>,
    /// The number of changes of places that the watcher knows.
    seen_places: AtomicU64,
}

/// What [`SourceService::notice_remote_changes`] saw last.
struct KnownSources {
    /// All sources, from the store's cache.
    sources: Arc<Sources>,
    /// What the watcher uses: the sources of this machine, their directories and settings. A sync
    /// changes other fields of a source.
    watched: Vec<(SourceId, Option<String>, SourceSettingsRecord)>,
}

impl WatcherStatus {
    pub(crate) fn new(is_configured: bool) -> Self {
        let state = if is_configured { WatchState::Starting } else { WatchState::Off };
        Self {
            state: Mutex::new(state),
            source_changes: watch::channel(()).0,
            known: Mutex::default(),
            seen_places: AtomicU64::new(0),
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
    pub fn notice_remote_changes(&self) -> Result<(), Fault> {
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
            let (rules, dir) = (self.rules(&reader, &id, &record)?, self.source_dir(&record));
            // What is at the path of a source that is away does not belong to it.
            let opened = self.files.presence.open(&id, &dir, CheckDepth::Usual);
            if !opened.is_err_and(|e| is_away(&e)) {
                watched.push((id, dir, rules));
            }
        }
        Ok(watched)
    }

    /// Looks whether the directories of all sources are there. Tells the watcher about changes, and
    /// writes waiting files if a source came back. Opens nothing while the mounted file systems stay
    /// the same and no source is away: a disk that is mounted on demand must be able to go.
    pub fn check_presence(&self) {
        // An open file would prevent an unmount.
        self.files.trees().iter().for_each(|tree| tree.close_expired_files());
        let presence = &self.files.presence;
        if !presence.must_check() {
            return;
        }
        let own = self.store.read(Visibility::All).and_then(|reader| own_sources(&reader));
        for (id, record) in own.unwrap_or_default() {
            // The result is remembered. Other errors are reported by the next sync.
            let _ = presence.open(&id, &self.source_dir(&record), CheckDepth::Usual);
        }
        let changes = presence.changes();
        if self.watcher.seen_places.swap(changes, Ordering::AcqRel) != changes {
            self.watcher.notify_sources_changed();
            if self.files.has_failing_files() {
                self.files.replay_outbox();
            }
        }
    }

    /// Sets the state of the watcher.
    pub fn set_watch_state(&self, state: WatchState) {
        *self.watcher.state.lock() = state;
    }
}
