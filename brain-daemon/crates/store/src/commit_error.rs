//! Why a transaction cannot be committed.

use super::StoreError;
use super::shared_log::LogBatch;

/// The failure of a transaction.
pub(super) struct CommitError {
    pub(super) cause: Cause,
    pub(super) error: StoreError,
}

/// The cause of the failure, which decides what happens to the tasks.
#[derive(Debug)]
pub(super) enum Cause {
    /// The task at this index failed after writing; the others run again.
    Task(usize),
    /// The tasks at these indexes are refused, for example for lack of disk space; the others run
    /// again.
    Refused(Vec<usize>),
    /// The log of a shared brain has other batches, the first of which are these.
    Moved(Vec<LogBatch>),
    /// The log of a shared brain refused the batch or is away.
    Log,
    /// The file cannot be read or written.
    Disk,
}

impl From<StoreError> for CommitError {
    fn from(error: StoreError) -> Self {
        Self { cause: Cause::Disk, error }
    }
}
