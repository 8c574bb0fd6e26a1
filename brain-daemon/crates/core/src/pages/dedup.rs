//! The 24-hour memory of captured content: the same text again is no new page.
//!
//! A bounded LRU for each source in front of the store, refilled from it at start. It only points:
//! what is a duplicate is decided by the page itself, so that a forgotten or stale entry can cost a
//! second page, never a lost one.

use std::collections::HashMap;
use std::num::NonZeroUsize;
use std::sync::{Mutex, PoisonError};

use brain_protocol::{Fault, Slug, SourceId};
use lru::LruCache;

use brain_store::{Hash, Store};

/// How long the same content is a duplicate, in milliseconds: 24 hours.
pub(crate) const WINDOW_MS: i64 = 24 * 60 * 60 * 1000;

/// Where content was captured to, and when.
type Entry = (Slug, i64);

/// The memory. Only durable captures are in it.
pub(crate) struct Dedup {
    /// By source: what comes into one must not make another one's entries be forgotten.
    seen: Mutex<HashMap<SourceId, LruCache<Hash, Entry>>>,
    /// How many entries each may have.
    entries: NonZeroUsize,
}

impl Dedup {
    pub(crate) fn new(entries: usize) -> Self {
        let entries = NonZeroUsize::new(entries).unwrap_or(NonZeroUsize::MIN);
        Self { seen: Mutex::default(), entries }
    }

    /// Takes in what was captured in the last 24 hours.
    pub(crate) fn refill(&self, store: &Store, now: i64) -> Result<(), Fault> {
        let captured = store.read_through(|reader| reader.captured(now - WINDOW_MS))?;
        for (source, slug, record) in captured {
            self.remember(source, record.content_hash, slug, record.content_at);
        }
        Ok(())
    }

    /// The slug that this content was captured to within the last 24 hours.
    pub(crate) fn find(&self, source: &SourceId, hash: Hash, now: i64) -> Option<Slug> {
        let mut seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        let (slug, at) = seen.get_mut(source)?.get(&hash)?;
        (now - at < WINDOW_MS).then(|| slug.clone())
    }

    /// Notes a durable capture.
    pub(crate) fn remember(&self, source: SourceId, hash: Hash, slug: Slug, at: i64) {
        let mut seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        seen.entry(source).or_insert_with(|| LruCache::new(self.entries)).put(hash, (slug, at));
    }
}
