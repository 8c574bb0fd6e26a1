//! The ingest queue: stores items durably at once, and turns them into pages soon after.
//!
//! [`IngestService::ingest`] computes text and hash of an item, and adds it to the store's queue.
//! [`IngestService::process_queue`] writes the pages. A page and the new state of its job are one
//! transaction, so a crash neither loses an item nor stores it twice.

pub mod jobs;

mod documents;
mod enqueue;
mod health;
mod page;
mod process;

use std::collections::HashSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use brain_protocol::{IngestStatus, JobId, Slug, SourceId};
use parking_lot::{Mutex, MutexGuard};
use serde::Serialize;
use tokio::sync::Notify;

use brain_base::clock::Clock;
use brain_page::{DocumentType, MediaType};
use brain_pages::files::FileService;
use brain_pages::index::IndexFollower;
use brain_pages::pages::dedup::Dedup;
use brain_service::{ChangeFeed, TextBudget};
use brain_store::{Reader, Store};

pub use brain_store::JobKind;
pub use documents::DocumentSettings;
pub use process::MAX_JOBS_PER_BATCH;

/// The type of an item.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ItemType {
    /// The item is the text of a page.
    Text(MediaType),
    /// The item is a file, whose text is read later.
    Document(&'static DocumentType),
}

impl ItemType {
    /// Returns the media type.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Text(media_type) => media_type.as_str(),
            Self::Document(document_type) => document_type.media_type,
        }
    }
}

impl From<MediaType> for ItemType {
    fn from(media_type: MediaType) -> Self {
        Self::Text(media_type)
    }
}

/// Content that a client sent.
#[derive(Debug, Clone)]
pub struct IngestItem {
    /// The type of its content.
    pub media_type: ItemType,
    /// The bytes that were sent.
    pub body: Vec<u8>,
    /// The source of its page; `None` for the caller's default.
    pub source: Option<SourceId>,
    /// The page's slug, instead of `inbox/<date>-<hash>`.
    pub slug: Option<Slug>,
    /// The page's title; overrides the text's.
    pub title: Option<String>,
    /// The page's type; overrides the text's.
    pub page_type: Option<String>,
    /// The URI that the content comes from.
    pub uri: Option<String>,
    /// The client's name for this item. A client sends the same name only for the same item.
    pub idempotency_key: Option<String>,
}

/// The reply to an item that is on disk.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, utoipa::ToSchema)]
pub struct IngestReceipt {
    /// The item's id, for `GET /ingest/{job_id}`.
    #[schema(value_type = String, example = "job_17", pattern = "^job_[0-9]{1,19}$")]
    pub job_id: JobId,
    /// SHA-256 of its text, or of the bytes of a document, lower-case hex.
    #[schema(pattern = "^[0-9a-f]{64}$")]
    pub content_hash: String,
    /// The source of its page.
    #[schema(value_type = String, example = "default")]
    pub source_id: SourceId,
    /// `queued`, or `duplicate` of an item that was accepted within the last 24 hours, which
    /// `job_id` names.
    #[schema(value_type = String, example = "queued", pattern = "^(queued|duplicate)$")]
    pub status: IngestStatus,
    /// The status in words.
    pub message: String,
}

/// The load of the queue.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct QueueLoad {
    /// Items that were added to the queue since the start of the daemon.
    pub arrived: u64,
    /// Jobs that wait for their pages.
    pub waiting: u64,
    /// The maximum number of waiting jobs.
    pub max_waiting: u64,
}

/// The state of the queue that is in memory.
pub struct Queue {
    max_waiting: u64,
    /// Jobs that were added since the start of the daemon.
    arrived: AtomicU64,
    /// Jobs that wait for their pages.
    waiting: AtomicU64,
    /// Wakes the worker that writes pages.
    wake: Notify,
    /// Wakes the worker that reads documents.
    wake_for_documents: Notify,
    changes: Arc<ChangeFeed>,
    /// Whether a document may wait. If not, the queue need not be looked through for one.
    may_have_documents: AtomicBool,
    /// Jobs whose pages are being written.
    in_progress: Mutex<HashSet<u64>>,
    /// Held while pages are being written.
    processing: Mutex<()>,
    /// Held while a document is being read.
    converting: Mutex<()>,
}

impl Queue {
    /// Creates the state of a queue that has `waiting` jobs, and accepts at most `max_waiting`.
    pub fn new(max_waiting: u64, waiting: u64, changes: Arc<ChangeFeed>) -> Self {
        Self {
            max_waiting,
            arrived: AtomicU64::new(0),
            waiting: AtomicU64::new(waiting),
            wake: Notify::new(),
            wake_for_documents: Notify::new(),
            may_have_documents: AtomicBool::new(true),
            changes,
            in_progress: Mutex::default(),
            processing: Mutex::default(),
            converting: Mutex::default(),
        }
    }

    /// Sets the number of waiting jobs after some of any kind were added, and wakes both workers.
    pub(crate) fn set_waiting(&self, waiting: u64) {
        self.set_waiting_of(JobKind::Text, waiting);
        self.set_waiting_of(JobKind::Document, waiting);
    }

    /// Sets the number of waiting jobs after one of this kind was added, and wakes its worker.
    pub(crate) fn set_waiting_of(&self, kind: JobKind, waiting: u64) {
        self.waiting.store(waiting, Ordering::Relaxed);
        match kind {
            JobKind::Text => self.wake.notify_one(),
            JobKind::Document => {
                self.may_have_documents.store(true, Ordering::Release);
                self.wake_for_documents.notify_one();
            }
        }
        self.changes.notify();
    }

    /// Calls `look` with the queue if a document may wait, and notes whether one does. `look`
    /// returns `None` if there is none. A document that is added meanwhile counts.
    pub(crate) fn look_for_document<T, E>(
        &self,
        look: impl FnOnce() -> Result<Option<T>, E>,
    ) -> Result<Option<T>, E> {
        if !self.may_have_documents.swap(false, Ordering::AcqRel) {
            return Ok(None);
        }
        let found = look();
        if !matches!(found, Ok(None)) {
            self.may_have_documents.store(true, Ordering::Release);
        }
        found
    }

    /// Sets the number of waiting jobs after some were processed.
    pub(crate) fn record_processed(&self, waiting: u64) {
        self.waiting.store(waiting, Ordering::Relaxed);
        self.changes.notify();
    }

    /// Returns the number of waiting jobs.
    pub fn waiting(&self) -> u64 {
        self.waiting.load(Ordering::Relaxed)
    }

    /// Returns whether the page of this job is being written.
    pub(crate) fn is_in_progress(&self, id: u64) -> bool {
        self.in_progress().contains(&id)
    }

    fn in_progress(&self) -> MutexGuard<'_, HashSet<u64>> {
        self.in_progress.lock()
    }
}

/// The ingest queue, and its jobs.
pub struct IngestService {
    pub(crate) store: Arc<Store>,
    pub(crate) index: Arc<IndexFollower>,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) files: Arc<FileService>,
    pub(crate) dedup: Arc<Dedup>,
    pub(crate) text: Arc<TextBudget>,
    pub(crate) queue: Arc<Queue>,
    pub(crate) documents: DocumentSettings,
}

impl IngestService {
    /// Creates the service.
    pub fn new(
        store: Arc<Store>,
        index: Arc<IndexFollower>,
        files: Arc<FileService>,
        dedup: Arc<Dedup>,
        text: Arc<TextBudget>,
        queue: Arc<Queue>,
        (clock, documents): (Arc<dyn Clock>, DocumentSettings),
    ) -> Self {
        Self { store, index, clock, files, dedup, text, queue, documents }
    }

    /// Waits until a job of this kind may have been added. Returns at once if one was added since
    /// the last call.
    pub async fn wait_for_job(&self, kind: JobKind) {
        match kind {
            JobKind::Text => self.queue.wake.notified().await,
            JobKind::Document => self.queue.wake_for_documents.notified().await,
        }
    }

    /// Wakes the worker, because jobs were added without a caller on this machine.
    pub fn wake(&self) {
        match self.store.read_through(Reader::job_counts) {
            Ok(counts) => self.queue.set_waiting(counts.waiting),
            Err(error) => tracing::warn!(%error, "the ingest queue cannot be read"),
        }
    }

    /// Returns the load of the queue.
    #[must_use]
    pub fn ingest_load(&self) -> QueueLoad {
        let Queue { max_waiting, arrived, waiting, .. } = &*self.queue;
        QueueLoad {
            arrived: arrived.load(Ordering::Relaxed),
            waiting: waiting.load(Ordering::Relaxed),
            max_waiting: *max_waiting,
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use std::pin::pin;

    use super::*;

    #[test]
    fn a_text_neither_wakes_the_reader_of_documents_nor_lets_it_look() {
        let queue = Queue::new(10, 0, ChangeFeed::new());
        let look = |found: Option<()>| queue.look_for_document(|| Ok::<_, ()>(found)).unwrap();
        let is_woken = || pin!(queue.wake_for_documents.notified()).enable();
        // After a start, the queue is looked through once.
        assert_eq!(look(Some(())), Some(()));
        assert_eq!((look(None), look(Some(()))), (None, None));
        queue.set_waiting_of(JobKind::Text, 1);
        assert_eq!((is_woken(), look(Some(()))), (false, None));
        queue.set_waiting_of(JobKind::Document, 2);
        assert_eq!((is_woken(), look(Some(()))), (true, Some(())));
        assert_eq!(queue.look_for_document(|| Err::<Option<()>, _>(())), Err(()));
        assert_eq!(look(Some(())), Some(()), "a failure finds nothing out");
    }
}
