//! The index as others see it, and the state that searches and the indexer share.

use std::{
    collections::{HashMap, VecDeque},
    path::{Path, PathBuf},
    sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError},
    thread::JoinHandle,
    time::{Duration, Instant},
};

use brain_protocol::SourceId;
use tantivy::{Searcher, Term, schema::IndexRecordOption};

use brain_base::home::free_bytes;

use super::{
    Change, Found, IndexError, Opened, Options, Question, Snippeter,
    disk::{self, condemn, guarded},
    document::{Analyzer, Entry, key},
    gather::Gather,
    indexer::Indexer,
    language::Lang,
    overlay::{self, Overlay, Slot},
    plan::Plan,
    rank::{Hits, rank},
    schema::Fields,
    visible::{Parts, Visible},
    within,
};

/// An indexer that sleeps no longer than this looks by itself for what was pushed.
const NAP: Duration = Duration::from_millis(500);
/// Room on the disk that merging leaves to others, in bytes.
const RESERVE: u64 = 64 << 20;
/// The least number of candidates that are scored in full.
const CANDIDATES: usize = 100;

/// A full-text index that finds what was pushed, at once.
///
/// Cheap calls from any thread. Dropping it ends its thread without a commit: what was not committed is pushed again
/// after the next [`Index::open`].
pub struct Index {
    shared: Arc<Shared>,
    thread: Option<JoinHandle<()>>,
}

/// What searches and the indexer share.
pub(super) struct Shared {
    state: Mutex<State>,
    /// Wakes the indexer.
    wake: Condvar,
    /// Wakes those who wait for the indexer.
    done: Condvar,
    /// Analyzers nobody uses at the moment.
    analyzers: Mutex<Vec<Analyzer>>,
    /// What callers may see of segments, as far as it was worked out.
    parts: Parts,
    pub(super) fields: Fields,
    pub(super) options: Options,
    default_language: Lang,
    dir: PathBuf,
}

/// What is pushed but not committed, and what is to be done about it.
pub(super) struct State {
    /// Pushed, and not in the view yet: since the last search, or in bulk and not taken apart yet.
    fresh: Vec<Op>,
    /// Pushed since the indexer last looked.
    pub(super) feed: VecDeque<Op>,
    view: Arc<View>,
    pub(super) pushed: u64,
    /// The last change that the searcher has.
    pub(super) committed: u64,
    /// The last change that the disk claims to have: less, when changes were let go of.
    pub(super) claimed: u64,
    pub(super) last_push: Instant,
    /// A flush waits for this change.
    pub(super) flush: u64,
    /// How many commits have failed.
    failures: u64,
    /// Why the last commit failed.
    problem: Option<String>,
    /// What commits do not mend.
    pub(super) standing: Option<String>,
    pub(super) stop: bool,
    /// The indexer waits for long, and must be woken.
    pub(super) parked: bool,
    ended: bool,
}

/// A change on its way.
#[derive(Clone)]
pub(super) enum Op {
    Put(Arc<Entry>),
    Remove { id: u64, seq: u64 },
}

impl Op {
    pub(super) fn seq(&self) -> u64 {
        match self {
            Self::Put(entry) => entry.seq,
            Self::Remove { seq, .. } => *seq,
        }
    }

    pub(super) fn id(&self) -> u64 {
        match self {
            Self::Put(entry) => entry.id,
            Self::Remove { id, .. } => *id,
        }
    }

    /// Whether the next search must see it. What is removed costs nothing to see.
    fn is_due(&self) -> bool {
        match self {
            Self::Put(entry) => entry.is_due(),
            Self::Remove { .. } => true,
        }
    }

    /// Bytes of memory it takes, about.
    pub(super) fn weight(&self) -> usize {
        match self {
            Self::Put(entry) => entry.weight,
            Self::Remove { .. } => 200,
        }
    }
}

/// What one search sees: a state of the disk index and everything newer.
#[derive(Clone)]
pub(super) struct View {
    pub(super) searcher: Searcher,
    pub(super) overlay: Overlay,
    /// The languages on disk, most used first.
    pub(super) languages: Vec<Lang>,
}

impl View {
    /// The default language, then those of the pages; takes the newest pages apart.
    pub(super) fn every_language(&self, analyzer: &mut Analyzer) -> Vec<Lang> {
        let mut languages = vec![analyzer.default_language()];
        let mut note = |lang: Lang| {
            if !languages.contains(&lang) {
                languages.push(lang);
            }
        };
        self.languages.iter().copied().for_each(&mut note);
        for slot in self.overlay.values() {
            if let Some(entry) = &slot.entry {
                note(entry.document(analyzer).lang);
            }
        }
        languages
    }

    fn take(&mut self, op: Op) {
        let (id, seq) = (op.id(), op.seq());
        // Changes may be pushed again after a reopening: the newest wins.
        if self.overlay.get(&id).is_some_and(|slot| slot.seq > seq) {
            return;
        }
        let entry = match op {
            Op::Put(entry) => Some(entry),
            Op::Remove { .. } => None,
        };
        self.overlay.insert(id, Slot { seq, entry });
    }
}

impl Shared {
    pub(super) fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn analyzer(&self) -> Analyzer {
        let spare = self.analyzers.lock().unwrap_or_else(PoisonError::into_inner).pop();
        spare.unwrap_or_else(|| Analyzer::new(self.default_language))
    }

    fn give_back(&self, analyzer: Analyzer) {
        let mut spare = self.analyzers.lock().unwrap_or_else(PoisonError::into_inner);
        if spare.len() < 4 {
            spare.push(analyzer);
        }
    }

    pub(super) fn default_language(&self) -> Lang {
        self.default_language
    }

    /// Waits until there is something to do, or until `due`.
    pub(super) fn wait<'a>(
        &self,
        mut state: MutexGuard<'a, State>,
        due: Option<Instant>,
    ) -> MutexGuard<'a, State> {
        match due {
            Some(due) => {
                let left = due.saturating_duration_since(Instant::now());
                state.parked = left > NAP;
                let mut state =
                    self.wake.wait_timeout(state, left).unwrap_or_else(PoisonError::into_inner).0;
                state.parked = false;
                state
            }
            None => {
                state.parked = true;
                let mut state = self.wake.wait(state).unwrap_or_else(PoisonError::into_inner);
                state.parked = false;
                state
            }
        }
    }

    /// Whether the disk takes another copy of the index, and is not full then.
    pub(super) fn has_room(&self) -> bool {
        let Ok(free) = free_bytes(&self.dir) else { return true };
        let files = std::fs::read_dir(&self.dir).into_iter().flatten().flatten();
        let size: u64 = files.filter_map(|file| Some(file.metadata().ok()?.len())).sum();
        free > size.saturating_mul(2).saturating_add(RESERVE)
    }

    /// Tells those who wait that the indexer has got on.
    pub(super) fn got_on(&self) {
        self.done.notify_all();
    }

    /// Puts a new state of the disk index in place, which has every change up to `seq`, and forgets those.
    pub(super) fn committed(
        &self,
        searcher: Searcher,
        languages: Vec<Lang>,
        seq: u64,
        claimed: u64,
    ) {
        let old = {
            let mut state = self.state();
            state.fresh.retain(|op| op.seq() > seq);
            state.committed = seq.max(state.committed);
            state.claimed = claimed;
            state.problem = None;
            let kept = state.view.overlay.iter().filter(|(_, slot)| slot.seq > seq);
            let overlay = kept.map(|(id, slot)| (*id, slot.clone())).collect();
            std::mem::replace(&mut state.view, Arc::new(View { searcher, overlay, languages }))
        };
        self.got_on();
        // Thousands of pages are let go of outside the lock.
        drop(old);
    }

    /// Puts the same state of the disk index in place, in other segments.
    pub(super) fn merged(&self, searcher: Searcher) {
        let old = {
            let mut state = self.state();
            std::mem::replace(&mut Arc::make_mut(&mut state.view).searcher, searcher)
        };
        drop(old);
    }

    /// Notes that the disk did not take a commit.
    pub(super) fn failed(&self, problem: String) {
        tracing::warn!(problem, "the search index cannot be written; trying again later");
        let mut state = self.state();
        state.problem = Some(problem);
        state.failures += 1;
        state.flush = 0;
        drop(state);
        self.got_on();
    }

    /// Forgets changes that the disk did not take.
    pub(super) fn let_go(&self, ops: &[Op]) {
        let mut state = self.state();
        let last = ops.iter().map(Op::seq).max().unwrap_or(0);
        state.fresh.retain(|op| op.seq() > last);
        let view = Arc::make_mut(&mut state.view);
        for op in ops {
            if view.overlay.get(&op.id()).is_some_and(|slot| slot.seq == op.seq()) {
                view.overlay.remove(&op.id());
            }
        }
    }

    pub(super) fn ended(&self) {
        self.state().ended = true;
        self.got_on();
    }

    /// What a search that begins now must see.
    fn view(&self) -> Arc<View> {
        let mut state = self.state();
        let due: Vec<Op> = state.fresh.extract_if(.., |op| op.is_due()).collect();
        if !due.is_empty() {
            let view = Arc::make_mut(&mut state.view);
            due.into_iter().for_each(|op| view.take(op));
        }
        Arc::clone(&state.view)
    }
}

impl Index {
    /// Opens the index of the store named `store_id` in `dir`, or makes an empty one. `store_seq` is the store's last
    /// change; an index that claims to know more belongs to another store.
    ///
    /// An index that cannot be used is replaced, and [`Opened::rebuilt`] says why; only files of the index in `dir` are
    /// deleted. When `dir` cannot be written the index lives in memory, and [`Index::problem`] says so.
    ///
    /// # Errors
    /// When the indexing thread cannot be started.
    pub fn open(
        dir: &Path,
        store_id: &str,
        store_seq: u64,
        options: Options,
    ) -> Result<(Self, Opened), IndexError> {
        let disk = disk::open(dir, store_id, store_seq)?;
        let opened = Opened { seq: disk.seq, rebuilt: disk.rebuilt.clone() };
        let searcher = disk.reader.searcher();
        let languages = languages(&searcher, disk.fields);
        let view = View { searcher, overlay: HashMap::default(), languages };
        let shared = Arc::new(Shared {
            state: Mutex::new(State {
                fresh: Vec::new(),
                feed: VecDeque::new(),
                view: Arc::new(view),
                pushed: disk.seq,
                committed: disk.seq,
                claimed: disk.seq,
                last_push: Instant::now(),
                flush: 0,
                failures: 0,
                problem: None,
                standing: disk.problem.clone(),
                stop: false,
                parked: false,
                ended: false,
            }),
            wake: Condvar::new(),
            done: Condvar::new(),
            analyzers: Mutex::default(),
            parts: Parts::default(),
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
        Ok((Self { shared, thread: Some(thread) }, opened))
    }

    /// Takes changes in, in the order of their commits. Costs microseconds: they are only put in line.
    pub fn push(&self, changes: Vec<Change>) {
        self.add(changes, false);
    }

    /// The same for changes of which nobody has been told yet, such as those of a running import. Searches leave such
    /// a page out until the indexer has taken it apart, or [`Index::settle`]: to do that for thousands of pages would
    /// take a search a second.
    pub fn push_bulk(&self, changes: Vec<Change>) {
        self.add(changes, true);
    }

    fn add(&self, changes: Vec<Change>, bulk: bool) {
        let ops: Vec<Op> = changes
            .into_iter()
            .map(|change| match change {
                Change::Put(page) => Op::Put(Arc::new(Entry::new(page, bulk))),
                Change::Remove { id, seq } => Op::Remove { id, seq },
            })
            .collect();
        let Some(last) = ops.iter().map(Op::seq).max() else { return };
        let mut state = self.shared.state();
        state.pushed = state.pushed.max(last);
        state.last_push = Instant::now();
        state.fresh.extend(ops.iter().cloned());
        state.feed.extend(ops);
        // An indexer that naps looks by itself soon; waking it at every push costs more than the push.
        let wake = state.parked || state.feed.len() >= 256;
        drop(state);
        if wake {
            self.shared.wake.notify_one();
        }
    }

    /// Waits until fewer than `backlog` pushed changes have not been taken up by the indexer, so that a bulk import
    /// does not fill the memory. Returns at once when the index cannot be written.
    pub fn wait_below(&self, backlog: usize) {
        let mut state = self.shared.state();
        while state.feed.len() >= backlog.max(1) && state.problem.is_none() && !state.ended {
            self.shared.wake.notify_one();
            state = self.wait_a_little(state);
        }
    }

    /// Lets every search that begins after this see everything that was pushed before it. The pages that have not been
    /// taken apart yet are, here and now.
    pub fn settle(&self) {
        let waiting: Vec<Arc<Entry>> = {
            let state = self.shared.state();
            let entries = state.fresh.iter().filter_map(|op| match op {
                Op::Put(entry) => Some(entry),
                Op::Remove { .. } => None,
            });
            entries.filter(|entry| entry.ready().is_none()).cloned().collect()
        };
        if waiting.is_empty() {
            return;
        }
        let mut analyzer = self.shared.analyzer();
        let settled = guarded(|| {
            // The indexer comes from the other end.
            waiting.iter().rev().for_each(|entry| _ = entry.document(&mut analyzer));
            Ok(())
        });
        self.shared.give_back(analyzer);
        if let Err(problem) = settled {
            tracing::error!(problem, "a page could not be taken apart");
        }
    }

    /// Whether a search that begins now leaves pages of these sources out, or of any: pages that were pushed in bulk and
    /// have not been taken apart yet.
    #[must_use]
    pub fn leaves_out(&self, sources: Option<&[SourceId]>) -> bool {
        let state = self.shared.state();
        state.fresh.iter().any(|op| match op {
            Op::Put(entry) => {
                !entry.is_due() && sources.is_none_or(|all| all.contains(&entry.source))
            }
            Op::Remove { .. } => false,
        })
    }

    fn wait_a_little<'a>(&self, state: MutexGuard<'a, State>) -> MutexGuard<'a, State> {
        self.shared
            .done
            .wait_timeout(state, Duration::from_millis(100))
            .unwrap_or_else(PoisonError::into_inner)
            .0
    }

    /// The best pages for a question, out of everything pushed before. An empty question has no answer.
    ///
    /// # Errors
    /// When the index on disk is found damaged: it is replaced at the next [`Index::open`]. When this one question
    /// could not be answered.
    pub fn search(&self, question: &Question) -> Result<Found, IndexError> {
        self.look(|view, analyzer| self.answer(view, question, analyzer))
    }

    /// Looks something up in what a search that begins now must see.
    pub(super) fn look<T>(
        &self,
        mut how: impl FnMut(&View, &mut Analyzer) -> tantivy::Result<T>,
    ) -> Result<T, IndexError> {
        let mut analyzer = self.shared.analyzer();
        let view = self.shared.view();
        let result = guarded(|| how(&view, &mut analyzer).map_err(|e| e.to_string()));
        self.shared.give_back(analyzer);
        result.map_err(|problem| {
            // The fault may be the question's; the files say.
            let files = || view.searcher.index().validate_checksum().map_err(|e| e.to_string());
            let sound = guarded(files).is_ok_and(|damaged| damaged.is_empty());
            tracing::error!(problem, sound, "a question could not be answered");
            if sound {
                return IndexError::Failed(problem);
            }
            condemn(&self.shared.dir);
            self.shared.state().standing = Some(format!("it is damaged: {problem}"));
            IndexError::Damaged(problem)
        })
    }

    /// The fields of the disk index.
    pub(super) fn fields(&self) -> Fields {
        self.shared.fields
    }

    /// What somebody may see who sees `sources`; `None` when they see all.
    pub(super) fn visible(
        &self,
        view: &View,
        sources: Option<&[SourceId]>,
        analyzer: &mut Analyzer,
    ) -> tantivy::Result<Option<Visible>> {
        sources
            .map(|sources| Visible::of(view, sources, self.fields(), &self.shared.parts, analyzer))
            .transpose()
    }

    fn answer(
        &self,
        view: &View,
        question: &Question,
        analyzer: &mut Analyzer,
    ) -> tantivy::Result<Found> {
        let visible = self.visible(view, question.view.as_deref(), analyzer)?;
        let languages = match &visible {
            Some(visible) => visible.languages.clone(),
            None => view.every_language(analyzer),
        };
        let plan = Plan::new(question, &languages, analyzer);
        if plan.is_empty() || question.limit == 0 {
            return Ok(Found {
                hits: Vec::new(),
                truncated: false,
                snippets: Snippeter::new(&plan, None),
            });
        }
        // The best of few are easily among a few times as many; of many, a hundred more are enough.
        let most =
            CANDIDATES.max(question.limit.saturating_mul(4).min(question.limit + 200)).min(10_000);
        let (stats, hits) = match &visible {
            Some(visible) => {
                within::gather(&view.searcher, self.shared.fields, &plan, visible, most)?
            }
            None => {
                let gather = Gather::new(&view.searcher, self.shared.fields, &plan, &view.overlay)?;
                let mut stats = gather.stats();
                let newest = overlay::count(&view.overlay, &plan, &mut stats);
                let mut hits = Hits::new(plan.groups.len());
                gather.collect(&stats, most, &mut hits)?;
                overlay::collect(&newest, &plan, &mut hits);
                (stats, hits)
            }
        };
        let truncated = hits.candidates.len() > question.limit;
        let ranked = rank(&hits, &stats, &plan, question.limit, question.explain);
        Ok(Found { hits: ranked, truncated, snippets: Snippeter::new(&plan, Some(&stats)) })
    }

    /// Waits until everything pushed is committed to disk.
    ///
    /// # Errors
    /// When a commit fails, or the indexing thread has ended.
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
            if state.ended {
                return Err(IndexError::Stopped("its thread has ended".into()));
            }
            state = self.wait_a_little(state);
        }
        Ok(())
    }

    /// The last change on disk; all earlier ones are there too.
    #[must_use]
    pub fn committed_seq(&self) -> u64 {
        self.shared.state().claimed
    }

    /// How far the disk is behind, in change numbers.
    #[must_use]
    pub fn behind(&self) -> u64 {
        let state = self.shared.state();
        state.pushed.saturating_sub(state.claimed)
    }

    /// How many pages can be found.
    #[must_use]
    pub fn doc_count(&self) -> u64 {
        let view = self.shared.view();
        let replaced =
            view.overlay.keys().filter(|id| self.is_on_disk(&view.searcher, **id)).count() as u64;
        let new = view.overlay.values().filter(|slot| slot.entry.is_some()).count() as u64;
        (view.searcher.num_docs() + new).saturating_sub(replaced)
    }

    /// How many segments a search looks through.
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

    /// What keeps the index from being written, or from being whole.
    #[must_use]
    pub fn problem(&self) -> Option<String> {
        let state = self.shared.state();
        state.problem.clone().or_else(|| state.standing.clone())
    }

    /// Commits what was pushed and ends the indexing thread.
    ///
    /// # Errors
    /// As [`Index::flush`]. The thread has ended all the same.
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

/// The languages of the pages on disk, most used first. What cannot be read is left out.
pub(super) fn languages(searcher: &Searcher, fields: Fields) -> Vec<Lang> {
    let mut counts: Vec<(u64, Lang)> = Lang::all()
        .map(|lang| {
            let key = super::document::key_of(key::LANGUAGE, lang.code());
            (searcher.doc_freq(&Term::from_field_text(fields.keys, &key)).unwrap_or(0), lang)
        })
        .filter(|(count, _)| *count > 0)
        .collect();
    counts.sort_unstable_by(|a, b| b.cmp(a));
    counts.into_iter().map(|(_, lang)| lang).collect()
}
