//! Opens a store: creates a missing one, migrates an older one, and starts its writer.

use std::fs;
use std::io::ErrorKind;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use parking_lot::{Mutex, RwLock};
use redb::ReadableDatabase;

use super::change::CommitHook;
use super::compaction::compact_at_start;
use super::damage::DamageReport;
use super::error::with_damage_report;
use super::pending_keys::PendingKeys;
use super::shared_state::SharedState;
use super::store_file::{OpenDatabase, check_schema, create, file_id, open_within};
use super::writer::Writer;
use super::{
    Store, StoreError, StoreOptions, group_commit, meta, migrate, packed_attachments, tables as t,
};
use brain_files::AttachmentFiles;

/// How long a start waits for the lock of a store: a daemon that has just ended can have a child
/// that has not run its program yet.
const LOCK_WAIT: Duration = Duration::from_millis(200);

impl Store {
    /// Opens the store at `path`. Creates a missing store and migrates an older one.
    ///
    /// # Errors
    /// [`StoreError::Locked`] when another process has the file, [`StoreError::Newer`] when a newer
    /// program wrote it, [`StoreError::Damaged`] when it is not a valid store; errors of the spool
    /// and of the disk.
    pub fn open(path: &Path, options: &StoreOptions, hook: CommitHook) -> Result<Self, StoreError> {
        with_damage_report(path, || Self::open_inner(path, options, hook))
    }

    fn open_inner(
        path: &Path,
        options: &StoreOptions,
        hook: CommitHook,
    ) -> Result<Self, StoreError> {
        if fs::symlink_metadata(path).is_err_and(|e| e.kind() == ErrorKind::NotFound) {
            create(path, options)?;
        }
        check_schema(path)?;
        let OpenDatabase { mut db, read_only, was_repaired } =
            open_within(LOCK_WAIT, path, options.cache_bytes)?;
        migrate::upgrade(&mut db, path)?;
        let attachments = AttachmentFiles::at(path.with_file_name("attachments"));
        if !read_only
            && !was_repaired
            && let Err(error) = packed_attachments::unpack(&db, &attachments)
        {
            tracing::warn!(%error, "attachments stay in the store; the next start writes them");
        }
        // A repaired file stays unchanged until the owner has examined it.
        if !read_only && !was_repaired {
            db = compact_at_start(db, path, options)?;
        }
        let store_id = meta::number(&db.begin_read()?, t::META_STORE_ID)?.unwrap_or_default();
        let number_key = meta::number(&db.begin_read()?, t::META_NUMBER_KEY)?.unwrap_or(store_id);
        let is_shared = meta::number(&db.begin_read()?, t::META_LOG_NUMBER)?.is_some();
        if read_only {
            tracing::warn!(store = %path.display(), "file system is read-only; writes are refused");
        }
        let shared = Arc::new(SharedState {
            path: path.to_owned(),
            store_id,
            number_key,
            file: Mutex::new(file_id(path)),
            report: Arc::new(DamageReport::new(path, store_id)),
            cache_bytes: options.cache_bytes,
            attachments,
            min_free_bytes: options.min_free_bytes,
            db: RwLock::new(Some(Arc::new(db))),
            read_only: AtomicBool::new(read_only),
            was_repaired,
            sources: RwLock::new(None),
            pending_keys: PendingKeys::default(),
            next_acknowledged_job: AtomicU64::new(0),
            done_files: Mutex::default(),
            synced_files: Mutex::default(),
            compaction_requests: Mutex::default(),
            is_shared: AtomicBool::new(is_shared),
            log: RwLock::default(),
            turn: Mutex::default(),
            follow_requests: Mutex::default(),
            remote_changes: Mutex::default(),
        });
        recover_spooled_jobs(&shared)?;
        let writer = Writer::start(Arc::clone(&shared), hook)
            .map_err(|e| StoreError::from_io(&e, "store writer"))?;
        Ok(Self { shared, writer, link_checks: Mutex::default() })
    }
}

/// Imports the jobs of the spool, or only reads them if the store is shared: the log gets them
/// first. After an error of the disk, the store is opened all the same, if no acknowledged job can
/// be lost.
fn recover_spooled_jobs(shared: &SharedState) -> Result<(), StoreError> {
    // An import that fails can reopen the file.
    let was_read_only = shared.is_read_only();
    let imported = match shared.is_shared.load(Ordering::Acquire) {
        true => shared.load_spooled_jobs(),
        false => group_commit::import_spool(shared),
    };
    match imported {
        // The spool's jobs are known and the store is readable; the writer imports them later.
        Err(error)
            if error.is_disk_error()
                && shared.next_acknowledged_job.load(Ordering::Acquire) > 0 =>
        {
            tracing::warn!(%error, "cannot import the spool yet; writes wait for it");
            Ok(())
        }
        Err(error) if was_read_only && error.is_disk_error() => {
            tracing::warn!(%error, "cannot import the spool: the file system is read-only");
            Ok(())
        }
        other => other,
    }
}
