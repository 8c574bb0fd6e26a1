//! Keeps the full-text index up to date with the store.
//!
//! The index records the sequence number of its last change. At start, the later changes of the
//! store are pushed to the index, in the background if they are many. From then on, every commit is
//! pushed before it is acknowledged. So a search finds every write that was acknowledged before.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};
use std::thread::JoinHandle;
use std::time::Duration;

use brain_protocol::{Command, Fault, FaultCode, Slug, SourceId, hint};
use parking_lot::Mutex;

use crate::page_days::page_days;
use crate::provenance::INGEST_KEYS;
use brain_base::caller::{Caller, Visibility};
use brain_config::Config;
use brain_page::{fields, file_title, is_first_sentence};
use brain_search::{Index, IndexChange, IndexError, IndexPage, Options};
use brain_store::{Change, CommitHook, Content, PageRecord, Reader, Store, StoreError};

/// The maximum number of changes that are pushed before the daemon is ready. More changes are
/// pushed in the background.
const MAX_CATCH_UP_AT_START: u64 = 1000;
/// Maximum number of changes that are read from the store at once.
const READ_BATCH: usize = 500;
/// The pause of the feeder's thread after a failure of the store.
const RETRY_PAUSE: Duration = Duration::from_secs(1);
/// The maximum number of changes that wait for the index during a bulk write: two batches, so that
/// the index has work while one is stored.
const MAX_BACKLOG: usize = 2 * brain_service::batch::BATCH;

/// The index, and the thread that pushes the store's earlier changes to it.
pub struct IndexFollower {
    dir: PathBuf,
    shared: Arc<FollowerState>,
    feeder: Mutex<Option<JoinHandle<()>>>,
}

#[derive(Default)]
struct FollowerState {
    index: OnceLock<Index>,
    /// Whether commits are pushed to the index. Before, the feeder reads changes from the store.
    is_live: AtomicBool,
    /// Whether a search finds everything that was stored before this start.
    is_complete: AtomicBool,
    stop: AtomicBool,
    /// Number of changes that the feeder has pushed.
    fed: AtomicU64,
    /// Number of changes that the index lacked at start.
    to_feed: AtomicU64,
    /// The last failure of the feeder.
    problem: Mutex<Option<String>>,
    /// The reason why the index was rebuilt at this start.
    rebuilt: Mutex<Option<String>>,
}

impl IndexFollower {
    /// Creates the follower of the index in `dir`.
    pub fn new(dir: PathBuf) -> Self {
        Self { dir, shared: Arc::default(), feeder: Mutex::default() }
    }

    /// Returns the directory of the index.
    pub fn dir(&self) -> &Path {
        &self.dir
    }

    /// Returns the hook that the store calls after each commit.
    pub fn hook(&self) -> CommitHook {
        let shared = Arc::clone(&self.shared);
        Box::new(move |changes| {
            if shared.is_live.load(Ordering::Acquire)
                && let Some(index) = shared.index.get()
            {
                for group in changes.chunk_by(|one, next| one.is_bulk == next.is_bulk) {
                    let bulk = group.first().is_some_and(|change| change.is_bulk);
                    push(index, group, bulk);
                }
            }
        })
    }

    /// Opens the index and catches up with the store.
    pub fn start(&self, store: &Arc<Store>, config: &Config) -> Result<(), Fault> {
        let counts = store.read_through(Reader::counts)?;
        let options =
            Options { default_language: config.search.language.clone(), ..Options::default() };
        let (index, opened) =
            Index::open(&self.dir, &crate::index::index_id(store), counts.seq, options)
                .map_err(|e| index_fault(&e))?;
        if let Some(reason) = &opened.rebuilt
            && counts.seq > 0
        {
            tracing::warn!(reason, "the index is rebuilt");
            *self.shared.rebuilt.lock() = Some(reason.clone());
        }
        let _ = self.shared.index.set(index);
        let missing_count = store.read_through(|reader| reader.changes_after_count(opened.seq))?;
        self.shared.to_feed.store(missing_count, Ordering::Relaxed);
        if missing_count <= MAX_CATCH_UP_AT_START {
            let mut seq = opened.seq;
            self.shared.feed(store, &mut seq, false)?;
            return Ok(());
        }
        let (shared, store) = (Arc::clone(&self.shared), Arc::clone(store));
        let feed_all = move || {
            let mut seq = opened.seq;
            while let Err(error) = shared.feed(&store, &mut seq, true) {
                tracing::error!(%error, "the index cannot follow the store");
                *shared.problem.lock() = Some(error.to_string());
                std::thread::sleep(RETRY_PAUSE);
            }
            *shared.problem.lock() = None;
        };
        let feeder = std::thread::Builder::new()
            .name("index-feeder".into())
            .spawn(feed_all)
            .map_err(|e| {
                Fault::new(FaultCode::Internal, format!("cannot start the index's thread: {e}"))
            })?;
        *self.feeder.lock() = Some(feeder);
        Ok(())
    }

    /// Returns an index of another store that begins with the pages of this one. Its hook pushes
    /// the changes of that store, which stay in memory. `None` if this index is not complete.
    pub fn fork(&self) -> Option<IndexFork> {
        let (index, seq) = self.get().filter(|_| self.is_complete())?.fork()?;
        let follower = Self::new(self.dir.clone());
        let _ = follower.shared.index.set(index);
        follower.shared.is_live.store(true, Ordering::Release);
        follower.shared.is_complete.store(true, Ordering::Release);
        Some(IndexFork { follower, seq })
    }

    /// Returns whether a search finds everything that was stored before this start.
    pub fn is_complete(&self) -> bool {
        self.shared.is_complete.load(Ordering::Acquire)
    }

    /// Returns the index; `None` until [`Self::start`] opened it.
    pub fn get(&self) -> Option<&Index> {
        self.shared.index.get()
    }

    /// Makes all changes that were pushed visible to the next searches.
    pub fn refresh(&self) {
        if let Some(index) = self.get() {
            index.analyze_pending();
        }
    }

    /// Returns a guard that refreshes the index when it is dropped.
    pub fn refresh_on_drop(&self) -> RefreshGuard<'_> {
        RefreshGuard(self)
    }

    /// Returns the reason why a search in these sources (`None`: in all) may miss the newest pages,
    /// or `None` if it finds all.
    pub fn incomplete_reason(&self, sources: Option<&[SourceId]>) -> Option<String> {
        self.get()
            .is_some_and(|index| index.is_incomplete(sources))
            .then(|| "an import or a sync is at work: its newest pages are not found yet".into())
    }

    /// Returns the reason why searches may be incomplete, or `None`.
    pub fn degraded(&self) -> Option<String> {
        if let Some(problem) = self.shared.problem.lock().as_ref() {
            return Some(format!("the index cannot follow the store: {problem}"));
        }
        if !self.shared.is_complete.load(Ordering::Acquire) {
            let (fed, all) = (
                self.shared.fed.load(Ordering::Relaxed),
                self.shared.to_feed.load(Ordering::Relaxed),
            );
            return Some(format!("the index is being built: {fed} of {all} pages are in it"));
        }
        self.get()
            .and_then(Index::problem)
            .map(|p| format!("the index on disk is out of date: {p}"))
    }

    /// Returns [`Self::degraded`] for `caller`. Restricted callers get no counts.
    pub fn degraded_for(&self, caller: &Caller) -> Option<String> {
        let degraded = self.degraded()?;
        Some(if caller.sees_all() { degraded } else { "the index is not complete now".into() })
    }

    /// Returns why the index was rebuilt at this start, if it was.
    pub fn rebuild_reason(&self) -> Option<String> {
        self.shared.rebuilt.lock().clone()
    }

    /// Returns the approximate number of changes that are not in the index on disk.
    pub fn uncommitted_count(&self) -> u64 {
        let shared = &self.shared;
        let not_fed = match shared.is_live.load(Ordering::Acquire) {
            true => 0,
            false => {
                let all = shared.to_feed.load(Ordering::Relaxed);
                all.saturating_sub(shared.fed.load(Ordering::Relaxed)).max(1)
            }
        };
        self.get().map_or(0, Index::uncommitted_count) + not_fed
    }

    /// Waits until fewer than `MAX_BACKLOG` changes wait for the index. Returns at once if the
    /// index cannot be written.
    pub fn wait_for_backlog(&self) {
        if let Some(index) = self.get() {
            index.wait_for_backlog_below(MAX_BACKLOG);
        }
    }

    /// Writes the index again without removed pages, so that no file has their words.
    pub fn erase_removed(&self) -> Result<(), String> {
        self.get().map_or(Ok(()), Index::erase_removed).map_err(|error| error.to_string())
    }

    /// Writes the part of the index that is in memory to disk.
    pub fn flush(&self) {
        if let Some(Err(error)) = self.get().map(Index::flush) {
            tracing::warn!(%error, "cannot write the index to disk");
        }
    }
}

/// An index that begins with the pages of another one; see [`IndexFollower::fork`].
pub struct IndexFork {
    /// Follows the other store.
    pub follower: IndexFollower,
    /// The sequence number of the last change of the first store that it has.
    pub seq: u64,
}

/// Refreshes the index when it is dropped: see [`IndexFollower::refresh_on_drop`].
pub struct RefreshGuard<'a>(&'a IndexFollower);

impl Drop for RefreshGuard<'_> {
    fn drop(&mut self) {
        self.0.refresh();
    }
}

impl Drop for IndexFollower {
    fn drop(&mut self) {
        self.shared.stop.store(true, Ordering::Relaxed);
        if let Some(feeder) = self.feeder.lock().take() {
            let _ = feeder.join();
        }
    }
}

impl FollowerState {
    /// Pushes all changes after `seq`, advances `seq`, and lets the hook push later commits. With
    /// `bulk`, searches see the changes only at the end. Returns early if the daemon stops.
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
                index.wait_for_backlog_below(MAX_BACKLOG);
            }
        }
        // The last changes are pushed on the writer's thread, so no commit can be missed.
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
            shared.is_live.store(true, Ordering::Release);
            Ok(())
        })?;
        if let Some(index) = self.index.get().filter(|_| bulk) {
            index.analyze_pending();
        }
        self.is_complete.store(true, Ordering::Release);
        Ok(())
    }

    /// Pushes the next changes after `seq`, at most [`READ_BATCH`]. Returns the sequence number of
    /// the last one, or `seq` if there is none.
    fn push_after(&self, reader: &Reader, seq: u64, bulk: bool) -> Result<u64, StoreError> {
        let changes = reader.changes_after(seq, READ_BATCH)?;
        let Some(last) = changes.last().map(|change| change.seq) else { return Ok(seq) };
        if let Some(index) = self.index.get() {
            push(index, &changes, bulk);
        }
        self.fed.fetch_add(changes.len() as u64, Ordering::Relaxed);
        Ok(last)
    }
}

/// Turns a failure of the index into a fault. Pages in the store are not affected.
pub fn index_fault(error: &IndexError) -> Fault {
    Fault::new(FaultCode::Io, error.to_string())
        .hint(hint!("run {}; the daemon rebuilds a damaged index at its next start", Command::Stop))
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
            title: scored_title(&page.record, &page.slug, &page.content),
            file_name: file_title(
                &page.record.source_path,
                page.record.provenance.source_uri.as_deref(),
            ),
            fields: fields(&page.content.frontmatter, INGEST_KEYS)
                .into_iter()
                .map(|field| (field.key, field.values))
                .collect(),
            aliases: page.record.aliases.clone(),
            tags: page.record.tags.clone(),
            page_type: page.record.page_type.clone(),
            body: page.content.body.to_arc(),
            updated_at: page.record.updated_at,
            days: page_days(&page.slug, &page.record, &page.content),
        })),
    }
}

/// Returns the title for the index. It is empty if the page's title is only the first sentence of
/// its text, which would count twice.
fn scored_title(record: &PageRecord, slug: &Slug, content: &Content) -> String {
    match is_first_sentence(&record.title, slug, &content.frontmatter, &content.body) {
        true => String::new(),
        false => record.title.clone(),
    }
}

/// Returns the id by which an index names its store.
pub fn index_id(store: &Store) -> String {
    format!("{:016x}", store.id())
}
