//! Steps of a commit in a shared store: sends the changes to the log before the commit, and applies
//! the batches of other machines.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::time::Instant;

use brain_protocol::FaultCode;
use redb::WriteTransaction;

use super::StoreError;
use super::apply_batches::{BatchEffects, apply_batches};
use super::change::{Change, CommitHook};
use super::commit_error::{Cause, CommitError};
use super::row_table::damaged_change;
use super::shared_log::{AppendResult, LogBatch, LogPosition, SharedLog};
use super::shared_state::SharedState;
use super::transaction::CompletedTransaction;
use super::write_task::{TaskBatch, refuse};

/// The largest number of batches that are applied in the transaction of the next tasks. A larger
/// number gets a transaction of its own, because a refused append rolls back all of it.
const MAX_MISSING: usize = 16;

/// Refuses tasks that the log did not accept. If it is away, returns those with callbacks, whose
/// jobs can wait for it.
pub(super) fn refuse_without_log(tasks: TaskBatch, error: &StoreError) -> TaskBatch {
    let is_away = matches!(error, StoreError::Away(_));
    let (jobs, others) = tasks.into_iter().partition(|task| is_away && task.has_callback());
    refuse(others, error);
    jobs
}

/// Sends the changes of a complete transaction to the log, and records the new position in the
/// transaction. Does nothing if the store is not shared, or nothing changed that machines share.
pub(super) fn send(
    shared: &SharedState,
    txn: &WriteTransaction,
    transaction: &mut CompletedTransaction,
) -> Result<(), CommitError> {
    let Some((mut replica, changes)) = transaction.for_log.take() else { return Ok(()) };
    if changes.is_empty() {
        return Ok(());
    }
    let log_error = |error| CommitError { cause: Cause::Log, error };
    let log = attached_log(shared).map_err(log_error)?;
    let bytes = changes.into_batch(&shared.attachments, &replica);
    let result = log.append(replica.position, &bytes, transaction.lease);
    match result.map_err(|error| match error {
        // The lease is lost, which the other tasks of the batch do not need.
        StoreError::Refused(fault)
            if transaction.lease.is_some() && fault.code == FaultCode::Conflict =>
        {
            let error = StoreError::Refused(fault);
            CommitError {
                cause: Cause::Refused(std::mem::take(&mut transaction.leased_tasks)),
                error,
            }
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

pub(super) fn attached_log(shared: &SharedState) -> Result<Arc<dyn SharedLog>, StoreError> {
    shared.log.read().clone().ok_or_else(|| {
        StoreError::Away("this machine does not have the server's address or the key".into())
    })
}

/// Adds batches to those that the next try applies first. Applies them at once if there are many.
/// Does not read all that follow: only a refused append gives this machine the next turn.
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
        shared.pending_keys.forget();
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
    let effects =
        catch_unwind(AssertUnwindSafe(|| apply_batches(&shared.attachments, txn, batches)))
            .unwrap_or_else(|_| Err(damaged_change("rows that do not fit their tables")));
    shared.pending_keys.forget();
    effects
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

/// Makes the effects of batches known after the commit. Returns the changes of pages.
pub(super) fn publish(shared: &SharedState, effects: BatchEffects) -> Vec<Change> {
    if effects.sources_changed {
        shared.forget_sources();
    }
    // The batches can have jobs of the spool, whose acknowledgement was lost.
    shared.forget_jobs_before(effects.next_spooled);
    let mut remote = shared.remote_changes.lock();
    remote.access |= effects.access_changed;
    remote.files.extend(effects.files);
    effects.changes
}

pub(super) fn position(shared: &SharedState) -> Result<LogPosition, StoreError> {
    Ok(shared.replica()?.ok_or(StoreError::Defect)?.position)
}
