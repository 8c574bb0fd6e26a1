//! Purge: removes pages for good, when their recovery window has ended or at once.

use brain_protocol::{Slug, SourceId};
use redb::ReadableTable;

use super::record::read;
use super::record::{FileRecord, FileState, Hash, PageRecord};
use super::{Draft, RECOVERY_MS, StoreError};

impl Draft<'_> {
    /// Purges up to `limit` pages whose recovery window has ended, with all their rows; returns
    /// their ids. A page whose file could not be moved to the trash yet is kept: otherwise the next
    /// sync would import its file as a new page.
    ///
    /// # Errors
    /// When the store cannot be read or written.
    pub fn purge(&mut self, now: i64, limit: usize) -> Result<Vec<u64>, StoreError> {
        self.frees_space = true;
        let mut due = Vec::new();
        for row in self.deleted.range(..=(now - RECOVERY_MS, u64::MAX))? {
            // Pages that are kept do not count towards the limit.
            if due.len() == limit {
                break;
            }
            let (at, id) = row?.0.value();
            if !self.waits_for_trash(id)? {
                due.push((at, id));
            }
        }
        let mut erased = Vec::with_capacity(due.len());
        for (at, id) in due {
            if self.erase(at, id)? {
                erased.push(id);
            }
        }
        Ok(erased)
    }

    /// Purges one page, active or deleted, with its file and all its rows. Returns the number of
    /// its versions, including the current one.
    ///
    /// # Errors
    /// When the store cannot be read or written.
    pub fn purge_page(
        &mut self,
        source: &SourceId,
        slug: &Slug,
        record: PageRecord,
        now: i64,
    ) -> Result<u64, StoreError> {
        self.frees_space = true;
        let id = record.id;
        let versions = self.versions.range((id, 0)..=(id, u32::MAX))?.count() as u64 + 1;
        let at = match record.deleted_at {
            Some(at) => at,
            None => {
                self.mark_deleted(source, slug, record, now, Some(FileState::Trashed))?;
                now
            }
        };
        self.erase(at, id)?;
        Ok(versions)
    }

    /// Purges a former version of the page `id`. Returns whether there was one.
    ///
    /// # Errors
    /// When the store cannot be read or written.
    pub fn purge_version(&mut self, id: u64, version: u32) -> Result<bool, StoreError> {
        self.frees_space = true;
        let was_there = self.versions.remove((id, version))?.is_some();
        self.write_count += u64::from(was_there);
        Ok(was_there)
    }

    /// Removes the rows of a page that was deleted at `at` (Unix milliseconds), except its row in
    /// `changes`. Returns whether the page existed.
    fn erase(&mut self, at: i64, id: u64) -> Result<bool, StoreError> {
        self.write_count += 1;
        self.deleted.remove((at, id))?;
        let Some((source, slug)) = self.ids.remove(id)?.map(|guard| {
            let (source, slug) = guard.value();
            (source.to_owned(), slug.to_owned())
        }) else {
            return Ok(false);
        };
        let record = read::<PageRecord>(
            self.pages
                .remove((source.as_str(), slug.as_str()))?
                .as_ref()
                .map(redb::AccessGuard::value),
        )?;
        let is_registered = self.sources.get(source.as_str())?.is_some();
        let own_digest =
            record.as_ref().map(|record| self.own_digest(record)).transpose()?.flatten();
        self.contents.remove(id)?;
        self.derived.remove(id)?;
        self.erase_attachments(id)?;
        self.versions.remove_range((id, 0)..=(id, u32::MAX))?;
        if let Some(record) = record {
            self.paths.remove((source.as_str(), record.source_path.as_str()))?;
            // The row in `changes` gets a new number, so that consumers learn that the page is
            // gone.
            self.changes.remove(record.seq)?;
            self.seq += 1;
            self.changes.insert(self.seq, id)?;
            if is_registered {
                self.purge_file(id, &source, &record, own_digest)?;
            }
        }
        self.add_change(id, None);
        Ok(true)
    }

    /// Adds the outbox row that removes the file of a purged page, and removes the row of the file.
    /// `own_digest` is the digest of the file that brain wrote. Files of a removed source are left
    /// alone.
    pub(super) fn purge_file(
        &mut self,
        id: u64,
        source: &str,
        record: &PageRecord,
        own_digest: Option<Hash>,
    ) -> Result<(), StoreError> {
        let file: Option<FileRecord> = read(
            self.files
                .remove((source, record.source_path.as_str()))?
                .as_ref()
                .map(redb::AccessGuard::value),
        )?;
        let was_trashed = source == SourceId::DEFAULT
            || file.is_some_and(|file| file.page == Some(id) && file.is_trashed());
        // If the file was not moved to the trash yet, it is removed from its path. Otherwise a file
        // at that path belongs to another program.
        let target_state = match self.outbox_row(id)? {
            Some(_) => Some(FileState::Purged),
            None => was_trashed.then_some(FileState::TrashPurged),
        };
        if let Some(state) = target_state {
            let own_digests = own_digest.into_iter().collect();
            self.add_outbox_row(id, source, &record.source_path, state, own_digests)?;
        }
        Ok(())
    }

    /// Whether the file of this deleted page must still be moved out of its source's directory.
    fn waits_for_trash(&self, id: u64) -> Result<bool, StoreError> {
        match self.outbox_row(id)? {
            Some(row)
                if row.target_state == FileState::Trashed && row.source != SourceId::DEFAULT =>
            {
                Ok(self.sources.get(row.source.as_str())?.is_some())
            }
            _ => Ok(false),
        }
    }
}
