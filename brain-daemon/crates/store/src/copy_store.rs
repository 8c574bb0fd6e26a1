//! Copies a store row by row into a new file, and reads the copy back.

use std::collections::BTreeSet;
use std::io;
use std::ops::Deref;
use std::path::Path;

use redb::backends::FileBackend;
use redb::{
    Database, Key, ReadTransaction, ReadableTable as _, ReadableTableMetadata, TableDefinition,
    TableHandle, Value,
};

use super::error::with_damage_report;
use super::jobs::files_of_jobs;
use super::packed_attachments::parts;
use super::record::Hash;
use super::temporary_file::{TemporaryFile, with_target_path};
use super::verify::{RowDigest, RowProgress, VerifyReport, verify_against};
use super::{StoreError, tables as t};
use brain_files::AttachmentFiles;

/// Maximum rows in a commit of the copy; limits memory.
const CHUNK_ROWS: usize = 50_000;

/// Approximate maximum bytes in a commit of the copy; limits memory.
const CHUNK_BYTES: usize = 8_000_000;

/// Cache size for the copy, in bytes.
const CACHE_BYTES: usize = 8_000_000;

/// What a copy of a store contains, and where it goes.
pub(super) struct CopyPlan<'a> {
    /// The copied store, for messages.
    pub(super) store: &'a Path,
    /// The path of the complete copy.
    pub(super) target: &'a Path,
    /// Keys and numbers to add to the copy's table of metadata.
    pub(super) metadata: &'a [(&'a str, u64)],
    /// The files to add to the copy; `None` for a copy in the same directory, which has them
    /// already.
    pub(super) attachments: Option<&'a AttachmentFiles>,
    pub(super) progress: RowProgress<'a>,
    /// Called before each commit of the copy.
    pub(super) check_space: &'a dyn Fn() -> Result<(), StoreError>,
}

/// Copies the store that `from` reads to a temporary file beside the target, calls `between`, and
/// reads the copy back.
///
/// # Errors
/// As [`super::Store::back_up`]; no file is left then.
pub(super) fn copy_whole(
    from: impl Deref<Target = ReadTransaction>,
    plan: &CopyPlan<'_>,
    between: &dyn Fn(&Path),
) -> Result<(TemporaryFile, VerifyReport), StoreError> {
    let (target, progress) = (plan.target, plan.progress);
    let temporary = TemporaryFile::new(target)?;
    // A sweep removes incomplete copies that no process has locked. On file systems without locks,
    // the process id in the name decides.
    let _ = temporary.file.try_lock();
    let (rows, digest) = Copy { from: &from, plan }.run(&temporary)?;
    drop(from);
    between(&temporary.path);
    // redb released the lock; reading needs a shared one.
    let _ = temporary.file.try_lock_shared();
    let report =
        verify_against(&temporary.path, &|done, _| progress(rows + done, 2 * rows), Some(digest))
            .map_err(|e| with_target_path(e, &temporary.path, target))?;
    if report.rows != rows {
        let message =
            format!("{}: {} rows of {rows} are in the copy", target.display(), report.rows);
        return Err(StoreError::Damaged(message));
    }
    Ok((temporary, report))
}

/// A copy that is being made.
struct Copy<'a> {
    from: &'a ReadTransaction,
    plan: &'a CopyPlan<'a>,
}

impl Copy<'_> {
    /// Copies all tables and the attachments to the temporary file and flushes it. Returns the
    /// number of rows and their digest.
    fn run(&self, temporary: &TemporaryFile) -> Result<(u64, [u8; 32]), StoreError> {
        let file = temporary.file.try_clone().map_err(|e| self.io(&e))?;
        let mut to = FileBackend::new(file)
            .and_then(|file| {
                Database::builder().set_cache_size(CACHE_BYTES).create_with_backend(file)
            })
            .map_err(|e| self.copy_error(e))?;
        let mut total = 0;
        let mut copied_tables = Vec::new();
        macro_rules! measure {
            ($($table:ident),*) => {$(
                total += self.read(|| Ok(self.from.open_table(t::$table)?.len()?))?;
                copied_tables.push(t::$table.name());
            )*};
        }
        t::every_table!(measure);
        for table in self.read(|| Ok(self.from.list_tables()?))? {
            if !copied_tables.contains(&table.name()) {
                return Err(StoreError::UnknownTable(table.name().to_owned()));
            }
        }
        let (mut done, mut digest) = (0, RowDigest::default());
        macro_rules! copy {
            ($($table:ident),*) => {$( self.copy_table(&to, t::$table, &mut done, total,
                &mut digest)?; )*};
        }
        t::every_table!(copy);
        total += self.copy_attachments(&to, &mut digest)?;
        let mut last = to.begin_write().map_err(|e| self.copy_error(e))?;
        // With quick repair, opening the copy needs no walk through the file.
        last.set_quick_repair(true);
        // A backup that was copied into place by hand already has such metadata.
        let mut added = 0;
        {
            let mut meta = last.open_table(t::META).map_err(|e| self.copy_error(e))?;
            for (key, number) in self.plan.metadata {
                let before = meta.insert(*key, *number).map_err(|e| self.copy_error(e))?;
                added += u64::from(before.is_none());
            }
        }
        last.commit().map_err(|e| self.copy_error(e))?;
        // The file grew in large steps; this returns the free space at its end.
        to.compact().map_err(|e| self.copy_error(e))?;
        drop(to);
        temporary.file.sync_all().map_err(|e| self.io(&e))?;
        Ok((total + added, digest.end()))
    }

    /// Copies a table in several commits. `done` counts copied rows, `total` all rows of the store.
    fn copy_table<K: Key + 'static, V: Value + 'static>(
        &self,
        to: &Database,
        definition: TableDefinition<'static, K, V>,
        done: &mut u64,
        total: u64,
        digest: &mut RowDigest,
    ) -> Result<(), StoreError> {
        let mut rows =
            self.read(|| Ok(self.from.open_table(definition)?.range::<K::SelfType<'_>>(..)?))?;
        let mut more = true;
        while more {
            (self.plan.check_space)()?;
            let txn = to.begin_write().map_err(|e| self.copy_error(e))?;
            {
                let mut copy = txn.open_table(definition).map_err(|e| self.copy_error(e))?;
                let mut bytes = 0;
                for n in 0.. {
                    if n % 256 == 0 && !(self.plan.progress)(*done, 2 * total) {
                        return Err(StoreError::Cancelled(self.plan.target.to_owned()));
                    }
                    if n == CHUNK_ROWS || bytes > CHUNK_BYTES {
                        break;
                    }
                    let row = self.read(|| {
                        let Some((key, value)) = rows.next().transpose()? else { return Ok(None) };
                        bytes += V::as_bytes(&value.value()).as_ref().len();
                        digest.row(&definition, &key.value(), &value.value());
                        Ok(Some((key, value)))
                    })?;
                    let Some((key, value)) = row else {
                        more = false;
                        break;
                    };
                    copy.insert(key.value(), value.value()).map_err(|e| self.copy_error(e))?;
                    *done += 1;
                }
            }
            txn.commit().map_err(|e| self.copy_error(e))?;
        }
        Ok(())
    }

    /// Adds the files of attachments and returns the number of added rows. Leaves out missing and
    /// damaged files, so that all others are backed up.
    fn copy_attachments(&self, to: &Database, digest: &mut RowDigest) -> Result<u64, StoreError> {
        let Some(files) = self.plan.attachments else { return Ok(0) };
        let (mut copied, mut added, mut bytes) = (Vec::new(), 0, 0);
        for hash in self.read(|| self.files_to_copy())? {
            match files.read(&hash) {
                Ok(content) => {
                    bytes += content.len();
                    copied.push((hash, content));
                }
                Err(error) => {
                    tracing::warn!(
                        %error,
                        file = %files.path(&hash).display(),
                        "an attachment is not in the backup"
                    );
                }
            }
            if bytes > CHUNK_BYTES {
                added += self.add_files(to, &copied, digest)?;
                (copied, bytes) = (Vec::new(), 0);
            }
        }
        Ok(added + self.add_files(to, &copied, digest)?)
    }

    /// Returns the hashes of the files that pages have or jobs need.
    fn files_to_copy(&self) -> Result<BTreeSet<Hash>, StoreError> {
        let mut hashes = files_of_jobs(&self.from.open_table(t::JOBS)?)?;
        for row in self.from.open_table(t::ATTACHMENT_FILES)?.iter()? {
            hashes.insert(*row?.0.value().0);
        }
        Ok(hashes)
    }

    /// Adds files to the copy, in the order of their hashes. Returns the number of added rows.
    fn add_files(
        &self,
        to: &Database,
        files: &[([u8; 32], Vec<u8>)],
        digest: &mut RowDigest,
    ) -> Result<u64, StoreError> {
        (self.plan.check_space)()?;
        let txn = to.begin_write().map_err(|e| self.copy_error(e))?;
        let mut added = 0;
        {
            let mut table = txn.open_table(t::ATTACHMENT_PARTS).map_err(|e| self.copy_error(e))?;
            for (hash, content) in files {
                for (number, part) in parts(content) {
                    table.insert((hash, number), part).map_err(|e| self.copy_error(e))?;
                    digest.row(&t::ATTACHMENT_PARTS, &(hash, number), &part);
                    added += 1;
                }
            }
        }
        txn.commit().map_err(|e| self.copy_error(e))?;
        Ok(added)
    }

    /// Reads from the store, so that its damage is distinguished from the copy's.
    fn read<T>(&self, work: impl FnOnce() -> Result<T, StoreError>) -> Result<T, StoreError> {
        with_damage_report(self.plan.store, work)
    }

    /// Converts an error of the copy and adds the target's path: the store itself is intact.
    fn copy_error(&self, error: impl Into<redb::Error>) -> StoreError {
        match error.into() {
            redb::Error::Io(e) => self.io(&e),
            redb::Error::Corrupted(problem) => {
                StoreError::Damaged(format!("{}: {problem}", self.plan.target.display()))
            }
            e => StoreError::other(&self.plan.target.display().to_string(), e),
        }
    }

    /// Converts an I/O error of the copy and adds the target's path.
    fn io(&self, error: &io::Error) -> StoreError {
        StoreError::from_io(error, &self.plan.target.display().to_string())
    }
}
