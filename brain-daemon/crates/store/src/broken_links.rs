//! Broken links of active pages: links to no page, or to a name that several pages have.
//!
//! The store keeps counts by page ([`super::link_check`]). An answer reads only the pages that it
//! lists and the few that were not checked yet.
//!
//! The counts are those of a caller who sees every source. For other callers, only links into other
//! sources can differ. Pages with such links are counted, and their links are resolved for the
//! caller. The time of an answer can depend on changes in any source.

use std::collections::BTreeMap;

use brain_protocol::{Slug, SourceId};

use super::links::Resolution;
use super::read::Reader;
use super::record::{AttachmentRecord, LinkRecord, from_bytes};
use super::tables::end_of_source;
use super::{StoreError, tables as t};
use brain_base::caller::Visibility;
use brain_page as page;

/// Maximum unchecked pages that a reader resolves itself.
const MAX_UNCHECKED: usize = 256;
/// Keys of the sums in [`t::BROKEN_SUMS`].
pub(super) const SUMS: [&str; 3] = ["missing", "ambiguous", "abroad"];

/// Number of broken links of a page: a row of [`t::BROKEN`].
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct LinkCounts {
    /// Links to no page.
    missing: u32,
    /// Links to several pages.
    ambiguous: u32,
    /// Links to a page of another source: broken for callers who cannot see that source.
    to_other_sources: u32,
}

impl LinkCounts {
    pub(super) fn is_zero(self) -> bool {
        self == Self::default()
    }

    /// Returns the counts in the order of [`SUMS`].
    pub(super) fn numbers(self) -> [i64; 3] {
        [self.missing, self.ambiguous, self.to_other_sources].map(i64::from)
    }
}

impl From<LinkCounts> for (u32, u32, u32) {
    fn from(counts: LinkCounts) -> Self {
        (counts.missing, counts.ambiguous, counts.to_other_sources)
    }
}

impl From<(u32, u32, u32)> for LinkCounts {
    fn from((missing, ambiguous, to_other_sources): (u32, u32, u32)) -> Self {
        Self { missing, ambiguous, to_other_sources }
    }
}

/// A broken link with its page.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BrokenLinkEntry {
    /// The page's source.
    pub source: SourceId,
    /// The page's slug.
    pub slug: Slug,
    /// The link as written.
    pub link: LinkRecord,
    /// Whether the link can mean several pages; otherwise it means none.
    pub is_ambiguous: bool,
}

/// Broken links of active pages, and their total counts.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct BrokenLinkList {
    /// The first links, ordered by source, slug and text.
    pub links: Vec<BrokenLinkEntry>,
    /// Total links to no page.
    pub missing: u64,
    /// Total links to several pages.
    pub ambiguous: u64,
}

impl BrokenLinkList {
    /// Subtracts the links of a page.
    fn subtract(&mut self, counts: LinkCounts) {
        self.missing = self.missing.saturating_sub(counts.missing.into());
        self.ambiguous = self.ambiguous.saturating_sub(counts.ambiguous.into());
    }
}

impl Reader {
    /// Returns up to `limit` broken links of one source or all, and the total counts. Returns
    /// `None` when too many pages changed since the last check: run [`super::Store::check_links`]
    /// first.
    pub fn broken_links(
        &self,
        source: Option<&SourceId>,
        limit: usize,
    ) -> Result<Option<BrokenLinkList>, StoreError> {
        let Some(check) =
            self.link_check(MAX_UNCHECKED, MAX_UNCHECKED)?.filter(|check| check.is_last)
        else {
            return Ok(None);
        };
        let mut unchecked: BTreeMap<SourceId, BTreeMap<Slug, u64>> = BTreeMap::new();
        for id in check.pages {
            if let Some((source, slug, record)) = self.by_id(id)? {
                unchecked.entry(source).or_default().insert(slug, record.id);
            }
        }
        let mut broken = BrokenLinkList::default();
        for source in self.visible_sources(source)? {
            let unchecked = unchecked.remove(&source).unwrap_or_default();
            self.add_checked(&mut broken, &source, &unchecked, limit)?;
            for (slug, id) in unchecked {
                self.add_page(&mut broken, &source, &slug, id, limit)?;
            }
        }
        // Pages of a source were added in two parts; each page's links are sorted already.
        broken.links.sort_by(|a, b| (&a.source, &a.slug).cmp(&(&b.source, &b.slug)));
        broken.links.truncate(limit);
        Ok(Some(broken))
    }

    /// As [`Reader::broken_links`], but reads every page: for a store that cannot be written.
    pub fn broken_links_of_every_page(
        &self,
        source: Option<&SourceId>,
        limit: usize,
    ) -> Result<BrokenLinkList, StoreError> {
        let mut broken = BrokenLinkList::default();
        self.pages_in_order((source.map_or("", SourceId::as_str), ""), |(of, slug, record)| {
            if source.is_some_and(|source| *source != of) {
                return Ok(false);
            }
            let room = limit.saturating_sub(broken.links.len());
            self.add_page(&mut broken, &of, &slug, record.id, room)?;
            Ok(true)
        })?;
        Ok(broken)
    }

    /// Adds the broken links of the checked pages of a source, except those of `unchecked` pages:
    /// all to the counts, and to the list until it has `limit` links.
    fn add_checked(
        &self,
        broken: &mut BrokenLinkList,
        source: &SourceId,
        unchecked: &BTreeMap<Slug, u64>,
        limit: usize,
    ) -> Result<(), StoreError> {
        let table = self.table(t::BROKEN)?;
        let sums = self.table(t::BROKEN_SUMS)?;
        let [missing, ambiguous, to_other_sources] = SUMS.map(|name| -> Result<u64, StoreError> {
            Ok(sums.get((source.as_str(), name))?.map_or(0, |guard| guard.value()))
        });
        broken.missing += missing?;
        broken.ambiguous += ambiguous?;
        for slug in unchecked.keys() {
            if let Some(guard) = table.get((source.as_str(), slug.as_str()))? {
                broken.subtract(guard.value().into());
            }
        }
        // Whether a link into another source is broken depends on the caller.
        let depends_on_caller = self.view != Visibility::All && to_other_sources? > 0;
        for row in table.range((source.as_str(), "")..(end_of_source(source).as_str(), ""))? {
            if broken.links.len() >= limit && !depends_on_caller {
                break;
            }
            let (key, counts) = row?;
            let counts = LinkCounts::from(counts.value());
            let can_differ = depends_on_caller && counts.to_other_sources > 0;
            let is_shown =
                broken.links.len() < limit && (counts.missing > 0 || counts.ambiguous > 0);
            if !can_differ && !is_shown {
                continue;
            }
            let slug = Slug::parse(key.value().1)
                .map_err(|e| StoreError::damaged(format!("key of broken links: {e}")))?;
            if unchecked.contains_key(&slug) {
                continue;
            }
            let Some(page) = self.page(source, &slug)? else { continue };
            let room = limit.saturating_sub(broken.links.len());
            if can_differ {
                broken.subtract(counts);
                self.add_page(broken, source, &slug, page.id, room)?;
            } else {
                self.list_page(broken, source, &slug, page.id, room)?;
            }
        }
        Ok(())
    }

    /// Adds up to `room` broken links of a page to the list, none to the counts.
    fn list_page(
        &self,
        broken: &mut BrokenLinkList,
        source: &SourceId,
        slug: &Slug,
        id: u64,
        room: usize,
    ) -> Result<(), StoreError> {
        let end = broken.links.len() + room;
        self.count_links((source, slug), id, |link, is_ambiguous| {
            let (source, slug) = (source.clone(), slug.clone());
            broken.links.push(BrokenLinkEntry { source, slug, link, is_ambiguous });
            broken.links.len() < end
        })?;
        Ok(())
    }

    /// Adds a page's broken links to the counts, and up to `room` of them to the list.
    fn add_page(
        &self,
        broken: &mut BrokenLinkList,
        source: &SourceId,
        slug: &Slug,
        id: u64,
        room: usize,
    ) -> Result<(), StoreError> {
        let mut listed = 0;
        let counts = self.count_links((source, slug), id, |link, is_ambiguous| {
            if listed < room {
                let (source, slug) = (source.clone(), slug.clone());
                broken.links.push(BrokenLinkEntry { source, slug, link, is_ambiguous });
                listed += 1;
            }
            true
        })?;
        broken.missing += u64::from(counts.missing);
        broken.ambiguous += u64::from(counts.ambiguous);
        Ok(())
    }

    /// Returns whether a target is a file of the page `id`.
    ///
    /// # Errors
    /// When the store cannot be read.
    pub fn is_file_of(&self, id: u64, target: &str) -> Result<bool, StoreError> {
        let path = target.split('#').next().unwrap_or_default();
        let name = page::listed_name(&page::percent_decode(path));
        let table = self.table(t::ATTACHMENTS)?;
        let record = match table.get((id, name.as_str()))? {
            Some(row) => from_bytes::<AttachmentRecord>(row.value())?,
            None => return Ok(false),
        };
        Ok(record.removed_at.is_none())
    }

    /// Resolves a page's links and counts the broken ones. Calls `each` with each broken link, and
    /// whether it is ambiguous; stops when `each` returns `false`. Links to files beside the pages
    /// do not count.
    pub(super) fn count_links(
        &self,
        from: (&SourceId, &Slug),
        id: u64,
        mut each: impl FnMut(LinkRecord, bool) -> bool,
    ) -> Result<LinkCounts, StoreError> {
        let mut counts = LinkCounts::default();
        for link in self.derived(id)?.links {
            let should_continue = match self.resolve(&link, from)? {
                Resolution::Page(page) => {
                    counts.to_other_sources += u32::from(page.0 != *from.0);
                    true
                }
                Resolution::Missing if page::is_attachment(&link.raw) => true,
                Resolution::Missing if self.is_file_of(id, &link.raw)? => true,
                Resolution::Missing => {
                    counts.missing += 1;
                    each(link, false)
                }
                Resolution::Ambiguous => {
                    counts.ambiguous += 1;
                    each(link, true)
                }
            };
            if !should_continue {
                break;
            }
        }
        Ok(counts)
    }
}
