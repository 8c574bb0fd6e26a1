//! Indexer thread: writes changes to the disk index in order.
//!
//! It commits when enough changes have arrived, merges segments after bulk loads, and retries when
//! the disk fails.

use std::{
    collections::{HashSet, VecDeque},
    ops::ControlFlow,
    sync::Arc,
    time::{Duration, Instant},
};

use parking_lot::MutexGuard;
use tantivy::{Index as Tantivy, IndexReader, IndexWriter, Term, indexer::NoMergePolicy};

use brain_base::threads::lower_priority;

use super::{
    Options,
    disk::{Disk, InMemory, catch_panic, write_to_disk},
    document::Analyzer,
    index_state::{IndexState, SharedIndex},
    index_writer::{commit, open_writer, tantivy_document},
    merge_policy::ChangeRate,
    schema::Fields,
    view::{Op, languages},
};

/// Maximum number of changes taken from the feed at once, so that
/// [`super::Index::wait_for_backlog_below`] returns soon.
const MAX_TAKEN: usize = 256;
/// How long changes collect before the indexer takes them.
const COLLECT_TIME: Duration = Duration::from_millis(20);
/// Maximum pause between attempts to write.
const MAX_PAUSE: Duration = Duration::from_secs(60);
/// An index opened with more segments than this is merged when idle.
const MAX_SEGMENTS: usize = 8;
/// Time from a commit to the first reload for merged segments. The pause doubles after each attempt
/// that finds none.
const FIRST_RELOAD: Duration = Duration::from_secs(1);
/// Maximum pause before a reload: no merge takes longer.
const MAX_RELOAD_PAUSE: Duration = Duration::from_secs(1024);
/// Time until an index in memory is written to disk; each failure doubles it.
const FIRST_DISK_ATTEMPT: Duration = Duration::from_secs(1);
/// Maximum pause between attempts to write an index in memory to disk.
const MAX_DISK_PAUSE: Duration = Duration::from_secs(8);

/// The state of the indexer thread.
pub(super) struct Indexer {
    shared: Arc<SharedIndex>,
    tantivy: Tantivy,
    reader: IndexReader,
    fields: Fields,
    store: String,
    writer: Option<IndexWriter>,
    analyzer: Analyzer,
    /// Changes taken but not committed. The writer has the first `written_count` of them.
    queue: VecDeque<Op>,
    written_count: usize,
    /// Approximate memory of the queue.
    bytes: usize,
    /// When the first change of the queue was taken.
    since: Option<Instant>,
    /// Greatest page id on disk: greater ids need no deletion.
    max_id: Option<u64>,
    /// The pause after the last failed write; zero after a commit.
    pause: Duration,
    /// When to write again after a failure.
    retry_at: Option<Instant>,
    /// After changes were dropped: the last change that the index may claim to have.
    claim_limit: Option<u64>,
    /// Whether to merge segments when idle: after a bulk load, or if the opened index has more than
    /// [`MAX_SEGMENTS`].
    needs_merge: bool,
    /// When to reload for merged segments, and the pause before that.
    reload: Option<(Instant, Duration)>,
    /// The index in memory, when to write it to disk, and the pause before that.
    memory: Option<(InMemory, Instant, Duration)>,
}

/// The indexer's next action.
enum IndexerStep {
    /// Give the writer the taken changes.
    Feed,
    /// Give the writer the taken changes, and commit.
    Commit(ChangeRate),
    /// Merge the segments that a bulk load left.
    Merge,
    /// Show merged segments to searches.
    Reload,
    /// Rewrite segments without their removed documents.
    Erase,
    /// Write an index in memory to disk.
    LeaveMemory,
}

impl Indexer {
    pub(super) fn new(shared: Arc<SharedIndex>, disk: Disk, store: String) -> Self {
        let searcher = disk.reader.searcher();
        let segments = searcher.segment_readers();
        let ids =
            segments.iter().filter_map(|r| Some(r.fast_fields().u64("id").ok()?.max_value())).max();
        Self {
            analyzer: Analyzer::new(shared.default_language()),
            shared,
            tantivy: disk.tantivy,
            reader: disk.reader,
            fields: disk.fields,
            store,
            writer: None,
            queue: VecDeque::new(),
            written_count: 0,
            bytes: 0,
            since: None,
            max_id: ids,
            pause: Duration::ZERO,
            retry_at: None,
            claim_limit: None,
            needs_merge: segments.len() > MAX_SEGMENTS,
            reload: None,
            memory: disk
                .memory
                .map(|memory| (memory, Instant::now() + FIRST_DISK_ATTEMPT, FIRST_DISK_ATTEMPT)),
        }
    }

    /// Runs until it is stopped.
    pub(super) fn run(mut self) {
        // This thread, and tantivy's threads that it starts, have a lower priority than callers.
        lower_priority();
        while let Some(task) = self.take() {
            let result = catch_panic(|| match task {
                IndexerStep::Feed => self.feed(),
                IndexerStep::Commit(rate) => {
                    self.feed()?;
                    self.commit(rate)
                }
                IndexerStep::Merge => {
                    // The index is complete without the merge.
                    if let Err(problem) = catch_panic(|| self.merge_small()) {
                        tracing::debug!(problem, "cannot merge the index segments");
                    }
                    Ok(())
                }
                IndexerStep::Reload => {
                    self.reload();
                    Ok(())
                }
                IndexerStep::Erase => {
                    let erased = catch_panic(|| self.erase_removed());
                    self.shared.record_erase_end(erased.as_ref().err());
                    erased
                }
                IndexerStep::LeaveMemory => {
                    self.leave_memory();
                    Ok(())
                }
            });
            if let Err(problem) = result {
                self.fail(problem);
            }
        }
        // This ends the writer's threads.
        drop(self.writer.take());
        self.shared.record_end();
    }

    /// Waits for changes and takes them. Returns the next step; `None` when the index is dropped.
    fn take(&mut self) -> Option<IndexerStep> {
        let shared = Arc::clone(&self.shared);
        let mut state = shared.state();
        let mut has_waited = false;
        loop {
            if state.stop {
                return None;
            }
            let now = Instant::now();
            let is_flushing = state.flush > state.committed;
            let is_backing_off = self.retry_at.is_some_and(|at| at > now) && !is_flushing;
            if !state.feed.is_empty()
                && (has_waited || is_flushing || state.feed.len() >= MAX_TAKEN)
            {
                return Some(self.take_changes(state, &shared, is_backing_off));
            }
            let next = if !state.feed.is_empty() {
                has_waited = true;
                ControlFlow::Continue(Some(now + COLLECT_TIME))
            } else if self.queue.is_empty() {
                if is_flushing {
                    // Everything pushed is on disk or was dropped.
                    state.flush = 0;
                    shared.notify_progress();
                }
                self.idle_step(&state, now)
            } else {
                self.commit_step(&state, now, is_flushing, is_backing_off)
            };
            let mut due = match next {
                ControlFlow::Break(step) => return Some(step),
                ControlFlow::Continue(due) => due,
            };
            if let (true, Some(at)) = (is_backing_off, self.retry_at) {
                due = Some(at.min(now + Duration::from_millis(500)));
            }
            shared.wait(&mut state, due);
        }
    }

    /// Takes changes from the feed. Returns the step that gives them to the writer.
    fn take_changes(
        &mut self,
        mut state: MutexGuard<'_, IndexState>,
        shared: &SharedIndex,
        is_backing_off: bool,
    ) -> IndexerStep {
        let options = &shared.options;
        let count = state.feed.len().min(MAX_TAKEN);
        self.since.get_or_insert_with(Instant::now);
        let taken: Vec<Op> = state.feed.drain(..count).collect();
        drop(state);
        shared.notify_progress();
        self.bytes += taken.iter().map(Op::weight).sum::<usize>();
        self.queue.extend(taken);
        if is_backing_off && self.bytes > options.overlay_bytes {
            self.drop_changes();
        }
        // Not only when the feed is empty: a steady stream of changes never leaves it so.
        match self.has_bulk(options) && !is_backing_off {
            true => IndexerStep::Commit(ChangeRate::Bulk),
            false => IndexerStep::Feed,
        }
    }

    /// Returns the step that is due while there are no changes, or else when the next one is.
    fn idle_step(
        &self,
        state: &IndexState,
        now: Instant,
    ) -> ControlFlow<IndexerStep, Option<Instant>> {
        if state.erase {
            return ControlFlow::Break(IndexerStep::Erase);
        }
        let merge_at = || state.last_push + self.shared.options.commit_when_idle;
        let steps = [
            (self.memory.as_ref().map(|(_, at, _)| *at), IndexerStep::LeaveMemory),
            (self.reload.map(|(at, _)| at), IndexerStep::Reload),
            (self.needs_merge.then(merge_at), IndexerStep::Merge),
        ];
        let mut due: Option<Instant> = None;
        for (at, step) in steps {
            let Some(at) = at else { continue };
            if at <= now {
                return ControlFlow::Break(step);
            }
            due = Some(due.map_or(at, |due| due.min(at)));
        }
        ControlFlow::Continue(due)
    }

    /// Returns the commit of the taken changes if it is due, or else when to look again.
    fn commit_step(
        &self,
        state: &IndexState,
        now: Instant,
        is_flushing: bool,
        is_backing_off: bool,
    ) -> ControlFlow<IndexerStep, Option<Instant>> {
        let options = &self.shared.options;
        let idle = now.saturating_duration_since(state.last_push);
        let is_idle = idle >= options.commit_when_idle;
        let oldest =
            self.since.map_or(Duration::ZERO, |since| now.saturating_duration_since(since));
        let has_enough = self.queue.len() >= options.commit_changes && idle >= COLLECT_TIME * 10
            || self.has_bulk(options);
        let is_due = has_enough || oldest >= options.commit_after || is_idle;
        if !is_flushing && (is_backing_off || !is_due) {
            let at = now + (COLLECT_TIME * 10).min(options.commit_when_idle);
            return ControlFlow::Continue(Some(at));
        }
        // When idle, `IndexerStep::Merge` follows. A bulk commit defers tantivy's own merges, so
        // that they do not run beside it.
        let is_many =
            self.queue.len() >= options.commit_changes || self.bytes >= options.commit_bytes;
        let is_bulk = if is_idle { self.needs_merge } else { is_many };
        let rate = if is_bulk && !is_flushing { ChangeRate::Bulk } else { ChangeRate::Steady };
        ControlFlow::Break(IndexerStep::Commit(rate))
    }

    /// Returns whether so many changes were taken that they are committed at once.
    fn has_bulk(&self, options: &Options) -> bool {
        self.queue.len() >= options.commit_changes_bulk || self.bytes >= options.commit_bytes
    }

    /// Gives the writer the changes that it does not have yet.
    fn feed(&mut self) -> Result<(), String> {
        if self.retry_at.is_some_and(|at| at > Instant::now()) && self.shared.state().flush == 0 {
            return Ok(());
        }
        if self.written_count == self.queue.len() {
            return Ok(());
        }
        if self.writer.is_none() {
            self.writer = Some(open_writer(&self.tantivy).map_err(|e| e.to_string())?);
            self.written_count = 0;
        }
        let Some(writer) = &self.writer else { return Ok(()) };
        while let Some(op) = self.queue.get(self.written_count) {
            let id = op.id();
            if self.max_id.is_some_and(|max| id <= max) {
                writer.delete_term(Term::from_field_u64(self.fields.id, id));
            }
            if let Op::Put(entry) = op {
                let document = entry.document(&mut self.analyzer);
                writer
                    .add_document(tantivy_document(document, self.fields))
                    .map_err(|e| e.to_string())?;
                self.max_id = Some(self.max_id.map_or(id, |max| max.max(id)));
            }
            self.written_count += 1;
        }
        Ok(())
    }

    fn commit(&mut self, rate: ChangeRate) -> Result<(), String> {
        let Some(last) = self.queue.iter().map(Op::seq).max() else { return Ok(()) };
        let Some(writer) = &mut self.writer else { return Err("its writer is not open".into()) };
        let seq = self.claim_limit.unwrap_or(last);
        commit(writer, rate, &self.store, seq).map_err(|e| e.to_string())?;
        self.needs_merge |= rate == ChangeRate::Bulk;
        self.reader.reload().map_err(|e| e.to_string())?;
        let searcher = self.reader.searcher();
        let languages = languages(&searcher, self.fields);
        self.queue.clear();
        self.queue.shrink_to(1024);
        self.written_count = 0;
        self.bytes = 0;
        self.since = None;
        self.pause = Duration::ZERO;
        self.retry_at = None;
        self.reload = Some((Instant::now() + FIRST_RELOAD, FIRST_RELOAD));
        self.shared.install_commit(searcher, languages, last, seq);
        Ok(())
    }

    /// Merges the segments that a bulk load left. A failed merge is repeated after the next bulk
    /// load or start.
    fn merge_small(&mut self) -> Result<(), String> {
        self.needs_merge = false;
        if !self.shared.has_disk_space() {
            return Err("the disk has too little free space".into());
        }
        let claimed = self.shared.state().claimed;
        let mut writer = match self.writer.take() {
            Some(writer) => writer,
            None => open_writer(&self.tantivy).map_err(|e| e.to_string())?,
        };
        commit(&mut writer, ChangeRate::Idle, &self.store, claimed).map_err(|e| e.to_string())?;
        self.writer = Some(writer);
        self.reload = Some((Instant::now() + FIRST_RELOAD, FIRST_RELOAD));
        Ok(())
    }

    /// Writes each segment with removed documents again without them, and removes the former files.
    fn erase_removed(&mut self) -> Result<(), String> {
        // Waits for tantivy's own merges, so that a segment is merged only once.
        if let Some(writer) = self.writer.take() {
            writer.wait_merging_threads().map_err(|e| e.to_string())?;
        }
        let mut writer = open_writer(&self.tantivy).map_err(|e| e.to_string())?;
        writer.set_merge_policy(Box::new(NoMergePolicy));
        for segment in self.tantivy.searchable_segment_metas().map_err(|e| e.to_string())? {
            if segment.num_deleted_docs() > 0 {
                writer.merge(&[segment.id()]).wait().map_err(|e| e.to_string())?;
            }
        }
        // Searches use the new segments, so that the former files are free.
        self.reader.reload().map_err(|e| e.to_string())?;
        self.shared.install_merge(self.reader.searcher());
        writer.garbage_collect_files().wait().map_err(|e| e.to_string())?;
        Ok(())
    }

    /// Makes searches use the segments that were merged since the last commit. Fewer segments are
    /// faster, and the old ones can be deleted.
    fn reload(&mut self) {
        let Some((_, pause)) = self.reload.take() else { return };
        let known_ids: HashSet<_> = self
            .reader
            .searcher()
            .segment_readers()
            .iter()
            .map(tantivy::SegmentReader::segment_id)
            .collect();
        let merged = match self.tantivy.searchable_segment_ids() {
            Ok(ids) if ids.iter().copied().collect::<HashSet<_>>() == known_ids => Ok(false),
            Ok(_) => self.reader.reload().map(|()| true),
            Err(error) => Err(error),
        };
        let pause = match merged {
            Ok(true) => {
                self.shared.install_merge(self.reader.searcher());
                FIRST_RELOAD
            }
            Ok(false) => pause * 2,
            Err(error) => {
                tracing::debug!(%error, "cannot reload the index");
                pause * 2
            }
        };
        if pause <= MAX_RELOAD_PAUSE {
            self.reload = Some((Instant::now() + pause, pause));
        }
    }

    /// Writes an index in memory to disk, and continues with the index on disk. After a failure,
    /// schedules another attempt.
    fn leave_memory(&mut self) {
        let Some((memory, _, pause)) = self.memory.take() else { return };
        let dir = self.shared.dir.clone();
        let written = catch_panic(|| {
            if let Some(writer) = self.writer.take() {
                writer.wait_merging_threads().map_err(|e| e.to_string())?;
            }
            write_to_disk(&memory, &dir)
        });
        match written {
            Ok(disk) => {
                (self.tantivy, self.reader) = (disk.tantivy, disk.reader);
                self.shared.install_on_disk(self.reader.searcher(), &memory.problem);
                tracing::info!(dir = %dir.display(), "the search index is on disk again");
            }
            Err(problem) => {
                tracing::debug!(problem, "the search index stays in memory");
                let pause = (pause * 2).min(MAX_DISK_PAUSE);
                self.memory = Some((memory, Instant::now() + pause, pause));
            }
        }
    }

    /// Drops the writer and schedules another attempt.
    fn fail(&mut self, problem: String) {
        let writer = self.writer.take();
        let ended = catch_panic(|| match &writer {
            // Unfinished files must not keep the disk full.
            Some(writer) => {
                writer.garbage_collect_files().wait().map(drop).map_err(|e| e.to_string())
            }
            None => Ok(()),
        });
        let ended = ended.and(catch_panic(|| {
            drop(writer);
            Ok(())
        }));
        if let Err(problem) = ended {
            tracing::warn!(problem, "closing the index writer failed");
        }
        self.written_count = 0;
        self.pause = (self.pause * 2).clamp(Duration::from_secs(1), MAX_PAUSE);
        self.retry_at = Some(Instant::now() + self.pause);
        self.shared.record_failure(problem);
    }

    /// Drops the older half of the queue.
    fn drop_changes(&mut self) {
        if self.claim_limit.is_none() {
            let mut state = self.shared.state();
            self.claim_limit = Some(state.claimed);
            state.lasting_problem = Some(
                "changes were dropped while the index could not be written; the next start adds \
                 them again"
                    .into(),
            );
        }
        let dropped: Vec<Op> = self.queue.drain(..self.queue.len().div_ceil(2)).collect();
        self.written_count = 0;
        self.bytes /= 2;
        tracing::error!(
            changes = dropped.len(),
            "the search index cannot be written: changes are dropped"
        );
        self.shared.drop_changes(&dropped);
    }
}
