//! The writer of a shared store: sends each transaction to the log before its commit, applies the
//! batches of other machines, and keeps jobs while the log is away.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::mpsc::SyncSender;
use std::time::{Duration, Instant};

use brain_protocol::FaultCode;
use redb::WriteTransaction;

use super::batch_receiver::BatchReceiver;
use super::draft::CompletedDraft;
use super::record::{Content, JobRecord, from_bytes};
use super::replica::{BatchEffects, Replica, apply_batches};
use super::row_table::damaged_change;
use super::shared_log::{AppendResult, FollowResult, LogBatch, LogPosition, SharedLog};
use super::shared_state::SharedState;
use super::spool::{self, Spool};
use super::writer::{
    Batch, Cause, Change, CommitError, CommitHook, WriteTask, answer, catch_panic, commit,
    commit_after, refuse, run,
};
use super::{Draft, StoreError, tables as t};

/// The most spooled jobs that are sent in one batch.
const MAX_SENT_JOBS: usize = 1_000;
/// The bytes after which such a batch gets no more jobs.
const MAX_SENT_BYTES: usize = 4 << 20;

/// The largest number of batches that are applied in the transaction of the next tasks. A larger
/// number gets a transaction of its own, because a refused append rolls back all of it.
const MAX_MISSING: usize = 16;

/// How long this machine waits for a batch of another machine before it appends again, while both
/// write. Unit tests wait longer, so that they do not depend on speed.
const TURN: Duration = if cfg!(test) { Duration::from_secs(60) } else { Duration::from_millis(25) };

/// Whose turn it is, while several machines write at the same time.
#[derive(Default)]
pub(super) struct Turn {
    /// Whether another machine appended since the last batch of this one.
    is_contended: bool,
    /// The last batch of this machine, and when the log accepted it.
    last: Option<(LogPosition, Instant)>,
}

/// Runs a batch of tasks. While the log is away, jobs go to the spool, and other tasks are refused.
pub(super) fn write(
    shared: &SharedState,
    spool: &mut Option<Spool>,
    mut batch: Batch,
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

/// Refuses tasks that the log did not accept. If it is away, returns those with callbacks, whose
/// jobs can wait for it.
pub(super) fn refuse_without_log(tasks: Batch, error: &StoreError) -> Batch {
    let is_away = matches!(error, StoreError::Away(_));
    let (jobs, others) = tasks.into_iter().partition(|task| is_away && task.has_callback());
    refuse(others, error);
    jobs
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
    let bytes = changes.into_batch(shared, &replica);
    let result = log.append(replica.position, &bytes, draft.lease);
    match result.map_err(|error| match error {
        // The lease is lost, which the other tasks of the batch do not need.
        StoreError::Refused(fault)
            if draft.lease.is_some() && fault.code == FaultCode::Conflict =>
        {
            let error = StoreError::Refused(fault);
            CommitError { cause: Cause::Refused(std::mem::take(&mut draft.leased_tasks)), error }
        }
        error => log_error(error),
    })? {
        AppendResult::Appended(position) => {
            shared.turn.lock().last = Some((position, Instant::now()));
            replica.position = position;
            Ok(replica.write(txn)?)
        }
        AppendResult::Moved(batches) => {
            shared.turn.lock().is_contended = true;
            Err(CommitError {
                cause: Cause::Moved(batches),
                error: StoreError::Away("another machine wrote first".into()),
            })
        }
    }
}

fn attached_log(shared: &SharedState) -> Result<Arc<dyn SharedLog>, StoreError> {
    shared.log.read().clone().ok_or_else(|| {
        StoreError::Away("this machine does not have the server's address or the key".into())
    })
}

/// Adds batches to those that the next try applies first. Applies them at once if there are many.
/// Does not read all that follow: only a refused append gives this machine the next turn.
///
/// # Errors
/// Errors of the log and of the disk.
pub(super) fn add_missing(
    shared: &SharedState,
    missing: &mut Vec<LogBatch>,
    batches: Vec<LogBatch>,
    hook: &CommitHook,
) -> Result<(), StoreError> {
    // A refusal contains no batches if the first one is large.
    let must_read = batches.is_empty();
    missing.extend(batches);
    if (must_read && !missing.is_empty()) || missing.len() > MAX_MISSING {
        apply(shared, &std::mem::take(missing), hook)?;
    }
    if must_read {
        *missing = attached_log(shared)?.read(position(shared)?)?;
    }
    Ok(())
}

/// Applies batches in a transaction of their own.
///
/// # Errors
/// Errors of the disk, and when the store must not be written.
pub(super) fn apply(
    shared: &SharedState,
    batches: &[LogBatch],
    hook: &CommitHook,
) -> Result<(), StoreError> {
    check_writable(shared)?;
    // Until rows name the files of applied attachments.
    let _files = shared.attachments.block_removal_in_writer();
    let apply = || -> Result<BatchEffects, StoreError> {
        let txn = shared.begin_write()?;
        let effects = apply_to(shared, &txn, batches)?;
        txn.commit()?;
        Ok(effects)
    };
    let effects = apply().inspect_err(|error| {
        shared.waiting_jobs.forget();
        if error.is_disk_error() {
            shared.recover();
        }
    })?;
    let changes = publish(shared, effects);
    if !changes.is_empty() {
        hook(changes);
    }
    Ok(())
}

/// Checks that the store may be written. Does not touch the database, so a failure needs no
/// recovery.
///
/// # Errors
/// When the store must not be written.
pub(super) fn check_writable(shared: &SharedState) -> Result<(), StoreError> {
    shared.check_writable()?;
    shared.check_file_identity()?;
    shared.check_free_space()
}

/// Applies batches to a transaction.
///
/// # Errors
/// As [`apply_batches`].
pub(super) fn apply_to(
    shared: &SharedState,
    txn: &WriteTransaction,
    batches: &[LogBatch],
) -> Result<BatchEffects, StoreError> {
    // redb panics on bytes that do not fit a table.
    let effects = catch_unwind(AssertUnwindSafe(|| apply_batches(shared, txn, batches)))
        .unwrap_or_else(|_| Err(damaged_change("rows that do not fit their tables")));
    shared.waiting_jobs.forget();
    effects
}

/// Makes the effects of batches known after the commit. Returns the changes of pages.
pub(super) fn publish(shared: &SharedState, effects: BatchEffects) -> Vec<Change> {
    if effects.sources_changed {
        shared.forget_sources();
    }
    // The batches can have jobs of the spool, whose acknowledgement was lost.
    shared.forget_jobs_before(effects.next_spooled);
    let mut outside = shared.outside_changes.lock();
    outside.access |= effects.access_changed;
    outside.files.extend(effects.files);
    effects.changes
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

fn position(shared: &SharedState) -> Result<LogPosition, StoreError> {
    Ok(shared.replica()?.ok_or(StoreError::Defect)?.position)
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
fn spool_jobs(shared: &SharedState, spool: &mut Option<Spool>, mut batch: Batch) {
    let spooled = catch_panic(|| {
        let txn = shared.begin_write()?;
        let mut draft = Draft::open(&txn, &shared.waiting_jobs)?;
        let replica = draft.replica.ok_or(StoreError::Defect)?;
        let known = &shared.waiting_jobs.spooled;
        let last = known.lock().last_key_value().map(|(number, _)| *number);
        let first = last.map_or(replica.next_spooled, |last| last + 1);
        draft.next_spooled_id = Some(replica.spooled_id(first));
        draft.waiting += shared.jobs_for_log();
        draft.spool_records = Some(Vec::new());
        let refusals = run(shared, &mut draft, &mut batch, &Ok(())).map_err(|e| e.error)?;
        let jobs = draft.spool_records.take().unwrap_or_default();
        drop(draft);
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
    shared.waiting_jobs.forget();
    match spooled {
        Ok(refusals) => answer(batch, refusals),
        Err(error) => refuse(batch, &error),
    }
}

/// Returns what is kept in memory of a spooled job.
fn without_text(job: JobRecord) -> JobRecord {
    let content = Content { frontmatter: String::new(), body: String::new() };
    JobRecord { content, ..job }
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
        shared.outside_changes.lock().jobs = true;
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
    fn run(&mut self, draft: &mut Draft<'_>) -> Result<(), StoreError> {
        let mut replica = draft.replica.ok_or(StoreError::Defect)?;
        for (number, job) in &self.jobs {
            // An earlier try can be in the log, although its answer was lost.
            if *number >= replica.next_spooled {
                draft.add_job_as(replica.spooled_id(*number), job)?;
                replica.next_spooled = number + 1;
            }
        }
        draft.replica = Some(replica);
        Ok(())
    }

    fn finish(self: Box<Self>, result: Result<(), StoreError>) {
        // The caller waits.
        let _ = self.sender.send(result);
    }
}

impl SharedState {
    /// Returns the store's place in the log; `None` if it is not shared.
    pub(super) fn replica(&self) -> Result<Option<Replica>, StoreError> {
        Replica::read(&self.begin_read()?.open_table(t::META)?)
    }

    /// Returns the number of jobs that wait for the log.
    pub(super) fn jobs_for_log(&self) -> u64 {
        self.waiting_jobs.spooled.lock().len() as u64
    }

    /// Reads the jobs that wait for the log when the store is opened.
    ///
    /// # Errors
    /// When the store or the spool cannot be read.
    pub(super) fn load_spooled_jobs(&self) -> Result<(), StoreError> {
        let next = self.replica()?.map_or(1, |replica| replica.next_spooled);
        let jobs = spool::all_jobs_from(&self.path, self.store_id, next)?;
        let known = jobs.into_iter().map(|(number, job)| (number, without_text(job)));
        *self.waiting_jobs.spooled.lock() = known.collect();
        Ok(())
    }

    /// Forgets the spooled jobs before this number: the store has them.
    fn forget_jobs_before(&self, next: u64) {
        let mut known = self.waiting_jobs.spooled.lock();
        *known = known.split_off(&next);
    }
}
