//! Purge: removes pages for good, when their recovery window has ended or at once.

use brain_protocol::{JobState, Slug, SourceId};
use redb::ReadableTable;

use super::error::unless_damaged;
use super::ledgers::Purged;
use super::record::read;
use super::record::{
    FileRecord, FileState, Hash, JobRecord, PageRecord, VersionRecord, state_of_job,
};
use super::unfinished_purges::PurgeName;
use super::{RECOVERY_MS, StoreError, Transaction};

impl Transaction<'_> {
    /// Purges up to `limit` pages whose recovery window has ended, with all their rows; returns
    /// their ids. A page whose file could not be moved to the trash yet is kept: otherwise the next
    /// sync would import its file as a new page.
    pub fn purge(&mut self, now: i64, limit: usize) -> Result<Vec<u64>, StoreError> {
        self.task.frees_space = true;
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
        let mut purged = Purged::default();
        for (_, id) in &due {
            let slug = self.ids.get(id)?.map(|guard| guard.value().1.to_owned());
            self.add_purged_page(*id, &slug.unwrap_or_default(), &mut purged)?;
        }
        if !due.is_empty() {
            self.purge_records(&purged, now)?;
        }
        let mut erased = Vec::with_capacity(due.len());
        for (at, id) in due {
            if self.erase(at, id)? {
                erased.push(id);
            }
        }
        Ok(erased)
    }

    /// Purges one page, active or deleted, with its file, all its rows and the ingest jobs that made
    /// it. Returns the number of its versions, including the current one. The purge is unfinished
    /// until [`crate::Store::finish_purges`].
    pub fn purge_page(
        &mut self,
        source: &SourceId,
        slug: &Slug,
        record: PageRecord,
        now: i64,
    ) -> Result<u64, StoreError> {
        self.task.frees_space = true;
        let id = record.id;
        let attachments: Vec<Hash> =
            self.attachments_of(id)?.into_iter().map(|(_, file)| file.hash).collect();
        self.begin_purge(PurgeName::of(source, slug, None), id, &attachments)?;
        let mut texts = vec![record.content_hash];
        for row in self.versions.range((id, 0)..=(id, u32::MAX))? {
            let version: Option<VersionRecord> = read(Some(row?.1.value()))?;
            texts.extend(version.map(|version| version.record.content_hash));
        }
        let versions = texts.len() as u64;
        let mut purged = Purged::default();
        self.add_purged_page(id, slug.as_str(), &mut purged)?;
        self.purge_records(&purged, now)?;
        self.erase_jobs(source, slug, &texts)?;
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

    /// Purges a former version of the page `id`. Returns whether there was one. The purge is
    /// unfinished until [`crate::Store::finish_purges`].
    pub fn purge_version(
        &mut self,
        source: &SourceId,
        slug: &Slug,
        id: u64,
        version: u32,
        now: i64,
    ) -> Result<bool, StoreError> {
        self.task.frees_space = true;
        let former = unless_damaged(self.version(id, version))?.flatten();
        let was_there = self.versions.remove((id, version))?.is_some();
        if was_there {
            let mut purged = Purged::default();
            purged.versions.push((id, Some(version)));
            if let Some(former) = former {
                purged.add_content(&former.content);
            }
            self.purge_records(&purged, now)?;
            self.purge_review_rows(id, Some(version))?;
            self.begin_purge(PurgeName::of(source, slug, Some(version)), id, &[])?;
        }
        Ok(was_there)
    }

    /// Removes from the records of calls and of the owner's questions what names something of the
    /// purged texts.
    fn purge_records(&mut self, purged: &Purged, now: i64) -> Result<(), StoreError> {
        self.purge_seen(purged, now)?;
        self.purge_questions(|text| purged.occurs_in_text(text))
    }

    /// Removes former versions of pages, named by page and number. Returns how many there were.
    pub fn remove_versions(&mut self, versions: &[(u64, u32)]) -> Result<u64, StoreError> {
        self.task.frees_space = true;
        let mut removed = 0;
        for key in versions {
            if self.versions.remove(*key)?.is_some() {
                self.write_count += 1;
                removed += 1;
            }
        }
        Ok(removed)
    }

    /// Removes the finished ingest jobs of a purged page: those that have its slug, or a text of
    /// one of its versions. They name its title, address, slug and path.
    fn erase_jobs(
        &mut self,
        source: &SourceId,
        slug: &Slug,
        texts: &[Hash],
    ) -> Result<(), StoreError> {
        let mut made_it = Vec::new();
        for row in self.jobs.iter()? {
            let (id, value) = row?;
            if state_of_job(value.value())? == JobState::Stored
                && let Some(job) = read::<JobRecord>(Some(value.value()))?
                && job.source == *source
                && (job.slug.as_ref() == Some(slug) || texts.contains(&job.content_hash))
            {
                made_it.push(id.value());
            }
        }
        made_it.into_iter().try_for_each(|id| self.erase_job(id))
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
            self.counters.seq += 1;
            let seq = self.counters.seq;
            self.changes.insert(seq, id)?;
            self.purge_steps((&source, &slug), &record, seq)?;
            self.purge_review_rows(id, None)?;
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
