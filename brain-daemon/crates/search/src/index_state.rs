//! State shared by searches and the indexer.

use std::{
    collections::VecDeque,
    path::PathBuf,
    sync::Arc,
    time::{Duration, Instant},
};

use brain_base::home::free_bytes;
use parking_lot::{Condvar, Mutex, MutexGuard};
use tantivy::Searcher;

use super::{
    Options,
    document::Analyzer,
    language::Lang,
    schema::Fields,
    view::{Op, View},
    visible_pages::VisibleDocsCache,
};

/// An indexer that sleeps no longer than this is not woken by a push.
const POLL_INTERVAL: Duration = Duration::from_millis(500);
/// Free disk space that a merge must leave, in bytes.
const MIN_FREE_BYTES: u64 = 64 << 20;

/// State shared by searches and the indexer.
pub(crate) struct SharedIndex {
    pub(super) state: Mutex<IndexState>,
    /// Wakes the indexer.
    pub(super) wake: Condvar,
    /// Wakes callers that wait for the indexer.
    pub(super) done: Condvar,
    /// Idle analyzers.
    pub(super) analyzers: Mutex<Vec<Analyzer>>,
    /// Cache of callers' visible documents by segment.
    pub(super) visible_docs: VisibleDocsCache,
    pub(super) fields: Fields,
    pub(super) options: Options,
    pub(super) default_language: Lang,
    pub(super) dir: PathBuf,
}

impl SharedIndex {
    pub(super) fn state(&self) -> MutexGuard<'_, IndexState> {
        self.state.lock()
    }

    pub(super) fn analyzer(&self) -> Analyzer {
        let idle_analyzers = self.analyzers.lock().pop();
        idle_analyzers.unwrap_or_else(|| Analyzer::new(self.default_language))
    }

    /// Returns an analyzer to the idle ones; at most 4 are kept.
    pub(super) fn give_back(&self, analyzer: Analyzer) {
        let mut idle_analyzers = self.analyzers.lock();
        if idle_analyzers.len() < 4 {
            idle_analyzers.push(analyzer);
        }
    }

    pub(super) fn default_language(&self) -> Lang {
        self.default_language
    }

    /// Waits for work, or until `due`.
    pub(super) fn wait(&self, state: &mut MutexGuard<'_, IndexState>, due: Option<Instant>) {
        match due {
            Some(due) => {
                let left = due.saturating_duration_since(Instant::now());
                state.is_asleep = left > POLL_INTERVAL;
                self.wake.wait_for(state, left);
            }
            None => {
                state.is_asleep = true;
                self.wake.wait(state);
            }
        }
        state.is_asleep = false;
    }

    /// Returns whether the disk has space for two more copies of the index and [`MIN_FREE_BYTES`].
    pub(super) fn has_disk_space(&self) -> bool {
        let Ok(free) = free_bytes(&self.dir) else { return true };
        let files = std::fs::read_dir(&self.dir).into_iter().flatten().flatten();
        let size: u64 = files.filter_map(|file| Some(file.metadata().ok()?.len())).sum();
        free > size.saturating_mul(2).saturating_add(MIN_FREE_BYTES)
    }

    /// Wakes callers that wait for the indexer.
    pub(super) fn notify_progress(&self) {
        self.done.notify_all();
    }

    /// Installs a new state of the disk index with all changes up to `seq`, and drops these changes
    /// from memory. `claimed` is the last change that the index claims to have.
    pub(super) fn install_commit(
        &self,
        searcher: Searcher,
        languages: Vec<Lang>,
        seq: u64,
        claimed: u64,
    ) {
        let old = {
            let mut state = self.state();
            state.pending.retain(|op| op.seq() > seq);
            state.committed = seq.max(state.committed);
            state.claimed = claimed;
            state.problem = None;
            let newer = state.view.overlay.iter().filter(|(_, slot)| slot.seq > seq);
            let overlay = newer.map(|(id, slot)| (*id, slot.clone())).collect();
            std::mem::replace(&mut state.view, Arc::new(View { searcher, overlay, languages }))
        };
        self.notify_progress();
        // Frees thousands of pages outside the lock.
        drop(old);
    }

    /// Records the end of [`IndexState::erase`]. A failure is reported like one of a commit.
    pub(super) fn record_erase_end(&self, problem: Option<&String>) {
        let mut state = self.state();
        state.erase = false;
        if let Some(problem) = problem {
            state.failures += 1;
            state.problem = Some(problem.clone());
        }
        drop(state);
        self.notify_progress();
    }

    /// Installs a searcher with merged segments and the same contents.
    pub(super) fn install_merge(&self, searcher: Searcher) {
        let old = {
            let mut state = self.state();
            std::mem::replace(&mut Arc::make_mut(&mut state.view).searcher, searcher)
        };
        drop(old);
    }

    /// Installs a searcher of the index on disk, which has the contents of the one in memory.
    /// `problem` was why it could not be there.
    pub(super) fn install_on_disk(&self, searcher: Searcher, problem: &str) {
        self.install_merge(searcher);
        let mut state = self.state();
        if state.lasting_problem.as_deref() == Some(problem) {
            state.lasting_problem = None;
        }
    }

    /// Records a failed commit.
    pub(super) fn record_failure(&self, problem: String) {
        tracing::warn!(problem, "the search index cannot be written; trying again later");
        let mut state = self.state();
        state.problem = Some(problem);
        state.failures += 1;
        state.flush = 0;
        drop(state);
        self.notify_progress();
    }

    /// Drops changes that could not be written to disk.
    pub(super) fn drop_changes(&self, ops: &[Op]) {
        let mut state = self.state();
        let last = ops.iter().map(Op::seq).max().unwrap_or(0);
        state.pending.retain(|op| op.seq() > last);
        let view = Arc::make_mut(&mut state.view);
        for op in ops {
            if view.overlay.get(&op.id()).is_some_and(|slot| slot.seq == op.seq()) {
                view.overlay.remove(&op.id());
            }
        }
    }

    pub(super) fn record_end(&self) {
        self.state().has_ended = true;
        self.notify_progress();
    }

    /// Returns the view of a search that starts now.
    pub(super) fn view(&self) -> Arc<View> {
        let mut state = self.state();
        let due: Vec<Op> = state.pending.extract_if(.., |op| op.is_due()).collect();
        if !due.is_empty() {
            let view = Arc::make_mut(&mut state.view);
            due.into_iter().for_each(|op| view.apply(op));
        }
        Arc::clone(&state.view)
    }
}

/// Uncommitted changes, and requests to the indexer.
pub(super) struct IndexState {
    /// Changes that are not in the view yet: pushed since the last search, or in bulk and not
    /// analyzed yet.
    pub(super) pending: Vec<Op>,
    /// Changes that the indexer has not taken yet.
    pub(super) feed: VecDeque<Op>,
    pub(super) view: Arc<View>,
    /// Last change that was pushed.
    pub(super) pushed: u64,
    /// Last change in the searcher.
    pub(super) committed: u64,
    /// Last change that the index on disk claims to have. Smaller than `committed` after changes
    /// were dropped.
    pub(super) claimed: u64,
    pub(super) last_push: Instant,
    /// Last change that a flush waits for.
    pub(super) flush: u64,
    /// Whether segments with removed documents must be written again.
    pub(super) erase: bool,
    /// Number of failed commits.
    pub(super) failures: u64,
    /// Why the last commit failed.
    pub(super) problem: Option<String>,
    /// A problem that a commit does not solve.
    pub(super) lasting_problem: Option<String>,
    pub(super) stop: bool,
    /// Whether the indexer sleeps so long that it must be woken.
    pub(super) is_asleep: bool,
    /// Whether the indexing thread has ended.
    pub(super) has_ended: bool,
}

impl IndexState {
    /// Creates the state of an index that has all changes up to `seq`.
    pub(super) fn new(view: View, seq: u64) -> Self {
        Self {
            pending: Vec::new(),
            feed: VecDeque::new(),
            view: Arc::new(view),
            pushed: seq,
            committed: seq,
            claimed: seq,
            last_push: Instant::now(),
            flush: 0,
            erase: false,
            failures: 0,
            problem: None,
            lasting_problem: None,
            stop: false,
            is_asleep: false,
            has_ended: false,
        }
    }
}
