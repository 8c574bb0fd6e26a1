//! The surroundings of a page: its links, links to it, and its dated lines.
//!
//! The web interface requests no more items of each list than it shows, so that pages with 100,000
//! links open quickly. A caller sees only what the operations `links`, `backlinks` and `timeline`
//! show it.

use std::cell::RefCell;
use std::collections::{HashMap, HashSet};

use brain_protocol::{Fault, PageRef, TimelineRow};

use super::links::sentence;
use super::timeline::{outside_entries, row};
use crate::pages::PageService;
use brain_base::caller::Caller;
use brain_store::{DerivedRows, LinkRecord, PageEntry, Reader, Resolution, StoreError};

/// Maximum number of links, or of linking pages, that are read per requested item. Some links lead
/// to no page or to one that is listed already; some pages do not link to this page after all.
const MAX_READ_PER_ITEM: usize = 4;

/// The surroundings of one page, in one snapshot of the store.
pub struct Surroundings {
    reader: Reader,
    page: PageEntry,
    derived: DerivedRows,
    /// The positions of the links, by their targets as written.
    positions: HashMap<String, usize>,
    /// The pages of the links that were resolved, by position.
    resolved: RefCell<HashMap<usize, Option<LinkedPage>>>,
    /// The absolute path of the page's file, if the caller may know it.
    pub file: Option<String>,
}

/// A page at the other end of a link.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LinkedPage {
    /// The page, with its source.
    pub page: PageRef,
    /// Its title.
    pub title: String,
    /// `mentions` or the frontmatter key of the link.
    pub kind: String,
    /// The sentence with the link. `None` for links of this page to others.
    pub sentence: Option<String>,
}

/// The first items of a list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FirstOf<T> {
    /// The items.
    pub items: Vec<T>,
    /// Whether there are more, or may be.
    pub has_more: bool,
}

impl PageService {
    /// Returns the surroundings of the page with this whole slug.
    ///
    /// # Errors
    /// `not_found`, `ambiguous_slug`, `unknown_source`, or the store cannot be read.
    pub fn surroundings(&self, caller: &Caller, page: &PageRef) -> Result<Surroundings, Fault> {
        let reader = self.store.read(caller.visibility())?;
        let (source, record) = self.active(caller, &reader, page)?;
        let derived = reader.derived(record.id)?;
        let mut positions = HashMap::with_capacity(derived.links.len());
        for (position, link) in derived.links.iter().enumerate() {
            positions.entry(link.raw.clone()).or_insert(position);
        }
        let file = self.files.visible_path(caller, &source, &record);
        let page = (source, page.slug.clone(), record);
        Ok(Surroundings { reader, page, derived, positions, resolved: RefCell::default(), file })
    }
}

impl Surroundings {
    /// Returns the page that a link of this page leads to. `None` if it leads to no page, may lead
    /// to several, or is no link of this page, or if the target cannot be read.
    pub fn link_target(&self, raw: &str) -> Option<PageRef> {
        let position = *self.positions.get(raw)?;
        Some(self.resolve(position)?.page)
    }

    fn resolve(&self, position: usize) -> Option<LinkedPage> {
        if let Some(known) = self.resolved.borrow().get(&position) {
            return known.clone();
        }
        let link = self.derived.links.get(position)?;
        let found = match self.reader.resolve(link, (&self.page.0, &self.page.1)) {
            Ok(Resolution::Page(page)) => Some(linked_page(&page, link, None)),
            // Without the target of a link, the page can still be shown.
            Ok(Resolution::Missing | Resolution::Ambiguous) | Err(_) => None,
        };
        self.resolved.borrow_mut().insert(position, found.clone());
        found
    }

    /// Returns the first pages that this page links to, each once.
    pub fn linked(&self, limit: usize) -> FirstOf<LinkedPage> {
        let mut first = FirstOf { items: Vec::new(), has_more: false };
        let mut names = HashSet::new();
        for position in 0..self.derived.links.len() {
            if position == limit * MAX_READ_PER_ITEM || first.items.len() == limit {
                first.has_more = true;
                break;
            }
            let found = self.resolve(position).filter(|it| names.insert(it.page.to_string()));
            first.items.extend(found);
        }
        first
    }

    /// Returns the first links to this page, those of the newest pages first.
    pub fn backlinks(&self, limit: usize) -> Result<FirstOf<LinkedPage>, Fault> {
        let mut first = FirstOf { items: Vec::new(), has_more: false };
        let names = &self.derived.names;
        let max = limit * MAX_READ_PER_ITEM;
        let ids = self.reader.linking_with_names(&self.page, names, max + 1)?;
        first.has_more = ids.len() > max;
        for id in ids.into_iter().take(max) {
            let Some(from) = self.reader.by_id(id)? else { continue };
            for link in self.reader.links_between(&from, &self.page, names)? {
                if first.items.len() == limit {
                    first.has_more = true;
                    return Ok(first);
                }
                let sentence = sentence(&self.reader, &from.2, &link)?;
                first.items.push(linked_page(&from, &link, sentence));
            }
        }
        Ok(first)
    }

    /// Returns the first dated lines of this page, newest first.
    pub fn timeline(&self, limit: usize) -> Result<FirstOf<TimelineRow>, Fault> {
        let (source, slug, record) = &self.page;
        let mut lines: Vec<_> = self.derived.timeline.iter().collect();
        lines.sort_by(|a, b| b.date.cmp(&a.date));
        let has_more = lines.len() > limit;
        lines.truncate(limit);
        let outside = if lines.is_empty() { Vec::new() } else { self.outside_lines()? };
        let rows = lines
            .into_iter()
            .map(|line| row(line.clone(), slug.clone(), source.clone(), record, &outside));
        Ok(FirstOf { items: rows.collect(), has_more })
    }

    fn outside_lines(&self) -> Result<Vec<brain_page::TimelineEntry>, StoreError> {
        outside_entries(&self.reader, &self.page.2)
    }
}

fn linked_page(
    (source, slug, record): &PageEntry,
    link: &LinkRecord,
    sentence: Option<String>,
) -> LinkedPage {
    LinkedPage {
        page: PageRef::new(source, slug),
        title: record.title.clone(),
        kind: link.kind.clone(),
        sentence,
    }
}
