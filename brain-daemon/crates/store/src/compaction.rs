//! Compaction of the store's file, when the store is opened.
//!
//! redb doubles its file when it grows. It uses freed pages again, and gives back only those at the
//! end of the file. A start therefore replaces a file that is mostly free by a copy without gaps.
//! The copy is made and read back as a backup is. Until it is renamed over the file, the file is
//! the store and stays as it is: a kill loses nothing.

use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::{fs, io};

use redb::{Database, ReadTransaction, ReadableDatabase, ReadableTableMetadata};

use super::backup::{self, copy_whole};
use super::error::naming_damage;
use super::open::{Opened, open_closed};
use super::{Reader, Store, StoreError, StoreOptions, migrate, tables as t};
use brain_base::home::free_bytes;

/// A start compacts a file with at least this much to give back, in bytes.
const WORTHWHILE: u64 = if cfg!(test) { 1 << 20 } else { 64 << 20 };

/// A start copies at most this much, in bytes, so that it takes seconds.
const MAX_COPIED: u64 = 1 << 30;

/// The room that the store's file takes, in bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Usage {
    /// On the disk. The file may be longer: a part that was never written takes no room.
    pub on_disk: u64,
    /// What the tables occupy.
    pub in_use: u64,
}

impl Usage {
    /// Whether a start would give room back if it could copy any amount.
    #[must_use]
    pub fn is_wasteful(self) -> bool {
        self.on_disk > limit(self.in_use)
    }

    /// Whether a start compacts the file.
    #[must_use]
    pub fn is_due(self) -> bool {
        self.is_wasteful() && self.in_use <= MAX_COPIED
    }
}

/// How much room a file may take on the disk without being compacted: twice what is in use, or 64
/// MiB more than that.
fn limit(in_use: u64) -> u64 {
    in_use.saturating_add(in_use.max(WORTHWHILE))
}

impl Store {
    /// The room that the file takes on the disk, in bytes.
    ///
    /// # Errors
    /// When the file cannot be looked at.
    pub fn bytes_on_disk(&self) -> Result<u64, StoreError> {
        on_disk(self.path())
            .map_err(|e| StoreError::from_io(&e, &self.path().display().to_string()))
    }
}

impl Reader {
    /// What the tables of this snapshot occupy, in bytes. Reads all of them.
    ///
    /// # Errors
    /// When the store cannot be read.
    pub fn bytes_in_use(&self) -> Result<u64, StoreError> {
        self.naming_file(bytes_in_use)
    }
}

/// Compacts the store of `db`, which is at `path`, if that is due. The store as it is open
/// afterwards.
///
/// # Errors
/// When it cannot be opened again. Other failures go to the log, and the file stays as it was.
pub(super) fn compact_at_start(
    db: Database,
    path: &Path,
    options: &StoreOptions,
) -> Result<Database, StoreError> {
    // A link leads to the file; beside the file a killed start leaves its copy.
    backup::sweep(&fs::canonicalize(path).unwrap_or_else(|_| path.to_owned()));
    let compacted = naming_damage(path, || compact_if_due(&db, path, options));
    if matches!(compacted, Ok(false)) {
        return Ok(db);
    }
    drop(db);
    let Opened { db, .. } = open_closed(path, options.cache_bytes)?;
    if let Err(error) = compacted {
        tracing::warn!(%error, "the store was not compacted; its file is as it was");
        if error.is_damage() {
            let size = on_disk(path).unwrap_or_default();
            let texts = texts(&db.begin_read()?)?;
            write_marks(&db, marks(size.saturating_mul(2), texts))?;
        }
    }
    Ok(db)
}

/// Replaces the file by a compact copy if that is due; whether it did.
fn compact_if_due(db: &Database, path: &Path, options: &StoreOptions) -> Result<bool, StoreError> {
    let place = path.display().to_string();
    let io = |e: &io::Error| StoreError::from_io(e, &place);
    let from = Box::new(db.begin_read()?);
    let on_disk = on_disk(path).map_err(|e| io(&e))?;
    // One without a change may have lost what it had: nothing of its file is thrown away.
    if migrate::meta(&from, t::META_SEQ)?.unwrap_or_default() == 0 {
        return Ok(false);
    }
    let texts = texts(&from)?;
    if on_disk <= limit(0).max(next_look(&from, texts)?) {
        return Ok(false);
    }
    let usage = Usage { on_disk, in_use: bytes_in_use(&from)? };
    if !usage.is_due() {
        // One that is too large to be copied is looked at again when it is twice as large.
        let next =
            if usage.is_wasteful() { on_disk.saturating_mul(2) } else { limit(usage.in_use) };
        drop(from);
        write_marks(db, marks(next, texts))?;
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
            "too little room on the disk to compact the store"
        );
        return Ok(false);
    }
    tracing::info!(on_disk, in_use = usage.in_use, "compacting the store");
    let room = || match free_bytes(dir) {
        Ok(free) if free < options.min_free_bytes => Err(StoreError::DiskFull(place.clone())),
        _ => Ok(()),
    };
    let marks = marks(limit(usage.in_use), texts);
    let (copy, sound) = copy_whole(from, &file, &file, &marks, &|_, _| true, &room, &|_| ())?;
    let mode = fs::metadata(&file).map_err(|e| io(&e))?.permissions();
    copy.replace(&file, mode)?;
    tracing::info!(
        before = on_disk,
        after = sound.bytes,
        pages = sound.pages,
        "the store was compacted"
    );
    Ok(true)
}

/// What the file at `path` takes on the disk.
fn on_disk(path: &Path) -> io::Result<u64> {
    let meta = fs::metadata(path)?;
    Ok(meta.len().min(meta.blocks().saturating_mul(512)))
}

/// What the tables occupy, gaps in their pages included.
fn bytes_in_use(txn: &ReadTransaction) -> Result<u64, StoreError> {
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

/// How many rows have a text.
fn texts(txn: &ReadTransaction) -> Result<u64, StoreError> {
    Ok(txn.open_table(t::CONTENTS)?.len()?
        + txn.open_table(t::VERSIONS)?.len()?
        + txn.open_table(t::JOBS)?.len()?)
}

/// Below this size of the file it is not worth counting what is in use, by what the last count
/// found. It falls with the number of texts.
fn next_look(txn: &ReadTransaction, texts: u64) -> Result<u64, StoreError> {
    let Some(size) = migrate::meta(txn, t::META_NEXT_LOOK)? else { return Ok(0) };
    let then = migrate::meta(txn, t::META_TEXTS_LOOKED)?.unwrap_or_default().max(1);
    let scaled = u128::from(size) * u128::from(texts.min(then)) / u128::from(then);
    Ok(u64::try_from(scaled).unwrap_or(size))
}

fn marks(next_look: u64, texts: u64) -> [(&'static str, u64); 2] {
    [(t::META_NEXT_LOOK, next_look), (t::META_TEXTS_LOOKED, texts)]
}

fn write_marks(db: &Database, marks: [(&'static str, u64); 2]) -> Result<(), StoreError> {
    let mut txn = db.begin_write()?;
    txn.set_quick_repair(true);
    {
        let mut meta = txn.open_table(t::META)?;
        for (key, number) in marks {
            meta.insert(key, number)?;
        }
    }
    Ok(txn.commit()?)
}
