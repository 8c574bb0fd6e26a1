//! Group commit of ingest jobs: an open transaction, made durable by a spool.
//!
//! While only ingest jobs arrive, they are added to one open transaction and appended to the spool.
//! They are acknowledged once the spool is flushed.

use std::io::ErrorKind;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use super::batch_receiver::BatchReceiver;
use super::commit::run;
use super::commit_error::{Cause, CommitError};
use super::shared_state::SharedState;
use super::spool::{self, Spool, UnstoredJobs};
use super::write_task::{TaskBatch, TaskErrors, answer, catch_panic};
use super::{StoreError, Transaction};

/// How long a transaction stays open for more jobs. Any other write ends it at once. Tests use a
/// long time, so that only other writes end it.
const MAX_OPEN: Duration =
    if cfg!(test) { Duration::from_secs(60) } else { Duration::from_millis(250) };

/// Maximum bytes in the spool before a commit. Limits what a start reads after a crash, and the
/// memory of the open transaction.
const MAX_SPOOL_BYTES: u64 = 8 << 20;

/// Adds ingest jobs to an open transaction and to the spool.
pub(super) struct GroupCommit<'s> {
    shared: &'s SharedState,
    spool: Option<Spool>,
    /// Whether the spool may hold jobs that the store does not have. Nothing is written before they
    /// are imported.
    may_have_spooled: bool,
    /// Whether the log already says that the spool cannot be written.
    has_warned: bool,
}

/// Result of a batch in the open transaction.
enum BatchOutcome {
    /// The accepted tasks are in the spool.
    Spooled(TaskErrors),
    /// The spool cannot take the batch; it is in the transaction only.
    Unspooled(TaskErrors),
    /// The transaction cannot be committed: a task failed, or wrote something besides jobs.
    NeedsOwnCommit,
}

impl<'s> GroupCommit<'s> {
    pub(super) fn new(shared: &'s SharedState) -> Self {
        // The import of an earlier spool may have failed when the store was opened.
        Self { shared, spool: None, may_have_spooled: true, has_warned: false }
    }

    /// Resets the state after the store was reopened for writing. The spool is read again.
    pub(super) fn reset(&mut self) {
        self.spool = None;
        self.may_have_spooled = true;
    }

    /// Imports the spool, so that the store has all acknowledged jobs.
    ///
    /// # Errors
    /// As [`try_import_spool`]. The caller must then neither write nor report the queue's state.
    pub(super) fn recover(&mut self) -> Result<(), StoreError> {
        if self.may_have_spooled {
            import_spool(self.shared)?;
            self.spool = None;
            self.may_have_spooled = false;
        }
        Ok(())
    }

    /// Processes a batch of jobs, and the batches that follow. Returns the first batch that needs a
    /// separate commit, because it writes something else or failed here. Before that commit, the
    /// caller must call [`recover`](Self::recover) again.
    pub(super) fn process(
        &mut self,
        batch: TaskBatch,
        receiver: &mut BatchReceiver<'_>,
    ) -> Option<TaskBatch> {
        let mut current = Some(batch);
        if let Err(error) = catch_panic(|| self.process_batches(&mut current, receiver)) {
            tracing::error!(%error, "commit of ingest jobs failed; the acknowledged jobs are in \
                                     the spool");
            self.may_have_spooled = true;
            self.shared.pending_keys.forget();
            self.shared.recover();
        }
        current
    }

    /// Processes batches until the transaction must end, and commits it. A batch that needs a
    /// separate commit is left in `current`.
    fn process_batches(
        &mut self,
        current: &mut Option<TaskBatch>,
        receiver: &mut BatchReceiver<'_>,
    ) -> Result<(), StoreError> {
        if self.shared.is_read_only() {
            return Ok(());
        }
        if !self.ensure_spool() {
            return Ok(());
        }
        let Self { shared, spool: Some(spool), may_have_spooled, has_warned } = self else {
            return Ok(());
        };
        let txn = shared.begin_write()?;
        let mut transaction = Transaction::open(&txn, &shared.pending_keys)?;
        let until = Instant::now() + MAX_OPEN;
        let mut unspooled = None;
        while let Some(batch) =
            current.as_mut().filter(|batch| batch.iter().all(|task| task.has_callback()))
        {
            match append_batch(shared, &mut transaction, spool, batch, has_warned)? {
                BatchOutcome::Spooled(refusals) => {
                    if spool.len() > 0 {
                        *may_have_spooled = true;
                        shared
                            .next_acknowledged_job
                            .fetch_max(transaction.counters.next_job, Ordering::AcqRel);
                    }
                    answer(current.take().unwrap_or_default(), refusals);
                }
                BatchOutcome::Unspooled(refusals) => {
                    unspooled = Some(refusals);
                    break;
                }
                BatchOutcome::NeedsOwnCommit => {
                    drop(transaction);
                    shared.pending_keys.forget();
                    return Ok(());
                }
            }
            let remaining = until.saturating_duration_since(Instant::now());
            if remaining.is_zero() || spool.len() > MAX_SPOOL_BYTES {
                break;
            }
            *current = receiver.batch(Some(remaining));
        }
        if transaction.write_count > 0 {
            let finished = transaction.finish()?;
            shared.commit(txn, finished)?;
        }
        spool.restart();
        *may_have_spooled = false;
        match unspooled {
            Some(refusals) => answer(current.take().unwrap_or_default(), refusals),
            None => *has_warned = false,
        }
        Ok(())
    }

    /// Creates the spool if there is none at its path. Returns whether this writer has
    /// one now.
    fn ensure_spool(&mut self) -> bool {
        if self.spool.as_ref().is_some_and(Spool::is_at_path) {
            return true;
        }
        match Spool::create(&self.shared.path, self.shared.store_id) {
            Ok(created) => {
                self.spool = Some(created);
                return true;
            }
            // Another process created or replaced the spool; it is imported as after a crash.
            Err(error)
                if error.kind() == ErrorKind::AlreadyExists
                    && spool::is_readable(&self.shared.path) =>
            {
                self.may_have_spooled = true;
            }
            Err(error) => warn_unspooled(&mut self.has_warned, &error),
        }
        false
    }

    /// Removes the spool's file if the store has all its jobs, because the file keeps the texts of
    /// the jobs.
    pub(super) fn remove_empty_spool(&mut self) {
        if !self.may_have_spooled
            && let Some(spool) = self.spool.take()
        {
            spool.remove();
        }
    }

    /// Imports and removes the spool when the writer stops.
    pub(super) fn close(mut self) {
        if self.recover().is_ok()
            && let Some(spool) = self.spool
        {
            spool.remove();
        }
    }
}

/// Logs once that the spool cannot be written.
fn warn_unspooled(has_warned: &mut bool, error: &std::io::Error) {
    if !std::mem::replace(has_warned, true) {
        tracing::warn!(%error, "cannot write the spool; ingest jobs are acknowledged after a \
                                commit");
    }
}

/// Runs a batch in the transaction and appends its jobs to the spool. Warns when the spool cannot
/// be written, unless `has_warned`.
fn append_batch(
    shared: &SharedState,
    transaction: &mut Transaction<'_>,
    spool: &mut Spool,
    batch: &mut TaskBatch,
    has_warned: &mut bool,
) -> Result<BatchOutcome, StoreError> {
    let (first_job, writes_before) = (transaction.counters.next_job, transaction.write_count);
    transaction.spool_records = Some(Vec::new());
    let refusals = match run(shared, transaction, batch, &Ok(())) {
        Ok(refusals) => refusals,
        Err(CommitError { cause: Cause::Disk, error }) => return Err(error),
        Err(_) => return Ok(BatchOutcome::NeedsOwnCommit),
    };
    let jobs = transaction.spool_records.take().unwrap_or_default();
    if transaction.write_count - writes_before != jobs.len() as u64 {
        return Ok(BatchOutcome::NeedsOwnCommit);
    }
    if jobs.iter().map(|job| job.len() as u64).sum::<u64>() > MAX_SPOOL_BYTES {
        return Ok(BatchOutcome::Unspooled(refusals));
    }
    if !jobs.is_empty()
        && let Err(error) = spool.append(first_job, &jobs)
    {
        warn_unspooled(has_warned, &error);
        return Ok(BatchOutcome::Unspooled(refusals));
    }
    Ok(BatchOutcome::Spooled(refusals))
}

/// Imports the spool's jobs into the store. After an error of the disk, reopens the store's file;
/// after an I/O error, also tries once more.
///
/// # Errors
/// As [`try_import_spool`].
pub(super) fn import_spool(shared: &SharedState) -> Result<(), StoreError> {
    let result = catch_panic(|| try_import_spool(shared));
    match &result {
        Err(error) if error.is_disk_error() => shared.recover(),
        _ => return result,
    }
    // redb refuses all calls after an I/O error, even when the disk works again.
    match result {
        Err(StoreError::Io(_)) => {
            catch_panic(|| try_import_spool(shared)).inspect_err(|_| shared.recover())
        }
        result => result,
    }
}

/// Imports the jobs that only the spool has.
///
/// # Errors
/// [`StoreError::LostJobs`] when the spool lacks acknowledged jobs; [`StoreError::DamagedSpool`]
/// when a job is damaged; otherwise when the spool or the store cannot be read or written. The
/// spool is unchanged then.
fn try_import_spool(shared: &SharedState) -> Result<(), StoreError> {
    let store = shared.begin_read()?;
    let UnstoredJobs { first, jobs, has_foreign_jobs } =
        spool::unstored_jobs(&shared.path, &store)?;
    drop(store);
    let name = spool::spool_path(&shared.path).display().to_string();
    let next = first + jobs.len() as u64;
    let next_acknowledged_job = shared.next_acknowledged_job.fetch_max(next, Ordering::AcqRel);
    if next < next_acknowledged_job {
        return Err(StoreError::LostJobs {
            path: name,
            first: next,
            last: next_acknowledged_job - 1,
        });
    }
    if !jobs.is_empty() {
        let txn = shared.begin_write()?;
        let mut transaction = Transaction::open(&txn, &shared.pending_keys)?;
        for job in &jobs {
            transaction.add_job(job)?;
        }
        let finished = transaction.finish()?;
        shared.commit(txn, finished)?;
        tracing::info!(jobs = jobs.len(), "imported ingest jobs from the spool");
    }
    if !has_foreign_jobs {
        spool::remove(&shared.path);
        return Ok(());
    }
    let new_path = spool::set_aside(&shared.path).map_err(|e| StoreError::from_io(&e, &name))?;
    tracing::warn!(
        spool = %new_path.display(),
        "set the spool aside: it holds jobs of another store, or jobs that this store cannot \
         import"
    );
    Ok(())
}
