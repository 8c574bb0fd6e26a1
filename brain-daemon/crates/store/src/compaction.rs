//! Compacts the store's file: when the store is opened, and at once after a purge.
//!
//! redb doubles its file when it grows. It reuses freed space, but returns only space at the end of
//! the file. A start therefore replaces a mostly free file by a copy without gaps. The copy is made
//! and verified like a backup. Until the copy is renamed, the old file is the store, so a kill
//! loses nothing.

use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::{fs, io};

use redb::{Database, ReadTransaction, ReadableDatabase, ReadableTableMetadata};

use super::copy_store::{CopyPlan, copy_whole};
use super::error::with_damage_report;
use super::shared_state::SharedState;
use super::store_file::{OpenDatabase, open_closed};
use super::temporary_file::sweep;
use super::{StoreError, StoreOptions, meta, tables as t};
use brain_base::home::free_bytes;

/// Maximum bytes copied by a start, so that it takes seconds.
const MAX_COPIED_BYTES: u64 = 1 << 30;

/// Space of the store's file, in bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SpaceUsage {
    /// Space on disk. The file can be longer: unwritten parts take no space.
    pub on_disk: u64,
    /// Space that the tables occupy.
    pub in_use: u64,
    /// [`StoreOptions::min_returned_bytes`].
    pub min_returned_bytes: u64,
}

impl SpaceUsage {
    /// Whether the file takes more space than its tables justify, even if it is too large to be
    /// compacted by a start.
    #[must_use]
    pub fn is_wasteful(self) -> bool {
        self.on_disk > self.limit()
    }

    /// Whether a start compacts the file.
    #[must_use]
    pub fn is_due(self) -> bool {
        self.is_wasteful() && self.in_use <= MAX_COPIED_BYTES
    }

    /// Returns the maximum space on disk without compaction: twice the space in use, or
    /// `min_returned_bytes` more than that.
    fn limit(self) -> u64 {
        self.in_use.saturating_add(self.in_use.max(self.min_returned_bytes))
    }
}

/// Compacts the store at `path` if that is due, and returns it open.
///
/// # Errors
/// When the file cannot be reopened, or damage was found and the size for the next measurement
/// cannot be stored. Other errors are logged, and the file keeps its contents.
pub(super) fn compact_at_start(
    db: Database,
    path: &Path,
    options: &StoreOptions,
) -> Result<Database, StoreError> {
    // `path` may be a link; a killed start leaves its copy beside the file itself.
    sweep(&fs::canonicalize(path).unwrap_or_else(|_| path.to_owned()));
    let compacted = with_damage_report(path, || compact_if_due(&db, path, options));
    if matches!(compacted, Ok(false)) {
        return Ok(db);
    }
    drop(db);
    let OpenDatabase { db, .. } = open_closed(path, options.cache_bytes)?;
    if let Err(error) = compacted {
        tracing::warn!(%error, "the store was not compacted; its file is unchanged");
        if error.is_damage() {
            let size = on_disk(path).unwrap_or_default();
            let texts = count_texts(&db.begin_read()?)?;
            write_metadata(&db, measurement(size.saturating_mul(2), texts))?;
        }
    }
    Ok(db)
}

/// Replaces the file by a compact copy if that is due; returns whether it did.
fn compact_if_due(db: &Database, path: &Path, options: &StoreOptions) -> Result<bool, StoreError> {
    let file_path = path.display().to_string();
    let io = |e: &io::Error| StoreError::from_io(e, &file_path);
    let from = Box::new(db.begin_read()?);
    let on_disk = on_disk(path).map_err(|e| io(&e))?;
    // A store whose number of changes is 0 may have lost its contents: its file is kept.
    if meta::number(&from, t::META_SEQ)?.unwrap_or_default() == 0 {
        return Ok(false);
    }
    let texts = count_texts(&from)?;
    let min_returned_bytes = options.min_returned_bytes;
    if on_disk <= min_returned_bytes.max(next_measurement(&from, texts)?) {
        return Ok(false);
    }
    let usage = SpaceUsage { on_disk, in_use: bytes_in_use(&from)?, min_returned_bytes };
    if !usage.is_due() {
        // A file too large to copy is measured again when it is twice as large.
        let next = if usage.is_wasteful() { on_disk.saturating_mul(2) } else { usage.limit() };
        drop(from);
        write_metadata(db, measurement(next, texts))?;
        return Ok(false);
    }
    let file = fs::canonicalize(path).map_err(|e| io(&e))?;
    let dir = file.parent().unwrap_or(&file);
    let needed = usage.in_use.saturating_add(options.min_free_bytes);
    if free_bytes(dir).map_err(|e| io(&e))? < needed {
        tracing::warn!(
            on_disk,
            in_use = usage.in_use,
            needed,
            "not enough free disk space to compact the store"
        );
        return Ok(false);
    }
    tracing::info!(on_disk, in_use = usage.in_use, "compacting the store");
    let check_space = || match free_bytes(dir) {
        Ok(free) if free < options.min_free_bytes => {
            Err(StoreError::DiskFull(file_path.as_str().into()))
        }
        _ => Ok(()),
    };
    let plan = CopyPlan {
        store: &file,
        target: &file,
        metadata: &measurement(usage.limit(), texts),
        attachments: None,
        progress: &|_, _| true,
        check_space: &check_space,
    };
    let (copy, report) = copy_whole(from, &plan, &|_| ())?;
    let mode = fs::metadata(&file).map_err(|e| io(&e))?.permissions();
    copy.replace(&file, mode)?;
    tracing::info!(
        before = on_disk,
        after = report.bytes,
        pages = report.pages,
        "the store was compacted"
    );
    Ok(true)
}

/// Replaces the file of an open store by a compact copy; runs between two transactions of the
/// writer's thread. Snapshots keep the former file open until they end.
pub(super) fn compact_open(shared: &SharedState) -> Result<(), StoreError> {
    shared.check_writable()?;
    shared.check_file_identity()?;
    let io = |e: &io::Error| StoreError::from_io(e, &shared.path.display().to_string());
    let file = fs::canonicalize(&shared.path).map_err(|e| io(&e))?;
    let dir = file.parent().unwrap_or(&file);
    let from = shared.begin_read()?;
    let needed = bytes_in_use(&from)?.saturating_add(shared.min_free_bytes);
    let free = free_bytes(dir).map_err(|e| io(&e))?;
    if free < needed {
        let file_path = shared.path.display();
        let text =
            format!("{file_path}: a copy needs {needed} bytes of free space, and {free} are free");
        return Err(StoreError::DiskFull(text.into()));
    }
    let plan = CopyPlan {
        store: &file,
        target: &file,
        metadata: &[],
        attachments: None,
        progress: &|_, _| true,
        check_space: &|| Ok(()),
    };
    let (copy, report) = copy_whole(from, &plan, &|_| ())?;
    let mode = fs::metadata(&file).map_err(|e| io(&e))?.permissions();
    shared.replace_file(|| copy.replace(&file, mode))?;
    tracing::info!(bytes = report.bytes, "the store was compacted");
    Ok(())
}

/// Returns the space on disk of the file at `path`.
pub(super) fn on_disk(path: &Path) -> io::Result<u64> {
    let meta = fs::metadata(path)?;
    Ok(meta.len().min(meta.blocks().saturating_mul(512)))
}

/// Returns the space of the tables, including gaps in their pages.
pub(super) fn bytes_in_use(txn: &ReadTransaction) -> Result<u64, StoreError> {
    let mut bytes = 0;
    macro_rules! add {
        ($($table:ident),*) => {$(
            let stats = txn.open_table(t::$table)?.stats()?;
            bytes += stats.stored_bytes() + stats.metadata_bytes() + stats.fragmented_bytes();
        )*};
    }
    t::every_table!(add);
    Ok(bytes)
}

/// Returns the number of rows with a text.
fn count_texts(txn: &ReadTransaction) -> Result<u64, StoreError> {
    Ok(txn.open_table(t::CONTENTS)?.len()?
        + txn.open_table(t::VERSIONS)?.len()?
        + txn.open_table(t::JOBS)?.len()?)
}

/// Returns the file size up to which measuring is not worthwhile, from the last measurement. If
/// there are fewer texts than then, the size is smaller in proportion.
fn next_measurement(txn: &ReadTransaction, texts: u64) -> Result<u64, StoreError> {
    let Some(size) = meta::number(txn, t::META_NEXT_MEASUREMENT)? else { return Ok(0) };
    let measured = meta::number(txn, t::META_TEXTS_MEASURED)?.unwrap_or_default().max(1);
    let scaled = u128::from(size) * u128::from(texts.min(measured)) / u128::from(measured);
    Ok(u64::try_from(scaled).unwrap_or(size))
}

/// Returns the metadata that records a measurement.
fn measurement(next_measurement: u64, texts: u64) -> [(&'static str, u64); 2] {
    [(t::META_NEXT_MEASUREMENT, next_measurement), (t::META_TEXTS_MEASURED, texts)]
}

/// Stores numbers in the table of metadata.
fn write_metadata(db: &Database, metadata: [(&'static str, u64); 2]) -> Result<(), StoreError> {
    let mut txn = db.begin_write()?;
    txn.set_quick_repair(true);
    {
        let mut meta = txn.open_table(t::META)?;
        for (key, number) in metadata {
            meta.insert(key, number)?;
        }
    }
    Ok(txn.commit()?)
}
