//! Views: stores of past states, made when they are asked for, and kept while they are used.
//!
//! A view is right for all times between two steps of the store, so the same day can be asked for
//! again and again. It is removed when it is unused for three minutes, when two newer ones are
//! there, when a change arrives that belongs before its time (of another machine), and when any
//! page is purged: a view has copies of texts.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

use brain_base::caller::{Caller, Visibility};
use brain_base::home::create_private_dir;
use brain_protocol::{Fault, FaultCode, SourceId};
use brain_service::Progress;
use brain_service::batch::in_batches;
use brain_store::{PastPage, Reader, StepKind, StoreError};
use parking_lot::Mutex;

use super::page::whole_page_at_step;
use super::{AsOfTime, OpenPastBrain, PastBrain};
use crate::PastService;

/// Maximum number of views. One more exists while it is made.
const MAX_VIEWS: usize = 2;
/// How long an unused view stays, in milliseconds.
const IDLE_MS: i64 = 3 * 60 * 1000;

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

/// The views, and what the store's steps say about them.
pub(crate) struct Views {
    /// The directory of all views, which has nothing else.
    root: PathBuf,
    opener: Arc<dyn OpenPastBrain>,
    state: Mutex<State>,
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
        Self { root, opener, state: Mutex::default() }
    }

    /// Removes all views.
    pub(crate) fn clear(&self) {
        self.state.lock().views.clear();
    }

    /// Removes the views that are unused, or not right any more. Does nothing while a view is made.
    pub(crate) fn drop_old(&self, service: &PastService) -> Result<(), StoreError> {
        let Some(mut state) = self.state.try_lock().filter(|state| !state.views.is_empty()) else {
            return Ok(());
        };
        state.read_steps(&service.store.read(Visibility::All)?)?;
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
    pub(crate) fn get(
        &self,
        service: &PastService,
        AsOfTime { time, last_step: at }: AsOfTime,
        progress: &dyn Progress,
    ) -> Result<Arc<View>, Fault> {
        // Held while a view is made: two at once would take twice the memory and disk.
        let mut state = self.state.lock();
        let reader = service.store.read(Visibility::All)?.leaving_out_damage();
        state.read_steps(&reader)?;
        let now = service.clock.now();
        if let Some(found) =
            state.views.iter_mut().find(|view| (view.from..view.until).contains(&at))
        {
            found.used_at = now;
            return Ok(Arc::clone(&found.view));
        }
        while state.views.len() >= MAX_VIEWS {
            let oldest = (0..state.views.len()).min_by_key(|i| state.views[*i].used_at);
            state.views.swap_remove(oldest.unwrap_or_default());
        }
        let (mut from, mut until) = (i64::MIN, i64::MAX);
        reader.each_step_head(0, |_, step| {
            match step.at <= at {
                true => from = from.max(step.at),
                false => until = until.min(step.at),
            }
            true
        })?;
        state.made += 1;
        let dir = ViewDir(self.root.join(state.made.to_string()));
        let view = Arc::new(self.make(service, &reader, dir, (time, at), progress)?);
        state.views.push(CachedView { from, until, used_at: now, view: Arc::clone(&view) });
        Ok(view)
    }

    fn make(
        &self,
        service: &PastService,
        reader: &Reader,
        dir: ViewDir,
        (time, at): (i64, i64),
        progress: &dyn Progress,
    ) -> Result<View, Fault> {
        for path in [&self.root, &dir.0] {
            create_private_dir(path).map_err(|e| {
                let message = format!("cannot create {}: {e}", path.display());
                Fault::new(FaultCode::Io, message)
                    .hint("a question about the past needs a copy of that state in brain's home")
            })?;
        }
        let brain = self.opener.open(&dir.0, time)?;
        brain.add_sources(reader.sources()?)?;
        let mut states: Vec<(u64, u64, u64)> = Vec::new();
        reader.each_page(|(_, _, record)| {
            if let Some((number, step)) = reader.step_at(record.seq, at)? {
                states.push((number, step.page, record.bytes));
            }
            Ok(())
        })?;
        // Of two pages with one name, that with the later change has it.
        states.sort_unstable_by_key(|state| std::cmp::Reverse(state.0));
        let (mut done, mut not_kept, total) = (0, BTreeMap::new(), states.len() as u64);
        let read = |(number, id, _): &(u64, u64, u64)| read_page(reader, *id, *number);
        in_batches(
            &states,
            |state| state.2,
            read,
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
                match progress.at(done, total) && !service.stop.is_cancelled() {
                    true => Ok(()),
                    false => Err(Fault::new(FaultCode::Cancelled, "the request ended early")),
                }
            },
        )?;
        Ok(View { brain, not_kept, _dir: dir })
    }
}

impl State {
    /// Reads the steps that are new, and removes the views for which they matter.
    fn read_steps(&mut self, reader: &Reader) -> Result<(), StoreError> {
        let Self { seq, purges, views, .. } = self;
        let mut is_purged = false;
        reader.each_step_head(*seq, |number, step| {
            *seq = number;
            if step.kind == StepKind::Purged {
                purges.push((number, step.at));
                is_purged = true;
            }
            views.retain_mut(|view| {
                if step.at > view.from {
                    view.until = view.until.min(step.at);
                }
                step.at > view.from
            });
            true
        })?;
        if is_purged {
            views.clear();
        }
        Ok(())
    }
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
