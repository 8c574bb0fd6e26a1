//! Views: stores of past states, made when they are asked for, and kept while they are used.
//!
//! If few pages differ, a view is a copy of the present's rows, in which these pages are replaced,
//! with a fork of its index. Otherwise all pages are read from their versions and indexed.
//!
//! A view is right for all times between two steps of the store, so the same day can be asked for
//! again and again. It is removed when it is unused for three minutes, when two newer ones are
//! there, when a change arrives that belongs before its time (of another machine), and when any
//! page is purged: a view has copies of texts.
//!
//! One view is made at a time. The owner waits for it; of all others a few wait, and not for long.
//! Views that others than the owner ask for take a part of the time only; see [`BuildBudget`].

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use brain_base::caller::{Caller, Visibility};
use brain_base::home::create_private_dir;
use brain_pages::index::IndexFork;
use brain_protocol::{Fault, FaultCode, Scope, SourceId};
use brain_service::Progress;
use brain_service::batch::in_batches;
use brain_store::{PastPage, Reader, StepHead, StepKind, StoreError};
use parking_lot::{Mutex, MutexGuard};

use super::build_budget::BuildBudget;
use super::page::whole_page_at_step;
use super::page_states::PageStates;
use super::{AsOfTime, CopiedPages, OpenPastBrain, PastBrain};
use crate::PastService;

/// Maximum number of views. One more exists while it is made.
const MAX_VIEWS: usize = 2;
/// How long an unused view stays, in milliseconds.
const IDLE_MS: i64 = 3 * 60 * 1000;
/// How often a waiting caller is asked whether it is still there.
const ASK_AGAIN: Duration = Duration::from_millis(200);
/// Maximum number of callers besides the owner that wait while a view is made.
const MAX_WAITING: usize = 4;
/// How long they wait.
const MAX_WAIT: Duration = Duration::from_secs(30);

/// A store of a past state.
pub(crate) struct View {
    /// Answers requests. Closed before its directory is removed.
    pub(crate) brain: Box<dyn PastBrain>,
    /// Pages that were there, and whose text is not kept any more, by source.
    not_kept: BTreeMap<SourceId, u64>,
    _dir: ViewDir,
}

impl View {
    /// Returns the number of pages in sources that the caller can see, whose text of that time is
    /// not kept any more.
    pub(crate) fn not_kept(&self, caller: &Caller) -> u64 {
        self.not_kept.iter().filter(|(source, _)| caller.may_use(source)).map(|(_, n)| n).sum()
    }
}

/// A directory that is removed with its view.
struct ViewDir(PathBuf);

impl Drop for ViewDir {
    fn drop(&mut self) {
        if let Err(error) = std::fs::remove_dir_all(&self.0) {
            tracing::warn!(dir = %self.0.display(), %error, "the copy of a past state stays");
        }
    }
}

struct CachedView {
    /// The first time for which the view is right, Unix milliseconds.
    from: i64,
    /// The first time for which it is not right any more.
    until: i64,
    used_at: i64,
    view: Arc<View>,
}

impl CachedView {
    /// Takes a new step into account. Returns whether the view is still right.
    fn follow(&mut self, step: &StepHead) -> bool {
        let is_later = step.at > self.from;
        if is_later {
            self.until = self.until.min(step.at);
        }
        is_later && step.kind != StepKind::Purged
    }
}

/// The views, and what the store's steps say about them.
pub(crate) struct Views {
    /// The directory of all views, which has nothing else.
    root: PathBuf,
    opener: Arc<dyn OpenPastBrain>,
    state: Mutex<State>,
    /// Held while a view is made: two at once would take twice the memory and disk. Locked before
    /// `state`.
    making: Mutex<BuildBudget>,
    /// Number of callers besides the owner that wait for `making`.
    waiting: AtomicUsize,
    /// Number of times that all views were removed.
    cleared: AtomicU64,
}

#[derive(Default)]
struct State {
    /// The number of the last step that was read.
    seq: u64,
    /// Numbers of all purges, with their times.
    purges: Vec<(u64, i64)>,
    views: Vec<CachedView>,
    /// Number of views that were made.
    made: u64,
}

impl Views {
    /// Creates the service, and removes what an earlier process left in `root`.
    pub(crate) fn new(root: PathBuf, opener: Arc<dyn OpenPastBrain>) -> Self {
        // There is usually nothing. A failure shows when a view is made.
        let _ = std::fs::remove_dir_all(&root);
        let making = Mutex::new(BuildBudget::new(Instant::now()));
        let (waiting, cleared) = (AtomicUsize::new(0), AtomicU64::new(0));
        Self { root, opener, state: Mutex::default(), making, waiting, cleared }
    }

    /// Removes all views. If one is being made, lets that end early and waits until it is removed.
    pub(crate) fn clear(&self) {
        self.cleared.fetch_add(1, Ordering::AcqRel);
        let _making = self.making.lock();
        self.state.lock().views.clear();
    }

    /// Removes the views that are unused, or not right any more.
    pub(crate) fn drop_old(&self, service: &PastService) -> Result<(), StoreError> {
        let mut state = self.state.lock();
        if state.views.is_empty() {
            return Ok(());
        }
        state.read_steps(&service.read(Visibility::All)?)?;
        let now = service.clock.now();
        state.views.retain(|view| (0..IDLE_MS).contains(&(now - view.used_at)));
        Ok(())
    }

    /// Returns the number of pages that were purged after `at`, in sources that the caller can see.
    pub(crate) fn purged_after(
        &self,
        service: &PastService,
        caller: &Caller,
        at: i64,
    ) -> Result<u64, StoreError> {
        let reader = service.store.read(caller.visibility())?;
        let state = self.state.lock();
        let mut count = 0;
        for (number, _) in state.purges.iter().filter(|(_, purged)| *purged > at) {
            count += u64::from(reader.step(*number)?.is_some());
        }
        Ok(count)
    }

    /// Returns the view of a time, and makes it if necessary.
    ///
    /// # Errors
    /// `busy` if another one is made, or too many were; see the head of this file. `cancelled` if
    /// the caller is gone.
    pub(crate) fn get(
        &self,
        service: &PastService,
        caller: &Caller,
        at: AsOfTime,
        progress: &dyn Progress,
    ) -> Result<Arc<View>, Fault> {
        if let Some(found) = self.find(service, at)? {
            return Ok(found);
        }
        let is_owner = caller.scopes().highest() == Scope::Admin && !caller.is_model();
        let mut budget = self.wait(is_owner, progress)?;
        // Somebody may have asked for the same time.
        if let Some(found) = self.find(service, at)? {
            return Ok(found);
        }
        let began = Instant::now();
        if let Some(wait) = budget.wait(began).filter(|_| !is_owner) {
            return Err(busy("too many past states were asked for", wait));
        }
        let made = self.make_and_keep(service, at, progress);
        if !is_owner {
            budget.add(began.elapsed());
        }
        made
    }

    /// Returns the view of a time if it is there.
    fn find(&self, service: &PastService, at: AsOfTime) -> Result<Option<Arc<View>>, Fault> {
        let mut state = self.state.lock();
        state.read_steps(&service.read(Visibility::All)?)?;
        let mut views = state.views.iter_mut();
        let found = views.find(|view| (view.from..view.until).contains(&at.last_step));
        Ok(found.map(|found| {
            found.used_at = service.clock.now();
            Arc::clone(&found.view)
        }))
    }

    /// Waits until no other view is made.
    fn wait(
        &self,
        is_owner: bool,
        progress: &dyn Progress,
    ) -> Result<MutexGuard<'_, BuildBudget>, Fault> {
        if let Some(free) = self.making.try_lock() {
            return Ok(free);
        }
        let is_too_long = || busy("another past state is being made", ASK_AGAIN);
        let waiting = Waiting::count(&self.waiting);
        if !is_owner && waiting.before >= MAX_WAITING {
            return Err(is_too_long());
        }
        let began = Instant::now();
        loop {
            match self.making.try_lock_for(ASK_AGAIN) {
                Some(free) => return Ok(free),
                None if !progress.at(0, 0) => return Err(cancelled()),
                None if !is_owner && began.elapsed() > MAX_WAIT => return Err(is_too_long()),
                None => {}
            }
        }
    }

    fn make_and_keep(
        &self,
        service: &PastService,
        at: AsOfTime,
        progress: &dyn Progress,
    ) -> Result<Arc<View>, Fault> {
        let cleared = self.cleared.load(Ordering::Acquire);
        // Before the snapshot, so that this one tells which pages the index lacks.
        let fork = self.opener.fork_index();
        let reader = service.read(Visibility::All)?.leaving_out_damage();
        let (mut from, mut until, mut last) = (i64::MIN, i64::MAX, 0);
        reader.each_step_head(0, |number, step| {
            last = number;
            match step.at <= at.last_step {
                true => from = from.max(step.at),
                false => until = until.min(step.at),
            }
            true
        })?;
        let dir = {
            let mut state = self.state.lock();
            while state.views.len() >= MAX_VIEWS {
                let oldest = (0..state.views.len()).min_by_key(|i| state.views[*i].used_at);
                state.views.swap_remove(oldest.unwrap_or_default());
            }
            state.made += 1;
            ViewDir(self.root.join(state.made.to_string()))
        };
        let is_purged = || self.cleared.load(Ordering::Acquire) != cleared;
        let goes_on = |done, total| match is_purged() {
            true => Err(busy("a page was purged", ASK_AGAIN)),
            false if progress.at(done, total) && !service.stop.is_cancelled() => Ok(()),
            false => Err(cancelled()),
        };
        let view = Arc::new(self.make((fork, &reader), dir, at, &goes_on)?);
        drop(reader);
        if is_purged() {
            return Err(busy("a page was purged", ASK_AGAIN));
        }
        let used_at = service.clock.now();
        let mut made = CachedView { from, until, used_at, view: Arc::clone(&view) };
        let mut state = self.state.lock();
        let reader = service.read(Visibility::All)?;
        state.read_steps(&reader)?;
        let mut is_right = true;
        reader.each_step_head(last, |_, step| {
            is_right &= made.follow(&step);
            is_right
        })?;
        if is_right {
            state.views.push(made);
        }
        Ok(view)
    }

    fn make(
        &self,
        (fork, reader): (Option<IndexFork>, &Reader),
        dir: ViewDir,
        AsOfTime { time, last_step: at }: AsOfTime,
        goes_on: &dyn Fn(u64, u64) -> Result<(), Fault>,
    ) -> Result<View, Fault> {
        for path in [&self.root, &dir.0] {
            create_private_dir(path).map_err(|e| {
                let message = format!("cannot create {}: {e}", path.display());
                Fault::new(FaultCode::Io, message)
                    .hint("a question about the past needs a copy of that state in brain's home")
            })?;
        }
        let known = fork.as_ref().map_or(0, |fork| fork.seq);
        let states = PageStates::of(reader, at, known)?;
        // The changes of one machine have one order, so no two pages had one name.
        let is_simple = states.differ_little() && reader.machine()?.is_none();
        let PageStates { mut pages, replaced, bytes } = states;
        let brain = match fork.filter(|_| is_simple) {
            Some(index) => {
                let brain =
                    self.opener.open(&dir.0, time, Some(CopiedPages { index, reader, bytes }))?;
                brain.remove_pages(replaced)?;
                pages.retain(|page| !page.is_present);
                brain
            }
            None => {
                let brain = self.opener.open(&dir.0, time, None)?;
                brain.add_sources(reader.sources()?)?;
                brain
            }
        };
        let (mut done, mut not_kept, total) = (0, BTreeMap::new(), pages.len() as u64);
        in_batches(
            &pages,
            |page| page.bytes,
            |page| read_page(reader, page.id, page.number),
            |pages: Vec<Result<_, Fault>>| {
                done += pages.len() as u64;
                let mut kept = Vec::with_capacity(pages.len());
                for page in pages {
                    match page? {
                        Ok(page) => kept.push(page),
                        Err(source) => *not_kept.entry(source).or_default() += 1,
                    }
                }
                brain.add_pages(kept)?;
                goes_on(done, total)
            },
        )?;
        Ok(View { brain, not_kept, _dir: dir })
    }
}

impl State {
    /// Reads the steps that are new, and removes the views for which they matter.
    fn read_steps(&mut self, reader: &Reader) -> Result<(), StoreError> {
        let Self { seq, purges, views, .. } = self;
        reader.each_step_head(*seq, |number, step| {
            *seq = number;
            if step.kind == StepKind::Purged {
                purges.push((number, step.at));
            }
            views.retain_mut(|view| view.follow(&step));
            true
        })
    }
}

/// Counts a caller that waits, until it is dropped.
struct Waiting<'a> {
    count: &'a AtomicUsize,
    /// The number of those that waited already.
    before: usize,
}

impl<'a> Waiting<'a> {
    fn count(count: &'a AtomicUsize) -> Self {
        Self { count, before: count.fetch_add(1, Ordering::AcqRel) }
    }
}

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        self.count.fetch_sub(1, Ordering::AcqRel);
    }
}

fn busy(why: &str, wait: Duration) -> Fault {
    let seconds = wait.as_secs() + 1;
    Fault::new(FaultCode::Busy, why.to_owned()).hint(format!(
        "try again in {seconds} s; a question about a time that was asked for lately, and one about \
         a single page's text, can be answered at once"
    ))
}

fn cancelled() -> Fault {
    Fault::new(FaultCode::Cancelled, "the request ended early")
}

/// Reads the page `id` as it was after its step `number`; the page's source if its text is not kept
/// any more, or is damaged.
fn read_page(reader: &Reader, id: u64, number: u64) -> Result<Result<PastPage, SourceId>, Fault> {
    let missing = || StoreError::Damaged(format!("page {id} or its step {number} is missing"));
    let entry = reader.by_id_including_deleted(id)?.ok_or_else(missing)?;
    let step = reader.step(number)?.ok_or_else(missing)?;
    match whole_page_at_step(reader, &entry, number, &step) {
        Ok(page) => Ok(page.ok_or(entry.0)),
        Err(fault) if fault.code == FaultCode::StoreDamaged => Ok(Err(entry.0)),
        Err(fault) => Err(fault),
    }
}
