//! Runs a batch of tasks in one transaction, and answers them after the commit.

use std::panic::{AssertUnwindSafe, catch_unwind};

use super::batch_receiver::BatchReceiver;
use super::change::{Change, CommitHook};
use super::commit_error::{Cause, CommitError};
use super::shared_log::LogBatch;
use super::shared_state::SharedState;
use super::transaction::TaskNeeds;
use super::write_task::{TaskBatch, TaskErrors, WriteTask, answer, catch_panic, refuse};
use super::{StoreError, Transaction, shared_commit};

/// Whether the store has all acknowledged jobs, or why not.
pub(super) type RecoveryResult = Result<(), StoreError>;

/// Runs a batch in one transaction and reports the results. Runs it again without the failed tasks.
/// If the log of a shared brain is away, returns the tasks with callbacks, whose jobs can wait for
/// it, and refuses the others.
pub(super) fn commit(
    shared: &SharedState,
    batch: TaskBatch,
    hook: &CommitHook,
    recovered: &RecoveryResult,
) -> TaskBatch {
    commit_after(shared, Vec::new(), batch, hook, recovered, None)
}

/// As [`commit`], but the transaction first applies the `missing` batches of other machines. If yet
/// another batch came first, the tasks run again after it, together with those that have arrived at
/// `receiver`.
pub(super) fn commit_after(
    shared: &SharedState,
    mut missing: Vec<LogBatch>,
    batch: TaskBatch,
    hook: &CommitHook,
    recovered: &RecoveryResult,
    mut receiver: Option<&mut BatchReceiver<'_>>,
) -> TaskBatch {
    let mut waiting = batch;
    while !waiting.is_empty() {
        let result = catch_panic(|| attempt(shared, &mut waiting, &missing, recovered));
        if result.is_err() {
            shared.pending_keys.forget();
        }
        match result {
            Ok((changes, refusals)) => {
                if !changes.is_empty() {
                    hook(changes);
                }
                answer(waiting, refusals);
                return Vec::new();
            }
            Err(CommitError { cause: Cause::Task(index), error }) => {
                waiting.remove(index).finish(Err(error));
            }
            Err(CommitError { cause: Cause::Refused(indexes), error }) => {
                tracing::warn!(%error, jobs = indexes.len(), "writes refused");
                for index in indexes.into_iter().rev() {
                    waiting.remove(index).finish(Err(error.clone()));
                }
            }
            Err(CommitError { cause: Cause::Moved(batches), .. }) => {
                let added = shared_commit::add_missing(shared, &mut missing, batches, hook);
                if let Err(error) = added {
                    return shared_commit::refuse_without_log(waiting, &error);
                }
                if let Some(receiver) = &mut receiver {
                    receiver.add_arrived(&mut waiting);
                }
            }
            Err(CommitError { cause: Cause::Log, error }) => {
                return shared_commit::refuse_without_log(waiting, &error);
            }
            Err(CommitError { cause: Cause::Disk, error }) => {
                tracing::error!(%error, jobs = waiting.len(), "commit failed");
                shared.recover();
                refuse(waiting, &error);
                return Vec::new();
            }
        }
    }
    Vec::new()
}

fn attempt(
    shared: &SharedState,
    tasks: &mut [Box<dyn WriteTask>],
    missing: &[LogBatch],
    recovered: &RecoveryResult,
) -> Result<(Vec<Change>, TaskErrors), CommitError> {
    if !missing.is_empty() {
        let refused = |error| CommitError { cause: Cause::Log, error };
        shared_commit::check_writable(shared).map_err(refused)?;
    }
    let txn = shared.begin_write()?;
    // Until rows name the files of applied attachments.
    let _files = (!missing.is_empty()).then(|| shared.attachments.block_removal_in_writer());
    let effects = match missing {
        [] => None,
        missing => Some(shared_commit::apply_to(shared, &txn, missing).map_err(|error| {
            let cause = if error.is_disk_error() { Cause::Disk } else { Cause::Log };
            CommitError { cause, error }
        })?),
    };
    let mut transaction = Transaction::open(&txn, &shared.pending_keys)?;
    transaction.clock_ahead = shared.clock_ahead();
    let refusals = run(shared, &mut transaction, tasks, recovered)?;
    // A finished file does not cause a commit; its outbox row is removed with the next one.
    let takes_files = recovered.is_ok()
        && !shared.is_read_only()
        && (transaction.write_count > 0 || transaction.must_flush);
    let files = if takes_files { shared.take_synced_files() } else { Vec::new() };
    for &(id, seq) in &files {
        if let Err(error) = transaction.remove_outbox_row(id, seq) {
            shared.put_back_synced_files(files);
            return Err(error.into());
        }
    }
    // The answers of the tasks can depend on the applied batches.
    if transaction.write_count == 0 && effects.is_none() {
        return Ok((Vec::new(), refusals));
    }
    let committed = transaction.finish().map_err(CommitError::from).and_then(|mut finished| {
        shared_commit::send(shared, &txn, &mut finished)?;
        Ok(shared.commit(txn, finished)?)
    });
    if committed.is_err() {
        shared.put_back_synced_files(files);
    }
    let own_changes = committed?;
    let mut changes =
        effects.map_or_else(Vec::new, |effects| shared_commit::publish(shared, effects));
    changes.extend(own_changes);
    Ok((changes, refusals))
}

/// Runs the tasks in the transaction. Returns for each task the error with which it was refused, if
/// any.
pub(super) fn run(
    shared: &SharedState,
    transaction: &mut Transaction<'_>,
    tasks: &mut [Box<dyn WriteTask>],
    recovered: &RecoveryResult,
) -> Result<TaskErrors, CommitError> {
    let mut refusals = Vec::with_capacity(tasks.len());
    // Indexes of tasks that need free space, an imported spool, and a writable file.
    let (mut space_users, mut spool_users, mut writers) = (Vec::new(), Vec::new(), Vec::new());
    for (index, task) in tasks.iter_mut().enumerate() {
        let before = transaction.write_count;
        transaction.task = TaskNeeds::default();
        let lease_before = transaction.effects.lease.take();
        let result = catch_unwind(AssertUnwindSafe(|| task.run(transaction)))
            .unwrap_or(Err(StoreError::Defect));
        match transaction.effects.lease {
            Some(_) => transaction.effects.leased_tasks.push(index),
            None => transaction.effects.lease = lease_before,
        }
        match result {
            Ok(()) => {
                refusals.push(None);
                if transaction.write_count > before {
                    writers.push(index);
                }
                if transaction.write_count > before && !transaction.task.frees_space {
                    space_users.push(index);
                }
                if transaction.write_count > before || transaction.task.needs_spooled_jobs {
                    spool_users.push(index);
                }
            }
            Err(error) if error.is_disk_error() => return Err(error.into()),
            Err(error) if transaction.write_count == before => refusals.push(Some(error)),
            Err(error) => return Err(CommitError { cause: Cause::Task(index), error }),
        }
    }
    if !spool_users.is_empty()
        && let Err(error) = recovered
    {
        return Err(CommitError { cause: Cause::Refused(spool_users), error: error.clone() });
    }
    if !spool_users.is_empty()
        && let Err(error) = shared.check_file_identity()
    {
        return Err(CommitError { cause: Cause::Refused(spool_users), error });
    }
    if !writers.is_empty()
        && let Err(error) = shared.check_writable()
    {
        return Err(CommitError { cause: Cause::Refused(writers), error });
    }
    if !space_users.is_empty()
        && let Err(error) = shared.check_free_space()
    {
        return Err(CommitError { cause: Cause::Refused(space_users), error });
    }
    Ok(refusals)
}
