//! Opens and creates the redb file of a store, without its spool and writer.

use std::fs;
use std::io::ErrorKind;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use brain_protocol::SourceId;
use redb::{Database, ReadableDatabase};

use super::error::with_damage_report;
use super::overlay::FileOverlay;
use super::pending_keys::PendingKeys;
use super::{SourceRecord, StoreError, Transaction, meta, migrate, tables as t};
use brain_base::durable::flush_dir_of;
use brain_files::swap::publish;

/// Options for opening a store.
pub struct StoreOptions {
    /// Size of redb's cache in bytes.
    pub cache_bytes: usize,
    /// Writes are refused when the disk has less free space than this, in bytes. Reads continue.
    pub min_free_bytes: u64,
    /// Current time in Unix milliseconds: creation time of a new store's records.
    pub now: i64,
    /// Random id for a new store.
    pub new_store_id: u64,
    /// Minimum space that a compaction at the start must return, in bytes.
    pub min_returned_bytes: u64,
}

impl StoreOptions {
    /// The usual [`StoreOptions::min_returned_bytes`]: 64 MiB.
    pub const MIN_RETURNED_BYTES: u64 = 64 << 20;
}

/// A newly opened store file.
pub(super) struct OpenDatabase {
    pub(super) db: Database,
    pub(super) read_only: bool,
    pub(super) was_repaired: bool,
}

/// Opens a file that this process has just closed. Waits up to 2 seconds for its lock.
pub(super) fn open_closed(path: &Path, cache_bytes: usize) -> Result<OpenDatabase, StoreError> {
    open_within(Duration::from_secs(2), path, cache_bytes)
}

/// Opens the file. Waits for its lock: a child of the former owner has it until it runs its own
/// program, also if the former owner is gone.
pub(super) fn open_within(
    wait: Duration,
    path: &Path,
    cache_bytes: usize,
) -> Result<OpenDatabase, StoreError> {
    let deadline = Instant::now() + wait;
    loop {
        match open_database(path, cache_bytes) {
            Err(StoreError::Locked(_)) if Instant::now() < deadline => {
                std::thread::sleep(Duration::from_millis(5));
            }
            opened => return opened,
        }
    }
}

/// Opens the file for writing. On a read-only file system, opens it for reading and keeps redb's
/// writes in memory.
pub(super) fn open_database(path: &Path, cache_bytes: usize) -> Result<OpenDatabase, StoreError> {
    loop {
        let before = file_id(path);
        let opened = open_file(path, cache_bytes)?;
        // Another daemon may have replaced the file before it was locked here.
        if before == file_id(path) {
            return Ok(opened);
        }
    }
}

fn open_file(path: &Path, cache_bytes: usize) -> Result<OpenDatabase, StoreError> {
    let name = path.display().to_string();
    if fs::metadata(path).is_ok_and(|m| m.len() == 0) {
        // redb would create a new store in it, and all pages would seem lost.
        return Err(StoreError::Damaged(format!("{name} is empty")));
    }
    // A panic must not end the writer thread, which reopens the file after disk failures.
    with_damage_report(path, || {
        let repaired = Arc::new(AtomicBool::new(false));
        let callback_flag = Arc::clone(&repaired);
        let mut builder = Database::builder();
        builder
            .set_cache_size(cache_bytes)
            .set_repair_callback(move |_| callback_flag.store(true, Ordering::Relaxed));
        let (opened, read_only) = match builder.open(path) {
            Err(redb::DatabaseError::Storage(redb::StorageError::Io(e)))
                if e.kind() == ErrorKind::ReadOnlyFilesystem =>
            {
                (builder.create_with_backend(read_only_backend(path)?), true)
            }
            opened => (opened, false),
        };
        let db = opened.map_err(|e| match e {
            redb::DatabaseError::DatabaseAlreadyOpen => StoreError::Locked(name.clone()),
            redb::DatabaseError::Storage(redb::StorageError::Io(e)) => match fs::File::open(path) {
                Err(read_error) => StoreError::from_read(&read_error, &name),
                Ok(_) => StoreError::from_io(&e, &name),
            },
            e => StoreError::Damaged(e.to_string()),
        })?;
        Ok(OpenDatabase { db, read_only, was_repaired: repaired.load(Ordering::Relaxed) })
    })
}

/// Returns an overlay that reads the file and keeps writes in memory.
fn read_only_backend(path: &Path) -> Result<FileOverlay, StoreError> {
    let name = path.display().to_string();
    let file = fs::File::open(path).map_err(|e| StoreError::from_read(&e, &name))?;
    if let Err(fs::TryLockError::WouldBlock) = file.try_lock_shared() {
        return Err(StoreError::Locked(name));
    }
    FileOverlay::new(file).map_err(|e| StoreError::from_io(&e, &name))
}

/// Checks the schema before redb opens the file for writing, because opening changes the file. A
/// file that needs a repair is checked after the repair.
pub(super) fn check_schema(path: &Path) -> Result<(), StoreError> {
    match redb::ReadOnlyDatabase::open(path) {
        Ok(db) => meta::check_schema(&db.begin_read()?, path).map(|_| ()),
        Err(_) => Ok(()),
    }
}

/// Returns device and inode of the file at `path`.
pub(super) fn file_id(path: &Path) -> Option<(u64, u64)> {
    fs::metadata(path).ok().map(|meta| (meta.dev(), meta.ino()))
}

/// Creates an empty store in a temporary file and renames it to `path` once it is complete. A store
/// that exists stays as it is.
pub fn create(path: &Path, options: &StoreOptions) -> Result<(), StoreError> {
    let name = path.display().to_string();
    let io = |e: &std::io::Error| StoreError::from_io(e, &name);
    // The name is unique, because another daemon may be creating this store at the same time.
    let new_path =
        path.with_extension(format!("redb.new-{}-{:x}", std::process::id(), options.new_store_id));
    // This replaces no file. The first daemon creates the store; the lock decides which one serves
    // it.
    let published = create_database(&new_path, &name, options).map(|()| publish(&new_path, path));
    let _ = fs::remove_file(&new_path);
    match published? {
        Err(e) if e.kind() != ErrorKind::AlreadyExists => return Err(io(&e)),
        _ => {}
    }
    flush_dir_of(path).map_err(|e| io(&e))
}

/// Creates a complete store in the file `new_path`. Messages call the file `name`.
fn create_database(new_path: &Path, name: &str, options: &StoreOptions) -> Result<(), StoreError> {
    let db =
        Database::builder().set_cache_size(options.cache_bytes).create(new_path).map_err(|e| {
            match e {
                redb::DatabaseError::Storage(redb::StorageError::Io(e)) => {
                    StoreError::from_io(&e, name)
                }
                e => StoreError::other(name, e),
            }
        })?;
    let txn = db.begin_write()?;
    migrate::open_tables_of_attachments(&txn)?;
    {
        let pending_keys = PendingKeys::default();
        let mut transaction = Transaction::open(&txn, &pending_keys)?;
        transaction.set_meta(t::META_SCHEMA, meta::SCHEMA)?;
        transaction.set_meta(t::META_STORE_ID, options.new_store_id)?;
        transaction.put_source(&SourceId::default(), &SourceRecord::new(None, options.now))?;
        transaction.finish()?;
    }
    Ok(txn.commit()?)
}
