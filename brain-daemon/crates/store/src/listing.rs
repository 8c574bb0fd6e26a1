//! Lists pages: by change, by key, by tag or type, deleted, captured, and by dated lines.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::ops::Bound::{self, Excluded, Included, Unbounded};

use brain_protocol::SourceId;
use redb::{ReadOnlyTable, ReadableTable};

use super::damage::PageKey;
use super::read::{PageEntry, Reader, parse_key};
use super::record::PageRecord;
use super::transaction::LabelKey;
use super::{StoreError, tables as t, tables::end_of_source};

/// A key of the tables of tags and types: source, label, last change of the page's text in Unix
/// milliseconds, page id.
type ListingKey<'a> = (&'a str, &'a str, i64, u64);

/// A position in the order of last changes: Unix milliseconds and page id.
pub type DateKey = (i64, u64);

/// The position before all pages.
pub const LATEST: DateKey = (i64::MAX, u64::MAX);

/// Returns the position of a page in the order of last changes.
#[must_use]
pub fn date_key((_, _, record): &PageEntry) -> DateKey {
    (record.updated_at, record.id)
}

/// A property by which pages are listed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PageLabel<'a> {
    /// Lists the pages with this tag.
    Tag(&'a str),
    /// Lists the pages of this type.
    Type(&'a str),
}

impl Reader {
    /// Calls `each` with the active pages whose last change is before the sequence number `below`,
    /// newest change first. Stops when `each` returns `false` or an error.
    pub fn newest_pages(
        &self,
        below: u64,
        mut each: impl FnMut(PageEntry) -> Result<bool, StoreError>,
    ) -> Result<(), StoreError> {
        let changes = self.table(t::CHANGES)?;
        for row in changes.range(..below)?.rev() {
            if let Some(found) = self.by_id(row?.1.value())?
                && !each(found)?
            {
                break;
            }
        }
        Ok(())
    }

    /// Returns the number of active pages of a source; 0 if the caller cannot see the source. Reads
    /// no page.
    pub fn count_pages(&self, source: &SourceId) -> Result<u64, StoreError> {
        if !self.view.shows(source.as_str()) {
            return Ok(0);
        }
        let count = self.table(t::TAG_COUNTS)?.get((source.as_str(), t::EVERY_PAGE))?;
        Ok(count.map_or(0, |count| count.value()))
    }

    /// Calls `each` with the active pages after the key `after`, ordered by source and slug. Stops
    /// when `each` returns `false` or an error.
    pub fn pages_in_order(
        &self,
        after: (&str, &str),
        each: impl FnMut(PageEntry) -> Result<bool, StoreError>,
    ) -> Result<(), StoreError> {
        self.pages_from(Excluded(after), |_, _| true, each)
    }

    /// Calls `each` with the active pages of a source whose slugs begin with `prefix` and follow
    /// `after`, ordered by slug. Reads no other page. Stops when `each` returns `false` or an
    /// error.
    pub fn pages_in_order_below(
        &self,
        source: &SourceId,
        (prefix, after): (&str, &str),
        each: impl FnMut(PageEntry) -> Result<bool, StoreError>,
    ) -> Result<(), StoreError> {
        let from = match prefix > after {
            true => Included((source.as_str(), prefix)),
            false => Excluded((source.as_str(), after)),
        };
        let is_within = |of: &str, slug: &str| of == source.as_str() && slug.starts_with(prefix);
        self.pages_from(from, is_within, each)
    }

    /// Calls `each` with active pages from a key on, while `is_within` accepts their keys.
    fn pages_from(
        &self,
        from: Bound<(&str, &str)>,
        is_within: impl Fn(&str, &str) -> bool,
        mut each: impl FnMut(PageEntry) -> Result<bool, StoreError>,
    ) -> Result<(), StoreError> {
        let pages = self.table(t::PAGES)?;
        for row in pages.range::<(&str, &str)>((from, Unbounded))? {
            let (key, value) = row?;
            let (source, slug) = key.value();
            if !is_within(source, slug) {
                break;
            }
            if !self.view.shows(source) {
                continue;
            }
            let record = self
                .with_page_damage(PageKey { source, slug, version: None, is_text: false }, || {
                    super::record::from_bytes(value.value())
                });
            let Some::<PageRecord>(record) = self.unless_left_out(record)? else { continue };
            if !self.admits(source, &record) {
                continue;
            }
            let (source, slug) = parse_key(source, slug)?;
            if !each((source, slug, record))? {
                break;
            }
        }
        Ok(())
    }

    /// Calls `each` with the soft-deleted pages before the key `below` (deletion time in Unix
    /// milliseconds, page id), last deleted first. Stops when `each` returns `false` or an error.
    pub fn deleted(
        &self,
        below: (i64, u64),
        mut each: impl FnMut(PageEntry) -> Result<bool, StoreError>,
    ) -> Result<(), StoreError> {
        for row in self.table(t::DELETED)?.range(..below)?.rev() {
            let (_, id) = row?.0.value();
            if let Some(found) = self.unless_left_out(self.by_id_including_deleted(id))?.flatten()
                && !each(found)?
            {
                break;
            }
        }
        Ok(())
    }

    /// Returns the active pages captured at or after `since` (Unix milliseconds) whose body has not
    /// changed since its capture, oldest first.
    pub fn captured(&self, since: i64) -> Result<Vec<PageEntry>, StoreError> {
        let mut out = Vec::new();
        for row in self.table(t::CAPTURED)?.range((since, 0)..)? {
            let (at, id) = row?.0.value();
            out.extend(self.by_id(id)?.filter(|(_, _, record)| record.content_at == at));
        }
        Ok(out)
    }

    /// Returns the time of the oldest deletion in Unix milliseconds.
    pub fn oldest_deletion(&self) -> Result<Option<i64>, StoreError> {
        Ok(self.table(t::DELETED)?.first()?.map(|(key, _)| key.value().0))
    }

    /// Returns the number of active pages by tag, in the sources that the caller can see.
    pub fn tag_counts(
        &self,
        source: Option<&SourceId>,
    ) -> Result<BTreeMap<String, u64>, StoreError> {
        let table = self.table(t::TAG_COUNTS)?;
        let mut counts = BTreeMap::new();
        for of in self.visible_sources(source)? {
            let end = end_of_source(&of);
            let tags = (Excluded((of.as_str(), t::EVERY_PAGE)), Excluded((end.as_str(), "")));
            for row in table.range::<(&str, &str)>(tags)? {
                let (key, pages) = row?;
                *counts.entry(key.value().1.to_owned()).or_insert(0) += pages.value();
            }
        }
        Ok(counts)
    }

    /// Returns the types of active pages, sorted, in the sources that the caller can see. Reads one
    /// row for each type.
    pub fn page_types(&self) -> Result<BTreeSet<String>, StoreError> {
        let mut types = BTreeSet::new();
        for source in self.visible_sources(None)? {
            types.extend(self.types_of(&source)?);
        }
        Ok(types)
    }

    /// Returns the types of the active pages of a source, sorted. Reads one row for each type.
    fn types_of(&self, source: &SourceId) -> Result<Vec<String>, StoreError> {
        let table = self.table(t::TYPES)?;
        let (end, mut types) = (end_of_source(source), Vec::new());
        let mut last = String::new();
        loop {
            // After all rows of the last type.
            let from = Excluded((source.as_str(), last.as_str(), i64::MAX, u64::MAX));
            let to = Excluded((end.as_str(), "", i64::MIN, 0));
            let Some(row) = table.range::<ListingKey<'_>>((from, to))?.next() else { break };
            last = row?.0.value().1.to_owned();
            types.push(last.clone());
        }
        Ok(types)
    }

    /// Calls `each` with the active pages of one source or all, last changed first. Begins after
    /// `below`, a key as returned by [`date_key`]. Stops when `each` returns `false` or an error.
    pub fn latest(
        &self,
        source: Option<&SourceId>,
        below: DateKey,
        each: impl FnMut(PageEntry) -> Result<bool, StoreError>,
    ) -> Result<(), StoreError> {
        let sources = self.visible_sources(source)?;
        self.merge_by_date(&self.table(t::TAGS)?, &sources, t::EVERY_PAGE, below, each)
    }

    /// As [`Reader::latest`], for the pages with this tag or type.
    ///
    /// # Errors
    /// When the store cannot be read, or `each` fails.
    pub fn latest_with_label(
        &self,
        label: PageLabel<'_>,
        source: Option<&SourceId>,
        below: DateKey,
        each: impl FnMut(PageEntry) -> Result<bool, StoreError>,
    ) -> Result<(), StoreError> {
        let (table, name) = match label {
            PageLabel::Tag(tag) => (self.table(t::TAGS)?, tag),
            PageLabel::Type(page_type) => (self.table(t::TYPES)?, page_type),
        };
        if name == t::EVERY_PAGE {
            return Ok(());
        }
        let sources = self.visible_sources(source)?;
        self.merge_by_date(&table, &sources, name, below, each)
    }

    /// Calls `each` with the pages of these sources with this label, last changed first.
    fn merge_by_date(
        &self,
        table: &ReadOnlyTable<LabelKey, ()>,
        sources: &[SourceId],
        label: &str,
        below: DateKey,
        mut each: impl FnMut(PageEntry) -> Result<bool, StoreError>,
    ) -> Result<(), StoreError> {
        let next = |rows: &mut redb::Range<'_, LabelKey, ()>| {
            let row = rows.next_back().transpose()?;
            Ok::<_, StoreError>(row.map(|(key, _)| (key.value().2, key.value().3)))
        };
        // The latest row of each source, and the older rows.
        let mut heads = Vec::new();
        for source in sources {
            let source = source.as_str();
            let mut rows =
                table.range((source, label, i64::MIN, 0)..(source, label, below.0, below.1))?;
            heads.extend(next(&mut rows)?.map(|head| (head, rows)));
        }
        while let Some(latest) = (0..heads.len()).max_by_key(|&at| heads[at].0) {
            let (head, rows) = &mut heads[latest];
            let id = head.1;
            match next(rows)? {
                Some(older) => *head = older,
                None => _ = heads.swap_remove(latest),
            }
            if let Some(found) = self.unless_left_out(self.by_id(id))?.flatten()
                && !each(found)?
            {
                break;
            }
        }
        Ok(())
    }

    /// Calls `each` with the dated lines from `since` to `until` (inclusive days), newest first:
    /// the page, and the line's position in its timeline. Stops when `each` returns `false` or an
    /// error.
    pub fn timeline(
        &self,
        since: &str,
        until: &str,
        mut each: impl FnMut(&PageEntry, usize) -> Result<bool, StoreError>,
    ) -> Result<(), StoreError> {
        let table = self.table(t::TIMELINE)?;
        for row in table.range((since, 0, 0)..=(until, u64::MAX, u32::MAX))?.rev() {
            let (_, id, position) = row?.0.value();
            if let Some(found) = self.by_id(id)?
                && !each(&found, position as usize)?
            {
                break;
            }
        }
        Ok(())
    }

    /// Counts the dated lines of each day from `since` to `until` (inclusive days), in pages that
    /// `counts` accepts. Each page is looked up once.
    pub fn timeline_days(
        &self,
        since: &str,
        until: &str,
        counts: impl Fn(&PageEntry) -> bool,
    ) -> Result<DayCounts, StoreError> {
        let mut known: HashMap<u64, bool> = HashMap::new();
        let mut is_counted = |id: u64| -> Result<bool, StoreError> {
            if let Some(known) = known.get(&id) {
                return Ok(*known);
            }
            let is_counted = self.by_id(id)?.is_some_and(|page| counts(&page));
            known.insert(id, is_counted);
            Ok(is_counted)
        };
        let table = self.table(t::TIMELINE)?;
        let mut found = DayCounts::default();
        for row in table.range((since, 0, 0)..=(until, u64::MAX, u32::MAX))? {
            let key = row?.0;
            let (date, id, _) = key.value();
            if !is_counted(id)? {
                continue;
            }
            match found.days.last_mut() {
                Some((last, count)) if last == date => *count += 1,
                _ => found.days.push((date.to_owned(), 1)),
            }
        }
        for row in table.range(..(since, 0, 0))?.rev() {
            let key = row?.0;
            if is_counted(key.value().1)? {
                found.before = Some(key.value().0.to_owned());
                break;
            }
        }
        for row in table.range((Excluded((until, u64::MAX, u32::MAX)), Unbounded))? {
            let key = row?.0;
            if is_counted(key.value().1)? {
                found.after = Some(key.value().0.to_owned());
                break;
            }
        }
        Ok(found)
    }
}

/// The days of a period with dated lines.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct DayCounts {
    /// Each day with the number of its lines, oldest first.
    pub days: Vec<(String, u64)>,
    /// The last day with a dated line before the period.
    pub before: Option<String>,
    /// The first day with a dated line after the period.
    pub after: Option<String>,
}
