//! Sources in a write transaction: registration, settings, files, and changes of their pages.

use brain_protocol::{Slug, SourceId};
use redb::ReadableTable;

use super::record::StepKind;
use super::record::read;
use super::record::{
    FileRecord, FileState, Hash, LinkRecord, OutboxRow, PageRecord, SourceRecord,
    SourceSettingsRecord, to_bytes,
};
use super::steps::StepPlace;
use super::tables::end_of_source;
use super::{StoreError, Transaction};

impl Transaction<'_> {
    /// Returns the source, if it is registered.
    pub fn source(&self, source: &SourceId) -> Result<Option<SourceRecord>, StoreError> {
        read(self.sources.get(source.as_str())?.as_ref().map(redb::AccessGuard::value))
    }

    /// Registers or changes a source.
    pub fn put_source(
        &mut self,
        source: &SourceId,
        record: &SourceRecord,
    ) -> Result<(), StoreError> {
        self.write_count += 1;
        self.effects.sources_changed = true;
        let is_new = self.sources.insert(source.as_str(), to_bytes(record)?.as_slice())?.is_none();
        if is_new && record.path.is_some() {
            self.claim_source(source)?;
        }
        Ok(())
    }

    /// Returns the owner's settings of a source; the default ones if none are stored.
    pub fn source_settings(&self, source: &SourceId) -> Result<SourceSettingsRecord, StoreError> {
        let found = self.source_settings.get(source.as_str())?;
        Ok(read(found.as_ref().map(redb::AccessGuard::value))?.unwrap_or_default())
    }

    /// Changes the settings of a source.
    pub fn put_source_settings(
        &mut self,
        source: &SourceId,
        settings: &SourceSettingsRecord,
    ) -> Result<(), StoreError> {
        self.write_count += 1;
        self.effects.sources_changed = true;
        if *settings == SourceSettingsRecord::default() {
            self.source_settings.remove(source.as_str())?;
        } else {
            self.source_settings.insert(source.as_str(), to_bytes(settings)?.as_slice())?;
        }
        Ok(())
    }

    /// Returns all registered sources.
    pub fn all_sources(&self) -> Result<Vec<(SourceId, SourceRecord)>, StoreError> {
        let mut out = Vec::new();
        for row in self.sources.iter()? {
            let (key, value) = row?;
            let id =
                SourceId::parse(key.value()).map_err(|e| StoreError::damaged(e.to_string()))?;
            out.extend(read(Some(value.value()))?.map(|record| (id, record)));
        }
        Ok(out)
    }

    /// Refuses writes to a source that is not registered.
    pub(super) fn check_registered(&self, source: &SourceId) -> Result<(), StoreError> {
        if self.sources.get(source.as_str())?.is_some() {
            return Ok(());
        }
        Err(StoreError::UnknownSource(source.clone()))
    }

    /// Returns up to `limit` active pages of a source after the slug `after`, sorted by slug.
    pub fn active_pages(
        &self,
        source: &SourceId,
        after: &str,
        limit: usize,
    ) -> Result<Vec<(Slug, PageRecord)>, StoreError> {
        use std::ops::Bound::Excluded;
        let end = end_of_source(source);
        let mut out = Vec::new();
        let range = (Excluded((source.as_str(), after)), Excluded((end.as_str(), "")));
        for row in self.pages.range::<(&str, &str)>(range)? {
            if out.len() == limit {
                break;
            }
            let (key, value) = row?;
            let slug =
                Slug::parse(key.value().1).map_err(|e| StoreError::damaged(e.to_string()))?;
            let record: Option<PageRecord> = read(Some(value.value()))?;
            out.extend(record.filter(|r| r.deleted_at.is_none()).map(|record| (slug, record)));
        }
        Ok(out)
    }

    /// Unregisters a source and removes its settings, file records and outbox rows. Its pages must
    /// be soft-deleted before.
    pub fn remove_source(&mut self, source: &SourceId) -> Result<(), StoreError> {
        self.write_count += 1;
        self.effects.sources_changed = true;
        self.sources.remove(source.as_str())?;
        self.source_settings.remove(source.as_str())?;
        self.source_machines.remove(source.as_str())?;
        self.forget_files_of(source)
    }

    /// Removes the file records and outbox rows of a source that is no longer registered.
    pub(super) fn forget_files_of(&mut self, source: &SourceId) -> Result<(), StoreError> {
        let end = end_of_source(source);
        let file_paths: Vec<String> = self
            .files
            .range((source.as_str(), "")..(end.as_str(), ""))?
            .map(|row| Ok(row?.0.value().1.to_owned()))
            .collect::<Result<_, StoreError>>()?;
        for path in file_paths {
            self.files.remove((source.as_str(), path.as_str()))?;
        }
        let mut rows = Vec::new();
        for row in self.outbox.iter()? {
            let (id, value) = row?;
            if super::record::from_bytes::<OutboxRow>(value.value())?.source == source.as_str() {
                rows.push(id.value());
            }
        }
        for id in rows {
            self.outbox.remove(id)?;
        }
        Ok(())
    }

    /// Returns a file of a source as of the last sync.
    pub fn file(&self, source: &SourceId, path: &str) -> Result<Option<FileRecord>, StoreError> {
        read(self.files.get((source.as_str(), path))?.as_ref().map(redb::AccessGuard::value))
    }

    /// Stores the state of a source's file.
    pub fn put_file(
        &mut self,
        source: &SourceId,
        path: &str,
        file: &FileRecord,
    ) -> Result<(), StoreError> {
        self.write_count += 1;
        self.files.insert((source.as_str(), path), to_bytes(file)?.as_slice())?;
        Ok(())
    }

    /// Forgets what the last sync read from a source's file.
    pub fn remove_file_record(&mut self, source: &SourceId, path: &str) -> Result<(), StoreError> {
        self.write_count += 1;
        self.files.remove((source.as_str(), path))?;
        Ok(())
    }

    /// Returns the page whose file is at `path`, deleted or not.
    pub fn page_at(
        &self,
        source: &SourceId,
        path: &str,
    ) -> Result<Option<(Slug, PageRecord)>, StoreError> {
        let Some(id) = self.paths.get((source.as_str(), path))?.map(|guard| guard.value()) else {
            return Ok(None);
        };
        let Some(guard) = self.ids.get(id)? else { return Ok(None) };
        let slug = Slug::parse(guard.value().1.to_owned())
            .map_err(|e| StoreError::damaged(format!("key of page {id}: {e}")))?;
        Ok(self.page(source, &slug)?.map(|record| (slug, record)))
    }

    /// Gives an active page another slug and path, because its file was renamed. Id, text and
    /// versions stay. The page gets the given names, links, and dates: the times of creation and
    /// last change, in Unix milliseconds. The new slug and path must be free.
    pub fn rename_page(
        &mut self,
        source: &SourceId,
        from: &Slug,
        mut record: PageRecord,
        (to, path): (&Slug, &str),
        (names, links): (Vec<String>, Vec<LinkRecord>),
        dates: (i64, i64),
    ) -> Result<PageRecord, StoreError> {
        self.write_count += 1;
        let id = record.id;
        self.pages.remove((source.as_str(), from.as_str()))?;
        self.paths.remove((source.as_str(), record.source_path.as_str()))?;
        self.paths.insert((source.as_str(), path), id)?;
        self.ids.insert(id, (source.as_str(), to.as_str()))?;
        self.remove_derived(source, from, &record)?;
        // The lookup rows have the new dates.
        (record.created_at, record.updated_at) = dates;
        let mut derived = self.derived_of(id)?;
        (derived.names, derived.links) = (names, links);
        self.derived.insert(id, to_bytes(&derived)?.as_slice())?;
        let previous = record.seq;
        self.changes.remove(previous)?;
        self.counters.seq += 1;
        record.seq = self.counters.seq;
        self.insert_derived(source, &record, &derived);
        self.record_added_names(source, to, id, &derived.names);
        path.clone_into(&mut record.source_path);
        self.outbox.remove(id)?;
        self.put_record(source, to, &record, None)?;
        let (source_name, slug, kind) = (source.as_str(), to.as_str(), StepKind::Moved);
        let place = StepPlace { source: source_name, slug, previous, kind };
        self.add_step(&record, &place, None)?;
        let content = self.content(&record)?;
        self.add_page_change(source, to, &record, &content, true);
        Ok(record)
    }

    /// Soft-deletes an active page whose file is gone, without moving a file to the trash.
    pub fn soft_delete_without_file(
        &mut self,
        source: &SourceId,
        slug: &Slug,
        record: PageRecord,
        now: i64,
    ) -> Result<PageRecord, StoreError> {
        // An outbox row would write the file again.
        self.outbox.remove(record.id)?;
        self.mark_deleted(source, slug, record, now, None)
    }

    /// Makes a soft-deleted page active again because its file reappeared. The file stays as it is.
    pub fn restore_without_file(
        &mut self,
        source: &SourceId,
        slug: &Slug,
        record: PageRecord,
    ) -> Result<PageRecord, StoreError> {
        self.outbox.remove(record.id)?;
        self.mark_active(source, slug, record, None)
    }

    /// Makes a soft-deleted page active again and restores its file.
    pub fn restore(
        &mut self,
        source: &SourceId,
        slug: &Slug,
        record: PageRecord,
    ) -> Result<PageRecord, StoreError> {
        self.mark_active(source, slug, record, Some(FileState::Present))
    }

    /// Soft-deletes an active page and moves its file to the trash.
    pub fn soft_delete(
        &mut self,
        source: &SourceId,
        slug: &Slug,
        record: PageRecord,
        now: i64,
    ) -> Result<PageRecord, StoreError> {
        let record = self.mark_deleted(source, slug, record, now, Some(FileState::Trashed))?;
        if source.as_str() != SourceId::DEFAULT && self.has_files_of(source.as_str())? {
            self.record_trashed(source, &record)?;
        }
        Ok(record)
    }

    /// Adds the outbox row that moves the file of a deleted page to the trash. `own_digests` are
    /// the digests of contents that brain may have written to the file.
    pub(super) fn move_to_trash(
        &mut self,
        source: &SourceId,
        record: &PageRecord,
        own_digests: Vec<Hash>,
    ) -> Result<(), StoreError> {
        let (path, state) = (&record.source_path, FileState::Trashed);
        self.add_outbox_row(record.id, source.as_str(), path, state, own_digests)?;
        match source.as_str() {
            SourceId::DEFAULT => Ok(()),
            _ => self.record_trashed(source, record),
        }
    }

    /// Records that brain moves the page's file to the trash, so that a purge can remove it there:
    /// other programs may use `.trash` as well.
    fn record_trashed(&mut self, source: &SourceId, record: &PageRecord) -> Result<(), StoreError> {
        let file = self.file(source, &record.source_path)?;
        let file = match file.filter(|file| file.page == Some(record.id)) {
            Some(file) => file,
            None => {
                // Zeros stand for an unknown digest, because no file has that digest.
                let digest = self.own_digest(record)?.unwrap_or_default();
                let (page, seq) = (Some(record.id), record.seq);
                FileRecord { size: 0, mtime_ns: 0, ctime_ns: 0, digest, page, seq, problem: None }
            }
        };
        self.put_file(source, &record.source_path, &file.trashed())
    }
}
