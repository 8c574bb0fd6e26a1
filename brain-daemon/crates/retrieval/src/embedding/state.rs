//! The state of search by meaning, shared by searches, the commit hook and the embedding worker.

use std::collections::{HashMap, HashSet};
use std::num::NonZeroUsize;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use brain_protocol::{Hint, SourceId};
use lru::LruCache;
use parking_lot::{Condvar, Mutex, RwLock};
use tokio::sync::Notify;

use super::background_throttle::BackgroundThrottle;
use super::forecast::Forecast;
use super::pending_changes::PendingChanges;
use super::query_embedder::QueryEmbedder;
use super::reranker::RerankerState;
use super::scale::CosineScale;
use brain_embed::vectors::Vectors;
use brain_embed::{EmbedError, Embedder, VectorSpace};

/// Maximum number of questions whose vectors are cached: 128, or about 200 KB for a model of 384
/// dimensions.
pub(super) const MAX_QUESTIONS: NonZeroUsize = NonZeroUsize::MIN.saturating_add(127);

/// The process-wide state of search by meaning.
pub struct EmbeddingState {
    /// What the commit hook and the rounds share.
    pub shared: Arc<CommitHookState>,
    pub(super) query_embedder: Arc<QueryEmbedder>,
    pub(super) reranker: RerankerState,
    /// The provider. The outer `None` means "not looked up yet", the inner one "not configured".
    pub(super) provider: Mutex<Option<Option<Provider>>>,
    /// A test's embedder, in place of the configured one.
    pub(super) override_embedder: OnceLock<Arc<dyn Embedder>>,
    /// The state of rounds; locked during a round.
    pub round_state: Mutex<RoundState>,
    /// Number of commands that wait for [`Self::round_state`]. Background rounds let them go first.
    pub(super) waiting_commands: AtomicUsize,
    /// Set when another model was configured or installed.
    pub(super) needs_reload: AtomicBool,
    /// What was measured about the speed of embedding.
    pub(super) forecast: Mutex<Forecast>,
    /// Detects imports, during which background rounds pause.
    pub(super) background_throttle: Mutex<BackgroundThrottle>,
    /// The problem that prevents embedding, and a hint.
    problem: Mutex<Option<(String, Option<Hint>)>>,
}

/// The state that the commit hook uses.
pub struct CommitHookState {
    stage: Mutex<VectorStage>,
    stage_changed: Condvar,
    /// Locked while a commit is applied, and while a page's key is checked and its vectors are
    /// stored. So vectors of an outdated text are never stored.
    pub(super) apply_lock: Mutex<()>,
    /// Sequence number of the last change applied to the vectors.
    pub(super) applied_seq: AtomicU64,
    pub(super) pending_changes: Mutex<PendingChanges>,
    /// Pages imported by a sync that suppresses embedding.
    pub(super) suppressed_pages: Mutex<HashSet<u64>>,
    /// Pages whose vectors are computed again. Their former vectors stay until then.
    pub(super) outdated_pages: Mutex<HashSet<u64>>,
    /// Number of syncs in progress that suppress embedding.
    pub(super) suppressions: AtomicUsize,
    /// Number of page changes since the start.
    pub(super) changes: AtomicU64,
    /// Wakes the embedding worker.
    pub(super) wake: Notify,
}

/// The state of the vectors.
enum VectorStage {
    /// Being opened since this time.
    Opening(Instant),
    /// Searchable and updated by the commit hook.
    Open(Arc<OpenVectors>),
    /// Cannot be opened, or no provider is configured.
    Unavailable,
}

/// The configured embedder.
#[derive(Clone)]
pub(super) struct Provider {
    /// `local` or `openai`.
    pub(super) name: &'static str,
    /// The model's name.
    pub(super) model: String,
    /// The embedder, or why it is unusable.
    pub(super) embedder: Result<Arc<dyn Embedder>, EmbedError>,
    /// Windows per call.
    pub(super) batch_size: usize,
}

/// The open vectors and their embedder.
pub struct OpenVectors {
    pub(super) space: VectorSpace,
    pub(super) embedder: Arc<dyn Embedder>,
    pub(super) batch_size: usize,
    pub vectors: Vectors,
    /// The typical cosines in this space.
    pub(super) cosine_scale: RwLock<CosineScale>,
    /// The typical cosines among the pages of restricted callers, by the callers' sources.
    pub(super) restricted_scales: Mutex<HashMap<Vec<SourceId>, CosineScale>>,
    /// Vectors of recent questions.
    pub(super) questions: Mutex<LruCache<String, Vec<f32>>>,
}

/// State that is kept from one embedding round to the next.
pub struct RoundState {
    /// Time of the next attempt after a failure.
    pub(super) retry_at: Option<Instant>,
    /// Consecutive failures.
    pub(super) failures: u32,
    /// Whether retrying is pointless until something changes.
    pub(super) has_given_up: bool,
    /// Time of the last attempt to write the vectors; before that, of the creation of this state.
    pub(super) flushed_at: Instant,
    /// Whether the last write failed.
    pub(super) flush_failed: bool,
    /// Whether the vectors of other models were removed.
    pub(super) others_removed: bool,
}

impl Default for EmbeddingState {
    /// Creates a state in which no vectors are open yet.
    fn default() -> Self {
        let now = Instant::now();
        Self {
            shared: Arc::new(CommitHookState {
                stage: Mutex::new(VectorStage::Opening(now)),
                stage_changed: Condvar::new(),
                apply_lock: Mutex::default(),
                applied_seq: AtomicU64::new(0),
                pending_changes: Mutex::default(),
                suppressed_pages: Mutex::default(),
                outdated_pages: Mutex::default(),
                suppressions: AtomicUsize::new(0),
                changes: AtomicU64::new(0),
                wake: Notify::new(),
            }),
            query_embedder: Arc::default(),
            reranker: RerankerState::default(),
            provider: Mutex::default(),
            override_embedder: OnceLock::new(),
            round_state: Mutex::new(RoundState::new(now)),
            waiting_commands: AtomicUsize::new(0),
            needs_reload: AtomicBool::new(false),
            forecast: Mutex::default(),
            background_throttle: Mutex::new(BackgroundThrottle::new(now)),
            problem: Mutex::default(),
        }
    }
}

impl EmbeddingState {
    pub(super) fn problem(&self) -> Option<(String, Option<Hint>)> {
        self.problem.lock().clone()
    }

    pub(super) fn set_problem(&self, problem: Option<(String, Option<Hint>)>) {
        *self.problem.lock() = problem;
    }
}

impl RoundState {
    pub(super) fn new(now: Instant) -> Self {
        Self {
            retry_at: None,
            failures: 0,
            has_given_up: false,
            flushed_at: now,
            flush_failed: false,
            others_removed: false,
        }
    }
}

impl CommitHookState {
    /// Returns the vectors if they are open.
    pub fn open_vectors(&self) -> Option<Arc<OpenVectors>> {
        match &*self.stage.lock() {
            VectorStage::Open(open_vectors) => Some(Arc::clone(open_vectors)),
            _ => None,
        }
    }

    /// Returns the vectors if they are open. Waits while they are being opened, until `until` or
    /// `max_wait` after the opening began.
    pub fn wait_for_vectors(&self, until: Instant, max_wait: Duration) -> Option<Arc<OpenVectors>> {
        let mut stage = self.stage.lock();
        loop {
            let began = match &*stage {
                VectorStage::Open(open_vectors) => return Some(Arc::clone(open_vectors)),
                VectorStage::Unavailable => return None,
                VectorStage::Opening(began) => *began,
            };
            let deadline = until.min(began + max_wait);
            let remaining = deadline.saturating_duration_since(Instant::now());
            if remaining.is_zero() {
                return None;
            }
            self.stage_changed.wait_for(&mut stage, remaining);
        }
    }

    /// Makes opened vectors available. The changes up to `applied_seq` left no stale vectors in
    /// them; all of these changes become pending.
    pub(super) fn open(&self, open_vectors: Arc<OpenVectors>, applied_seq: u64) {
        let mut pending_changes = PendingChanges::default();
        pending_changes.add(0, applied_seq);
        self.outdated_pages.lock().clear();
        *self.pending_changes.lock() = pending_changes;
        self.applied_seq.store(applied_seq, Ordering::Release);
        *self.stage.lock() = VectorStage::Open(open_vectors);
        self.stage_changed.notify_all();
    }

    /// Marks the vectors as unavailable.
    pub(super) fn set_unavailable(&self) {
        *self.stage.lock() = VectorStage::Unavailable;
        self.stage_changed.notify_all();
    }

    /// Marks the vectors as being opened again.
    pub(super) fn set_opening(&self) {
        *self.stage.lock() = VectorStage::Opening(Instant::now());
    }

    /// Marks all changes as pending, including those of suppressed pages.
    pub(super) fn mark_all_pending(&self) {
        self.suppressed_pages.lock().clear();
        self.pending_changes.lock().add(0, self.applied_seq.load(Ordering::Acquire));
    }
}
