//! The store: writes, snapshots, the size of its file, and the outbox rows of written files.

use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::mpsc::sync_channel;

use parking_lot::Mutex;

use super::act::current_act;
use super::compaction::on_disk;
use super::error::with_damage_report;
use super::read::Reader;
use super::shared_state::{SharedState, Sources};
use super::snapshot::ReadView;
use super::store_file::file_id;
use super::temporary_file::are_on_one_disk;
use super::writer::Writer;
use super::{StoreError, Transaction, meta, spool, tables as t};
use brain_base::caller::Visibility;
use brain_protocol::SourceId;

/// An open store. A process opens each file once.
pub struct Store {
    pub(super) shared: Arc<SharedState>,
    pub(super) writer: Writer,
    /// Held while links are checked.
    pub(super) link_checks: Mutex<()>,
}

/// Returns `work` as the work of who acts on this thread.
fn with_act<T>(
    mut work: impl FnMut(&mut Transaction<'_>) -> Result<T, StoreError> + Send + 'static,
) -> impl FnMut(&mut Transaction<'_>) -> Result<T, StoreError> + Send + 'static {
    let act = current_act();
    move |transaction| {
        transaction.task.act.clone_from(&act);
        work(transaction)
    }
}

impl Store {
    /// Runs `work` in the next transaction and waits until it is durable. `work` can run more than
    /// once, each time on a fresh transaction. It must check its preconditions before it writes.
    ///
    /// # Errors
    /// Errors of `work` and of the disk. Nothing is changed then.
    pub fn write<T, F>(&self, work: F) -> Result<T, StoreError>
    where
        T: Send + 'static,
        F: FnMut(&mut Transaction<'_>) -> Result<T, StoreError> + Send + 'static,
    {
        self.writer.call(with_act(work))
    }

    /// Queues `work` for the next transaction and returns at once. The writer's thread calls `done`
    /// with the result. When the queue is full, `done` gets [`StoreError::QueueFull`] at once.
    /// `done` must not block, because other writers wait for it. When `done` runs, jobs that `work`
    /// added are durable and visible in [`Store::read_queue`]; its other writes are visible in
    /// every snapshot.
    pub fn write_then<T, F, D>(&self, work: F, done: D)
    where
        T: Send + 'static,
        F: FnMut(&mut Transaction<'_>) -> Result<T, StoreError> + Send + 'static,
        D: FnOnce(Result<T, StoreError>) + Send + 'static,
    {
        self.writer.submit(with_act(work), done);
    }

    /// Whether the file system is read-only, so that writes are refused.
    #[must_use]
    pub fn is_read_only(&self) -> bool {
        self.shared.is_read_only()
    }

    /// Enables writes again if the file system has become writable. A timer calls this.
    pub fn leave_read_only(&self) {
        if self.is_read_only()
            && let Err(error) = self.write(|_| Ok(()))
        {
            tracing::debug!(%error, "still read-only");
        }
    }

    /// Whether redb repaired the file when it was opened, which means an unclean end.
    #[must_use]
    pub fn was_repaired(&self) -> bool {
        self.shared.was_repaired
    }

    /// Whether [`Store::mark_lost`] was called, at this start or an earlier one.
    pub fn is_marked_lost(&self) -> Result<bool, StoreError> {
        Ok(meta::number(&*self.snapshot()?, t::META_LOST)?.is_some())
    }

    /// Records that a repair left nothing of the store. [`Store::was_repaired`] is true only at the
    /// start that repaired it.
    pub fn mark_lost(&self) -> Result<(), StoreError> {
        self.write(|transaction| {
            transaction.write_count += 1;
            transaction.set_meta(t::META_LOST, 1)
        })
    }

    /// Sets the directory of scheduled backups. Reports of damaged pages name the newest backup
    /// with an intact copy.
    pub fn set_backup_dir(&self, dir: PathBuf) {
        let _ = self.shared.report.backups.set(dir);
    }

    /// Runs `work` on one snapshot of the whole store. Reports a panic over damaged bytes as
    /// damage.
    ///
    /// # Errors
    /// As [`Store::with_damage_report`].
    pub fn read_through<T>(
        &self,
        work: impl FnOnce(&Reader) -> Result<T, StoreError>,
    ) -> Result<T, StoreError> {
        self.with_damage_report(|| work(&self.read(Visibility::All)?))
    }

    /// Runs `work` and reports a panic over damaged bytes as damage.
    ///
    /// # Errors
    /// [`StoreError::Damaged`] with the file's name; errors of `work`.
    pub fn with_damage_report<T>(
        &self,
        work: impl FnOnce() -> Result<T, StoreError>,
    ) -> Result<T, StoreError> {
        with_damage_report(self.path(), work)
    }

    /// Returns the registered sources, from a cache that a change of a source clears.
    pub fn sources(&self) -> Result<Arc<Sources>, StoreError> {
        self.shared.sources()
    }

    /// Records that the page's file was written for the change `seq`. [`Store::flush_done_files`]
    /// then removes the outbox row.
    pub fn mark_file_written(&self, id: u64, seq: u64) {
        self.shared.done_files.lock().push((id, seq));
    }

    /// Returns whether the file of the page `id` is written for its change `seq`, and the row waits
    /// for [`Store::flush_done_files`].
    #[must_use]
    pub fn is_file_written(&self, id: u64, seq: u64) -> bool {
        self.shared.done_files.lock().contains(&(id, seq))
            || self.shared.synced_files.lock().contains(&(id, seq))
    }

    /// Takes back [`Store::mark_file_written`] for the files of a source that are not flushed yet.
    pub fn write_files_again(&self, source: &SourceId) -> Result<(), StoreError> {
        let reader = self.read(Visibility::All)?;
        let mut rows = HashSet::new();
        for id in reader.outbox()? {
            if reader.outbox_row(id)?.is_some_and(|row| row.source == source.as_str()) {
                rows.insert(id);
            }
        }
        self.shared.done_files.lock().retain(|(id, _)| !rows.contains(id));
        Ok(())
    }

    /// Returns page id and sequence number of the outbox rows whose files are written. The rows
    /// wait for [`Store::flush_done_files`].
    #[must_use]
    pub fn finished_outbox_rows(&self) -> HashSet<(u64, u64)> {
        let mut rows: HashSet<_> = self.shared.done_files.lock().iter().copied().collect();
        rows.extend(self.shared.synced_files.lock().iter().copied());
        rows
    }

    /// Removes the outbox rows of written files. `sync` flushes those files first: after a power
    /// loss, an outbox row restores a lost file.
    ///
    /// # Errors
    /// When `sync` or the commit fails; the rows stay.
    pub fn flush_done_files(
        &self,
        sync: impl FnOnce() -> std::io::Result<()>,
    ) -> Result<(), StoreError> {
        let done = std::mem::take(&mut *self.shared.done_files.lock());
        if done.is_empty() {
            return Ok(());
        }
        if let Err(error) = sync() {
            self.shared.done_files.lock().extend(done);
            return Err(StoreError::from_io(&error, "pages"));
        }
        self.shared.synced_files.lock().extend(done);
        self.write(|transaction| {
            transaction.must_flush = true;
            Ok(())
        })
    }

    /// Returns a snapshot of what `view` can see. Drop it soon: redb cannot reuse the space that a
    /// snapshot holds. The snapshot may lack acknowledged jobs; see [`Store::read_queue`].
    pub fn read(&self, view: Visibility) -> Result<Reader, StoreError> {
        Ok(Reader::new(self.snapshot()?, view, &self.shared.next_acknowledged_job))
    }

    /// Returns a snapshot of everything, with all acknowledged jobs. Waits for a commit if
    /// necessary.
    pub fn read_queue(&self) -> Result<Reader, StoreError> {
        let reader = self.read(Visibility::All)?;
        if reader.hidden_jobs()? == 0 {
            return Ok(reader);
        }
        drop(reader);
        self.import_spooled_jobs()?;
        self.read(Visibility::All)
    }

    pub(super) fn import_spooled_jobs(&self) -> Result<(), StoreError> {
        self.write(|transaction| {
            transaction.task.needs_spooled_jobs = true;
            Ok(())
        })
    }

    /// Returns the paths of the spools that were set aside. They hold jobs of another store, or
    /// jobs that this store cannot take over.
    pub fn quarantined_spools(&self) -> Result<Vec<PathBuf>, StoreError> {
        let path = &self.shared.path;
        spool::list_set_aside(path)
            .map_err(|e| StoreError::from_read(&e, &path.display().to_string()))
    }

    /// Returns a read transaction on all tables.
    pub(super) fn snapshot(&self) -> Result<ReadView, StoreError> {
        match self.shared.begin_read() {
            // redb refuses all calls after an I/O error, even when the disk works again.
            Err(error) if error.is_disk_error() => {
                self.shared.recover();
                self.shared.begin_read()
            }
            other => other,
        }
    }

    /// Checks the free space if `file_path` is on the store's disk.
    pub(super) fn check_free_space_for(&self, file_path: &Path) -> Result<(), StoreError> {
        match file_path.parent().is_some_and(|dir| are_on_one_disk(dir, &self.shared.path)) {
            true => self.shared.check_free_space(),
            false => Ok(()),
        }
    }

    /// Returns the file's space on disk, in bytes.
    pub fn bytes_on_disk(&self) -> Result<u64, StoreError> {
        on_disk(self.path())
            .map_err(|e| StoreError::from_io(&e, &self.path().display().to_string()))
    }

    /// Copies the store without gaps and replaces its file by the copy, so that the file has no
    /// bytes of removed rows any more; also removes the empty spool. Writes wait meanwhile.
    ///
    /// # Errors
    /// [`StoreError::DiskFull`] when the disk has too little free space; [`StoreError::ReadOnly`]
    /// when the file cannot be written; [`StoreError::Closed`] when the writer has stopped; other
    /// errors of the disk. The file is unchanged then.
    pub fn compact_now(&self) -> Result<(), StoreError> {
        let (done, outcome) = sync_channel(1);
        self.shared.compaction_requests.lock().push(done);
        // The writer's thread compacts after its next batch.
        self.write(|_| Ok(()))?;
        outcome.recv().map_err(|_| StoreError::Closed)?
    }

    /// Returns a factory of snapshots for another thread, including the writer's.
    #[must_use]
    pub fn reader_factory(&self) -> ReaderFactory {
        ReaderFactory { shared: Arc::clone(&self.shared) }
    }

    /// Whether another file, or none, is at the store's path. Writes are refused then.
    #[must_use]
    pub fn is_replaced(&self) -> bool {
        self.shared.check_file_identity().is_err()
    }

    /// Returns where the store's file is now, if it has a name.
    #[must_use]
    pub fn current_path(&self) -> Option<PathBuf> {
        let open = (*self.shared.file.lock())?;
        let descriptors = std::fs::read_dir("/proc/self/fd").ok()?.flatten();
        let mut targets = descriptors.filter(|entry| file_id(&entry.path()) == Some(open));
        let target = std::fs::read_link(targets.next()?.path()).ok()?;
        (file_id(&target) == Some(open)).then_some(target)
    }

    /// Returns the store's random id. Derived data has it too, to name its store.
    #[must_use]
    pub fn id(&self) -> u64 {
        self.shared.store_id
    }

    /// Returns the key of the numbers that restricted callers see. All machines of a shared brain
    /// have the same.
    #[must_use]
    pub fn number_key(&self) -> u64 {
        self.shared.number_key
    }

    /// Returns the path of the store's file.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.shared.path
    }
}

/// Creates snapshots; see [`Store::reader_factory`].
pub struct ReaderFactory {
    shared: Arc<SharedState>,
}

impl ReaderFactory {
    /// Returns a snapshot, as [`Store::read`] does, but never reopens a failed file. Reopening
    /// waits for the writer, which may be the caller.
    pub fn read(&self, view: Visibility) -> Result<Reader, StoreError> {
        Ok(Reader::new(self.shared.begin_read()?, view, &self.shared.next_acknowledged_job))
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::jobs_tests::{job, open};

    #[test]
    fn a_snapshot_outlives_a_reopened_file() {
        let dir = tempfile::tempdir().unwrap();
        let store = open(&dir.path().join("brain.redb"));
        store.write(|transaction| transaction.add_job(&job("a", 5))).unwrap();
        let snapshot = store.shared.begin_read().unwrap();
        let database = Arc::downgrade(&snapshot._db);
        let reader = Reader::new(snapshot, Visibility::All, &store.shared.next_acknowledged_job);
        std::thread::scope(|scope| {
            scope.spawn(|| store.shared.recover());
            // Wait until `recover` has released the file; `recover` waits for the reader.
            while database.strong_count() > 1 {
                std::thread::yield_now();
            }
            assert_eq!(reader.job(1).unwrap().unwrap().content.body, "a");
            drop(reader);
        });
        assert!(store.read(Visibility::All).unwrap().job(1).unwrap().is_some());
    }
}
