//! Read access: snapshots limited to what a caller can see.

use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

use brain_base::caller::Visibility;
use brain_protocol::{Fault, Slug, SourceId};
use parking_lot::Mutex;
use redb::{ReadOnlyTable, ReadableTable, ReadableTableMetadata};

use super::change::{Change, ChangedPage};
use super::damage::PageKey;
use super::error::{unless_damaged, with_damage_report};
use super::record::{
    Content, DerivedRows, FileRecord, OutboxRow, PageRecord, SourceRecord, SourceSettingsRecord,
    VersionRecord, check_text, check_version, read, record_of_version,
};
use super::snapshot::ReadView;
use super::step_times::StepTimes;
use super::{StoreError, meta, tables as t, tables::end_of_source};

/// Maximum number of damaged pages that [`Reader::damaged_pages`] returns.
const MAX_LEFT_OUT: usize = 20;
/// Approximate maximum bytes of text that [`Reader::changes_after`] returns.
const MAX_FEED_BYTES: usize = 16_000_000;

/// Counts of the store's contents.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Counts {
    /// Active pages of all sources.
    pub active: u64,
    /// Soft-deleted pages.
    pub deleted: u64,
    /// Registered sources.
    pub sources: u64,
    /// Page files that are still to be written, moved or removed.
    pub outbox: u64,
    /// The last sequence number.
    pub seq: u64,
    /// The schema's number.
    pub schema: u64,
}

/// A page without its text: source and slug, which name it, and its record.
pub type PageEntry = (SourceId, Slug, PageRecord);

/// A snapshot of the store, limited to what one caller can see.
pub struct Reader {
    pub(super) txn: ReadView,
    pub(super) view: Visibility,
    /// One more than the number of the last acknowledged job.
    next_acknowledged_job: u64,
    /// Number of damaged pages for which a backup was searched.
    lookups: AtomicU32,
    /// Damage of the pages that lists left out. `None`: a damaged page makes a list fail.
    damaged_pages: Option<Mutex<Vec<Fault>>>,
    pub(super) step_times: StepTimes,
}

impl Reader {
    pub(super) fn new(txn: ReadView, view: Visibility, next_acknowledged_job: &AtomicU64) -> Self {
        Self {
            txn,
            view,
            next_acknowledged_job: next_acknowledged_job.load(Ordering::Acquire),
            lookups: AtomicU32::new(0),
            damaged_pages: None,
            step_times: StepTimes::default(),
        }
    }

    /// Lets lists leave out pages with a damaged record, instead of failing.
    #[must_use]
    pub fn leaving_out_damage(self) -> Self {
        Self { damaged_pages: Some(Mutex::default()), ..self }
    }

    /// Returns the damage of up to 20 pages that lists left out, each page once.
    #[must_use]
    pub fn damaged_pages(&self) -> Vec<Fault> {
        self.damaged_pages.as_ref().map(|faults| faults.lock().clone()).unwrap_or_default()
    }

    /// Returns `None` for a damaged page that a list leaves out.
    pub(super) fn unless_left_out<T>(
        &self,
        read: Result<T, StoreError>,
    ) -> Result<Option<T>, StoreError> {
        match (read, &self.damaged_pages) {
            (Err(error @ StoreError::DamagedPage(_)), Some(faults)) => {
                let (fault, mut faults) = (Fault::from(error), faults.lock());
                if faults.len() < MAX_LEFT_OUT && !faults.contains(&fault) {
                    faults.push(fault);
                }
                Ok(None)
            }
            (read, _) => read.map(Some),
        }
    }

    /// Runs `work` on the transaction and reports a panic as damage to the file.
    pub(super) fn with_file_damage<T>(
        &self,
        work: impl FnOnce(&redb::ReadTransaction) -> Result<T, StoreError>,
    ) -> Result<T, StoreError> {
        with_damage_report(&self.txn.report.path, || work(&self.txn))
    }

    /// Runs `work`, which reads one page, and reports damage with the page's name.
    pub(super) fn with_page_damage<T>(
        &self,
        key: PageKey<'_>,
        work: impl FnOnce() -> Result<T, StoreError>,
    ) -> Result<T, StoreError> {
        let report = &self.txn.report;
        with_damage_report(&report.path, work).map_err(|error| match error {
            StoreError::Damaged(problem) => {
                report.page(key, &problem, &self.lookups, self.view == Visibility::All)
            }
            other => other,
        })
    }

    /// As `with_page_damage`, for a page known by its id, or one of its former versions.
    fn with_page_damage_by_id<T>(
        &self,
        id: u64,
        version: Option<u32>,
        work: impl FnOnce() -> Result<T, StoreError>,
    ) -> Result<T, StoreError> {
        let read = with_damage_report(&self.txn.report.path, work);
        let Err(StoreError::Damaged(problem)) = read else { return read };
        let key = self.table(t::IDS).and_then(|ids| Ok(ids.get(id)?));
        match key {
            Ok(Some(guard)) => {
                let (source, slug) = guard.value();
                self.with_page_damage(PageKey { source, slug, version, is_text: true }, || {
                    Err(StoreError::Damaged(problem))
                })
            }
            _ => Err(StoreError::Damaged(format!("page {id}: {problem}"))),
        }
    }

    /// Returns how many acknowledged jobs this snapshot does not show.
    pub(super) fn hidden_jobs(&self) -> Result<u64, StoreError> {
        let next = meta::number(&self.txn, t::META_NEXT_JOB)?.unwrap_or(1);
        Ok(self.next_acknowledged_job.saturating_sub(next))
    }

    pub(super) fn table<K: redb::Key + 'static, V: redb::Value + 'static>(
        &self,
        definition: redb::TableDefinition<'static, K, V>,
    ) -> Result<ReadOnlyTable<K, V>, StoreError> {
        Ok(self.txn.open_table(definition)?)
    }

    /// Opens a table that stores of earlier schemas get with their first write; `None` before.
    pub(super) fn new_table<K: redb::Key + 'static, V: redb::Value + 'static>(
        &self,
        definition: redb::TableDefinition<'static, K, V>,
    ) -> Result<Option<ReadOnlyTable<K, V>>, StoreError> {
        match self.txn.open_table(definition) {
            Ok(table) => Ok(Some(table)),
            Err(redb::TableError::TableDoesNotExist(_)) => Ok(None),
            Err(error) => Err(error.into()),
        }
    }

    /// Whether the caller can see the page: it is active, and its source is visible. All reads of
    /// active pages use this.
    pub(super) fn admits(&self, source: &str, record: &PageRecord) -> bool {
        record.deleted_at.is_none() && self.view.shows(source)
    }

    /// Returns the active page.
    pub fn page(&self, source: &SourceId, slug: &Slug) -> Result<Option<PageRecord>, StoreError> {
        Ok(self
            .page_even_deleted(source, slug)?
            .filter(|record| self.admits(source.as_str(), record)))
    }

    /// Returns the page, deleted or not, if its source is visible. Used to restore pages, and to
    /// tell "deleted" from "never existed".
    pub fn page_even_deleted(
        &self,
        source: &SourceId,
        slug: &Slug,
    ) -> Result<Option<PageRecord>, StoreError> {
        if !self.view.shows(source.as_str()) {
            return Ok(None);
        }
        let (source, slug) = (source.as_str(), slug.as_str());
        self.with_page_damage(PageKey { source, slug, version: None, is_text: false }, || {
            let pages = self.table(t::PAGES)?;
            read(pages.get((source, slug))?.as_ref().map(redb::AccessGuard::value))
        })
    }

    /// Returns the active page with this id.
    pub fn by_id(&self, id: u64) -> Result<Option<PageEntry>, StoreError> {
        Ok(self
            .by_id_including_deleted(id)?
            .filter(|(source, _, record)| self.admits(source.as_str(), record)))
    }

    /// Returns the page with this id, deleted or not.
    pub fn by_id_including_deleted(&self, id: u64) -> Result<Option<PageEntry>, StoreError> {
        let Some(guard) = self.table(t::IDS)?.get(id)? else { return Ok(None) };
        let (source, slug) = guard.value();
        let (source, slug) = parse_key(source, slug)?;
        match self.page_even_deleted(&source, &slug)? {
            Some(record) if record.id == id => Ok(Some((source, slug, record))),
            // Every id has a page, so a missing page or another page's id means damage.
            _ if self.view.shows(source.as_str()) => self.with_page_damage_by_id(id, None, || {
                Err(StoreError::damaged("its id belongs to another page"))
            }),
            _ => Ok(None),
        }
    }

    /// Returns the page's text after comparing it with the content hash.
    ///
    /// # Errors
    /// [`StoreError::DamagedPage`] when the text is missing or does not match; errors of the disk.
    pub fn content(&self, record: &PageRecord) -> Result<Content, StoreError> {
        self.with_page_damage_by_id(record.id, None, || {
            let contents = self.table(t::CONTENTS)?;
            let row = contents.get(record.id)?;
            let found: Option<Content> = read(row.as_ref().map(redb::AccessGuard::value))?;
            let content = found.ok_or_else(|| StoreError::damaged("it has no text"))?;
            check_text(record, &content).map_err(StoreError::damaged)?;
            Ok(content)
        })
    }

    /// Returns the data derived from the page's text.
    pub fn derived(&self, id: u64) -> Result<DerivedRows, StoreError> {
        self.with_page_damage_by_id(id, None, || {
            let derived = self.table(t::DERIVED)?;
            Ok(read(derived.get(id)?.as_ref().map(redb::AccessGuard::value))?.unwrap_or_default())
        })
    }

    /// Returns a former version.
    pub fn version(&self, id: u64, version: u32) -> Result<Option<VersionRecord>, StoreError> {
        self.with_page_damage_by_id(id, Some(version), || {
            let versions = self.table(t::VERSIONS)?;
            let row = versions.get((id, version))?;
            let found: Option<VersionRecord> = read(row.as_ref().map(redb::AccessGuard::value))?;
            if let Some(found) = &found {
                check_version(found, id, version).map_err(StoreError::damaged)?;
            }
            Ok(found)
        })
    }

    /// Returns the former versions without their texts, newest first.
    pub fn versions(&self, id: u64) -> Result<Vec<PageRecord>, StoreError> {
        let mut out = Vec::new();
        for row in self.table(t::VERSIONS)?.range((id, 0)..=(id, u32::MAX))?.rev() {
            let (key, value) = row?;
            let number = key.value().1;
            out.push(
                self.with_page_damage_by_id(id, Some(number), || record_of_version(value.value()))?,
            );
        }
        Ok(out)
    }

    /// Returns the registered sources that the caller can see.
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

    /// Returns the owner's settings of a source; the default ones if none are stored.
    pub fn source_settings(&self, source: &SourceId) -> Result<SourceSettingsRecord, StoreError> {
        let table = self.table(t::SOURCE_SETTINGS)?;
        let found = table.get(source.as_str())?;
        Ok(read(found.as_ref().map(redb::AccessGuard::value))?.unwrap_or_default())
    }

    /// Counts the whole store, also pages that the caller cannot see.
    pub fn counts(&self) -> Result<Counts, StoreError> {
        Ok(Counts {
            active: meta::number(&self.txn, t::META_ACTIVE)?.unwrap_or(0),
            deleted: self.table(t::DELETED)?.len()?,
            sources: self.table(t::SOURCES)?.len()?,
            outbox: self.table(t::OUTBOX)?.len()?,
            seq: meta::number(&self.txn, t::META_SEQ)?.unwrap_or(0),
            schema: meta::number(&self.txn, t::META_SCHEMA)?.unwrap_or(0),
        })
    }

    /// Returns the sources that the caller can see, or only `named` if it is one of them.
    pub(super) fn visible_sources(
        &self,
        named: Option<&SourceId>,
    ) -> Result<Vec<SourceId>, StoreError> {
        let shown = self.sources()?.into_iter().map(|(id, _)| id);
        Ok(shown.filter(|id| named.is_none_or(|named| named == id)).collect())
    }

    /// Returns up to `limit` changes after the sequence number `after`, in order; fewer when their
    /// texts are long.
    pub fn changes_after(&self, after: u64, limit: usize) -> Result<Vec<Change>, StoreError> {
        let (mut out, mut bytes) = (Vec::new(), 0);
        for row in self.table(t::CHANGES)?.range(after + 1..)?.take(limit) {
            if bytes > MAX_FEED_BYTES {
                break;
            }
            let (seq, id) = row?;
            let (seq, id) = (seq.value(), id.value());
            // Consumers of changes continue without a damaged page.
            let found = unless_damaged(self.by_id_including_deleted(id))?.flatten();
            let page = match found.filter(|(_, _, record)| record.deleted_at.is_none()) {
                Some((source, slug, record)) => {
                    unless_damaged(self.content(&record))?.map(|content| {
                        bytes += content.body.len();
                        std::sync::Arc::new(ChangedPage {
                            source,
                            slug,
                            record,
                            content,
                            is_from_file: false,
                        })
                    })
                }
                None => None,
            };
            out.push(Change { seq, id, page, is_bulk: false });
        }
        Ok(out)
    }

    /// Returns sequence number and page id of up to `limit` changes after the sequence number
    /// `after`, in order.
    pub fn change_ids_after(
        &self,
        after: u64,
        limit: usize,
    ) -> Result<Vec<(u64, u64)>, StoreError> {
        let changes = self.table(t::CHANGES)?;
        let rows = changes.range(after + 1..)?.take(limit);
        rows.map(|row| row.map(|(seq, id)| (seq.value(), id.value())).map_err(StoreError::from))
            .collect()
    }

    /// Returns the number of changes after the sequence number `after`.
    pub fn changes_after_count(&self, after: u64) -> Result<u64, StoreError> {
        Ok(self.table(t::CHANGES)?.range(after + 1..)?.count() as u64)
    }

    /// Returns the files of a source as of the last sync whose paths begin with `prefix`, sorted by
    /// path.
    pub fn files(
        &self,
        source: &SourceId,
        prefix: &str,
    ) -> Result<impl Iterator<Item = PathRow<FileRecord>> + use<>, StoreError> {
        let rows = self
            .table(t::FILES)?
            .range((source.as_str(), prefix)..(end_of_source(source).as_str(), ""))?;
        Ok(with_prefix(rows, prefix.to_owned(), super::record::from_bytes))
    }

    /// Returns the paths of a source's pages, deleted ones included, with the pages' ids; see
    /// [`Reader::files`].
    pub fn paths(
        &self,
        source: &SourceId,
        prefix: &str,
    ) -> Result<impl Iterator<Item = PathRow<u64>> + use<>, StoreError> {
        let rows = self
            .table(t::PATHS)?
            .range((source.as_str(), prefix)..(end_of_source(source).as_str(), ""))?;
        Ok(with_prefix(rows, prefix.to_owned(), Ok))
    }

    /// Returns the page whose file is at `path`, deleted or not.
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
        Ok(self.by_id_including_deleted(id)?.map(|(_, slug, record)| (slug, record)))
    }

    /// Returns a file of a source as of the last sync.
    pub fn file(&self, source: &SourceId, path: &str) -> Result<Option<FileRecord>, StoreError> {
        read(
            self.table(t::FILES)?
                .get((source.as_str(), path))?
                .as_ref()
                .map(redb::AccessGuard::value),
        )
    }

    /// Returns the outbox row of a page.
    pub fn outbox_row(&self, id: u64) -> Result<Option<OutboxRow>, StoreError> {
        read(self.table(t::OUTBOX)?.get(id)?.as_ref().map(redb::AccessGuard::value))
    }

    /// Returns the page ids in the outbox.
    pub fn outbox(&self) -> Result<Vec<u64>, StoreError> {
        self.table(t::OUTBOX)?.iter()?.map(|row| Ok(row?.0.value())).collect()
    }
}

/// A path of a source with its value, or an error.
pub type PathRow<T> = Result<(String, T), StoreError>;

/// Returns rows by source and path while their paths begin with `prefix`.
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

/// Parses a stored key. An error means damage, because keys are valid when they are written.
pub(super) fn parse_key(source: &str, slug: &str) -> Result<(SourceId, Slug), StoreError> {
    let damaged = |e: brain_protocol::NameError| StoreError::Damaged(format!("key of a page: {e}"));
    Ok((SourceId::parse(source).map_err(damaged)?, Slug::parse(slug).map_err(damaged)?))
}
