//! What comes in over HTTP: taken in durably at once, made a page soon.
//!
//! [`Brain::ingest`] is the one way in: it works out text and hash, and puts the item into the store's queue; the answer comes
//! when it is on disk. [`Brain::work_off`] makes pages of what waits: a page and the new state of its item are one transaction,
//! so that a crash at any point neither loses an item nor stores it twice.
//!
//! [`Brain::ingest`]: crate::Brain::ingest
//! [`Brain::work_off`]: crate::Brain::work_off

mod accept;
mod pages;
mod work;

use std::collections::HashSet;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use brain_protocol::{JobId, Slug, SourceId};
use serde::Serialize;
use tokio::sync::Notify;

use brain_page::MediaType;

pub use work::CHUNK;

/// What somebody sent.
#[derive(Debug, Clone)]
pub struct Item {
    /// What it is.
    pub media_type: MediaType,
    /// Its bytes as they came.
    pub body: Vec<u8>,
    /// Where its page goes; the caller's own default when absent.
    pub source: Option<SourceId>,
    /// The page's slug, instead of `inbox/<date>-<hash>`.
    pub slug: Option<Slug>,
    /// The page's title; overrides the text's.
    pub title: Option<String>,
    /// The page's type; overrides the text's.
    pub page_type: Option<String>,
    /// Where the content comes from.
    pub uri: Option<String>,
    /// The sender's own name for this item: the same one again is the same item.
    pub idempotency_key: Option<String>,
}

/// The answer to an item that is safe now.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, utoipa::ToSchema)]
pub struct Accepted {
    /// The item's id, for `GET /ingest/{job_id}`.
    #[schema(value_type = String, example = "job_17", pattern = "^job_[0-9]{1,19}$")]
    pub job_id: JobId,
    /// SHA-256 of its text, lower-case hex.
    #[schema(pattern = "^[0-9a-f]{64}$")]
    pub content_hash: String,
    /// Where its page goes.
    #[schema(value_type = String, example = "default")]
    pub source_id: SourceId,
    /// `queued`, or `duplicate` of an item that came in within the last 24 hours, which `job_id` names.
    #[schema(example = "queued", pattern = "^(queued|duplicate)$")]
    pub status: String,
    /// The same for people.
    pub message: String,
}

/// How much there is to do for whoever makes pages of items.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Load {
    /// How many items were accepted since the start.
    pub arrived: u64,
    /// How many wait.
    pub waiting: u64,
    /// How many may wait.
    pub bound: u64,
}

/// The queue's side of a brain: what of it is in memory.
pub(super) struct Queue {
    bound: u64,
    arrived: AtomicU64,
    waiting: AtomicU64,
    wake: Notify,
    /// Items that are being made pages.
    at_work: Mutex<HashSet<u64>>,
    /// Held by whoever makes pages.
    turn: Mutex<()>,
}

impl Queue {
    /// For a brain where `bound` items may wait and `waiting` do.
    pub(super) fn new(bound: u64, waiting: u64) -> Self {
        Self {
            bound,
            arrived: AtomicU64::new(0),
            waiting: AtomicU64::new(waiting),
            wake: Notify::new(),
            at_work: Mutex::default(),
            turn: Mutex::default(),
        }
    }

    /// Notes that something waits that did not before.
    pub(super) fn more(&self, waiting: u64) {
        self.waiting.store(waiting, Ordering::Relaxed);
        self.wake.notify_one();
    }

    /// Whether this item is being made a page.
    pub(super) fn is_at_work(&self, id: u64) -> bool {
        self.at_work().contains(&id)
    }

    fn at_work(&self) -> MutexGuard<'_, HashSet<u64>> {
        self.at_work.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl super::Brain {
    /// Returns when something waits that did not before, at once if that was since the last call.
    pub async fn item_arrives(&self) {
        self.queue.wake.notified().await;
    }

    /// How much there is to do.
    #[must_use]
    pub fn ingest_load(&self) -> Load {
        let Queue { bound, arrived, waiting, .. } = &*self.queue;
        Load {
            arrived: arrived.load(Ordering::Relaxed),
            waiting: waiting.load(Ordering::Relaxed),
            bound: *bound,
        }
    }
}
