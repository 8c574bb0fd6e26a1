//! State shared by readers and the writer: the open file, reopened after disk failures.

use std::fs;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::SyncSender;
use std::time::{Instant, SystemTime};

use brain_protocol::SourceId;
use parking_lot::{Mutex, RwLock};
use redb::{Database, ReadableDatabase, WriteTransaction};

use brain_base::caller::Visibility;
use brain_base::home::free_bytes;

use super::change::Change;
use super::damage::DamageReport;
use super::pending_keys::PendingKeys;
use super::read::Reader;
use super::shared_log::{FollowRequest, LogPosition, RemoteChanges, SharedLog};
use super::snapshot::ReadView;
use super::store_file::{OpenDatabase, file_id, open_closed};
use super::transaction::CompletedTransaction;
use super::{SourceRecord, StoreError};
use brain_files::AttachmentFiles;

/// The registered sources.
pub type Sources = Vec<(SourceId, SourceRecord)>;

/// Whose turn it is, while several machines write at the same time.
#[derive(Default)]
pub(super) struct Turn {
    /// Whether another machine appended since the last batch of this one.
    pub(super) is_contended: bool,
    /// The last batch of this machine, and when the log accepted it.
    pub(super) last: Option<(LogPosition, Instant)>,
}

/// State shared by readers and the writer.
pub(crate) struct SharedState {
    pub(super) path: PathBuf,
    pub(super) store_id: u64,
    /// See [`super::Store::number_key`].
    pub(super) number_key: u64,
    /// Device and inode of the open file, to detect another file at its path.
    pub(super) file: Mutex<Option<(u64, u64)>>,
    pub(super) report: Arc<DamageReport>,
    pub(super) cache_bytes: usize,
    pub(super) attachments: AttachmentFiles,
    pub(super) min_free_bytes: u64,
    /// `None` only while the file is reopened after a disk failure.
    pub(super) db: RwLock<Option<Arc<Database>>>,
    /// Whether the file system is read-only. Redb's own writes on opening stay in memory then, and
    /// nothing else is written.
    pub(super) read_only: AtomicBool,
    /// Whether redb repaired the file when it was first opened.
    pub(super) was_repaired: bool,
    /// Cache of the registered sources; cleared when one changes.
    pub(super) sources: RwLock<Option<Arc<Sources>>>,
    /// Duplicate keys of waiting ingest jobs.
    pub(super) pending_keys: PendingKeys,
    /// One more than the number of the last acknowledged job. A snapshot with a smaller next number
    /// lacks jobs that are only in the spool.
    pub(super) next_acknowledged_job: AtomicU64,
    /// Page id and sequence number of written files that are not flushed yet.
    pub(super) done_files: Mutex<Vec<(u64, u64)>>,
    /// Page id and sequence number of flushed files. The next commit removes their outbox rows.
    pub(super) synced_files: Mutex<Vec<(u64, u64)>>,
    /// Callers that wait for a compaction.
    pub(super) compaction_requests: Mutex<Vec<SyncSender<Result<(), StoreError>>>>,
    /// Whether the brain is on several machines. Every write then goes to the log first.
    pub(super) is_shared: AtomicBool,
    /// The log; `None` until [`super::Store::attach_log`].
    pub(super) log: RwLock<Option<Arc<dyn SharedLog>>>,
    /// Whose turn it is to write to the log.
    pub(super) turn: Mutex<Turn>,
    /// Callers that wait for the batches of the log.
    pub(super) follow_requests: Mutex<Vec<FollowRequest>>,
    /// What changed without a caller on this machine since the last
    /// [`super::Store::take_remote_changes`].
    pub(super) remote_changes: Mutex<RemoteChanges>,
}

/// What is said about a store that is not at its path any more.
pub(super) const REPLACED: &str =
    "the file or its directory was moved, removed or replaced while the daemon ran";

impl SharedState {
    /// Returns how far this machine's clock is ahead of that of the log's server, in milliseconds.
    pub(super) fn clock_ahead(&self) -> i64 {
        self.log.read().as_ref().map_or(0, |log| log.clock_ahead())
    }

    pub(super) fn begin_read(&self) -> Result<ReadView, StoreError> {
        self.ensure_open()?;
        let guard = self.db.read();
        let db = guard
            .as_ref()
            .ok_or_else(|| StoreError::Io("the disk failed; the store is being reopened".into()))?;
        Ok(ReadView {
            txn: db.begin_read()?,
            _db: Arc::clone(db),
            report: Arc::clone(&self.report),
        })
    }

    /// Returns the sources from the cache. The lock is held while a snapshot is read, so that the
    /// cache never has a value from before a commit that changed a source.
    pub(super) fn sources(&self) -> Result<Arc<Sources>, StoreError> {
        if let Some(sources) = self.sources.read().as_ref() {
            return Ok(Arc::clone(sources));
        }
        let mut cache = self.sources.write();
        let read = Arc::new(
            Reader::new(self.begin_read()?, Visibility::All, &self.next_acknowledged_job)
                .sources()?,
        );
        *cache = Some(Arc::clone(&read));
        Ok(read)
    }

    /// Clears the cache of sources after a commit that changed one.
    pub(super) fn forget_sources(&self) {
        *self.sources.write() = None;
    }

    pub(super) fn take_synced_files(&self) -> Vec<(u64, u64)> {
        std::mem::take(&mut *self.synced_files.lock())
    }

    pub(super) fn put_back_synced_files(&self, files: Vec<(u64, u64)>) {
        self.synced_files.lock().extend(files);
    }

    pub(super) fn begin_write(&self) -> Result<WriteTransaction, StoreError> {
        self.ensure_open()?;
        let guard = self.db.read();
        let db = guard.as_ref().ok_or_else(|| StoreError::Io("the store is not open".into()))?;
        let mut txn = db.begin_write()?;
        // Two-phase commit; a start after a crash then need not walk the file.
        txn.set_quick_repair(true);
        Ok(txn)
    }

    /// Commits a complete transaction durably and returns its changes.
    pub(super) fn commit(
        &self,
        txn: WriteTransaction,
        transaction: CompletedTransaction,
    ) -> Result<Vec<Change>, StoreError> {
        let CompletedTransaction { changes, pending_keys_change, sources_changed, .. } =
            transaction;
        txn.commit()?;
        self.pending_keys.apply(pending_keys_change);
        if sources_changed {
            self.forget_sources();
        }
        Ok(changes)
    }

    pub(super) fn is_read_only(&self) -> bool {
        self.read_only.load(Ordering::Acquire)
    }

    /// Refuses writes while the file system is read-only: they would stay in memory.
    pub(super) fn check_writable(&self) -> Result<(), StoreError> {
        match self.is_read_only() {
            true => Err(StoreError::ReadOnly(
                format!("{}: its file system is read-only", self.path.display()).into(),
            )),
            false => Ok(()),
        }
    }

    /// Reopens the file for writing if the file system allows it. Returns whether it did.
    pub(super) fn leave_read_only(&self) -> bool {
        if !self.is_read_only() {
            return false;
        }
        // A file on a failed disk can open for writing and then refuse writes; setting its time
        // shows that.
        let opened = fs::File::options().write(true).open(&self.path);
        if opened.and_then(|file| file.set_modified(SystemTime::now())).is_err() {
            return false;
        }
        self.recover();
        !self.is_read_only()
    }

    /// Refuses writes before the disk is full: a write that fails half-way closes redb.
    pub(super) fn check_free_space(&self) -> Result<(), StoreError> {
        let dir = self.path.parent().unwrap_or(&self.path);
        let Ok(free) = free_bytes(dir) else { return Ok(()) };
        if free < self.min_free_bytes {
            let (free, reserve) = (free / 1_000_000, self.min_free_bytes / 1_000_000);
            let text =
                format!("{} has {free} MB free, and brain keeps {reserve} MB", dir.display());
            return Err(StoreError::DiskFull(text.into()));
        }
        Ok(())
    }

    /// Refuses to write a file of `bytes` bytes if less than `min_free_bytes` would stay free.
    pub(super) fn check_free_space_for_bytes(&self, bytes: u64) -> Result<(), StoreError> {
        self.check_free_space()?;
        let dir = self.path.parent().unwrap_or(&self.path);
        let Ok(free) = free_bytes(dir) else { return Ok(()) };
        if free < self.min_free_bytes.saturating_add(bytes) {
            let (free, bytes) = (free / 1_000_000, bytes / 1_000_000);
            let text = format!("{} has {free} MB free, and the file has {bytes} MB", dir.display());
            return Err(StoreError::DiskFull(text.into()));
        }
        Ok(())
    }

    /// Refuses writes when another file is at the store's path: the next start would open that file
    /// and lack the writes.
    pub(super) fn check_file_identity(&self) -> Result<(), StoreError> {
        let open = *self.file.lock();
        if open.is_none() || open == file_id(&self.path) {
            return Ok(());
        }
        let file_path = self.path.display();
        Err(StoreError::ReadOnly(format!("{file_path}: {REPLACED}").into()))
    }

    /// Reopens the file after a failed commit: redb refuses all calls after an I/O error.
    pub(super) fn recover(&self) {
        if let Err(error) = self.reopen() {
            tracing::error!(%error, "cannot reopen the store");
        }
    }

    /// Reopens the file if an earlier attempt failed.
    fn ensure_open(&self) -> Result<(), StoreError> {
        if self.db.read().is_none() {
            let mut guard = self.db.write();
            if guard.is_none() {
                self.open_again(&mut guard)?;
            }
        }
        Ok(())
    }

    /// Closes the file, lets `replace` put another one at its path, and opens that one.
    ///
    /// # Errors
    /// Errors of `replace`, after which the former file is opened again; errors of opening.
    pub(super) fn replace_file(
        &self,
        replace: impl FnOnce() -> Result<(), StoreError>,
    ) -> Result<(), StoreError> {
        let mut guard = self.db.write();
        drop(guard.take());
        let replaced = replace();
        let opened = self.open_again(&mut guard);
        replaced.and(opened)
    }

    fn reopen(&self) -> Result<(), StoreError> {
        let mut guard = self.db.write();
        drop(guard.take());
        self.open_again(&mut guard)
    }

    fn open_again(&self, guard: &mut Option<Arc<Database>>) -> Result<(), StoreError> {
        let OpenDatabase { db, read_only, .. } = open_closed(&self.path, self.cache_bytes)?;
        *guard = Some(Arc::new(db));
        *self.file.lock() = file_id(&self.path);
        self.read_only.store(read_only, Ordering::Release);
        tracing::info!(read_only, "store reopened");
        Ok(())
    }
}
