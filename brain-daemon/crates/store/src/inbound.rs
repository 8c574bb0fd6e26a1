//! Approximate number of inbound links of every page.
//!
//! Counted in one pass over a table of short rows, without reading a page.

use std::collections::HashMap;

use brain_protocol::{Slug, SourceId};
use redb::ReadableTable;

use super::apply::slug_keys;
use super::read::Reader;
use super::{StoreError, tables as t};
use brain_page as page;

/// Number of links by slug and by name.
#[derive(Debug, Default)]
pub struct InboundLinks {
    /// By source and key.
    counts: HashMap<String, HashMap<String, u32>>,
}

impl InboundLinks {
    /// Returns about how many pages link to a page: by slug or by file name, whichever is more. A
    /// name of several pages counts for each of them.
    #[must_use]
    pub fn of(&self, source: &SourceId, slug: &Slug) -> u32 {
        let Some(counts) = self.counts.get(source.as_str()) else { return 0 };
        let count = |key: String| counts.get(&key).copied().unwrap_or(0);
        let by_slug: u32 = slug_keys(slug.as_str()).map(count).iter().sum();
        by_slug.max(count(page::normalize_name(slug.name())))
    }
}

impl Reader {
    /// Counts about how many pages link to each page, including links of pages that the caller
    /// cannot see.
    ///
    /// # Errors
    /// When the store cannot be read.
    pub fn inbound(&self) -> Result<InboundLinks, StoreError> {
        let mut inbound = InboundLinks::default();
        // Rows are sorted by source and key, so each key is looked up once.
        let mut now: Option<(String, String, u32)> = None;
        for row in self.table(t::LINKS_IN)?.iter()? {
            let row = row?.0;
            let (source, key, _) = row.value();
            match &mut now {
                Some((of, to, count)) if of.as_str() == source && to.as_str() == key => *count += 1,
                _ => {
                    inbound.add(now.take());
                    now = Some((source.to_owned(), key.to_owned(), 1));
                }
            }
        }
        inbound.add(now);
        Ok(inbound)
    }
}

impl InboundLinks {
    fn add(&mut self, counted: Option<(String, String, u32)>) {
        if let Some((source, key, count)) = counted {
            self.counts.entry(source).or_default().insert(key, count);
        }
    }
}
