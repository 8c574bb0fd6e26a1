//! The writer of a shared store: sends each transaction to the log before its commit, applies the
//! batches of other machines, and keeps jobs while the log is away.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use redb::WriteTransaction;

use super::draft::CompletedDraft;
use super::record::JobRecord;
use super::replica::{Applied, Replica, apply_batches};
use super::shared_log::{AppendResult, Followed, LogBatch, LogPosition, SharedLog};
use super::shared_state::SharedState;
use super::spool::{self, Spool};
use super::writer::{
    Batch, Cause, CommitError, CommitHook, WriteTask, answer, catch_panic, commit, refuse, run,
};
use super::{Draft, StoreError, migrate, tables as t};

/// The most spooled jobs that are sent in one batch.
const MAX_SENT_JOBS: usize = 1_000;

/// The spool of jobs that wait for the log; `None` until the first.
pub(super) type LogSpool = Option<Spool>;

/// Runs a batch of tasks. While the log is away, jobs go to the spool, and other tasks are refused.
pub(super) fn write(
    shared: &SharedState,
    spool: &mut LogSpool,
    mut batch: Batch,
    hook: &CommitHook,
) {
    // A transaction for nothing would delay the writers behind it.
    batch.retain(|task| !task.is_wakeup());
    let jobs = commit(shared, batch, hook, &Ok(()));
    if !jobs.is_empty() {
        spool_jobs(shared, spool, jobs);
    }
}

/// Sends the changes of a complete draft to the log, and records the new position in the
/// transaction. Does nothing if the store is not shared, or nothing changed that machines share.
pub(super) fn send(
    shared: &SharedState,
    txn: &WriteTransaction,
    draft: &mut CompletedDraft,
) -> Result<(), CommitError> {
    let Some((mut replica, changes)) = draft.for_log.take() else { return Ok(()) };
    if changes.is_empty() {
        return Ok(());
    }
    let log_error = |error| CommitError { cause: Cause::Log, error };
    let log = attached_log(shared).map_err(log_error)?;
    let bytes = changes.into_batch(shared, replica.next_spooled);
    match log.append(replica.position, &bytes, draft.lease).map_err(log_error)? {
        AppendResult::Appended(position) => {
            replica.position = position;
            Ok(replica.write(txn)?)
        }
        AppendResult::Moved(batches) => Err(CommitError {
            cause: Cause::Moved(batches),
            error: StoreError::Away("another machine wrote first".into()),
        }),
    }
}

fn attached_log(shared: &SharedState) -> Result<Arc<dyn SharedLog>, StoreError> {
    shared.log.read().clone().ok_or_else(|| {
        StoreError::Away("this machine does not have the server's address or the key".into())
    })
}

/// Applies batches in one transaction, or reads the missing ones if `batches` does not have them.
///
/// # Errors
/// Errors of the log and of the disk.
pub(super) fn apply(
    shared: &SharedState,
    batches: &[LogBatch],
    hook: &CommitHook,
) -> Result<(), StoreError> {
    if batches.is_empty() {
        return follow(shared, hook).map(|_| ());
    }
    let applied = catch_panic(|| -> Result<Applied, StoreError> {
        let txn = shared.begin_write()?;
        let applied = apply_batches(shared, &txn, batches)?;
        txn.commit()?;
        Ok(applied)
    });
    shared.waiting_jobs.forget();
    let applied = match applied {
        Ok(applied) => applied,
        Err(error) => {
            if error.is_disk_error() {
                shared.recover();
            }
            return Err(error);
        }
    };
    if applied.sources_changed {
        shared.forget_sources();
    }
    shared.access_changed.fetch_or(applied.access_changed, Ordering::AcqRel);
    if !applied.changes.is_empty() {
        hook(applied.changes);
    }
    Ok(())
}

/// Applies all missing batches, then sends the spooled jobs, for the callers that wait for it.
pub(super) fn follow_if_requested(shared: &SharedState, spool: &mut LogSpool, hook: &CommitHook) {
    let requests = std::mem::take(&mut *shared.follow_requests.lock());
    if requests.is_empty() {
        return;
    }
    let newest = requests.iter().map(|request| request.number.unwrap_or(u64::MAX)).max();
    let result = position(shared).and_then(|position| {
        let has_newest = newest.is_some_and(|newest| newest <= position.number);
        if has_newest && shared.jobs_for_log.load(Ordering::Acquire) == 0 {
            return Ok(Followed { batches: 0, position });
        }
        let followed = follow(shared, hook)?;
        send_spooled_jobs(shared, spool, hook)?;
        Ok(followed)
    });
    for request in requests {
        // The caller may no longer wait.
        let _ = request.sender.send(result.clone());
    }
}

fn position(shared: &SharedState) -> Result<LogPosition, StoreError> {
    Ok(shared.replica()?.ok_or(StoreError::Defect)?.position)
}

/// Applies all batches that the log has and the store does not have.
fn follow(shared: &SharedState, hook: &CommitHook) -> Result<Followed, StoreError> {
    let log = attached_log(shared)?;
    let mut count = 0;
    loop {
        let position = position(shared)?;
        let batches = log.read(position)?;
        if batches.is_empty() {
            return Ok(Followed { batches: count, position });
        }
        count += batches.len() as u64;
        apply(shared, &batches, hook)?;
    }
}

/// Writes the jobs of the tasks to the spool and acknowledges them.
fn spool_jobs(shared: &SharedState, spool: &mut LogSpool, mut batch: Batch) {
    let spooled = catch_panic(|| {
        let txn = shared.begin_write()?;
        let mut draft = Draft::open(&txn, &shared.waiting_jobs)?;
        let replica = draft.replica.ok_or(StoreError::Defect)?;
        let first = replica.next_spooled + shared.jobs_for_log.load(Ordering::Acquire);
        draft.next_spooled_id = Some(replica.spooled_id(first));
        draft.spool_records = Some(Vec::new());
        let refusals = run(shared, &mut draft, &mut batch, &Ok(())).map_err(|e| e.error)?;
        let jobs = draft.spool_records.take().unwrap_or_default();
        drop(draft);
        drop(txn);
        if !jobs.is_empty() {
            let io = |e: &std::io::Error| {
                StoreError::from_io(e, &spool::spool_path(&shared.path).display().to_string())
            };
            if spool.as_ref().is_none_or(|spool| !spool.is_at_path()) {
                let opened = Spool::open_at_end(&shared.path, shared.store_id);
                *spool = Some(opened.map_err(|e| io(&e))?);
            }
            let Some(spool) = spool else { return Err(StoreError::Defect) };
            spool.append(first, &jobs).map_err(|e| io(&e))?;
            shared.jobs_for_log.fetch_add(jobs.len() as u64, Ordering::AcqRel);
        }
        Ok(refusals)
    });
    // The scratch transaction may have loaded keys of jobs that are not in the store.
    shared.waiting_jobs.forget();
    match spooled {
        Ok(refusals) => answer(batch, refusals),
        Err(error) => refuse(batch, &error),
    }
}

/// Sends spooled jobs to the log as jobs of this brain, in order, and removes the spool when the
/// store has all of them.
fn send_spooled_jobs(
    shared: &SharedState,
    spool: &mut LogSpool,
    hook: &CommitHook,
) -> Result<(), StoreError> {
    if shared.jobs_for_log.load(Ordering::Acquire) == 0 {
        return Ok(());
    }
    while shared.jobs_for_log.load(Ordering::Acquire) > 0 {
        let (sender, result) = std::sync::mpsc::sync_channel(1);
        let jobs = shared.unstored_spooled_jobs()?;
        let task = SpooledJobs { jobs, sent: 0, sender };
        let rest = commit(shared, vec![Box::new(task)], hook, &Ok(()));
        refuse(rest, &StoreError::Closed);
        let sent = result.recv().map_err(|_| StoreError::Closed)??;
        shared.count_jobs_for_log()?;
        tracing::info!(jobs = sent, "jobs that waited for the server were sent");
    }
    *spool = None;
    spool::remove(&shared.path);
    Ok(())
}

/// The write of spooled jobs.
struct SpooledJobs {
    jobs: Vec<JobRecord>,
    sent: u64,
    sender: std::sync::mpsc::SyncSender<Result<u64, StoreError>>,
}

impl WriteTask for SpooledJobs {
    fn run(&mut self, draft: &mut Draft<'_>) -> Result<(), StoreError> {
        self.sent = 0;
        let mut replica = draft.replica.ok_or(StoreError::Defect)?;
        for job in self.jobs.iter().take(MAX_SENT_JOBS) {
            draft.add_job_as(replica.spooled_id(replica.next_spooled), job)?;
            replica.next_spooled += 1;
            self.sent += 1;
        }
        draft.replica = Some(replica);
        Ok(())
    }

    fn finish(self: Box<Self>, result: Result<(), StoreError>) {
        let _ = self.sender.send(result.map(|()| self.sent));
    }
}

impl SharedState {
    /// Returns the store's place in the log; `None` if it is not shared.
    pub(super) fn replica(&self) -> Result<Option<Replica>, StoreError> {
        Replica::read(&self.begin_read()?.open_table(t::META)?)
    }

    /// Returns the jobs of the spool that the store does not have.
    pub(super) fn unstored_spooled_jobs(&self) -> Result<Vec<JobRecord>, StoreError> {
        let next = migrate::meta(&*self.begin_read()?, t::META_NEXT_SPOOLED)?.unwrap_or(1);
        spool::jobs_from(&self.path, self.store_id, next)
    }

    /// Counts the jobs of the spool that the store does not have.
    ///
    /// # Errors
    /// When the store or the spool cannot be read.
    pub(super) fn count_jobs_for_log(&self) -> Result<(), StoreError> {
        let count = self.unstored_spooled_jobs()?.len() as u64;
        self.jobs_for_log.store(count, Ordering::Release);
        Ok(())
    }
}
