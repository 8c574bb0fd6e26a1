//! Reading: short snapshots, and the one place that decides whether a caller may see a page.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

use brain_base::caller::Visibility;
use brain_protocol::{Slug, SourceId};
use redb::{ReadOnlyTable, ReadableTable, ReadableTableMetadata};

use super::apply::slug_keys;
use super::damage::{PageKey, check_text, check_version};
use super::draft::read;
use super::error::{naming_damage, unless_damaged};
use super::open::Snapshot;
use super::record::{
    Content, Derived, FileRecord, LinkRecord, OutboxRow, PageRecord, SourceRecord, VersionRecord,
    record_of_version,
};
use super::writer::{Change, ChangedPage};
use super::{StoreError, migrate, sources::after, tables as t};

/// About how many bytes of text [`Reader::changes_after`] hands over at once.
const MAX_FEED_BYTES: usize = 16_000_000;

/// Sizes of the store.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Counts {
    /// Active pages of all sources.
    pub active: u64,
    /// Soft-deleted pages.
    pub deleted: u64,
    /// Sources.
    pub sources: u64,
    /// Files that are still to be written.
    pub outbox: u64,
    /// The last sequence number.
    pub seq: u64,
    /// The schema's number.
    pub schema: u64,
}

/// Where a link leads.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Resolution {
    /// To this page.
    Page(Box<(SourceId, Slug, PageRecord)>),
    /// To no page yet.
    Missing,
    /// Several pages answer to the name.
    Ambiguous,
}

/// What pages may have in common.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mark<'a> {
    /// A tag.
    Tag(&'a str),
    /// The page's type.
    Type(&'a str),
}

/// An active page that the caller may see.
pub type Found = (SourceId, Slug, PageRecord);

/// One snapshot of the store, as one caller may see it.
pub struct Reader {
    pub(super) txn: Snapshot,
    pub(super) view: Visibility,
    /// The number after that of the last item that was answered.
    promised: u64,
    /// For how many damaged pages a backup was looked for.
    lookups: AtomicU32,
}

impl Reader {
    pub(super) fn new(txn: Snapshot, view: Visibility, promised: &AtomicU64) -> Self {
        Self { txn, view, promised: promised.load(Ordering::Acquire), lookups: AtomicU32::new(0) }
    }

    /// Does what reads the whole file. A panic over damaged bytes is told as damage to the file.
    pub(super) fn naming_file<T>(
        &self,
        work: impl FnOnce(&redb::ReadTransaction) -> Result<T, StoreError>,
    ) -> Result<T, StoreError> {
        naming_damage(&self.txn.report.path, || work(&self.txn))
    }

    /// Does what reads about one page. Damage, a panic over damaged bytes included, is told with the page's name.
    fn naming<T>(
        &self,
        key: PageKey<'_>,
        work: impl FnOnce() -> Result<T, StoreError>,
    ) -> Result<T, StoreError> {
        let report = &self.txn.report;
        naming_damage(&report.path, work).map_err(|error| match error {
            StoreError::Damaged(what) => {
                report.page(key, &what, &self.lookups, self.view == Visibility::All)
            }
            other => other,
        })
    }

    /// The same for a page that is known by its id, or one of its former versions.
    fn naming_by_id<T>(
        &self,
        id: u64,
        version: Option<u32>,
        work: impl FnOnce() -> Result<T, StoreError>,
    ) -> Result<T, StoreError> {
        let read = naming_damage(&self.txn.report.path, work);
        let Err(StoreError::Damaged(what)) = read else { return read };
        let key = self.table(t::IDS).and_then(|ids| Ok(ids.get(id)?));
        match key {
            Ok(Some(guard)) => {
                let (source, slug) = guard.value();
                self.naming(PageKey { source, slug, version, is_text: true }, || {
                    Err(StoreError::Damaged(what))
                })
            }
            _ => Err(StoreError::Damaged(format!("page {id}: {what}"))),
        }
    }

    /// How many accepted items this snapshot does not show.
    pub(super) fn unshown(&self) -> Result<u64, StoreError> {
        let next = migrate::meta(&self.txn, t::META_NEXT_JOB)?.unwrap_or(1);
        Ok(self.promised.saturating_sub(next))
    }

    pub(super) fn table<K: redb::Key + 'static, V: redb::Value + 'static>(
        &self,
        definition: redb::TableDefinition<'static, K, V>,
    ) -> Result<ReadOnlyTable<K, V>, StoreError> {
        Ok(self.txn.open_table(definition)?)
    }

    /// The one predicate: active, and in a source that the caller may see.
    fn admits(&self, source: &str, record: &PageRecord) -> bool {
        record.deleted_at.is_none() && self.view.shows(source)
    }

    /// The active page.
    ///
    /// # Errors
    /// When the store cannot be read.
    pub fn page(&self, source: &SourceId, slug: &Slug) -> Result<Option<PageRecord>, StoreError> {
        Ok(self
            .page_even_deleted(source, slug)?
            .filter(|record| self.admits(source.as_str(), record)))
    }

    /// The page, deleted or not, if its source may be seen: for those who restore and for telling "deleted" from
    /// "never was".
    ///
    /// # Errors
    /// When the store cannot be read.
    pub fn page_even_deleted(
        &self,
        source: &SourceId,
        slug: &Slug,
    ) -> Result<Option<PageRecord>, StoreError> {
        if !self.view.shows(source.as_str()) {
            return Ok(None);
        }
        let (source, slug) = (source.as_str(), slug.as_str());
        self.naming(PageKey { source, slug, version: None, is_text: false }, || {
            let pages = self.table(t::PAGES)?;
            read(pages.get((source, slug))?.as_ref().map(redb::AccessGuard::value))
        })
    }

    /// The active page with this id.
    ///
    /// # Errors
    /// When the store cannot be read.
    pub fn by_id(&self, id: u64) -> Result<Option<Found>, StoreError> {
        Ok(self
            .by_id_even_deleted(id)?
            .filter(|(source, _, record)| self.admits(source.as_str(), record)))
    }

    /// The page with this id, deleted or not.
    ///
    /// # Errors
    /// When the store cannot be read.
    pub fn by_id_even_deleted(&self, id: u64) -> Result<Option<Found>, StoreError> {
        let Some(guard) = self.table(t::IDS)?.get(id)? else { return Ok(None) };
        let (source, slug) = guard.value();
        let (source, slug) = parse_key(source, slug)?;
        match self.page_even_deleted(&source, &slug)? {
            Some(record) if record.id == id => Ok(Some((source, slug, record))),
            // Every id leads to its page.
            _ if self.view.shows(source.as_str()) => {
                self.naming_by_id(id, None, || Err(StoreError::damaged("its id leads elsewhere")))
            }
            _ => Ok(None),
        }
    }

    /// The text of the page, compared with the content hash in its record.
    ///
    /// # Errors
    /// `store_damaged` with the page's name when there is none, or another one; what the disk says.
    pub fn content(&self, record: &PageRecord) -> Result<Content, StoreError> {
        self.naming_by_id(record.id, None, || {
            let contents = self.table(t::CONTENTS)?;
            let row = contents.get(record.id)?;
            let found: Option<Content> = read(row.as_ref().map(redb::AccessGuard::value))?;
            let content = found.ok_or_else(|| StoreError::damaged("it has no text"))?;
            check_text(record, &content).map_err(StoreError::damaged)?;
            Ok(content)
        })
    }

    /// What is derived from the page's text.
    ///
    /// # Errors
    /// When the store cannot be read.
    pub fn derived(&self, id: u64) -> Result<Derived, StoreError> {
        self.naming_by_id(id, None, || {
            let derived = self.table(t::DERIVED)?;
            Ok(read(derived.get(id)?.as_ref().map(redb::AccessGuard::value))?.unwrap_or_default())
        })
    }

    /// One former version.
    ///
    /// # Errors
    /// When the store cannot be read.
    pub fn version(&self, id: u64, version: u32) -> Result<Option<VersionRecord>, StoreError> {
        self.naming_by_id(id, Some(version), || {
            let versions = self.table(t::VERSIONS)?;
            let row = versions.get((id, version))?;
            let kept: Option<VersionRecord> = read(row.as_ref().map(redb::AccessGuard::value))?;
            if let Some(kept) = &kept {
                check_version(kept, id, version).map_err(StoreError::damaged)?;
            }
            Ok(kept)
        })
    }

    /// The former versions without their texts, newest first.
    ///
    /// # Errors
    /// When the store cannot be read.
    pub fn versions(&self, id: u64) -> Result<Vec<PageRecord>, StoreError> {
        let mut out = Vec::new();
        for row in self.table(t::VERSIONS)?.range((id, 0)..=(id, u32::MAX))?.rev() {
            let (key, value) = row?;
            let number = key.value().1;
            out.push(self.naming_by_id(id, Some(number), || record_of_version(value.value()))?);
        }
        Ok(out)
    }

    /// The registered sources that the caller may see.
    ///
    /// # Errors
    /// When the store cannot be read.
    pub fn sources(&self) -> Result<Vec<(SourceId, SourceRecord)>, StoreError> {
        let mut out = Vec::new();
        for row in self.table(t::SOURCES)?.iter()? {
            let (key, value) = row?;
            let id =
                SourceId::parse(key.value()).map_err(|e| StoreError::Damaged(e.to_string()))?;
            if let Some(record) =
                read(Some(value.value()))?.filter(|_| self.view.shows(id.as_str()))
            {
                out.push((id, record));
            }
        }
        Ok(out)
    }

    /// Sizes.
    ///
    /// # Errors
    /// When the store cannot be read.
    pub fn counts(&self) -> Result<Counts, StoreError> {
        Ok(Counts {
            active: migrate::meta(&self.txn, t::META_ACTIVE)?.unwrap_or(0),
            deleted: self.table(t::DELETED)?.len()?,
            sources: self.table(t::SOURCES)?.len()?,
            outbox: self.table(t::OUTBOX)?.len()?,
            seq: migrate::meta(&self.txn, t::META_SEQ)?.unwrap_or(0),
            schema: migrate::meta(&self.txn, t::META_SCHEMA)?.unwrap_or(0),
        })
    }

    /// Calls `each` for active pages, newest change first, beginning below the sequence number `below`, until it
    /// says stop.
    ///
    /// # Errors
    /// When the store cannot be read, or `each` fails.
    pub fn newest(
        &self,
        below: u64,
        mut each: impl FnMut(Found) -> Result<bool, StoreError>,
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

    /// Calls `each` for active pages in the order of (source, slug), after the given key, until it says stop.
    ///
    /// # Errors
    /// When the store cannot be read, or `each` fails.
    pub fn in_order(
        &self,
        after: (&str, &str),
        mut each: impl FnMut(Found) -> Result<bool, StoreError>,
    ) -> Result<(), StoreError> {
        use std::ops::Bound::{Excluded, Unbounded};
        let pages = self.table(t::PAGES)?;
        for row in pages.range::<(&str, &str)>((Excluded(after), Unbounded))? {
            let (key, value) = row?;
            let (source, slug) = key.value();
            if !self.view.shows(source) {
                continue;
            }
            let record: PageRecord = self
                .naming(PageKey { source, slug, version: None, is_text: false }, || {
                    super::record::from_bytes(value.value())
                })?;
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

    /// Calls `each` for soft-deleted pages, newest first, beginning below the key (deleted at, page id), until it says
    /// stop.
    ///
    /// # Errors
    /// When the store cannot be read, or `each` fails.
    pub fn deleted(
        &self,
        below: (i64, u64),
        mut each: impl FnMut(Found) -> Result<bool, StoreError>,
    ) -> Result<(), StoreError> {
        for row in self.table(t::DELETED)?.range(..below)?.rev() {
            let (_, id) = row?.0.value();
            if let Some(found) = self.by_id_even_deleted(id)?
                && !each(found)?
            {
                break;
            }
        }
        Ok(())
    }

    /// The active pages that were captured at or after `since` and still have that content, oldest first.
    ///
    /// # Errors
    /// When the store cannot be read.
    pub fn captured(&self, since: i64) -> Result<Vec<Found>, StoreError> {
        let mut out = Vec::new();
        for row in self.table(t::CAPTURED)?.range((since, 0)..)? {
            let (at, id) = row?.0.value();
            out.extend(self.by_id(id)?.filter(|(_, _, record)| record.content_at == at));
        }
        Ok(out)
    }

    /// When the longest deleted page was deleted, Unix milliseconds.
    ///
    /// # Errors
    /// When the store cannot be read.
    pub fn oldest_deletion(&self) -> Result<Option<i64>, StoreError> {
        Ok(self.table(t::DELETED)?.first()?.map(|(key, _)| key.value().0))
    }

    /// Active pages by tag, with their numbers: those of the sources that the caller may see.
    ///
    /// # Errors
    /// When the store cannot be read.
    pub fn tag_counts(
        &self,
        source: Option<&SourceId>,
    ) -> Result<BTreeMap<String, u64>, StoreError> {
        let table = self.table(t::TAG_COUNTS)?;
        let mut counts = BTreeMap::new();
        for of in self.shown_of(source)? {
            for row in table.range((of.as_str(), "")..(after(&of).as_str(), ""))? {
                let (key, pages) = row?;
                *counts.entry(key.value().1.to_owned()).or_insert(0) += pages.value();
            }
        }
        Ok(counts)
    }

    /// Calls `each` for active pages of one source or of all that have this tag or type, newest change first, beginning
    /// below the sequence number `below`, until it says stop.
    ///
    /// # Errors
    /// When the store cannot be read, or `each` fails.
    pub fn newest_with(
        &self,
        mark: Mark<'_>,
        source: Option<&SourceId>,
        below: u64,
        mut each: impl FnMut(Found) -> Result<bool, StoreError>,
    ) -> Result<(), StoreError> {
        let (table, key) = match mark {
            Mark::Tag(tag) => (self.table(t::TAGS)?, tag),
            Mark::Type(page_type) => (self.table(t::TYPES)?, page_type),
        };
        let changes = self.table(t::CHANGES)?;
        let next = |rows: &mut redb::Range<'_, (&'static str, &'static str, u64), ()>| {
            rows.next_back().map(|row| row.map(|(key, _)| key.value().2)).transpose()
        };
        // What is newest in each source, and what comes behind it.
        let mut heads = Vec::new();
        for of in self.shown_of(source)? {
            let mut rows = table.range((of.as_str(), key, 0)..(of.as_str(), key, below))?;
            heads.extend(next(&mut rows)?.map(|seq| (seq, rows)));
        }
        while let Some(newest) = (0..heads.len()).max_by_key(|&at| heads[at].0) {
            let (seq, rows) = &mut heads[newest];
            let id = changes.get(*seq)?.map(|guard| guard.value());
            match next(rows)? {
                Some(further) => *seq = further,
                None => _ = heads.swap_remove(newest),
            }
            if let Some(id) = id
                && let Some(found) = self.by_id(id)?
                && !each(found)?
            {
                break;
            }
        }
        Ok(())
    }

    /// The sources that the caller may see, or the one of them that is named.
    pub(super) fn shown_of(&self, named: Option<&SourceId>) -> Result<Vec<SourceId>, StoreError> {
        let shown = self.sources()?.into_iter().map(|(id, _)| id);
        Ok(shown.filter(|id| named.is_none_or(|named| named == id)).collect())
    }

    fn ids_under(
        &self,
        table: redb::TableDefinition<'static, (&'static str, &'static str, u64), ()>,
        source: &str,
        key: &str,
    ) -> Result<Vec<u64>, StoreError> {
        let mut out = Vec::new();
        for row in self.table(table)?.range((source, key, 0)..=(source, key, u64::MAX))? {
            out.push(row?.0.value().2);
        }
        Ok(out)
    }

    /// Calls `each` with (page, position) for dated lines from `since` to `until` (inclusive days), newest first,
    /// until it says stop.
    ///
    /// # Errors
    /// When the store cannot be read, or `each` fails.
    pub fn timeline(
        &self,
        since: &str,
        until: &str,
        mut each: impl FnMut(&Found, usize) -> Result<bool, StoreError>,
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

    /// Where a link of a page in `own_source` leads now.
    ///
    /// # Errors
    /// When the store cannot be read.
    pub fn resolve(
        &self,
        link: &LinkRecord,
        own_source: &SourceId,
    ) -> Result<Resolution, StoreError> {
        let source = link.source.as_deref().map_or_else(|| Ok(own_source.clone()), SourceId::parse);
        if let Ok(source) = source {
            for slug in &link.slugs {
                let Ok(slug) = Slug::parse(slug.as_str()) else { continue };
                if let Some(record) = self.page(&source, &slug)? {
                    return Ok(Resolution::Page(Box::new((source, slug, record))));
                }
            }
        }
        for name in link.names() {
            // Two are enough to know that it is not one.
            let mut answering = self.named(own_source, &name, 2)?;
            match (answering.pop(), answering.is_empty()) {
                (Some(one), true) => return Ok(Resolution::Page(Box::new(one))),
                (Some(_), false) => return Ok(Resolution::Ambiguous),
                (None, _) => {}
            }
        }
        Ok(Resolution::Missing)
    }

    /// Up to `limit` active pages of a source that have this normalised name as file name or alias.
    ///
    /// # Errors
    /// When the store cannot be read.
    pub fn named(
        &self,
        source: &SourceId,
        name: &str,
        limit: usize,
    ) -> Result<Vec<Found>, StoreError> {
        let mut out = Vec::new();
        let source = source.as_str();
        for row in self.table(t::NAMES)?.range((source, name, 0)..=(source, name, u64::MAX))? {
            if out.len() == limit {
                break;
            }
            out.extend(self.by_id(row?.0.value().2)?);
        }
        Ok(out)
    }

    /// Up to `limit` active pages of a source with a normalised name that goes on behind the words of `beginning`.
    ///
    /// # Errors
    /// When the store cannot be read.
    pub fn named_longer(
        &self,
        source: &SourceId,
        beginning: &str,
        limit: usize,
    ) -> Result<Vec<Found>, StoreError> {
        let from = format!("{beginning} ");
        let mut out = Vec::new();
        for row in self.table(t::NAMES)?.range((source.as_str(), from.as_str(), 0)..)? {
            let key = row?.0;
            let (of, name, id) = key.value();
            if out.len() == limit || of != source.as_str() || !name.starts_with(&from) {
                break;
            }
            out.extend(self.by_id(id)?);
        }
        Ok(out)
    }

    /// The active pages with a link that leads to this page, with those links.
    ///
    /// # Errors
    /// When the store cannot be read.
    pub fn backlinks(&self, to: &Found) -> Result<Vec<(Found, LinkRecord)>, StoreError> {
        let names = self.derived(to.2.id)?.names;
        let mut out = Vec::new();
        for id in self.linking(to, usize::MAX)? {
            let Some(page) = self.by_id(id)? else { continue };
            out.extend(
                self.links_between(&page, to, &names)?.into_iter().map(|link| (page.clone(), link)),
            );
        }
        out.sort_by(|a, b| (&a.0.0, &a.0.1).cmp(&(&b.0.0, &b.0.1)));
        Ok(out)
    }

    /// The numbers of up to `limit` pages of the caller's that may have a link to this page, newest first: deleted ones among them.
    ///
    /// # Errors
    /// When the store cannot be read.
    pub fn linking(&self, to: &Found, limit: usize) -> Result<Vec<u64>, StoreError> {
        let (source, slug, record) = to;
        let keys: BTreeSet<_> =
            self.derived(record.id)?.names.into_iter().chain(slug_keys(slug.as_str())).collect();
        let table = self.table(t::LINKS_IN)?;
        let mut from = BTreeSet::new();
        for key in keys {
            let (source, key) = (source.as_str(), key.as_str());
            let mut count = 0;
            for row in table.range((source, key, 0)..=(source, key, u64::MAX))?.rev() {
                let id = row?.0.value().2;
                // Those of others take nobody's place.
                if !self.may_show(id)? {
                    continue;
                }
                from.insert(id);
                count += 1;
                if count == limit {
                    break;
                }
            }
        }
        Ok(from.into_iter().rev().take(limit).collect())
    }

    /// Whether the page is in a source that the caller may see.
    fn may_show(&self, id: u64) -> Result<bool, StoreError> {
        if self.view == Visibility::All {
            return Ok(true);
        }
        Ok(self.table(t::IDS)?.get(id)?.is_some_and(|guard| self.view.shows(guard.value().0)))
    }

    /// The links of the page `from` that lead to the page `to`, which answers to `names` ([`Derived::names`]).
    ///
    /// # Errors
    /// When the store cannot be read.
    pub fn links_between(
        &self,
        from: &Found,
        to: &Found,
        names: &[String],
    ) -> Result<Vec<LinkRecord>, StoreError> {
        let mut out = Vec::new();
        for link in self.derived(from.2.id)?.links {
            let may = link.slugs.iter().any(|s| s == to.1.as_str())
                || link.names().any(|name| names.contains(&name));
            if may
                && let Resolution::Page(target) = self.resolve(&link, &from.0)?
                && target.2.id == to.2.id
            {
                out.push(link);
            }
        }
        Ok(out)
    }

    /// The active pages with a link to a slug that no page has yet, with those links.
    ///
    /// # Errors
    /// When the store cannot be read.
    pub fn links_to_missing(
        &self,
        source: &SourceId,
        slug: &Slug,
    ) -> Result<Vec<(Found, LinkRecord)>, StoreError> {
        let mut out = Vec::new();
        let mut from = BTreeSet::new();
        for key in slug_keys(slug.as_str()) {
            from.extend(self.ids_under(t::LINKS_IN, source.as_str(), &key)?);
        }
        for id in from {
            let Some(page) = self.by_id(id)? else { continue };
            for link in self.derived(id)?.links {
                let names_it = link.slugs.iter().any(|s| s == slug.as_str());
                if names_it && self.resolve(&link, &page.0)? == Resolution::Missing {
                    out.push((page.clone(), link));
                }
            }
        }
        Ok(out)
    }

    /// Up to `limit` changes after the sequence number `after`, in order, for those who follow the store; fewer when
    /// their texts are long.
    ///
    /// # Errors
    /// When the store cannot be read.
    pub fn changes_after(&self, after: u64, limit: usize) -> Result<Vec<Change>, StoreError> {
        let (mut out, mut bytes) = (Vec::new(), 0);
        for row in self.table(t::CHANGES)?.range(after + 1..)?.take(limit) {
            if bytes > MAX_FEED_BYTES {
                break;
            }
            let (seq, id) = row?;
            let (seq, id) = (seq.value(), id.value());
            // What follows the store goes on without a page that is damaged.
            let found = unless_damaged(self.by_id_even_deleted(id))?.flatten();
            let page = match found.filter(|(_, _, record)| record.deleted_at.is_none()) {
                Some((source, slug, record)) => {
                    unless_damaged(self.content(&record))?.map(|content| {
                        bytes += content.body.len();
                        std::sync::Arc::new(ChangedPage {
                            source,
                            slug,
                            record,
                            content,
                            is_read: false,
                        })
                    })
                }
                None => None,
            };
            out.push(Change { seq, id, page, bulk: false });
        }
        Ok(out)
    }

    /// Up to `limit` changes after the sequence number `after`, in order: each one's number and page. For those who need no texts.
    ///
    /// # Errors
    /// When the store cannot be read.
    pub fn changed_after(&self, after: u64, limit: usize) -> Result<Vec<(u64, u64)>, StoreError> {
        let changes = self.table(t::CHANGES)?;
        let rows = changes.range(after + 1..)?.take(limit);
        rows.map(|row| row.map(|(seq, id)| (seq.value(), id.value())).map_err(StoreError::from))
            .collect()
    }

    /// How many changes there are after the sequence number `after`.
    ///
    /// # Errors
    /// When the store cannot be read.
    pub fn changes_after_count(&self, after: u64) -> Result<u64, StoreError> {
        Ok(self.table(t::CHANGES)?.range(after + 1..)?.count() as u64)
    }

    /// The files of a source as sync last saw them, in the order of their paths: those whose paths begin with `prefix`.
    ///
    /// # Errors
    /// When the store cannot be read.
    pub fn files(
        &self,
        source: &SourceId,
        prefix: &str,
    ) -> Result<impl Iterator<Item = PathRow<FileRecord>> + use<>, StoreError> {
        let rows =
            self.table(t::FILES)?.range((source.as_str(), prefix)..(after(source).as_str(), ""))?;
        Ok(with_prefix(rows, prefix.to_owned(), super::record::from_bytes))
    }

    /// The paths of a source that pages have, deleted pages included, with the pages' ids; like [`Reader::files`].
    ///
    /// # Errors
    /// When the store cannot be read.
    pub fn paths(
        &self,
        source: &SourceId,
        prefix: &str,
    ) -> Result<impl Iterator<Item = PathRow<u64>> + use<>, StoreError> {
        let rows =
            self.table(t::PATHS)?.range((source.as_str(), prefix)..(after(source).as_str(), ""))?;
        Ok(with_prefix(rows, prefix.to_owned(), Ok))
    }

    /// The page that has the file at `path`, deleted or not.
    ///
    /// # Errors
    /// When the store cannot be read.
    pub fn page_at(
        &self,
        source: &SourceId,
        path: &str,
    ) -> Result<Option<(Slug, PageRecord)>, StoreError> {
        let Some(id) =
            self.table(t::PATHS)?.get((source.as_str(), path))?.map(|guard| guard.value())
        else {
            return Ok(None);
        };
        Ok(self.by_id_even_deleted(id)?.map(|(_, slug, record)| (slug, record)))
    }

    /// A file of a source as sync last saw it.
    ///
    /// # Errors
    /// When the store cannot be read.
    pub fn file(&self, source: &SourceId, path: &str) -> Result<Option<FileRecord>, StoreError> {
        read(
            self.table(t::FILES)?
                .get((source.as_str(), path))?
                .as_ref()
                .map(redb::AccessGuard::value),
        )
    }

    /// The outbox row of a page.
    ///
    /// # Errors
    /// When the store cannot be read.
    pub fn outbox_row(&self, id: u64) -> Result<Option<OutboxRow>, StoreError> {
        read(self.table(t::OUTBOX)?.get(id)?.as_ref().map(redb::AccessGuard::value))
    }

    /// The ids in the outbox.
    ///
    /// # Errors
    /// When the store cannot be read.
    pub fn outbox(&self) -> Result<Vec<u64>, StoreError> {
        self.table(t::OUTBOX)?.iter()?.map(|row| Ok(row?.0.value())).collect()
    }
}

/// A path of a source, and what is known of it.
pub type PathRow<T> = Result<(String, T), StoreError>;

/// Rows by source and path, as long as their paths begin with `prefix`.
fn with_prefix<V: redb::Value + 'static, T>(
    rows: redb::Range<'static, (&'static str, &'static str), V>,
    prefix: String,
    value_of: impl Fn(V::SelfType<'_>) -> Result<T, StoreError>,
) -> impl Iterator<Item = PathRow<T>> {
    rows.map_while(move |row| match row {
        Ok((key, value)) => {
            let path = key.value().1;
            path.starts_with(&prefix).then(|| Ok((path.to_owned(), value_of(value.value())?)))
        }
        Err(e) => Some(Err(e.into())),
    })
}

/// A key that was valid when it was stored.
fn parse_key(source: &str, slug: &str) -> Result<(SourceId, Slug), StoreError> {
    let damaged = |e: brain_protocol::NameError| StoreError::Damaged(format!("key of a page: {e}"));
    Ok((SourceId::parse(source).map_err(damaged)?, Slug::parse(slug).map_err(damaged)?))
}
