//! Keeping the full-text index in step with the store.
//!
//! The index is derived: it knows up to which change it has seen the store. At start it catches up
//! from there, in the background when that takes long; from then on every commit is pushed to it
//! before anybody is told that the commit happened. So a search that starts after an acknowledged
//! write sees it.

use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

use brain_protocol::{Fault, FaultCode, SourceId};

use brain_base::caller::Caller;
use brain_base::caller::Visibility;
use brain_config::Config;
use brain_search::{Change as IndexChange, Index, IndexError, IndexPage, Options};
use brain_store::{Change, CommitHook, Reader, Store, StoreError};

/// Changes that are caught up with before the daemon is ready; more than these go on behind it.
const CATCH_UP_AT_START: u64 = 1000;
/// Pages read from the store at once.
const BATCH: usize = 500;
/// How long the feeder rests after the store failed it.
const RETRY: Duration = Duration::from_secs(1);
/// How far the index may be behind while pages are fed to it in bulk: two batches, so that it has
/// work while one is stored.
const BACKLOG: usize = 2 * crate::batch::BATCH;

/// The index and what feeds it.
pub(crate) struct Follower {
    shared: Arc<Shared>,
    feeder: Mutex<Option<JoinHandle<()>>>,
}

#[derive(Default)]
struct Shared {
    index: OnceLock<Index>,
    /// Commits are pushed as they happen. Before that the feeder finds them in the store.
    live: AtomicBool,
    /// A search finds everything that was stored before this start.
    whole: AtomicBool,
    stop: AtomicBool,
    fed: AtomicU64,
    to_feed: AtomicU64,
    /// Why the feeder gave up.
    problem: Mutex<Option<String>>,
    rebuilt: Mutex<Option<String>>,
}

impl Follower {
    pub(crate) fn new() -> Self {
        Self { shared: Arc::default(), feeder: Mutex::default() }
    }

    /// What the store calls after each commit.
    pub(crate) fn hook(&self) -> CommitHook {
        let shared = Arc::clone(&self.shared);
        Box::new(move |changes| {
            if shared.live.load(Ordering::Acquire)
                && let Some(index) = shared.index.get()
            {
                for some in changes.chunk_by(|one, next| one.bulk == next.bulk) {
                    let bulk = some.first().is_some_and(|change| change.bulk);
                    push(index, some, bulk);
                }
            }
        })
    }

    /// Opens the index and catches up with the store.
    pub(crate) fn start(
        &self,
        store: &Arc<Store>,
        dir: &Path,
        config: &Config,
    ) -> Result<(), Fault> {
        let counts = store.read_through(Reader::counts)?;
        let options =
            Options { default_language: config.search.language.clone(), ..Options::default() };
        let (index, opened) = Index::open(dir, &crate::index_mark(store), counts.seq, options)
            .map_err(|e| index_fault(&e))?;
        if let Some(reason) = &opened.rebuilt
            && counts.seq > 0
        {
            tracing::warn!(reason, "the index is built anew");
            *self.shared.rebuilt.lock().unwrap_or_else(PoisonError::into_inner) =
                Some(reason.clone());
        }
        let _ = self.shared.index.set(index);
        let behind = store.read_through(|reader| reader.changes_after_count(opened.seq))?;
        self.shared.to_feed.store(behind, Ordering::Relaxed);
        if behind <= CATCH_UP_AT_START {
            let mut seq = opened.seq;
            self.shared.feed(store, &mut seq, false)?;
            return Ok(());
        }
        let (shared, store) = (Arc::clone(&self.shared), Arc::clone(store));
        let work = move || {
            let mut seq = opened.seq;
            while let Err(error) = shared.feed(&store, &mut seq, true) {
                tracing::error!(%error, "the index cannot follow the store");
                *shared.problem.lock().unwrap_or_else(PoisonError::into_inner) =
                    Some(error.to_string());
                std::thread::sleep(RETRY);
            }
            *shared.problem.lock().unwrap_or_else(PoisonError::into_inner) = None;
        };
        let feeder =
            std::thread::Builder::new().name("index-feeder".into()).spawn(work).map_err(|e| {
                Fault::new(FaultCode::Internal, format!("no thread for the index: {e}"))
            })?;
        *self.feeder.lock().unwrap_or_else(PoisonError::into_inner) = Some(feeder);
        Ok(())
    }

    pub(crate) fn get(&self) -> Option<&Index> {
        self.shared.index.get()
    }

    /// Lets every search from now on see at once what was stored before.
    pub(crate) fn settle(&self) {
        if let Some(index) = self.get() {
            index.settle();
        }
    }

    /// The same when what this gives is dropped.
    pub(crate) fn settle_at_end(&self) -> Settle<'_> {
        Settle(self)
    }

    /// Why a search that begins now, in these sources or in all, may leave pages out that are in
    /// the store, if it does.
    pub(crate) fn catching_up(&self, sources: Option<&[SourceId]>) -> Option<String> {
        self.get()
            .is_some_and(|index| index.leaves_out(sources))
            .then(|| "an import or a sync is at work: its newest pages are not found yet".into())
    }

    /// Why search may show less than there is, if it may.
    pub(crate) fn degraded(&self) -> Option<String> {
        if let Some(problem) =
            self.shared.problem.lock().unwrap_or_else(PoisonError::into_inner).as_ref()
        {
            return Some(format!("the index does not follow the store: {problem}"));
        }
        if !self.shared.whole.load(Ordering::Acquire) {
            let (fed, all) = (
                self.shared.fed.load(Ordering::Relaxed),
                self.shared.to_feed.load(Ordering::Relaxed),
            );
            return Some(format!("the index is being built: {fed} of {all} pages are in it"));
        }
        self.get()
            .and_then(Index::problem)
            .map(|p| format!("the index on disk is not kept up: {p}"))
    }

    /// The same for `caller`: who sees some sources only is not told how much there is of others.
    pub(crate) fn degraded_for(&self, caller: &Caller) -> Option<String> {
        let degraded = self.degraded()?;
        Some(if caller.sees_all() { degraded } else { "the index is not complete just now".into() })
    }

    /// Why the index was built anew at this start, if it was.
    pub(crate) fn rebuilt(&self) -> Option<String> {
        self.shared.rebuilt.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// How many changes are not in the index on disk, about.
    pub(crate) fn behind(&self) -> u64 {
        let shared = &self.shared;
        let to_come = match shared.live.load(Ordering::Acquire) {
            true => 0,
            false => {
                let all = shared.to_feed.load(Ordering::Relaxed);
                all.saturating_sub(shared.fed.load(Ordering::Relaxed)).max(1)
            }
        };
        self.get().map_or(0, Index::behind) + to_come
    }

    /// Lets the index come closer before more is pushed in bulk.
    pub(crate) fn wait(&self) {
        if let Some(index) = self.get() {
            index.wait_below(BACKLOG);
        }
    }

    /// Puts on disk what is only in memory.
    pub(crate) fn flush(&self) {
        if let Some(Err(error)) = self.get().map(Index::flush) {
            tracing::warn!(%error, "index not written");
        }
    }
}

/// Settles the index when it is dropped: see [`Follower::settle_at_end`].
pub(crate) struct Settle<'a>(&'a Follower);

impl Drop for Settle<'_> {
    fn drop(&mut self) {
        self.0.settle();
    }
}

impl Drop for Follower {
    fn drop(&mut self) {
        self.shared.stop.store(true, Ordering::Relaxed);
        if let Some(feeder) = self.feeder.lock().unwrap_or_else(PoisonError::into_inner).take() {
            let _ = feeder.join();
        }
    }
}

impl Shared {
    /// Pushes every change after `seq`, moving it along, then goes live. In bulk, searches need not
    /// see them before that.
    fn feed(self: &Arc<Self>, store: &Store, seq: &mut u64, bulk: bool) -> Result<(), StoreError> {
        loop {
            if self.stop.load(Ordering::Relaxed) {
                return Ok(());
            }
            let last = store.read_through(|reader| self.push_after(reader, *seq, bulk))?;
            if last == *seq {
                break;
            }
            *seq = last;
            if let Some(index) = self.index.get() {
                index.wait_below(BACKLOG);
            }
        }
        // The last step is taken on the writer's thread, where no commit can come between.
        let (shared, reader, from) = (Arc::clone(self), store.reader_factory(), *seq);
        store.write(move |_| {
            let mut seq = from;
            loop {
                let last = shared.push_after(&reader.read(Visibility::All)?, seq, bulk)?;
                if last == seq {
                    break;
                }
                seq = last;
            }
            shared.live.store(true, Ordering::Release);
            Ok(())
        })?;
        if let Some(index) = self.index.get().filter(|_| bulk) {
            index.settle();
        }
        self.whole.store(true, Ordering::Release);
        Ok(())
    }

    /// Pushes a batch of changes after `seq`; the sequence number of the last one.
    fn push_after(&self, reader: &Reader, seq: u64, bulk: bool) -> Result<u64, StoreError> {
        let changes = reader.changes_after(seq, BATCH)?;
        let Some(last) = changes.last().map(|change| change.seq) else { return Ok(seq) };
        if let Some(index) = self.index.get() {
            push(index, &changes, bulk);
        }
        self.fed.fetch_add(changes.len() as u64, Ordering::Relaxed);
        Ok(last)
    }
}

/// A failure of the index. The pages themselves are safe in the store.
pub(crate) fn index_fault(error: &IndexError) -> Fault {
    Fault::new(FaultCode::Io, error.to_string())
        .hint("`brain stop`; the next command starts anew and rebuilds what is damaged")
}

fn push(index: &Index, changes: &[Change], bulk: bool) {
    let changes = changes.iter().map(index_change).collect();
    if bulk { index.push_bulk(changes) } else { index.push(changes) }
}

fn index_change(change: &Change) -> IndexChange {
    match &change.page {
        None => IndexChange::Remove { id: change.id, seq: change.seq },
        Some(page) => IndexChange::Put(Arc::new(IndexPage {
            id: change.id,
            seq: change.seq,
            source: page.source.clone(),
            slug: page.slug.clone(),
            title: page.record.title.clone(),
            aliases: page.record.aliases.clone(),
            tags: page.record.tags.clone(),
            page_type: page.record.page_type.clone(),
            body: page.content.body.as_str().into(),
            updated_at: page.record.updated_at,
        })),
    }
}
