//! The watcher: what other programs change in a source's directory is in search within two seconds.
//!
//! It only learns where something happened; [`Brain::sync_paths`] decides what. That is why the daemon's own writes cause
//! no loop: their files say what their pages say. When the kernel's queue overflows, or a place cannot be watched, the
//! source is looked through as a whole.

use std::collections::{BTreeSet, HashMap};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use brain_protocol::SourceId;
use notify::{Event, EventKind, RecommendedWatcher, RecursiveMode, Watcher as _};
use tokio::runtime::Handle;
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use tokio::time::{Instant, sleep_until};
use tokio_util::sync::CancellationToken;

use brain_core::{Brain, WatchState, is_markdown};

/// Changes that follow each other within this time are taken in together: editors save in several steps.
const QUIET: Duration = Duration::from_millis(150);
/// A change waits for others at most this long.
const LONGEST: Duration = Duration::from_millis(800);
/// With more places than this the whole source is looked through.
const MANY: usize = 2000;
/// After a failure the sources are looked through, and what could not be watched is tried again, after this time.
const RESCAN: Duration = Duration::from_secs(60);

type Heard = notify::Result<Event>;

/// Watches the sources until `stop` is cancelled.
///
/// On a thread of its own: it asks for directories, which on a disk of the network may not answer.
pub async fn watch(brain: Arc<Brain>, stop: CancellationToken) {
    let runtime = Handle::current();
    let watching = tokio::task::spawn_blocking(move || runtime.block_on(listen(brain, stop)));
    if watching.await.is_err() {
        tracing::error!("the watcher ended in a defect");
    }
}

async fn listen(brain: Arc<Brain>, stop: CancellationToken) {
    let mut changed = brain.sources.sources_changed();
    loop {
        changed.mark_unchanged();
        let (heard, mut events) = unbounded_channel();
        let sources = brain.sources.watched_sources();
        let mut watch = Watch::new(sources, &heard);
        watch.tell(&brain);
        // What happened while nobody watched.
        watch.everything();
        loop {
            tokio::select! {
                () = stop.cancelled() => return,
                _ = changed.changed() => break,
                event = events.recv() => watch.hear(event, &mut events),
                () = sleep_until(watch.due().unwrap_or_else(Instant::now)), if watch.due().is_some() => {
                    let work = watch.take();
                    watch.tell(&brain);
                    let brain = Arc::clone(&brain);
                    let round = tokio::task::spawn_blocking(move || sync(&brain, work));
                    let all = round.await.unwrap_or_else(|error| {
                        tracing::error!(%error, "a round of the watcher ended in a defect");
                        false
                    });
                    if !all {
                        watch.rescan_at.get_or_insert(Instant::now() + RESCAN);
                    }
                }
                () = sleep_until(watch.rescan_at.unwrap_or_else(Instant::now)), if watch.rescan_at.is_some() => break,
            }
        }
    }
}

/// Lets the brain look at the places where something happened; whether it could.
fn sync(brain: &Brain, work: Vec<(SourceId, Vec<PathBuf>)>) -> bool {
    let mut all = true;
    for (source, paths) in work {
        match brain.sync.sync_paths(&source, &paths) {
            Ok(report) if report.status == "done" => {
                let changes = report.added
                    + report.updated
                    + report.restored
                    + report.renamed
                    + report.removed;
                tracing::debug!(%source, places = paths.len(), changes, "watched changes taken in");
            }
            Ok(report) => {
                let first = report.failed.first().map(|f| format!("{}: {}", f.path, f.reason));
                tracing::warn!(%source, status = report.status, problem = report.problem, failed = report.failed_total,
                    held_back = report.held_back, first, "watched changes were not all taken in");
            }
            Err(fault) => {
                tracing::warn!(%source, %fault, "watched changes were not taken in; trying again");
                all = false;
            }
        }
    }
    all
}

/// A source's directory and what has happened in it.
struct Place {
    source: SourceId,
    root: PathBuf,
    touched: BTreeSet<PathBuf>,
}

struct Watch {
    /// `None` when the kernel gives none.
    watcher: Option<RecommendedWatcher>,
    places: Vec<Place>,
    /// Watched directories and the place they belong to.
    dirs: HashMap<PathBuf, usize>,
    problem: Option<String>,
    first: Option<Instant>,
    last: Instant,
    rescan_at: Option<Instant>,
}

/// Whether a directory may not be read. It hides nothing that a sync would see, and when its mode changes it is looked at anew.
fn is_forbidden(error: &notify::Error) -> bool {
    matches!(&error.kind, notify::ErrorKind::Io(e) if e.kind() == std::io::ErrorKind::PermissionDenied)
}

impl Watch {
    fn new(sources: Vec<(SourceId, PathBuf)>, heard: &UnboundedSender<Heard>) -> Self {
        let heard = heard.clone();
        // Nobody listens any more when the sources have changed.
        let watcher = notify::recommended_watcher(move |event: Heard| _ = heard.send(event));
        let now = Instant::now();
        let places = sources
            .into_iter()
            .map(|(source, root)| Place { source, root, touched: BTreeSet::new() })
            .collect();
        let mut watch = Self {
            watcher: None,
            places,
            dirs: HashMap::new(),
            problem: None,
            first: None,
            last: now,
            rescan_at: None,
        };
        match watcher {
            Ok(watcher) => watch.watcher = Some(watcher),
            Err(error) => watch.fail(&error.to_string()),
        }
        for number in 0..watch.places.len() {
            let root = watch.places[number].root.clone();
            watch.add(number, &root);
        }
        watch
    }

    /// Watches a directory and those below it, but for hidden ones.
    fn add(&mut self, number: usize, dir: &Path) {
        let hidden = |e: &walkdir::DirEntry| {
            e.depth() > 0 && e.file_name().as_encoded_bytes().starts_with(b".")
        };
        // Only the source's own directory may be reached by a link, as for a sync.
        let root = |e: &walkdir::DirEntry| e.depth() == 0 && e.path().is_dir();
        let is_dir = |e: &walkdir::DirEntry| e.file_type().is_dir() || root(e);
        let walk = walkdir::WalkDir::new(dir).into_iter().filter_entry(|e| !hidden(e) && is_dir(e));
        for entry in walk {
            let entry = match entry {
                Ok(entry) => entry,
                // Gone already; or unreadable, which the sync reports.
                Err(error) if error.depth() > 0 => continue,
                Err(error) => return self.fail(&error.to_string()),
            };
            let Some(watcher) = &mut self.watcher else { return };
            match watcher.watch(entry.path(), RecursiveMode::NonRecursive) {
                Ok(()) => _ = self.dirs.insert(entry.path().to_owned(), number),
                Err(error) if matches!(error.kind, notify::ErrorKind::PathNotFound) => {}
                Err(error) if entry.depth() > 0 && is_forbidden(&error) => {}
                Err(error) => return self.fail(&format!("{}: {error}", entry.path().display())),
            }
        }
    }

    fn fail(&mut self, problem: &str) {
        tracing::warn!(
            problem,
            "not everything can be watched; looking through the sources every minute"
        );
        self.problem.get_or_insert_with(|| problem.to_owned());
        self.rescan_at = Some(Instant::now() + RESCAN);
    }

    /// Lets `doctor` know.
    fn tell(&self, brain: &Brain) {
        brain.sources.note_watch(match &self.problem {
            Some(problem) => WatchState::Failing(problem.clone()),
            None => WatchState::Watching { directories: self.dirs.len() },
        });
    }

    /// Every source is to be looked through.
    fn everything(&mut self) {
        for number in 0..self.places.len() {
            let root = self.places[number].root.clone();
            self.touch(number, root);
        }
    }

    fn touch(&mut self, number: usize, path: PathBuf) {
        let Place { root, touched, .. } = &mut self.places[number];
        if touched.len() >= MANY || path == *root {
            touched.clear();
            touched.insert(root.clone());
        } else if !touched.contains(root) {
            touched.insert(path);
        }
        self.last = Instant::now();
        self.first.get_or_insert(self.last);
    }

    /// Takes in what was heard, and what is already in line behind it.
    fn hear(&mut self, event: Option<Heard>, more: &mut UnboundedReceiver<Heard>) {
        let mut next = event;
        while let Some(event) = next {
            match event {
                Ok(event) if event.need_rescan() => self.everything(),
                Ok(event) if matches!(event.kind, EventKind::Access(_)) => {}
                Ok(event) => event.paths.into_iter().for_each(|path| self.note(path)),
                Err(error) => {
                    tracing::debug!(%error, "watcher");
                    self.everything();
                }
            }
            next = more.try_recv().ok();
        }
    }

    /// Something happened at `path`.
    fn note(&mut self, path: PathBuf) {
        // A directory is known by itself when it has gone; else its parent is.
        let known = self.dirs.get(&path).copied();
        let Some(number) = known.or_else(|| self.dirs.get(path.parent()?).copied()) else { return };
        let root = &self.places[number].root;
        let below = path.strip_prefix(root).unwrap_or(&path);
        if below.components().any(|part| part.as_os_str().as_encoded_bytes().starts_with(b".")) {
            return;
        }
        let is_dir = std::fs::symlink_metadata(&path).is_ok_and(|meta| meta.is_dir());
        match (known, is_dir) {
            // A known one may be another directory by now, which came where the first one went: nobody watches that yet.
            (_, true) => self.add(number, &path),
            (Some(_), false) => {
                self.dirs.retain(|dir, _| !dir.starts_with(&path));
                if path == self.places[number].root {
                    self.fail(&format!("{} is gone", path.display()));
                }
            }
            (None, false) => {}
        }
        if known.is_some() || is_dir || is_markdown(&path) {
            self.touch(number, path);
        }
    }

    /// When what has gathered is to be looked at.
    fn due(&self) -> Option<Instant> {
        self.first.map(|first| (self.last + QUIET).min(first + LONGEST))
    }

    /// What has gathered.
    fn take(&mut self) -> Vec<(SourceId, Vec<PathBuf>)> {
        self.first = None;
        let touched = self.places.iter_mut().filter(|place| !place.touched.is_empty());
        touched
            .map(|place| {
                (place.source.clone(), std::mem::take(&mut place.touched).into_iter().collect())
            })
            .collect()
    }
}
