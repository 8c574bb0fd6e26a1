//! Finds captures with the same content within 24 hours.
//!
//! A bounded LRU cache for each source, refilled from the store at start. A hit is compared with
//! the stored page, so a missing or stale entry can only let a duplicate through.

use std::collections::HashMap;
use std::num::NonZeroUsize;

use brain_base::caller::Visibility;
use brain_base::clock::day;
use brain_protocol::{Fault, Slug, SourceId};
use brain_store::{Hash, Store};
use lru::LruCache;
use parking_lot::Mutex;

use crate::write_page::inbox_slug;

/// Time after a capture in which the same content is a duplicate, in milliseconds: 24 hours.
pub const WINDOW_MS: i64 = 24 * 60 * 60 * 1000;

/// The page of a capture, and its time in Unix milliseconds.
type CapturedPage = (Slug, i64);

/// The most recent durable captures.
pub struct Dedup {
    /// By source, so that many captures in one source do not displace the entries of another.
    captures: Mutex<HashMap<SourceId, LruCache<Hash, CapturedPage>>>,
    /// The maximum number of entries for each source.
    max_entries: NonZeroUsize,
}

impl Dedup {
    /// Creates an empty memory of at most `max_entries` captures.
    pub fn new(max_entries: usize) -> Self {
        let max_entries = NonZeroUsize::new(max_entries).unwrap_or(NonZeroUsize::MIN);
        Self { captures: Mutex::default(), max_entries }
    }

    /// Adds the captures of the last 24 hours.
    pub fn refill(&self, store: &Store, now: i64) -> Result<(), Fault> {
        let captured = store.read_through(|reader| reader.captured(now - WINDOW_MS))?;
        for (source, slug, record) in captured {
            self.remember(source, record.content_hash, slug, record.content_at);
        }
        Ok(())
    }

    /// Returns the page that got this content within the last 24 hours.
    pub fn find(&self, source: &SourceId, hash: Hash, now: i64) -> Option<Slug> {
        let mut captures = self.captures.lock();
        let (slug, at) = captures.get_mut(source)?.get(&hash)?;
        (now - at < WINDOW_MS).then(|| slug.clone())
    }

    /// As [`Dedup::find`]. In a shared brain, also finds a capture of another machine, by the slug
    /// that it got a day before.
    pub fn find_in(&self, store: &Store, source: &SourceId, hash: Hash, now: i64) -> Option<Slug> {
        let known = self.find(source, hash, now);
        if known.is_some() || !store.is_shared() {
            return known;
        }
        let slug = inbox_slug(&day(now - WINDOW_MS), &hash, 0).ok()?;
        let record = store.read(Visibility::All).ok()?.page(source, &slug).ok()??;
        let is_recent = now - record.content_at < WINDOW_MS;
        (is_recent && record.content_hash == hash).then_some(slug)
    }

    /// Adds a durable capture.
    pub fn remember(&self, source: SourceId, hash: Hash, slug: Slug, at: i64) {
        let mut captures = self.captures.lock();
        let cache = captures.entry(source).or_insert_with(|| LruCache::new(self.max_entries));
        cache.put(hash, (slug, at));
    }
}
