//! Rows of attachments: which page has which file, under which name.
//!
//! A page has an attachment while its text names it. When the text does not name it any more, its
//! row stays for the recovery window, because a former version may come back. A file is removed
//! when no row names it, and no ingest job waits to read it.

use std::collections::{BTreeMap, BTreeSet};

use brain_page::{hex, names_attachment};
use redb::ReadableTable;

use super::jobs::files_of_jobs;
use super::read::PageEntry;
use super::record::{AttachmentRecord, Content, Hash, from_bytes, read, to_bytes};
use super::{RECOVERY_MS, Reader, Store, StoreError, Transaction, tables as t};
use brain_files::AttachmentFiles;

/// Minimum age of a file that is removed because no row names it, in milliseconds: one hour.
const ORPHAN_MS: i64 = 60 * 60 * 1000;

/// An attachment: its name, which is unique in its page, and its record.
pub type NamedAttachment = (String, AttachmentRecord);

impl Transaction<'_> {
    /// Returns an attachment of a page, also one that its text does not name any more.
    pub fn attachment(&self, id: u64, name: &str) -> Result<Option<AttachmentRecord>, StoreError> {
        read(self.attachments.get((id, name))?.as_ref().map(redb::AccessGuard::value))
    }

    /// Stores an attachment of a page. Its file must be durable. A former file of that name with
    /// other bytes is kept for the recovery window.
    pub fn put_attachment(
        &mut self,
        id: u64,
        name: &str,
        record: &AttachmentRecord,
        now: i64,
    ) -> Result<(), StoreError> {
        self.write_count += 1;
        if let Some(former) = self.attachment(id, name)?.filter(|it| it.hash != record.hash) {
            self.attachment_files.remove((&former.hash, id, name))?;
            // No text can name a file like this, because names of files have no such suffix.
            let former_name = format!("{}.former", hex(&former.hash));
            self.attachment_files.insert((&former.hash, id, former_name.as_str()), ())?;
            let removed_at = former.removed_at.or(Some(now));
            let former = to_bytes(&AttachmentRecord { removed_at, ..former })?;
            self.attachments.insert((id, former_name.as_str()), former.as_slice())?;
        }
        self.attachments.insert((id, name), to_bytes(record)?.as_slice())?;
        // A link of the page to this file is not broken any more.
        self.link_changes.pages.insert(id);
        self.attachment_files.insert((&record.hash, id, name), ())?;
        Ok(())
    }

    /// Gives the page `into` the attachments of the page `from`, which keeps them, too. An
    /// attachment that the text of `into` names is not replaced.
    pub fn adopt_attachments(&mut self, from: u64, into: u64, now: i64) -> Result<(), StoreError> {
        for (name, record) in self.attachments_of(from)? {
            let own = self.attachment(into, &name)?;
            if own.is_none_or(|own| own.removed_at.is_some()) {
                self.put_attachment(into, &name, &record, now)?;
            }
        }
        Ok(())
    }

    /// Records which attachments the new text of a page names.
    pub(super) fn follow_attachments(
        &mut self,
        id: u64,
        content: &Content,
        now: i64,
    ) -> Result<(), StoreError> {
        let rows = self.attachments_of(id)?;
        if rows.is_empty() {
            return Ok(());
        }
        // A text that cannot be parsed changes nothing.
        let Ok(frontmatter) = content.frontmatter.parsed() else { return Ok(()) };
        for (name, record) in rows {
            let is_named = names_attachment(frontmatter, &content.body, &name);
            if is_named != record.removed_at.is_none() {
                let removed_at = (!is_named).then_some(now);
                self.put_attachment(id, &name, &AttachmentRecord { removed_at, ..record }, now)?;
            }
        }
        Ok(())
    }

    /// Removes the rows of a purged page.
    pub(super) fn erase_attachments(&mut self, id: u64) -> Result<(), StoreError> {
        for (name, record) in self.attachments_of(id)? {
            self.erase_attachment(id, &name, &record)?;
        }
        Ok(())
    }

    /// Removes rows of attachments that no text has named for the recovery window. Returns their
    /// number.
    pub fn expire_attachments(&mut self, now: i64) -> Result<usize, StoreError> {
        self.task.frees_space = true;
        let mut due = Vec::new();
        for row in self.attachments.iter()? {
            let (key, value) = row?;
            let record: AttachmentRecord = from_bytes(value.value())?;
            if record.removed_at.is_some_and(|at| at + RECOVERY_MS <= now) {
                let (id, name) = key.value();
                due.push((id, name.to_owned(), record));
            }
        }
        for (id, name, record) in &due {
            self.erase_attachment(*id, name, record)?;
        }
        Ok(due.len())
    }

    fn erase_attachment(
        &mut self,
        id: u64,
        name: &str,
        record: &AttachmentRecord,
    ) -> Result<(), StoreError> {
        self.write_count += 1;
        self.attachments.remove((id, name))?;
        self.attachment_files.remove((&record.hash, id, name))?;
        Ok(())
    }

    /// Returns all rows of a page.
    pub fn attachments_of(&self, id: u64) -> Result<Vec<NamedAttachment>, StoreError> {
        let rows = self.attachments.range((id, "")..(id + 1, ""))?;
        rows.map(|row| {
            let (key, value) = row?;
            Ok((key.value().1.to_owned(), from_bytes(value.value())?))
        })
        .collect()
    }
}

impl Reader {
    /// Returns the attachments of a page by name. `with_removed` adds those that its text does not
    /// name any more.
    pub fn attachments_of(
        &self,
        id: u64,
        with_removed: bool,
    ) -> Result<Vec<NamedAttachment>, StoreError> {
        let mut found = Vec::new();
        for row in self.table(t::ATTACHMENTS)?.range((id, "")..(id + 1, ""))? {
            let (key, value) = row?;
            let record: AttachmentRecord = from_bytes(value.value())?;
            if with_removed || record.removed_at.is_none() {
                found.push((key.value().1.to_owned(), record));
            }
        }
        Ok(found)
    }

    /// Returns the attachments of all pages that the caller can see, except former ones.
    pub fn attachments(&self) -> Result<Vec<(PageEntry, NamedAttachment)>, StoreError> {
        let mut found = Vec::new();
        for row in self.table(t::ATTACHMENTS)?.iter()? {
            let (key, value) = row?;
            let (id, name) = key.value();
            let record: AttachmentRecord = from_bytes(value.value())?;
            if record.removed_at.is_none()
                && let Some(page) = self.by_id(id)?
            {
                found.push((page, (name.to_owned(), record)));
            }
        }
        Ok(found)
    }

    /// Returns the pages that the caller can see and that have a file with these bytes.
    pub fn pages_with(&self, hash: &Hash) -> Result<Vec<PageEntry>, StoreError> {
        let (mut found, mut seen) = (Vec::new(), BTreeSet::new());
        let attachments = self.table(t::ATTACHMENTS)?;
        for row in self.table(t::ATTACHMENT_FILES)?.range((hash, 0, "")..=(hash, u64::MAX, ""))? {
            let row = row?;
            let (_, id, name) = row.0.value();
            let record: Option<AttachmentRecord> =
                read(attachments.get((id, name))?.as_ref().map(redb::AccessGuard::value))?;
            let is_named = record.is_some_and(|record| record.removed_at.is_none());
            if is_named && seen.insert(id) {
                found.extend(self.by_id(id)?);
            }
        }
        Ok(found)
    }

    /// Returns the hashes of all files that rows name, with their lengths.
    pub fn attached_files(&self) -> Result<BTreeMap<Hash, u64>, StoreError> {
        let mut found = BTreeMap::new();
        for row in self.table(t::ATTACHMENTS)?.iter()? {
            let record: AttachmentRecord = from_bytes(row?.1.value())?;
            found.insert(record.hash, record.bytes);
        }
        Ok(found)
    }

    /// Returns whether a row names a file with these bytes.
    fn is_attached(&self, hash: &Hash) -> Result<bool, StoreError> {
        let files = self.table(t::ATTACHMENT_FILES)?;
        let mut rows = files.range((hash, 0, "")..=(hash, u64::MAX, ""))?;
        Ok(rows.next().transpose()?.is_some())
    }
}

impl Store {
    /// Returns the directory with the bytes of attachments; rows name its files.
    #[must_use]
    pub fn attachments(&self) -> &AttachmentFiles {
        &self.shared.attachments
    }

    /// Writes the file of an attachment durably and returns its hash. The caller holds
    /// [`AttachmentFiles::block_removal`] until a row names the file.
    ///
    /// # Errors
    /// [`StoreError::ReadOnly`] when the store cannot be written or its file was replaced;
    /// [`StoreError::DiskFull`] when too little space would remain free; errors of the disk.
    pub fn write_attachment(&self, content: &[u8]) -> Result<Hash, StoreError> {
        self.shared.check_writable()?;
        self.shared.check_file_identity()?;
        self.shared.check_free_space_for_bytes(content.len() as u64)?;
        let files = self.attachments();
        files
            .write(content)
            .map_err(|e| StoreError::from_io(&e, &files.root().display().to_string()))
    }

    /// Reads the file of an attachment and compares it with its hash.
    ///
    /// # Errors
    /// [`StoreError::DamagedAttachment`] when it is missing, has other bytes or cannot be read.
    pub fn read_attachment(&self, hash: &Hash) -> Result<Vec<u8>, StoreError> {
        self.attachments().read(hash).map_err(|error| StoreError::DamagedAttachment {
            path: self.attachments().path(hash),
            problem: error.to_string(),
        })
    }

    /// Removes files older than an hour that no row names. Returns their number.
    pub fn sweep_attachments(&self, now: i64) -> Result<usize, StoreError> {
        // While a file is being written, nothing is removed; a later call removes it.
        let Some(_guard) = self.attachments().try_lock_for_removal() else { return Ok(0) };
        let old = self.attachments().written_before(now - ORPHAN_MS);
        self.remove_unattached(old.map_err(|e| self.attachment_error(&e))?.iter())
    }

    /// Removes each of these files that no row names, whatever its age. Returns the number of
    /// removed files.
    ///
    /// # Errors
    /// As [`Store::sweep_attachments`].
    pub fn purge_attachments(&self, hashes: &[Hash]) -> Result<usize, StoreError> {
        let _guard = self.attachments().lock_for_removal();
        self.remove_unattached(hashes.iter())
    }

    /// Removes the files that no row names. The caller holds the guard of
    /// [`AttachmentFiles::lock_for_removal`].
    fn remove_unattached<'a>(
        &self,
        hashes: impl Iterator<Item = &'a Hash>,
    ) -> Result<usize, StoreError> {
        let reader = self.read_queue()?;
        let mut of_jobs = None;
        let mut removed = 0;
        for hash in hashes {
            if reader.is_attached(hash)? {
                continue;
            }
            let of_jobs = match &mut of_jobs {
                Some(known) => known,
                none => none.insert(files_of_jobs(&reader.table(t::JOBS)?)?),
            };
            if !of_jobs.contains(hash) {
                let erased = self.attachments().erase(hash);
                removed += usize::from(erased.map_err(|e| self.attachment_error(&e))?);
            }
        }
        Ok(removed)
    }

    fn attachment_error(&self, error: &std::io::Error) -> StoreError {
        StoreError::from_io(error, &self.attachments().root().display().to_string())
    }
}
