//! Records which paths of the sources changed, from the events of the kernel.
//!
//! When the kernel's queue overflows, or a directory cannot be watched, the whole source is marked.

use std::collections::{BTreeSet, HashMap};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use brain_protocol::SourceId;
use notify::{Event, EventKind, RecommendedWatcher, RecursiveMode, Watcher as _};
use tokio::sync::mpsc::{UnboundedReceiver, unbounded_channel};

use brain_base::file_system::changes_without_events;
use brain_core::{IgnoreRules, WatchState, is_markdown, is_rule_file};

/// Changes within this time are synced together, because editors save in several steps.
const DEBOUNCE: Duration = Duration::from_millis(150);
/// The longest time that a change waits for others.
const MAX_DEBOUNCE: Duration = Duration::from_millis(800);
/// Maximum number of recorded paths of a source. Beyond it, the whole source is marked.
const MAX_PATHS: usize = 2000;
/// The time after a failure until all sources are scanned and watched anew.
const RESCAN_DELAY: Duration = Duration::from_secs(60);

/// How often sources are looked through whose files can change without an event.
const LOOK_EVERY: Duration = Duration::from_secs(5 * 60);

type WatchEvent = notify::Result<Event>;

/// A source's directory, and the paths that changed in it.
struct WatchedSource {
    source: SourceId,
    root: PathBuf,
    rules: Arc<IgnoreRules>,
    changed_paths: BTreeSet<PathBuf>,
    /// Whether files can change without an event.
    is_looked_through: bool,
}

/// The watch of all sources, with the changes since the last sync.
pub(super) struct SourceWatch {
    /// The watcher of the kernel's events; `None` if the kernel refuses one.
    watcher: Option<RecommendedWatcher>,
    events: UnboundedReceiver<WatchEvent>,
    /// The event that ended the last wait; it is read first.
    first_event: Option<WatchEvent>,
    sources: Vec<WatchedSource>,
    /// Watched directories, and the index of their source.
    dirs: HashMap<PathBuf, usize>,
    /// The first failure.
    problem: Option<String>,
    /// The first change since the last sync.
    first_change: Option<Instant>,
    last_change: Instant,
    rescan_at: Option<Instant>,
    /// When the sources whose files can change without an event are looked through next.
    look_at: Instant,
}

impl SourceWatch {
    /// Watches the directories of these sources.
    pub(super) fn new(sources: Vec<(SourceId, PathBuf, Arc<IgnoreRules>)>) -> Self {
        let (sender, events) = unbounded_channel();
        // Fails only after the watch is dropped.
        let watcher = notify::recommended_watcher(move |event: WatchEvent| _ = sender.send(event));
        let sources = sources
            .into_iter()
            .map(|(source, root, rules)| WatchedSource {
                is_looked_through: changes_without_events(&root),
                source,
                root,
                rules,
                changed_paths: BTreeSet::new(),
            })
            .collect();
        let mut watch = Self {
            watcher: None,
            events,
            first_event: None,
            sources,
            dirs: HashMap::new(),
            problem: None,
            first_change: None,
            last_change: Instant::now(),
            rescan_at: None,
            look_at: Instant::now() + LOOK_EVERY,
        };
        match watcher {
            Ok(watcher) => watch.watcher = Some(watcher),
            Err(error) => watch.fail(&error.to_string()),
        }
        for index in 0..watch.sources.len() {
            let root = watch.sources[index].root.clone();
            watch.watch_dir(index, &root);
        }
        watch
    }

    /// Returns the state for `doctor`.
    pub(super) fn state(&self) -> WatchState {
        match &self.problem {
            Some(problem) => WatchState::Failing(problem.clone()),
            None => {
                let looked_through = self.sources.iter().filter(|source| source.is_looked_through);
                WatchState::Watching {
                    directories: self.dirs.len(),
                    looked_through: looked_through.map(|source| source.source.clone()).collect(),
                }
            }
        }
    }

    /// Waits for an event of the kernel.
    pub(super) async fn event_arrives(&mut self) {
        match self.events.recv().await {
            Some(event) => self.first_event = Some(event),
            // There is no watcher; the sources are scanned by time.
            None => std::future::pending().await,
        }
    }

    /// Records the changes of all events that have arrived.
    pub(super) fn read_events(&mut self) {
        while let Some(event) = self.first_event.take().or_else(|| self.events.try_recv().ok()) {
            match event {
                Ok(event) if event.need_rescan() => self.mark_everything(),
                Ok(event) if matches!(event.kind, EventKind::Access(_)) => {}
                Ok(event) => event.paths.into_iter().for_each(|path| self.record(path)),
                Err(error) => {
                    tracing::debug!(%error, "watcher failed; syncing all sources");
                    self.mark_everything();
                }
            }
        }
    }

    /// Marks all sources as changed.
    pub(super) fn mark_everything(&mut self) {
        self.mark_sources(|_| true);
    }

    /// Marks the sources that are looked through, if it is time.
    pub(super) fn look_through(&mut self) {
        if self.look_at <= Instant::now() {
            self.look_at = Instant::now() + LOOK_EVERY;
            self.mark_sources(|source| source.is_looked_through);
        }
    }

    fn mark_sources(&mut self, is_meant: impl Fn(&WatchedSource) -> bool) {
        for index in 0..self.sources.len() {
            if is_meant(&self.sources[index]) {
                let root = self.sources[index].root.clone();
                self.mark_changed(index, root);
            }
        }
    }

    /// Returns when the recorded changes are to be synced; `None` without changes.
    pub(super) fn sync_at(&self) -> Option<Instant> {
        self.first_change.map(|first| (self.last_change + DEBOUNCE).min(first + MAX_DEBOUNCE))
    }

    /// Returns when the next sync or scan is due.
    pub(super) fn next_action_at(&self) -> Option<Instant> {
        let is_looked_through = self.sources.iter().any(|source| source.is_looked_through);
        let look_at = is_looked_through.then_some(self.look_at);
        self.sync_at().into_iter().chain(self.rescan_at).chain(look_at).min()
    }

    /// Returns the changed paths of each source with changes, and forgets them.
    pub(super) fn take_changes(&mut self) -> Vec<(SourceId, Vec<PathBuf>)> {
        self.first_change = None;
        let changed = self.sources.iter_mut().filter(|source| !source.changed_paths.is_empty());
        changed
            .map(|it| {
                let paths = std::mem::take(&mut it.changed_paths);
                (it.source.clone(), paths.into_iter().collect())
            })
            .collect()
    }

    /// Schedules a new scan and watch of the sources.
    pub(super) fn rescan_later(&mut self) {
        self.rescan_at.get_or_insert_with(|| Instant::now() + RESCAN_DELAY);
    }

    /// Returns whether the sources are to be scanned and watched anew.
    pub(super) fn is_rescan_due(&self) -> bool {
        self.rescan_at.is_some_and(|at| at <= Instant::now())
    }

    /// Watches a directory and those below it, except hidden ones and those that the rules exclude.
    fn watch_dir(&mut self, index: usize, dir: &Path) {
        let WatchedSource { root, rules, .. } = &self.sources[index];
        let (root, rules) = (root.clone(), rules.clone());
        let is_left_out = |path: &Path| {
            let inside = path.strip_prefix(&root).ok().and_then(Path::to_str);
            inside.is_some_and(|path| !path.is_empty() && rules.leave_out(&root, path, true))
        };
        let is_excluded = |e: &walkdir::DirEntry| {
            let is_dotted = e.depth() > 0 && e.file_name().as_encoded_bytes().starts_with(b".");
            is_dotted || (e.file_type().is_dir() && is_left_out(e.path()))
        };
        // Only the source's own directory can be a link, as in a sync.
        let is_root = |e: &walkdir::DirEntry| e.depth() == 0 && e.path().is_dir();
        let is_dir = |e: &walkdir::DirEntry| e.file_type().is_dir() || is_root(e);
        let walk = walkdir::WalkDir::new(dir);
        for entry in walk.into_iter().filter_entry(|e| !is_excluded(e) && is_dir(e)) {
            let entry = match entry {
                Ok(entry) => entry,
                // It was removed, or it is unreadable, which the sync reports.
                Err(error) if error.depth() > 0 => continue,
                Err(error) => return self.fail(&error.to_string()),
            };
            let Some(watcher) = &mut self.watcher else { return };
            match watcher.watch(entry.path(), RecursiveMode::NonRecursive) {
                Ok(()) => _ = self.dirs.insert(entry.path().to_owned(), index),
                Err(error) if matches!(error.kind, notify::ErrorKind::PathNotFound) => {}
                Err(error) if entry.depth() > 0 && is_forbidden(&error) => {}
                Err(error) => return self.fail(&format!("{}: {error}", entry.path().display())),
            }
        }
    }

    /// Records a failure, and schedules a scan of the sources.
    fn fail(&mut self, problem: &str) {
        tracing::warn!(problem, "watch incomplete; scanning the sources every minute");
        self.problem.get_or_insert_with(|| problem.to_owned());
        self.rescan_at = Some(Instant::now() + RESCAN_DELAY);
    }

    /// Records a changed path; the whole source if it has [`MAX_PATHS`] already.
    fn mark_changed(&mut self, index: usize, path: PathBuf) {
        let WatchedSource { root, changed_paths, .. } = &mut self.sources[index];
        if changed_paths.len() >= MAX_PATHS || path == *root {
            changed_paths.clear();
            changed_paths.insert(root.clone());
        } else if !changed_paths.contains(root) {
            changed_paths.insert(path);
        }
        self.last_change = Instant::now();
        self.first_change.get_or_insert(self.last_change);
    }

    /// Records an event at `path`, if it can concern a page.
    fn record(&mut self, path: PathBuf) {
        // A removed directory is in `dirs` itself; for other paths, the parent directory is.
        let known = self.dirs.get(&path).copied();
        let Some(index) = known.or_else(|| self.dirs.get(path.parent()?).copied()) else { return };
        let root = &self.sources[index].root;
        let relative = path.strip_prefix(root).unwrap_or(&path);
        if path.file_name().is_some_and(|name| is_rule_file(name.as_encoded_bytes())) {
            // Other files may be pages now, and other directories must be watched.
            let root = root.clone();
            self.watch_dir(index, &root);
            return self.mark_changed(index, root);
        }
        if relative.components().any(|part| part.as_os_str().as_encoded_bytes().starts_with(b".")) {
            return;
        }
        let is_dir = std::fs::symlink_metadata(&path).is_ok_and(|meta| meta.is_dir());
        match (known, is_dir) {
            // A known path may be a new directory, moved to the place of the former one.
            (_, true) => self.watch_dir(index, &path),
            (Some(_), false) => {
                self.dirs.retain(|dir, _| !dir.starts_with(&path));
                if path == self.sources[index].root {
                    self.fail(&format!("{} is gone", path.display()));
                }
            }
            (None, false) => {}
        }
        let is_page = is_markdown(&path) || self.sources[index].rules.names_document(relative);
        if known.is_some() || is_dir || is_page {
            self.mark_changed(index, path);
        }
    }
}

/// Returns whether a directory is unreadable. Then a sync sees no page in it, and a change of its
/// mode is an event.
fn is_forbidden(error: &notify::Error) -> bool {
    matches!(&error.kind,
        notify::ErrorKind::Io(e) if e.kind() == std::io::ErrorKind::PermissionDenied)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn only_sources_that_change_without_events_are_looked_through() {
        let dirs = [tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap()];
        let source = |n: usize| {
            let id = SourceId::parse(["here", "distant"][n]).unwrap();
            (id, dirs[n].path().to_owned(), Arc::default())
        };
        let mut watch = SourceWatch::new(vec![source(0), source(1)]);
        watch.sources[1].is_looked_through = true;
        watch.look_through();
        assert_eq!(watch.take_changes(), [], "it is not time yet");
        watch.look_at = Instant::now();
        watch.look_through();
        let (distant, dir, _) = source(1);
        assert_eq!(watch.take_changes(), [(distant, vec![dir])]);
        assert!(watch.look_at > Instant::now() + LOOK_EVERY / 2);
        assert_eq!(watch.next_action_at(), Some(watch.look_at));
    }
}
