//! The full-text index: accepts changes and answers questions.

use std::{
    collections::HashMap,
    path::Path,
    sync::Arc,
    thread::JoinHandle,
    time::{Duration, Instant},
};

use brain_protocol::SourceId;
use parking_lot::{Condvar, Mutex, MutexGuard};
use tantivy::{Searcher, TantivyError, Term, schema::IndexRecordOption};

use super::{
    IndexChange, IndexError, OpenReport, Options, Question, SearchResults, Snippeter,
    disk::{self, catch_panic, mark_damaged},
    disk_search::DiskSearch,
    document::{Analyzer, PageToIndex},
    index_state::{IndexState, SharedIndex},
    indexer::Indexer,
    joined::weigh_joined,
    language::Lang,
    match_table::{MatchTable, PlanMatches},
    overlay,
    plan::Plan,
    rank::{RankLimits, group_shares, rank},
    restricted_search,
    schema::Fields,
    splits::{divided_words, merge_divided},
    typos,
    view::{Op, View, languages},
    visible_pages::{VisibleDocsCache, VisiblePages},
};

/// A full-text index that finds pushed changes at once.
///
/// All functions can be called from any thread. Dropping the index ends its thread without a
/// commit; uncommitted changes must be pushed again after the next [`Index::open`].
pub struct Index {
    pub(super) shared: Arc<SharedIndex>,
    /// `None` for a fork, which writes nothing to disk.
    pub(super) thread: Option<JoinHandle<()>>,
}

impl Index {
    /// Opens the index of the store `store_id` in `dir`, or creates an empty one. `store_seq` is
    /// the store's last change; an index that claims more belongs to another store.
    ///
    /// An unusable index is replaced, and [`OpenReport::rebuilt`] says why. Only files of the index
    /// are deleted. If `dir` cannot be written, the index lives in memory until it can, and
    /// [`Index::problem`] says so.
    ///
    /// # Errors
    /// [`IndexError::Stopped`] when the indexing thread cannot be started, or not even an index in
    /// memory can be created.
    pub fn open(
        dir: &Path,
        store_id: &str,
        store_seq: u64,
        options: Options,
    ) -> Result<(Self, OpenReport), IndexError> {
        let disk = disk::open(dir, store_id, store_seq)?;
        let report = OpenReport { seq: disk.seq, rebuilt: disk.rebuilt.clone() };
        let searcher = disk.reader.searcher();
        let languages = languages(&searcher, disk.fields);
        let view = View { searcher, overlay: HashMap::default(), languages };
        let shared = Arc::new(SharedIndex {
            state: Mutex::new(IndexState {
                lasting_problem: disk.memory.as_ref().map(|memory| memory.problem.clone()),
                ..IndexState::new(view, disk.seq)
            }),
            wake: Condvar::new(),
            done: Condvar::new(),
            analyzers: Mutex::default(),
            visible_docs: VisibleDocsCache::default(),
            fields: disk.fields,
            default_language: Lang::from_code(&options.default_language.to_lowercase())
                .unwrap_or(Lang::UNSTEMMED),
            options,
            dir: dir.to_owned(),
        });
        let indexer = Indexer::new(Arc::clone(&shared), disk, store_id.to_owned());
        let thread = std::thread::Builder::new()
            .name("search-index".into())
            .spawn(move || indexer.run())
            .map_err(|e| IndexError::Stopped(e.to_string()))?;
        Ok((Self { shared, thread: Some(thread) }, report))
    }

    /// Queues changes in the order of their commits. Takes microseconds.
    pub fn push(&self, changes: Vec<IndexChange>) {
        self.add(changes, false);
    }

    /// Queues changes that are not acknowledged yet, such as those of a running import. Searches
    /// omit such a page until the indexer or [`Index::analyze_pending`] has analyzed it: a search
    /// would need a second to analyze thousands of pages.
    pub fn push_bulk(&self, changes: Vec<IndexChange>) {
        self.add(changes, true);
    }

    fn add(&self, changes: Vec<IndexChange>, is_bulk: bool) {
        let ops: Vec<Op> = changes
            .into_iter()
            .map(|change| match change {
                IndexChange::Put(page) => Op::Put(Arc::new(PageToIndex::new(page, is_bulk))),
                IndexChange::Remove { id, seq } => Op::Remove { id, seq },
            })
            .collect();
        let Some(last) = ops.iter().map(Op::seq).max() else { return };
        let mut state = self.shared.state();
        state.pushed = state.pushed.max(last);
        state.last_push = Instant::now();
        state.pending.extend(ops.iter().cloned());
        state.feed.extend(ops);
        // An indexer that sleeps for a short time notices the change soon; waking it at every push
        // costs more than the push.
        let wake = state.is_asleep || state.feed.len() >= 256;
        drop(state);
        if wake {
            self.shared.wake.notify_one();
        }
    }

    /// Waits until the indexer has fewer than `backlog` changes to take, and not too many bytes, so
    /// that a bulk import does not fill the memory. Returns at once when the index cannot be
    /// written.
    pub fn wait_for_backlog_below(&self, backlog: usize) {
        let max_bytes = self.shared.options.commit_bytes;
        let mut state = self.shared.state();
        let is_long = |state: &IndexState| {
            state.feed.len() >= backlog.max(1)
                || state.feed.iter().map(Op::weight).sum::<usize>() >= max_bytes
        };
        while is_long(&state) && state.problem.is_none() && !state.has_ended {
            self.shared.wake.notify_one();
            self.wait_a_little(&mut state);
        }
    }

    /// Makes everything pushed so far visible to later searches. Analyzes the remaining pages on
    /// this thread.
    pub fn analyze_pending(&self) {
        let unanalyzed: Vec<Arc<PageToIndex>> = {
            let state = self.shared.state();
            let entries = state.pending.iter().filter_map(|op| match op {
                Op::Put(entry) => Some(entry),
                Op::Remove { .. } => None,
            });
            entries.filter(|entry| entry.analyzed_document().is_none()).cloned().collect()
        };
        if unanalyzed.is_empty() {
            return;
        }
        let mut analyzer = self.shared.analyzer();
        let result = catch_panic(|| {
            // The indexer analyzes the oldest pages first, so this thread begins with the newest.
            unanalyzed.iter().rev().for_each(|entry| _ = entry.document(&mut analyzer));
            Ok(())
        });
        self.shared.give_back(analyzer);
        if let Err(problem) = result {
            tracing::error!(problem, "cannot analyze a page");
        }
    }

    /// Returns whether a search that starts now omits pages of these sources (`None`: of any
    /// source). These pages were pushed in bulk and are not analyzed yet.
    #[must_use]
    pub fn is_incomplete(&self, sources: Option<&[SourceId]>) -> bool {
        let state = self.shared.state();
        state.pending.iter().any(|op| match op {
            Op::Put(entry) => {
                !entry.is_due() && sources.is_none_or(|all| all.contains(&entry.source))
            }
            Op::Remove { .. } => false,
        })
    }

    fn wait_a_little(&self, state: &mut MutexGuard<'_, IndexState>) {
        self.shared.done.wait_for(state, Duration::from_millis(100));
    }

    /// Returns the best pages for a question among everything pushed before. An empty question has
    /// no results.
    ///
    /// # Errors
    /// [`IndexError::Damaged`] when the index on disk is damaged; the next [`Index::open`] replaces
    /// it. [`IndexError::Failed`] when this question could not be answered.
    pub fn search(&self, question: &Question) -> Result<SearchResults, IndexError> {
        self.with_view(question.view.as_deref(), |view, visible, languages, analyzer| {
            self.answer(view, visible, languages, question, analyzer)
        })
    }

    /// Runs `work` on the current view, the pages of `sources` in it (`None`: all pages), and the
    /// languages of these pages.
    pub(super) fn with_view<T, W>(
        &self,
        sources: Option<&[SourceId]>,
        mut work: W,
    ) -> Result<T, IndexError>
    where
        W: FnMut(&View, Option<&VisiblePages>, &[Lang], &mut Analyzer) -> tantivy::Result<T>,
    {
        let mut analyzer = self.shared.analyzer();
        let view = self.shared.view();
        let mut work = || {
            let (fields, cache) = (self.shared.fields, &self.shared.visible_docs);
            let visible =
                sources.map(|all| VisiblePages::of(&view, all, fields, cache, &mut analyzer));
            let visible = visible.transpose()?;
            let languages = match &visible {
                Some(visible) => visible.languages.clone(),
                None => view.corpus_languages(&mut analyzer),
            };
            work(&view, visible.as_ref(), &languages, &mut analyzer)
        };
        let result = catch_panic(|| work().map_err(|e: TantivyError| e.to_string()));
        self.shared.give_back(analyzer);
        result.map_err(|problem| {
            // The checksums tell whether the question or the files caused the failure.
            let files = || view.searcher.index().validate_checksum().map_err(|e| e.to_string());
            let is_intact = catch_panic(files).is_ok_and(|damaged| damaged.is_empty());
            tracing::error!(problem, is_intact, "a question could not be answered");
            if is_intact {
                return IndexError::Failed(problem);
            }
            mark_damaged(&self.shared.dir);
            self.shared.state().lasting_problem = Some(format!("it is damaged: {problem}"));
            IndexError::Damaged(problem)
        })
    }

    /// Returns the fields of the disk index.
    pub(super) fn fields(&self) -> Fields {
        self.shared.fields
    }

    fn answer(
        &self,
        view: &View,
        visible: Option<&VisiblePages>,
        languages: &[Lang],
        question: &Question,
        analyzer: &mut Analyzer,
    ) -> tantivy::Result<SearchResults> {
        let mut plan = Plan::new(question, languages, analyzer);
        if plan.is_empty() || question.limit == 0 {
            return Ok(SearchResults {
                hits: Vec::new(),
                truncated: false,
                spelling: None,
                snippets: Snippeter::new(&plan, None),
            });
        }
        let limits = RankLimits::of(question);
        let mut found = self.find(view, &plan, visible, limits.candidates)?;
        let mut spelling = None;
        if !found.hits.candidates.iter().any(|candidate| candidate.names.tier() > 0) {
            let pages = (view, visible, self.shared.fields);
            spelling = typos::correct(&mut plan, question, &found.stats, pages, analyzer)?;
        }
        if spelling.is_some() {
            found = self.find(view, &plan, visible, limits.candidates)?;
        }
        weigh_joined(&mut plan, &found.stats);
        let has_pages = |plan: &Plan| self.has_match(view, plan, visible);
        let divided = divided_words(
            (question, &plan, &found.stats),
            (view, self.shared.fields),
            languages,
            analyzer,
            &has_pages,
        )?;
        let overlay_entry = |id| match visible {
            Some(visible) => visible.overlay_entries.iter().find(|entry| entry.id == id).cloned(),
            None => view.overlay.get(&id).and_then(|slot| slot.entry.clone()),
        };
        let mut hits = rank(&found, &plan, limits, &overlay_entry)?;
        let mut truncated = found.hits.candidates.len() > question.limit;
        if let (Some(spelling), Some(first)) = (&mut spelling, hits.first()) {
            spelling.explain(&group_shares(&found, &plan, first.id));
        }
        for split in divided {
            let word_idf = split.word_idf(&plan, &found.stats);
            let mut plan = split.plan(question, languages, analyzer);
            let found = self.find(view, &plan, visible, limits.candidates)?;
            split.weigh(&mut plan, &found.stats, word_idf);
            weigh_joined(&mut plan, &found.stats);
            let pages = rank(&found, &plan, limits, &overlay_entry)?;
            truncated |= hits.len() + pages.len() > question.limit;
            merge_divided(&mut hits, pages, question.limit);
        }
        Ok(SearchResults {
            hits,
            truncated,
            spelling,
            snippets: Snippeter::new(&plan, Some(&found.stats)),
        })
    }

    /// Returns whether a visible page meets the conditions of a plan without words.
    pub(super) fn has_match(
        &self,
        view: &View,
        plan: &Plan,
        visible: Option<&VisiblePages>,
    ) -> tantivy::Result<bool> {
        if visible.is_some() {
            return Ok(!self.find(view, plan, visible, 1)?.hits.candidates.is_empty());
        }
        let mut entries = view.overlay.values().filter_map(|slot| slot.entry.as_ref());
        if !overlay::matching_ids(&mut entries, plan).is_empty() {
            return Ok(true);
        }
        DiskSearch::new(&view.searcher, self.shared.fields, plan, &view.overlay)?.has_match()
    }

    /// Returns the statistics and about `max_candidates` candidates of a plan.
    pub(super) fn find<'v>(
        &self,
        view: &'v View,
        plan: &Plan,
        visible: Option<&VisiblePages>,
        max_candidates: usize,
    ) -> tantivy::Result<PlanMatches<'v>> {
        let fields = self.shared.fields;
        if let Some(visible) = visible {
            return restricted_search::search(
                &view.searcher,
                fields,
                plan,
                visible,
                max_candidates,
            );
        }
        let disk_search = DiskSearch::new(&view.searcher, fields, plan, &view.overlay)?;
        let mut stats = disk_search.stats();
        let overlay_matches = overlay::count_pages(&view.overlay, plan, &mut stats);
        let mut hits = MatchTable::new(plan.groups.len());
        disk_search.collect(&stats, max_candidates, &mut hits)?;
        overlay::add_candidates(&overlay_matches, plan, &mut hits);
        Ok(PlanMatches { stats, hits, segments: disk_search.into_segments() })
    }

    /// Waits until everything pushed is committed to disk.
    ///
    /// # Errors
    /// [`IndexError::Unwritable`] when a commit fails, [`IndexError::Stopped`] when the indexing
    /// thread has ended.
    pub fn flush(&self) -> Result<(), IndexError> {
        let mut state = self.shared.state();
        let target = state.pushed;
        let failures = state.failures;
        state.flush = state.flush.max(target);
        self.shared.wake.notify_one();
        while state.committed < target {
            if state.failures != failures {
                let problem = state.problem.clone().unwrap_or_default();
                return Err(IndexError::Unwritable(problem));
            }
            if state.has_ended {
                return Err(IndexError::Stopped("its thread has ended".into()));
            }
            self.wait_a_little(&mut state);
        }
        Ok(())
    }

    /// Removes the words of removed and former texts from the disk: commits everything, and writes
    /// the segments that have removed documents again.
    ///
    /// # Errors
    /// Like [`Index::flush`].
    pub fn erase_removed(&self) -> Result<(), IndexError> {
        self.flush()?;
        let mut state = self.shared.state();
        let failures = state.failures;
        state.erase = true;
        self.shared.wake.notify_one();
        while state.erase {
            if state.has_ended {
                return Err(IndexError::Stopped("its thread has ended".into()));
            }
            self.wait_a_little(&mut state);
        }
        match state.failures == failures {
            true => Ok(()),
            false => Err(IndexError::Unwritable(state.problem.clone().unwrap_or_default())),
        }
    }

    /// Returns the sequence number of the last change on disk; all earlier changes are there, too.
    #[must_use]
    pub fn committed_seq(&self) -> u64 {
        self.shared.state().claimed
    }

    /// Returns how many changes are not on disk yet.
    #[must_use]
    pub fn uncommitted_count(&self) -> u64 {
        let state = self.shared.state();
        state.pushed.saturating_sub(state.claimed)
    }

    /// Returns the number of pages that can be found.
    #[must_use]
    pub fn doc_count(&self) -> u64 {
        let view = self.shared.view();
        let replaced =
            view.overlay.keys().filter(|id| self.is_on_disk(&view.searcher, **id)).count() as u64;
        let new = view.overlay.values().filter(|slot| slot.entry.is_some()).count() as u64;
        (view.searcher.num_docs() + new).saturating_sub(replaced)
    }

    /// Returns the number of segments.
    #[cfg(test)]
    pub(super) fn segments(&self) -> usize {
        self.shared.view().searcher.segment_readers().len()
    }

    fn is_on_disk(&self, searcher: &Searcher, id: u64) -> bool {
        use tantivy::{DocSet, TERMINATED};
        let field = self.shared.fields.id;
        searcher.segment_readers().iter().any(|reader| {
            let postings = reader.inverted_index(field).and_then(|index| {
                Ok(index
                    .read_postings(&Term::from_field_u64(field, id), IndexRecordOption::Basic)?)
            });
            let Ok(Some(mut postings)) = postings else { return false };
            while postings.doc() != TERMINATED {
                if !reader.is_deleted(postings.doc()) {
                    return true;
                }
                postings.advance();
            }
            false
        })
    }

    /// Returns why the index cannot be written, or is incomplete.
    #[must_use]
    pub fn problem(&self) -> Option<String> {
        let state = self.shared.state();
        state.problem.clone().or_else(|| state.lasting_problem.clone())
    }

    /// Commits everything pushed and ends the indexing thread.
    ///
    /// # Errors
    /// Like [`Index::flush`]; the thread has ended in any case.
    pub fn close(self) -> Result<(), IndexError> {
        self.flush()
    }
}

impl Drop for Index {
    fn drop(&mut self) {
        self.shared.state().stop = true;
        self.shared.wake.notify_one();
        if let Some(thread) = self.thread.take()
            && thread.join().is_err()
        {
            tracing::error!("the indexing thread panicked");
        }
    }
}

impl std::fmt::Debug for Index {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Index")
            .field("dir", &self.shared.dir)
            .field("committed", &self.committed_seq())
            .finish()
    }
}
