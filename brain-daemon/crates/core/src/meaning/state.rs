//! What is in memory for search by meaning, shared by searches, the store's writer, and whoever makes vectors.

use std::collections::{HashMap, HashSet};
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, OnceLock, PoisonError, RwLock};
use std::time::{Duration, Instant};

use brain_protocol::SourceId;
use tokio::sync::Notify;

use super::near::Asker;
use super::pace::Pace;
use super::scale::Scale;
use super::unseen::Unseen;
use brain_embed::vectors::Vectors;
use brain_embed::{EmbedFault, Embedder, Space};

/// Search by meaning, in this process.
pub(crate) struct Meaning {
    pub(super) shared: Arc<Shared>,
    pub(super) asker: Arc<Asker>,
    /// What is configured, once somebody asked; the inner `None` is "nothing".
    pub(super) provider: Mutex<Option<Option<Provider>>>,
    /// A test's own embedder, instead of the configured one.
    pub(super) instead: OnceLock<Arc<dyn Embedder>>,
    /// Held by whoever makes vectors.
    pub(super) turn: Mutex<Work>,
    /// How many wait for their turn at the command line: the background lets them go first.
    pub(super) in_front: AtomicUsize,
    /// What is configured or installed is another than before.
    pub(super) afresh: AtomicBool,
    /// Whether pages stream in.
    pub(super) pace: Mutex<Pace>,
    /// What keeps vectors from being made, with the way out.
    problem: Mutex<Option<(String, Option<String>)>>,
}

/// What the store's hook needs.
pub(super) struct Shared {
    stage: Mutex<Stage>,
    moved: Condvar,
    /// Held while a commit's changes are taken in, and while a page's vectors are compared with the store and kept: so what is kept is never older than what was committed.
    pub(super) gate: Mutex<()>,
    /// The last change whose consequences are in memory.
    pub(super) seen: AtomicU64,
    pub(super) unseen: Mutex<Unseen>,
    /// Pages that came in by a sync that was told to make no vectors.
    pub(super) held: Mutex<HashSet<u64>>,
    /// How many such syncs are under way.
    pub(super) quiet: AtomicUsize,
    /// How many pages were changed since the start.
    pub(super) changes: AtomicU64,
    /// Rings when there is something to do.
    pub(super) bell: Notify,
}

/// How far the vectors are.
enum Stage {
    /// Not open yet; since when.
    Opening(Instant),
    /// They can be searched, and hear of every commit.
    Open(Arc<InUse>),
    /// They cannot be opened, or nothing is configured.
    Shut,
}

/// What makes vectors.
#[derive(Clone)]
pub(super) struct Provider {
    /// `local` or `openai`.
    pub(super) name: &'static str,
    /// The model's name.
    pub(super) model: String,
    /// Itself, or why it cannot be.
    pub(super) embedder: Result<Arc<dyn Embedder>, EmbedFault>,
    /// How many windows it gets at once.
    pub(super) at_once: usize,
}

/// The vectors in use.
pub(super) struct InUse {
    pub(super) space: Space,
    pub(super) embedder: Arc<dyn Embedder>,
    pub(super) at_once: usize,
    pub(super) vectors: Vectors,
    pub(super) scale: RwLock<Scale>,
    /// What cosines mean to callers who may see some sources only, by those sources.
    pub(super) scales: Mutex<HashMap<Vec<SourceId>, Scale>>,
}

/// What is known between two rounds of work.
pub(super) struct Work {
    /// Nothing is tried before.
    pub(super) rests_until: Option<Instant>,
    /// How often in a row it failed.
    pub(super) failures: u32,
    /// Trying again does not help.
    pub(super) given_up: bool,
    /// When the file was last written.
    pub(super) flushed: Instant,
    /// It could not be.
    pub(super) unkept: bool,
    /// The vectors of other models are gone.
    pub(super) alone: bool,
}

impl Meaning {
    pub(crate) fn new() -> Self {
        let now = Instant::now();
        Self {
            shared: Arc::new(Shared {
                stage: Mutex::new(Stage::Opening(now)),
                moved: Condvar::new(),
                gate: Mutex::default(),
                seen: AtomicU64::new(0),
                unseen: Mutex::default(),
                held: Mutex::default(),
                quiet: AtomicUsize::new(0),
                changes: AtomicU64::new(0),
                bell: Notify::new(),
            }),
            asker: Arc::default(),
            provider: Mutex::default(),
            instead: OnceLock::new(),
            turn: Mutex::new(Work::new(now)),
            in_front: AtomicUsize::new(0),
            afresh: AtomicBool::new(false),
            pace: Mutex::new(Pace::new(now)),
            problem: Mutex::default(),
        }
    }

    pub(super) fn problem(&self) -> Option<(String, Option<String>)> {
        locked(&self.problem).clone()
    }

    pub(super) fn set_problem(&self, problem: Option<(String, Option<String>)>) {
        *locked(&self.problem) = problem;
    }
}

impl Work {
    pub(super) fn new(now: Instant) -> Self {
        Self {
            rests_until: None,
            failures: 0,
            given_up: false,
            flushed: now,
            unkept: false,
            alone: false,
        }
    }
}

impl Shared {
    /// The vectors, when they are open.
    pub(super) fn in_use(&self) -> Option<Arc<InUse>> {
        match &*locked(&self.stage) {
            Stage::Open(in_use) => Some(Arc::clone(in_use)),
            _ => None,
        }
    }

    /// The same, waiting while they are being opened: until then, and not longer than `patience` after that began.
    pub(super) fn wait(&self, until: Instant, patience: Duration) -> Option<Arc<InUse>> {
        let mut stage = locked(&self.stage);
        loop {
            let began = match &*stage {
                Stage::Open(in_use) => return Some(Arc::clone(in_use)),
                Stage::Shut => return None,
                Stage::Opening(began) => *began,
            };
            let left = until.min(began + patience).saturating_duration_since(Instant::now());
            if left.is_zero() {
                return None;
            }
            stage = self.moved.wait_timeout(stage, left).unwrap_or_else(PoisonError::into_inner).0;
        }
    }

    /// They are open from here on, and have seen everything up to `seen`.
    pub(super) fn open(&self, in_use: Arc<InUse>, seen: u64) {
        let mut unseen = Unseen::default();
        unseen.add(0, seen);
        *locked(&self.unseen) = unseen;
        self.seen.store(seen, Ordering::Release);
        *locked(&self.stage) = Stage::Open(in_use);
        self.moved.notify_all();
    }

    /// They cannot be opened.
    pub(super) fn shut(&self) {
        *locked(&self.stage) = Stage::Shut;
        self.moved.notify_all();
    }

    /// They are about to be opened, again.
    pub(super) fn opening(&self) {
        *locked(&self.stage) = Stage::Opening(Instant::now());
    }

    /// Everything is to be looked at again, also what was held back.
    pub(super) fn look_again(&self) {
        locked(&self.held).clear();
        locked(&self.unseen).add(0, self.seen.load(Ordering::Acquire));
    }
}

/// A lock, also after somebody failed who had it.
pub(super) fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
