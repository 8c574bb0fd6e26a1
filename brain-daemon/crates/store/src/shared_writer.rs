//! The writer of a shared store: takes turns with other machines, applies their batches on request,
//! and keeps jobs while the log is away. [`super::shared_commit`] has the steps of one commit.

use std::sync::mpsc::SyncSender;
use std::time::Duration;

use super::batch_receiver::BatchReceiver;
use super::change::CommitHook;
use super::commit::{commit, commit_after, run};
use super::record::{Content, JobRecord, from_bytes};
use super::replica::ReplicaPlace;
use super::shared_commit::{add_missing, apply, attached_log, position};
use super::shared_log::{FollowResult, LogBatch};
use super::shared_state::SharedState;
use super::spool::{self, Spool};
use super::write_task::{TaskBatch, WriteTask, answer, catch_panic, refuse};
use super::{StoreError, Transaction, tables as t};

/// The most spooled jobs that are sent in one batch.
const MAX_SENT_JOBS: usize = 1_000;
/// The bytes after which such a batch gets no more jobs.
const MAX_SENT_BYTES: usize = 4 << 20;

/// How long this machine waits for a batch of another machine before it appends again, while both
/// write. Unit tests wait longer, so that they do not depend on speed.
const TURN: Duration = if cfg!(test) { Duration::from_secs(60) } else { Duration::from_millis(25) };

/// Runs a batch of tasks. While the log is away, jobs go to the spool, and other tasks are refused.
pub(super) fn write(
    shared: &SharedState,
    spool: &mut Option<Spool>,
    mut batch: TaskBatch,
    hook: &CommitHook,
    receiver: &mut BatchReceiver<'_>,
) {
    // A transaction for nothing would delay the writers behind it.
    batch.retain(|task| !task.is_wakeup());
    if batch.is_empty() {
        return;
    }
    let mut missing = Vec::new();
    if let Some(batches) = batches_of_others(shared)
        && add_missing(shared, &mut missing, batches, hook).is_err()
    {
        // `send` reports the failure of the log.
        missing.clear();
    }
    receiver.add_arrived(&mut batch);
    let jobs = commit_after(shared, missing, batch, hook, &Ok(()), Some(receiver));
    if !jobs.is_empty() {
        spool_jobs(shared, spool, jobs);
    }
}

/// While another machine writes too, waits for its next batch. Without the wait, the append would
/// be refused, and the tasks would run twice. Returns the new batches.
fn batches_of_others(shared: &SharedState) -> Option<Vec<LogBatch>> {
    let mut turn = shared.turn.lock();
    let (last, at) = turn.last.take().filter(|_| turn.is_contended)?;
    turn.is_contended = false;
    let left = TURN.saturating_sub(at.elapsed());
    let is_applied = position(shared).ok()? != last;
    let log = attached_log(shared).ok()?;
    turn.is_contended = is_applied || (!left.is_zero() && log.wait_for_notification(last, left));
    if turn.is_contended && !is_applied { log.read(last).ok() } else { None }
}

/// Applies all missing batches, then sends the spooled jobs, for the callers that wait for it.
pub(super) fn follow_if_requested(
    shared: &SharedState,
    spool: &mut Option<Spool>,
    hook: &CommitHook,
) {
    let requests = std::mem::take(&mut *shared.follow_requests.lock());
    if requests.is_empty() {
        return;
    }
    let newest = requests.iter().map(|request| request.number.unwrap_or(u64::MAX)).max();
    let result = follow(shared, hook, newest.unwrap_or(u64::MAX)).and_then(|followed| {
        send_spooled_jobs(shared, spool, hook)?;
        Ok(followed)
    });
    for request in requests {
        // The caller may no longer wait.
        let _ = request.sender.send(result.clone());
    }
}

/// Applies the batches that the log has and the store does not have, up to the one with the number
/// `newest`.
fn follow(
    shared: &SharedState,
    hook: &CommitHook,
    newest: u64,
) -> Result<FollowResult, StoreError> {
    let mut count = 0;
    loop {
        let position = position(shared)?;
        if position.number >= newest {
            return Ok(FollowResult { batches: count, position });
        }
        let batches = attached_log(shared)?.read(position)?;
        if batches.is_empty() {
            return Ok(FollowResult { batches: count, position });
        }
        count += batches.len() as u64;
        apply(shared, &batches, hook)?;
    }
}

/// Writes the jobs of the tasks to the spool and acknowledges them.
fn spool_jobs(shared: &SharedState, spool: &mut Option<Spool>, mut batch: TaskBatch) {
    let spooled = catch_panic(|| {
        let txn = shared.begin_write()?;
        let mut transaction = Transaction::open(&txn, &shared.pending_keys)?;
        let replica = transaction.replica.ok_or(StoreError::Defect)?;
        let known = &shared.pending_keys.spooled;
        let last = known.lock().last_key_value().map(|(number, _)| *number);
        let first = last.map_or(replica.next_spooled, |last| last + 1);
        transaction.next_spooled_id = Some(replica.spooled_id(first));
        transaction.counters.waiting += shared.jobs_for_log();
        transaction.spool_records = Some(Vec::new());
        let refusals = run(shared, &mut transaction, &mut batch, &Ok(())).map_err(|e| e.error)?;
        let jobs = transaction.spool_records.take().unwrap_or_default();
        drop(transaction);
        drop(txn);
        if !jobs.is_empty() {
            let path = spool::spool_path(&shared.path).display().to_string();
            let io = |e: &std::io::Error| StoreError::from_io(e, &path);
            if spool.as_ref().is_none_or(|spool| !spool.is_at_path()) {
                let opened = Spool::open_at_end(&shared.path, shared.store_id);
                *spool = Some(opened.map_err(|e| io(&e))?);
            }
            let Some(spool) = spool else { return Err(StoreError::Defect) };
            spool.append(first, &jobs).map_err(|e| io(&e))?;
            let mut known = known.lock();
            for (number, job) in (first..).zip(&jobs) {
                known.insert(number, without_text(from_bytes(job)?));
            }
        }
        Ok(refusals)
    });
    // The scratch transaction may have loaded keys of jobs that are not in the store.
    shared.pending_keys.forget();
    match spooled {
        Ok(refusals) => answer(batch, refusals),
        Err(error) => refuse(batch, &error),
    }
}

/// Returns what is kept in memory of a spooled job.
fn without_text(job: JobRecord) -> JobRecord {
    JobRecord { content: Content::default(), ..job }
}

/// Sends spooled jobs to the log as jobs of this brain, in order, and removes the spool when the
/// store has all of them.
fn send_spooled_jobs(
    shared: &SharedState,
    spool: &mut Option<Spool>,
    hook: &CommitHook,
) -> Result<(), StoreError> {
    if shared.jobs_for_log() == 0 {
        return Ok(());
    }
    while shared.jobs_for_log() > 0 {
        let next = shared.replica()?.ok_or(StoreError::Defect)?.next_spooled;
        let limit = (MAX_SENT_JOBS, MAX_SENT_BYTES);
        let jobs = spool::jobs_from(&shared.path, shared.store_id, next, limit)?;
        if jobs.is_empty() {
            let path = spool::spool_path(&shared.path).display().to_string();
            let last = next + shared.jobs_for_log() - 1;
            return Err(StoreError::LostJobs { path, first: next, last });
        }
        let (sender, result) = std::sync::mpsc::sync_channel(1);
        let task = SpooledJobs { jobs, sender };
        let rest = commit(shared, vec![Box::new(task)], hook, &Ok(()));
        refuse(rest, &StoreError::Closed);
        result.recv().map_err(|_| StoreError::Closed)??;
        shared.forget_jobs_before(shared.replica()?.ok_or(StoreError::Defect)?.next_spooled);
        shared.remote_changes.lock().jobs = true;
    }
    tracing::info!("jobs that waited for the server were sent");
    *spool = None;
    spool::remove(&shared.path);
    Ok(())
}

/// The write of spooled jobs, with their numbers.
struct SpooledJobs {
    jobs: Vec<(u64, JobRecord)>,
    sender: SyncSender<Result<(), StoreError>>,
}

impl WriteTask for SpooledJobs {
    fn run(&mut self, transaction: &mut Transaction<'_>) -> Result<(), StoreError> {
        let mut replica = transaction.replica.ok_or(StoreError::Defect)?;
        for (number, job) in &self.jobs {
            // An earlier try can be in the log, although its answer was lost.
            if *number >= replica.next_spooled {
                transaction.add_job_as(replica.spooled_id(*number), job)?;
                replica.next_spooled = number + 1;
            }
        }
        transaction.replica = Some(replica);
        Ok(())
    }

    fn finish(self: Box<Self>, result: Result<(), StoreError>) {
        // The caller waits.
        let _ = self.sender.send(result);
    }
}

impl SharedState {
    /// Returns the store's place in the log; `None` if it is not shared.
    pub(super) fn replica(&self) -> Result<Option<ReplicaPlace>, StoreError> {
        ReplicaPlace::read(&self.begin_read()?.open_table(t::META)?)
    }

    /// Returns the number of jobs that wait for the log.
    pub(super) fn jobs_for_log(&self) -> u64 {
        self.pending_keys.spooled.lock().len() as u64
    }

    /// Reads the jobs that wait for the log when the store is opened.
    pub(super) fn load_spooled_jobs(&self) -> Result<(), StoreError> {
        let next = self.replica()?.map_or(1, |replica| replica.next_spooled);
        let jobs = spool::all_jobs_from(&self.path, self.store_id, next)?;
        let known = jobs.into_iter().map(|(number, job)| (number, without_text(job)));
        *self.pending_keys.spooled.lock() = known.collect();
        Ok(())
    }

    /// Forgets the spooled jobs before this number: the store has them.
    pub(super) fn forget_jobs_before(&self, next: u64) {
        let mut known = self.pending_keys.spooled.lock();
        *known = known.split_off(&next);
    }
}
