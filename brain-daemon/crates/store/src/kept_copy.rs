//! The kept copy: a whole, recent copy of the store inside the home.
//!
//! A backup program that copies the home while the daemon writes can take a torn `brain.redb`. The
//! kept copy is made from one read transaction, read back, and renamed into place. So a program
//! that copies it takes the former copy or the new one, and both are whole.

use std::fs;
use std::io::ErrorKind;
use std::path::Path;

use redb::{ReadOnlyDatabase, ReadTransaction, ReadableDatabase, ReadableTableMetadata};

use super::error::with_damage_report;
use super::temporary_file::sweep;
use super::verify::{RowProgress, VerifyReport};
use super::{Store, StoreError, meta, tables as t};

/// The contents of a store, as far as they decide whether a copy of it is current: numbers of
/// changes and of rows. The audit, outbox rows and the last use of a token do not count.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoreState(Vec<u64>);

/// A kept copy, as its own metadata describes it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KeptCopy {
    /// When it was made, Unix milliseconds.
    pub made_at: i64,
    /// The number of its active pages.
    pub pages: u64,
    /// Its length in bytes.
    pub bytes: u64,
    /// The number of the next job that was accepted after it.
    pub next_job: u64,
    /// The state of the store that it contains.
    pub state: StoreState,
}

impl Store {
    /// Returns the state that a current copy has.
    pub fn state(&self) -> Result<StoreState, StoreError> {
        // Jobs in the spool are part of the state, and a copy contains them.
        drop(self.read_queue()?);
        let snapshot = self.snapshot()?;
        with_damage_report(self.path(), || state_of(&snapshot))
    }

    /// Copies the store as of now to `target`, reads the copy back, and replaces the former copy by
    /// it. The files of attachments are not in the copy, because they are in the same home.
    ///
    /// # Errors
    /// As [`Store::back_up`], except that `target` may exist. [`StoreError::DiskFull`] before
    /// anything is written, when the copy would use the reserved space. The former copy stays.
    pub fn keep_copy(
        &self,
        target: &Path,
        now: i64,
        progress: RowProgress<'_>,
    ) -> Result<VerifyReport, StoreError> {
        // An unfinished copy must not take the space of this one.
        sweep(target);
        self.shared.check_free_space_for_bytes(self.bytes_on_disk()?)?;
        let (copy, report) = self.copy_beside(target, now, None, progress, &|_| ())?;
        let mode = copy.file.metadata().map(|found| found.permissions());
        let mode = mode.map_err(|e| StoreError::from_io(&e, &target.display().to_string()))?;
        copy.replace(target, mode)?;
        Ok(report)
    }
}

/// Returns what the metadata of the kept copy at `path` say, without verifying the copy; `None` if
/// there is no file.
///
/// # Errors
/// [`StoreError::Damaged`] when the file is not a backup of a store; errors of the disk.
pub fn read_kept_copy(path: &Path) -> Result<Option<KeptCopy>, StoreError> {
    let name = path.display().to_string();
    let bytes = match fs::metadata(path) {
        Ok(found) => found.len(),
        Err(e) if e.kind() == ErrorKind::NotFound => return Ok(None),
        Err(e) => return Err(StoreError::from_read(&e, &name)),
    };
    with_damage_report(path, || {
        let unreadable = |e: redb::DatabaseError| StoreError::damaged(format!("{name}: {e}"));
        let txn = ReadOnlyDatabase::open(path).map_err(unreadable)?.begin_read()?;
        let number = |key| meta::number(&txn, key);
        let made_at = number(t::META_MADE_AT)?.and_then(|at| i64::try_from(at).ok());
        let Some(made_at) = made_at else {
            return Err(StoreError::damaged(format!("{name} is not a copy that brain made")));
        };
        let pages = number(t::META_ACTIVE)?.unwrap_or_default();
        let next_job = number(t::META_NEXT_JOB)?.unwrap_or(1);
        Ok(Some(KeptCopy { made_at, pages, bytes, next_job, state: state_of(&txn)? }))
    })
}

fn state_of(txn: &ReadTransaction) -> Result<StoreState, StoreError> {
    let mut numbers = Vec::new();
    for key in [
        t::META_SCHEMA,
        t::META_STORE_ID,
        t::META_SEQ,
        t::META_NEXT_JOB,
        t::META_WAITING,
        t::META_FAILED,
    ] {
        numbers.push(meta::number(txn, key)?.unwrap_or_default());
    }
    macro_rules! add_rows {
        ($($table:ident),*) => {$(
            numbers.push(match txn.open_table(t::$table) {
                Ok(table) => table.len()?,
                Err(redb::TableError::TableDoesNotExist(_)) => 0,
                Err(e) => return Err(e.into()),
            });
        )*};
    }
    add_rows!(PAGES, VERSIONS, SOURCES, SOURCE_SETTINGS, CLIENTS, TOKENS, ATTACHMENTS);
    Ok(StoreState(numbers))
}
