//! Broken links: those of active pages that lead nowhere or to several pages.
//!
//! Counts by page are kept in the store ([`super::link_check`]), so that an answer reads only the
//! pages that it lists and the few that were not checked yet.
//!
//! Counts are those of a caller who sees every source. For other callers only links that lead into
//! another source may be different; pages with such links are counted, and their links are resolved
//! for the caller. How long an answer takes may depend on changes in any source, as it does where
//! every page is read.

use std::collections::BTreeMap;

use brain_protocol::{Slug, SourceId};

use super::read::{Reader, Resolution};
use super::record::LinkRecord;
use super::sources::after;
use super::{StoreError, tables as t};
use brain_base::caller::Visibility;
use brain_page as page;

/// How many pages a reader resolves itself.
const MAX_LATE: usize = 256;
/// Names of the sums in [`t::BROKEN_SUMS`].
pub(super) const SUMS: [&str; 3] = ["missing", "ambiguous", "abroad"];

/// How many links of a page are broken: a row of [`t::BROKEN`].
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct LinkCounts {
    /// They lead nowhere.
    missing: u32,
    /// They may mean several pages.
    ambiguous: u32,
    /// They lead to a page of another source, for those who may see that.
    abroad: u32,
}

impl LinkCounts {
    pub(super) fn is_zero(self) -> bool {
        self == Self::default()
    }

    /// In the order of [`SUMS`].
    pub(super) fn numbers(self) -> [i64; 3] {
        [self.missing, self.ambiguous, self.abroad].map(i64::from)
    }
}

impl From<LinkCounts> for (u32, u32, u32) {
    fn from(counts: LinkCounts) -> Self {
        (counts.missing, counts.ambiguous, counts.abroad)
    }
}

impl From<(u32, u32, u32)> for LinkCounts {
    fn from((missing, ambiguous, abroad): (u32, u32, u32)) -> Self {
        Self { missing, ambiguous, abroad }
    }
}

/// A link that leads nowhere or to several pages, with its page.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BrokenAt {
    /// The page's source.
    pub source: SourceId,
    /// The page's slug.
    pub slug: Slug,
    /// The link.
    pub link: LinkRecord,
    /// Whether several pages answer to it, rather than none.
    pub is_ambiguous: bool,
}

/// The links of active pages that lead nowhere or to several pages.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Broken {
    /// The first of them, in the order of source, slug and text.
    pub links: Vec<BrokenAt>,
    /// How many lead nowhere.
    pub missing: u64,
    /// How many may mean several pages.
    pub ambiguous: u64,
}

impl Broken {
    /// Takes the links of a page away again.
    fn subtract(&mut self, counts: LinkCounts) {
        self.missing = self.missing.saturating_sub(counts.missing.into());
        self.ambiguous = self.ambiguous.saturating_sub(counts.ambiguous.into());
    }
}

impl Reader {
    /// Up to `limit` links of active pages that lead nowhere or to several pages, of one source or
    /// of all, and how many there are; `None` when so many pages came, went or changed since the
    /// last check that [`super::Store::check_links`] should look at them first.
    ///
    /// # Errors
    /// When the store cannot be read.
    pub fn broken_links(
        &self,
        source: Option<&SourceId>,
        limit: usize,
    ) -> Result<Option<Broken>, StoreError> {
        let Some(check) = self.link_check(MAX_LATE, MAX_LATE)?.filter(|check| check.is_last) else {
            return Ok(None);
        };
        let mut late: BTreeMap<SourceId, BTreeMap<Slug, u64>> = BTreeMap::new();
        for id in check.pages {
            if let Some((source, slug, record)) = self.by_id(id)? {
                late.entry(source).or_default().insert(slug, record.id);
            }
        }
        let mut broken = Broken::default();
        for source in self.shown_of(source)? {
            let late = late.remove(&source).unwrap_or_default();
            self.add_checked(&mut broken, &source, &late, limit)?;
            for (slug, id) in late {
                self.add_page(&mut broken, &source, &slug, id, limit)?;
            }
        }
        // Pages of one source were added in two parts; the links of each page are in their order.
        broken.links.sort_by(|a, b| (&a.source, &a.slug).cmp(&(&b.source, &b.slug)));
        broken.links.truncate(limit);
        Ok(Some(broken))
    }

    /// The same from reading every page: for a store that cannot be written.
    ///
    /// # Errors
    /// When the store cannot be read.
    pub fn broken_links_of_every_page(
        &self,
        source: Option<&SourceId>,
        limit: usize,
    ) -> Result<Broken, StoreError> {
        let mut broken = Broken::default();
        self.in_order((source.map_or("", SourceId::as_str), ""), |(of, slug, record)| {
            if source.is_some_and(|source| *source != of) {
                return Ok(false);
            }
            let room = limit.saturating_sub(broken.links.len());
            self.add_page(&mut broken, &of, &slug, record.id, room)?;
            Ok(true)
        })?;
        Ok(broken)
    }

    /// Adds the pages of a source that were checked, without those that are `late`: all of them to
    /// the counts, and to the links while there is room.
    fn add_checked(
        &self,
        broken: &mut Broken,
        source: &SourceId,
        late: &BTreeMap<Slug, u64>,
        limit: usize,
    ) -> Result<(), StoreError> {
        let table = self.table(t::BROKEN)?;
        let sums = self.table(t::BROKEN_SUMS)?;
        let [missing, ambiguous, abroad] = SUMS.map(|name| -> Result<u64, StoreError> {
            Ok(sums.get((source.as_str(), name))?.map_or(0, |guard| guard.value()))
        });
        broken.missing += missing?;
        broken.ambiguous += ambiguous?;
        for slug in late.keys() {
            if let Some(guard) = table.get((source.as_str(), slug.as_str()))? {
                broken.subtract(guard.value().into());
            }
        }
        // Whether a link into another source leads there depends on what the caller may see.
        let is_personal = self.view != Visibility::All && abroad? > 0;
        for row in table.range((source.as_str(), "")..(after(source).as_str(), ""))? {
            if broken.links.len() >= limit && !is_personal {
                break;
            }
            let (key, counts) = row?;
            let counts = LinkCounts::from(counts.value());
            let differs = is_personal && counts.abroad > 0;
            let is_shown =
                broken.links.len() < limit && (counts.missing > 0 || counts.ambiguous > 0);
            if !differs && !is_shown {
                continue;
            }
            let slug = Slug::parse(key.value().1)
                .map_err(|e| StoreError::damaged(format!("key of broken links: {e}")))?;
            if late.contains_key(&slug) {
                continue;
            }
            let Some(page) = self.page(source, &slug)? else { continue };
            let room = limit.saturating_sub(broken.links.len());
            if differs {
                broken.subtract(counts);
                self.add_page(broken, source, &slug, page.id, room)?;
            } else {
                self.list_page(broken, source, &slug, page.id, room)?;
            }
        }
        Ok(())
    }

    /// Adds `room` links of a page to the list, and none to the counts.
    fn list_page(
        &self,
        broken: &mut Broken,
        source: &SourceId,
        slug: &Slug,
        id: u64,
        room: usize,
    ) -> Result<(), StoreError> {
        let end = broken.links.len() + room;
        self.count_links(source, id, |link, is_ambiguous| {
            let (source, slug) = (source.clone(), slug.clone());
            broken.links.push(BrokenAt { source, slug, link, is_ambiguous });
            broken.links.len() < end
        })?;
        Ok(())
    }

    /// Adds the links of a page that lead nowhere or to several pages, `room` of them to the list.
    fn add_page(
        &self,
        broken: &mut Broken,
        source: &SourceId,
        slug: &Slug,
        id: u64,
        room: usize,
    ) -> Result<(), StoreError> {
        let mut listed = 0;
        let counts = self.count_links(source, id, |link, is_ambiguous| {
            if listed < room {
                let (source, slug) = (source.clone(), slug.clone());
                broken.links.push(BrokenAt { source, slug, link, is_ambiguous });
                listed += 1;
            }
            true
        })?;
        broken.missing += u64::from(counts.missing);
        broken.ambiguous += u64::from(counts.ambiguous);
        Ok(())
    }

    /// Resolves the links of a page, and calls `each` with those that lead nowhere or to several
    /// pages, until it says stop. Files beside the pages are not missed.
    pub(super) fn count_links(
        &self,
        source: &SourceId,
        id: u64,
        mut each: impl FnMut(LinkRecord, bool) -> bool,
    ) -> Result<LinkCounts, StoreError> {
        let mut counts = LinkCounts::default();
        for link in self.derived(id)?.links {
            let goes_on = match self.resolve(&link, source)? {
                Resolution::Page(page) => {
                    counts.abroad += u32::from(page.0 != *source);
                    true
                }
                Resolution::Missing if page::is_attachment(&link.raw) => true,
                Resolution::Missing => {
                    counts.missing += 1;
                    each(link, false)
                }
                Resolution::Ambiguous => {
                    counts.ambiguous += 1;
                    each(link, true)
                }
            };
            if !goes_on {
                break;
            }
        }
        Ok(counts)
    }
}
