//! Opening the store, and keeping it usable when the disk under it is not.

use std::collections::HashSet;
use std::fs;
use std::io::ErrorKind;
use std::ops::Deref;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock};
use std::time::{Duration, Instant, SystemTime};

use brain_protocol::SourceId;
use redb::{Database, ReadTransaction, ReadableDatabase, WriteTransaction};

use brain_base::home::free_bytes;

use super::compaction::compact_at_start;
use super::damage::DamageReport;
use super::draft::Finished;
use super::error::naming_damage;
use super::jobs::Waiting;
use super::overlay::Overlay;
use super::read::Reader;
use super::writer::{Change, CommitHook, Writer};
use super::{Draft, SourceRecord, StoreError, intake, migrate, spool, tables as t};
use brain_base::caller::Visibility;

/// How a store is opened.
pub struct StoreOptions {
    /// Memory for redb's cache, in bytes.
    pub cache_bytes: usize,
    /// Writes are refused when the disk has less room than this, in bytes, so that reading goes on.
    pub min_free_bytes: u64,
    /// Now, Unix milliseconds: for what is made at the first start.
    pub now: i64,
    /// A random number for a new store.
    pub fresh_id: u64,
}

/// The store. One a process and file.
pub struct Store {
    shared: Arc<Shared>,
    writer: Writer,
    /// Held by the check of links that is at work.
    pub(super) link_checks: Mutex<()>,
}

/// The registered sources.
pub type Sources = Vec<(SourceId, SourceRecord)>;

/// A snapshot of the file. It keeps the file open, whatever becomes of the one that the others use.
pub(super) struct Snapshot {
    txn: ReadTransaction,
    _db: Arc<Database>,
    /// Tells of damage that is met in it.
    pub(super) report: Arc<DamageReport>,
}

impl Deref for Snapshot {
    type Target = ReadTransaction;

    fn deref(&self) -> &ReadTransaction {
        &self.txn
    }
}

/// What readers and the writer share.
pub(super) struct Shared {
    pub(super) path: PathBuf,
    pub(super) store_id: u64,
    /// Device and number of the file that is open. Of another one at its path nobody knows.
    file: Mutex<Option<(u64, u64)>>,
    report: Arc<DamageReport>,
    cache_bytes: usize,
    min_free_bytes: u64,
    /// `None` only while it is opened anew after a failure of the disk.
    db: RwLock<Option<Arc<Database>>>,
    /// The file system is read-only: what redb writes when it opens the file stays in memory, and nothing else is written.
    read_only: AtomicBool,
    /// redb had to repair the file when it was first opened.
    was_repaired: bool,
    /// The registered sources, until one changes.
    sources: RwLock<Option<Arc<Sources>>>,
    /// What makes two items one, of those that wait.
    pub(super) waiting_jobs: Waiting,
    /// The number after that of the last item that was answered. A snapshot whose next one is smaller lacks those that are in
    /// the spool only.
    pub(super) promised: AtomicU64,
    /// (page id, sequence number) of files that are as they should be, but perhaps not yet on the disk itself.
    done_files: Mutex<Vec<(u64, u64)>>,
    /// The same, flushed to the disk: their outbox rows go with the next commit.
    synced_files: Mutex<Vec<(u64, u64)>>,
}

impl Store {
    /// Opens the store at `path`, makes it when there is none, migrates it when it is older.
    ///
    /// # Errors
    /// [`StoreError::Locked`] when another process has it, [`StoreError::Newer`] when a newer program wrote it,
    /// [`StoreError::Damaged`] when it is not a store any more, and what the disk says.
    pub fn open(path: &Path, options: &StoreOptions, hook: CommitHook) -> Result<Self, StoreError> {
        naming_damage(path, || Self::open_sound(path, options, hook))
    }

    fn open_sound(
        path: &Path,
        options: &StoreOptions,
        hook: CommitHook,
    ) -> Result<Self, StoreError> {
        if fs::symlink_metadata(path).is_err_and(|e| e.kind() == ErrorKind::NotFound) {
            create(path, options)?;
        }
        look_first(path)?;
        let Opened { mut db, read_only, was_repaired } = open_database(path, options.cache_bytes)?;
        migrate::upgrade(&mut db, path)?;
        // What a repair found is kept as it is until somebody has looked at it.
        if !read_only && !was_repaired {
            db = compact_at_start(db, path, options)?;
        }
        let store_id = migrate::meta(&db.begin_read()?, t::META_STORE_ID)?.unwrap_or_default();
        if read_only {
            tracing::warn!(store = %path.display(), "the file system is read-only; writes are refused");
        }
        let shared = Arc::new(Shared {
            path: path.to_owned(),
            store_id,
            file: Mutex::new(file_id(path)),
            report: Arc::new(DamageReport::new(path, store_id)),
            cache_bytes: options.cache_bytes,
            min_free_bytes: options.min_free_bytes,
            db: RwLock::new(Some(Arc::new(db))),
            read_only: AtomicBool::new(read_only),
            was_repaired,
            sources: RwLock::new(None),
            waiting_jobs: Waiting::default(),
            promised: AtomicU64::new(0),
            done_files: Mutex::default(),
            synced_files: Mutex::default(),
        });
        match intake::bring_in(&shared) {
            // It is known what is in the spool, and what there is can be read meanwhile; the writer tries again.
            Err(error) if error.is_the_disk() && shared.promised.load(Ordering::Acquire) > 0 => {
                tracing::warn!(%error, "what is in the spool cannot be taken over yet; nothing is written before");
            }
            Err(error) if read_only && error.is_the_disk() => {
                tracing::warn!(%error, "the spool stays as it is while the file system is read-only");
            }
            other => other?,
        }
        let writer = Writer::start(Arc::clone(&shared), hook)
            .map_err(|e| StoreError::from_io(&e, "store writer"))?;
        Ok(Self { shared, writer, link_checks: Mutex::default() })
    }

    /// Runs `work` in the next transaction and waits until it is durable. `work` may run more than once, each
    /// time on a fresh draft; it must look before it writes.
    ///
    /// # Errors
    /// What `work` refuses, or what the disk says. Nothing was changed then.
    pub fn write<T, F>(&self, work: F) -> Result<T, StoreError>
    where
        T: Send + 'static,
        F: FnMut(&mut Draft<'_>) -> Result<T, StoreError> + Send + 'static,
    {
        self.writer.call(work)
    }

    /// Runs `work` in the next transaction, as [`Store::write`] does, but waits neither for room in the queue nor for the
    /// disk. `done` hears how it ended, from the writer's thread, or at once when there is no room (`busy`). It must not
    /// block: other writers wait meanwhile. Jobs that `work` added are on disk then, and shown by [`Store::read_queue`];
    /// anything else it wrote is shown by every snapshot.
    pub fn write_then<T, F, D>(&self, work: F, done: D)
    where
        T: Send + 'static,
        F: FnMut(&mut Draft<'_>) -> Result<T, StoreError> + Send + 'static,
        D: FnOnce(Result<T, StoreError>) + Send + 'static,
    {
        self.writer.call_then(work, done);
    }

    /// Whether the file system is read-only, so that writes are refused.
    #[must_use]
    pub fn is_read_only(&self) -> bool {
        self.shared.is_read_only()
    }

    /// Writes again, if the file system has become writable. For a timer.
    pub fn leave_read_only(&self) {
        if self.is_read_only()
            && let Err(error) = self.write(|_| Ok(()))
        {
            tracing::debug!(%error, "still read-only");
        }
    }

    /// Whether redb had to repair the file when it was opened: the last end was not a clean one.
    #[must_use]
    pub fn was_repaired(&self) -> bool {
        self.shared.was_repaired
    }

    /// Whether it was found to be lost, at this start or an earlier one: see [`Store::note_lost`].
    ///
    /// # Errors
    /// When the store cannot be read.
    pub fn is_noted_lost(&self) -> Result<bool, StoreError> {
        Ok(migrate::meta(&*self.snapshot()?, t::META_LOST)?.is_some())
    }

    /// Notes that a repair left nothing of the store. The repair itself shows only at the start that made it.
    ///
    /// # Errors
    /// When the store cannot be written.
    pub fn note_lost(&self) -> Result<(), StoreError> {
        self.write(|draft| {
            draft.dirty += 1;
            draft.set_meta(t::META_LOST, 1)
        })
    }

    /// Names the directory of the backups by schedule: where a page is damaged, the newest one that has it whole is told.
    pub fn set_backup_dir(&self, dir: PathBuf) {
        let _ = self.shared.report.backups.set(dir);
    }

    /// Reads what may lie anywhere in the file, whoever's it is, in one snapshot. A panic over damaged bytes is told as damage.
    ///
    /// # Errors
    /// As [`Store::naming_damage`].
    pub fn read_through<T>(
        &self,
        work: impl FnOnce(&Reader) -> Result<T, StoreError>,
    ) -> Result<T, StoreError> {
        self.naming_damage(|| work(&self.read(Visibility::All)?))
    }

    /// Does what reads from the store, and tells a panic over damaged bytes from a defect.
    ///
    /// # Errors
    /// [`StoreError::Damaged`] with the file's name, and what `work` says.
    pub fn naming_damage<T>(
        &self,
        work: impl FnOnce() -> Result<T, StoreError>,
    ) -> Result<T, StoreError> {
        naming_damage(self.path(), work)
    }

    /// Every registered source. Read from the file only after one changed.
    ///
    /// # Errors
    /// When the store cannot be read.
    pub fn sources(&self) -> Result<Arc<Sources>, StoreError> {
        self.shared.sources()
    }

    /// Notes that a page's file is as the change `seq` wanted it. Its outbox row goes after the next
    /// [`Store::flush_done_files`].
    pub fn file_done(&self, id: u64, seq: u64) {
        lock(&self.shared.done_files).push((id, seq));
    }

    /// The outbox rows, by page id and sequence number, that only wait for [`Store::flush_done_files`].
    #[must_use]
    pub fn done_rows(&self) -> HashSet<(u64, u64)> {
        let mut rows: HashSet<_> = lock(&self.shared.done_files).iter().copied().collect();
        rows.extend(lock(&self.shared.synced_files).iter().copied());
        rows
    }

    /// Drops the outbox rows of files that were noted as done. `sync` makes those files durable first: until then a
    /// power loss can take a file, and its row brings it back.
    ///
    /// # Errors
    /// When `sync` or the disk refuses; the notes are kept.
    pub fn flush_done_files(
        &self,
        sync: impl FnOnce() -> std::io::Result<()>,
    ) -> Result<(), StoreError> {
        let done = std::mem::take(&mut *lock(&self.shared.done_files));
        if done.is_empty() {
            return Ok(());
        }
        if let Err(error) = sync() {
            lock(&self.shared.done_files).extend(done);
            return Err(StoreError::from_io(&error, "pages"));
        }
        lock(&self.shared.synced_files).extend(done);
        self.write(|draft| {
            draft.flush = true;
            Ok(())
        })
    }

    /// A snapshot that shows what `view` may see. Keep it short: the file cannot reuse what it holds. The last accepted items may
    /// be counted in it and not shown: [`Store::read_queue`].
    ///
    /// # Errors
    /// When the store cannot be read.
    pub fn read(&self, view: Visibility) -> Result<Reader, StoreError> {
        Ok(Reader::new(self.snapshot()?, view, &self.shared.promised))
    }

    /// A snapshot of everything, in which every item that was accepted is shown. Waits for a commit when the last ones are not in one yet.
    ///
    /// # Errors
    /// When the store cannot be read, or written.
    pub fn read_queue(&self) -> Result<Reader, StoreError> {
        let reader = self.read(Visibility::All)?;
        if reader.unshown()? == 0 {
            return Ok(reader);
        }
        drop(reader);
        self.settle()?;
        self.read(Visibility::All)
    }

    /// Brings what is in the spool to the store.
    pub(super) fn settle(&self) -> Result<(), StoreError> {
        self.write(|draft| {
            draft.wants_items = true;
            Ok(())
        })
    }

    /// Spools that were put aside: with items, as far as anybody can tell, that this store does not have and cannot take.
    ///
    /// # Errors
    /// When the directory cannot be read.
    pub fn spools_aside(&self) -> Result<Vec<PathBuf>, StoreError> {
        let path = &self.shared.path;
        spool::set_aside(path).map_err(|e| StoreError::from_io(&e, &path.display().to_string()))
    }

    /// A snapshot of every table, for a copy of the store.
    pub(super) fn snapshot(&self) -> Result<Snapshot, StoreError> {
        match self.shared.begin_read() {
            // redb refuses everything once a read has failed, even when the disk is well again.
            Err(error) if error.is_the_disk() => {
                self.shared.recover();
                self.shared.begin_read()
            }
            other => other,
        }
    }

    /// Refuses to fill the store's own disk with something at `place`.
    pub(super) fn check_room_for(&self, place: &Path) -> Result<(), StoreError> {
        match place.parent().is_some_and(|dir| super::backup::one_disk(dir, &self.shared.path)) {
            true => self.shared.check_room(),
            false => Ok(()),
        }
    }

    /// Something to make snapshots with on another thread, the writer's included.
    #[must_use]
    pub fn reader_maker(&self) -> ReaderMaker {
        ReaderMaker { shared: Arc::clone(&self.shared) }
    }

    /// Random, made with the store: what is derived from it carries it.
    #[must_use]
    pub fn id(&self) -> u64 {
        self.shared.store_id
    }

    /// The file.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.shared.path
    }
}

/// Makes snapshots; see [`Store::reader_maker`].
pub struct ReaderMaker {
    shared: Arc<Shared>,
}

impl ReaderMaker {
    /// A snapshot, as from [`Store::read`], but without opening a failed file again: that waits for the writer, who may be
    /// the one that asks.
    ///
    /// # Errors
    /// When the store cannot be read.
    pub fn read(&self, view: Visibility) -> Result<Reader, StoreError> {
        Ok(Reader::new(self.shared.begin_read()?, view, &self.shared.promised))
    }
}

impl Shared {
    pub(super) fn begin_read(&self) -> Result<Snapshot, StoreError> {
        self.ensure_open()?;
        let guard = self.db.read().unwrap_or_else(PoisonError::into_inner);
        let db = guard.as_ref().ok_or_else(|| {
            StoreError::Io("the disk failed and the store is being opened again".into())
        })?;
        Ok(Snapshot {
            txn: db.begin_read()?,
            _db: Arc::clone(db),
            report: Arc::clone(&self.report),
        })
    }

    /// What was read last is good until [`Shared::forget_sources`]. The lock is held while a snapshot is read, so that an older
    /// one cannot be kept after a commit has changed a source.
    fn sources(&self) -> Result<Arc<Sources>, StoreError> {
        if let Some(sources) = self.sources.read().unwrap_or_else(PoisonError::into_inner).as_ref()
        {
            return Ok(Arc::clone(sources));
        }
        let mut kept = self.sources.write().unwrap_or_else(PoisonError::into_inner);
        let read =
            Arc::new(Reader::new(self.begin_read()?, Visibility::All, &self.promised).sources()?);
        *kept = Some(Arc::clone(&read));
        Ok(read)
    }

    /// A commit has changed a source.
    pub(super) fn forget_sources(&self) {
        *self.sources.write().unwrap_or_else(PoisonError::into_inner) = None;
    }

    pub(super) fn take_synced_files(&self) -> Vec<(u64, u64)> {
        std::mem::take(&mut *lock(&self.synced_files))
    }

    pub(super) fn put_back_synced_files(&self, files: Vec<(u64, u64)>) {
        lock(&self.synced_files).extend(files);
    }

    pub(super) fn begin_write(&self) -> Result<WriteTransaction, StoreError> {
        self.ensure_open()?;
        let guard = self.db.read().unwrap_or_else(PoisonError::into_inner);
        let db = guard.as_ref().ok_or_else(|| StoreError::Io("the store is not open".into()))?;
        let mut txn = db.begin_write()?;
        // Two-phase commit, and a start after a crash that need not walk the file.
        txn.set_quick_repair(true);
        Ok(txn)
    }

    /// Commits a complete transaction; what it changed. It is on disk then.
    pub(super) fn commit(
        &self,
        txn: WriteTransaction,
        finished: Finished,
    ) -> Result<Vec<Change>, StoreError> {
        let Finished { changes, seen, sources_changed } = finished;
        txn.commit()?;
        self.waiting_jobs.apply(seen);
        if sources_changed {
            self.forget_sources();
        }
        Ok(changes)
    }

    pub(super) fn is_read_only(&self) -> bool {
        self.read_only.load(Ordering::Acquire)
    }

    /// Refuses to write what would stay in memory only.
    pub(super) fn check_writable(&self) -> Result<(), StoreError> {
        match self.is_read_only() {
            true => Err(StoreError::ReadOnly(format!(
                "{}: its file system is read-only",
                self.path.display()
            ))),
            false => Ok(()),
        }
    }

    /// Opens the file for writing again, if the file system lets it; whether it did.
    pub(super) fn leave_read_only(&self) -> bool {
        if !self.is_read_only() {
            return false;
        }
        // After an error of the disk a file may be opened for writing and refuse to be written: so its time is set.
        let opened = fs::File::options().write(true).open(&self.path);
        if opened.and_then(|file| file.set_modified(SystemTime::now())).is_err() {
            return false;
        }
        self.recover();
        !self.is_read_only()
    }

    /// Refuses while there is still room to refuse in: a write that fails half-way closes redb.
    pub(super) fn check_room(&self) -> Result<(), StoreError> {
        let place = self.path.parent().unwrap_or(&self.path);
        let Ok(free) = free_bytes(place) else { return Ok(()) };
        if free < self.min_free_bytes {
            return Err(StoreError::DiskFull(format!(
                "{} has {} MB free, and brain keeps {} MB",
                place.display(),
                free / 1_000_000,
                self.min_free_bytes / 1_000_000
            )));
        }
        Ok(())
    }

    /// Refuses to write when the file that is open is not at its path any more: nobody would find there what is written.
    pub(super) fn check_place(&self) -> Result<(), StoreError> {
        let open = *lock(&self.file);
        if open.is_none() || open == file_id(&self.path) {
            return Ok(());
        }
        Err(StoreError::ReadOnly(format!(
            "{}: the file or its directory was moved, removed or replaced while the daemon ran",
            self.path.display()
        )))
    }

    /// After a failed commit: redb refuses everything once its file has failed, so the file is opened anew.
    pub(super) fn recover(&self) {
        if let Err(error) = self.reopen() {
            tracing::error!(%error, "the store cannot be opened again yet");
        }
    }

    /// Opens the file again if an earlier attempt failed.
    fn ensure_open(&self) -> Result<(), StoreError> {
        if self.db.read().unwrap_or_else(PoisonError::into_inner).is_none() {
            let mut guard = self.db.write().unwrap_or_else(PoisonError::into_inner);
            if guard.is_none() {
                self.open_again(&mut guard)?;
            }
        }
        Ok(())
    }

    fn reopen(&self) -> Result<(), StoreError> {
        let mut guard = self.db.write().unwrap_or_else(PoisonError::into_inner);
        drop(guard.take());
        self.open_again(&mut guard)
    }

    fn open_again(&self, guard: &mut Option<Arc<Database>>) -> Result<(), StoreError> {
        let Opened { db, read_only, .. } = open_closed(&self.path, self.cache_bytes)?;
        *guard = Some(Arc::new(db));
        *lock(&self.file) = file_id(&self.path);
        self.read_only.store(read_only, Ordering::Release);
        tracing::info!(read_only, "the store was opened again");
        Ok(())
    }
}

/// Opens the file that this process has just closed: the lock may take a moment to go.
pub(super) fn open_closed(path: &Path, cache_bytes: usize) -> Result<Opened, StoreError> {
    let patience = Instant::now() + Duration::from_secs(2);
    loop {
        match open_database(path, cache_bytes) {
            Err(StoreError::Locked(_)) if Instant::now() < patience => {
                std::thread::sleep(Duration::from_millis(5));
            }
            opened => return opened,
        }
    }
}

pub(super) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Device and number of the file at `path`.
fn file_id(path: &Path) -> Option<(u64, u64)> {
    fs::metadata(path).ok().map(|meta| (meta.dev(), meta.ino()))
}

/// Refuses a store that is not for this program before redb opens it for writing, which changes the file. One that redb
/// has to repair first is looked at after that.
fn look_first(path: &Path) -> Result<(), StoreError> {
    match redb::ReadOnlyDatabase::open(path) {
        Ok(db) => migrate::check(&db.begin_read()?, path).map(|_| ()),
        Err(_) => Ok(()),
    }
}

/// A store file that was opened.
pub(super) struct Opened {
    pub(super) db: Database,
    read_only: bool,
    was_repaired: bool,
}

/// Opens the file for writing, or, on a read-only file system, for reading: what redb writes stays in memory then.
fn open_database(path: &Path, cache_bytes: usize) -> Result<Opened, StoreError> {
    loop {
        let before = file_id(path);
        let opened = open_file(path, cache_bytes)?;
        // Another daemon may have replaced the file between our opening and our locking it: ours is
        // nobody's then.
        if before == file_id(path) {
            return Ok(opened);
        }
    }
}

fn open_file(path: &Path, cache_bytes: usize) -> Result<Opened, StoreError> {
    let place = path.display().to_string();
    if fs::metadata(path).is_ok_and(|m| m.len() == 0) {
        // redb would make a new store of it, and an emptied one would look like a lost brain.
        return Err(StoreError::Damaged(format!("{place} is empty")));
    }
    // A panic must not end the writer, which opens the file anew after a failure of the disk.
    naming_damage(path, || {
        let repaired = Arc::new(AtomicBool::new(false));
        let told = Arc::clone(&repaired);
        let mut builder = Database::builder();
        builder
            .set_cache_size(cache_bytes)
            .set_repair_callback(move |_| told.store(true, Ordering::Relaxed));
        let (opened, read_only) = match builder.open(path) {
            Err(redb::DatabaseError::Storage(redb::StorageError::Io(e)))
                if e.kind() == ErrorKind::ReadOnlyFilesystem =>
            {
                (builder.create_with_backend(below_memory(path)?), true)
            }
            opened => (opened, false),
        };
        let db = opened.map_err(|e| match e {
            redb::DatabaseError::DatabaseAlreadyOpen => StoreError::Locked(place.clone()),
            redb::DatabaseError::Storage(redb::StorageError::Io(e)) => {
                StoreError::from_io(&e, &place)
            }
            e => StoreError::Damaged(e.to_string()),
        })?;
        Ok(Opened { db, read_only, was_repaired: repaired.load(Ordering::Relaxed) })
    })
}

/// The file, only read, below what redb writes.
fn below_memory(path: &Path) -> Result<Overlay, StoreError> {
    let place = path.display().to_string();
    let file = fs::File::open(path).map_err(|e| StoreError::from_io(&e, &place))?;
    if let Err(fs::TryLockError::WouldBlock) = file.try_lock_shared() {
        return Err(StoreError::Locked(place));
    }
    Overlay::new(file).map_err(|e| StoreError::from_io(&e, &place))
}

/// Makes a store beside its place and moves it there when it is whole, so that a file of that name always is one.
fn create(path: &Path, options: &StoreOptions) -> Result<(), StoreError> {
    let place = path.display().to_string();
    let io = |e: &std::io::Error| StoreError::from_io(e, &place);
    // A name of our own: another daemon may be making its store at this very moment.
    let fresh =
        path.with_extension(format!("redb.new-{}-{:x}", std::process::id(), options.fresh_id));
    // A link never replaces: whoever is first has made the store, and the lock decides who serves it.
    let published = fill(&fresh, &place, options).map(|()| fs::hard_link(&fresh, path));
    let _ = fs::remove_file(&fresh);
    let published = published?;
    match published {
        Err(e) if e.kind() != ErrorKind::AlreadyExists => return Err(io(&e)),
        _ => {}
    }
    if let Some(dir) = path.parent() {
        fs::File::open(dir).and_then(|d| d.sync_all()).map_err(|e| io(&e))?;
    }
    Ok(())
}

/// Makes the store that is to be known as `place` in the file `fresh`.
fn fill(fresh: &Path, place: &str, options: &StoreOptions) -> Result<(), StoreError> {
    let db = Database::builder().set_cache_size(options.cache_bytes).create(fresh).map_err(
        |e| match e {
            redb::DatabaseError::Storage(redb::StorageError::Io(e)) => {
                StoreError::from_io(&e, place)
            }
            e => StoreError::Io(format!("{place}: {e}")),
        },
    )?;
    let txn = db.begin_write()?;
    {
        let waiting_jobs = Waiting::default();
        let mut draft = Draft::open(&txn, &waiting_jobs)?;
        draft.set_meta(t::META_SCHEMA, migrate::SCHEMA)?;
        draft.set_meta(t::META_STORE_ID, options.fresh_id)?;
        draft.put_source(&SourceId::default(), &SourceRecord::new(None, options.now))?;
        draft.finish()?;
    }
    Ok(txn.commit()?)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::jobs_tests::{job, open};

    #[test]
    fn whoever_reads_while_the_file_is_opened_anew_reads_on() {
        let dir = tempfile::tempdir().unwrap();
        let store = open(&dir.path().join("brain.redb"));
        store.write(|draft| draft.add_job(&job("a", 5))).unwrap();
        let snapshot = store.shared.begin_read().unwrap();
        let database = Arc::downgrade(&snapshot._db);
        let reader = Reader::new(snapshot, Visibility::All, &store.shared.promised);
        std::thread::scope(|scope| {
            scope.spawn(|| store.shared.recover());
            // Until it has let go of the file; it waits for the reader to do so.
            while database.strong_count() > 1 {
                std::thread::yield_now();
            }
            assert_eq!(reader.job(1).unwrap().unwrap().content.body, "a");
            drop(reader);
        });
        assert!(store.read(Visibility::All).unwrap().job(1).unwrap().is_some());
    }
}
