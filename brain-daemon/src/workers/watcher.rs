//! Watches the directories of the sources, so that search finds changes by other programs within
//! two seconds.
//!
//! The watcher only finds out which paths changed. `SyncService::sync_paths` compares their files
//! with the pages, so the daemon's own writes cause no loop.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use brain_protocol::{SourceId, SyncStatus};
use tokio::sync::watch::Receiver;

use super::runner::{Next, Worker};
use super::source_watch::SourceWatch;
use brain_core::Brain;

/// The wait without events, and without a sync or scan that is due. Any long time would do, because
/// events end the wait.
const MAX_WAIT: Duration = Duration::from_secs(60 * 60);

/// Watches the sources, and syncs what changes in them.
pub(super) struct Watcher {
    brain: Arc<Brain>,
    sources_changed: Receiver<()>,
    /// The watch of the current sources; `None` before the first round, and after a change of
    /// sources.
    watch: Option<SourceWatch>,
}

impl Watcher {
    pub(super) fn new(brain: Arc<Brain>) -> Self {
        let sources_changed = brain.sources.subscribe_sources_changed();
        Self { brain, sources_changed, watch: None }
    }

    /// Watches the current sources. Marks all of them, because something may have changed before.
    fn begin_watch(&mut self) -> SourceWatch {
        self.sources_changed.mark_unchanged();
        let mut watch = SourceWatch::new(self.brain.sources.watched_sources());
        self.brain.sources.set_watch_state(watch.state());
        watch.mark_everything();
        watch
    }
}

impl Worker for Watcher {
    fn round(&mut self) -> Next {
        let current = self.watch.take().filter(|watch| !watch.is_rescan_due());
        let mut watch = current.unwrap_or_else(|| self.begin_watch());
        watch.read_events();
        watch.look_through();
        if watch.sync_at().is_some_and(|at| at <= Instant::now()) {
            let changes = watch.take_changes();
            self.brain.sources.set_watch_state(watch.state());
            if !sync(&self.brain, changes) {
                watch.rescan_later();
            }
        }
        let until = |at: Instant| at.saturating_duration_since(Instant::now());
        let wait = watch.next_action_at().map_or(MAX_WAIT, until);
        self.watch = Some(watch);
        Next::AfterOrWakeup(wait)
    }

    async fn wakeup(&mut self) {
        let Some(watch) = &mut self.watch else { return };
        tokio::select! {
            _ = self.sources_changed.changed() => self.watch = None,
            () = watch.event_arrives() => {}
        }
    }
}

/// Syncs the changed paths. Returns whether every sync ran, even if some files failed.
fn sync(brain: &Brain, changes: Vec<(SourceId, Vec<PathBuf>)>) -> bool {
    let mut is_complete = true;
    for (source, paths) in changes {
        match brain.sync.sync_paths(&source, &paths) {
            Ok(report) if report.status == SyncStatus::Done => {
                let changes = report.added
                    + report.updated
                    + report.restored
                    + report.renamed
                    + report.removed;
                tracing::debug!(%source, paths = paths.len(), changes, "watched changes synced");
            }
            // The log has said so when that began.
            Ok(report) if report.status == SyncStatus::Away => {
                tracing::debug!(%source, problem = report.problem, "source away");
            }
            Ok(report) => {
                let first = report.failed.first().map(|f| format!("{}: {}", f.path, f.reason));
                tracing::warn!(
                    %source,
                    status = report.status.as_str(),
                    problem = report.problem,
                    failed = report.failed_total,
                    held_back = report.held_back,
                    first,
                    "watched changes not all synced"
                );
            }
            Err(fault) => {
                tracing::warn!(%source, %fault, "watched changes not synced; trying again");
                is_complete = false;
            }
        }
    }
    is_complete
}
