//! What a store asks of the log of a brain on several machines. The crate `brain-machines`
//! implements it over the commit log; this crate does not know servers, keys or machine names.

use std::sync::Arc;

use super::{Store, StoreError};

/// A place in the log: the last batch that a store contains.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct LogPosition {
    /// The number of the batch; 0 before the first.
    pub number: u64,
    /// The random id of the batch; 0 before the first.
    pub id: u128,
}

/// A batch that was read from the log: the changes that one machine committed together.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LogBatch {
    /// The number and id of the batch.
    pub position: LogPosition,
    /// Whether this machine wrote the batch.
    pub is_own: bool,
    /// What [`SharedLog::append`] got.
    pub changes: Vec<u8>,
}

/// The result of [`SharedLog::append`].
#[derive(Debug)]
pub enum AppendResult {
    /// The batch is in the log, durably.
    Appended(LogPosition),
    /// The log has other batches after the expected position. Nothing was appended. These are the
    /// first of them; perhaps not all, perhaps none.
    Moved(Vec<LogBatch>),
}

/// The log of a brain on several machines. The store's writer calls it; calls block, and end after
/// a bounded time.
pub trait SharedLog: Send + Sync {
    /// Appends the changes of a transaction after the batch at `expected`. A `lease` is the name
    /// of the lease that this machine must hold.
    ///
    /// # Errors
    /// [`StoreError::Away`] if the server does not answer; nothing was appended.
    /// [`StoreError::Refused`] for all other reasons, also if the outcome is not known.
    fn append(
        &self,
        expected: LogPosition,
        changes: &[u8],
        lease: Option<&'static str>,
    ) -> Result<AppendResult, StoreError>;

    /// Returns batches after a position, in order and without a gap. Returns none if there are no
    /// more.
    ///
    /// # Errors
    /// As [`SharedLog::append`].
    fn read(&self, after: LogPosition) -> Result<Vec<LogBatch>, StoreError>;
}

/// What [`Store::follow`] did.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Followed {
    /// The number of batches that were applied.
    pub batches: u64,
    /// The last batch that the store contains.
    pub position: LogPosition,
}

impl Store {
    /// Makes this store the first replica of a shared brain, at the position before the first
    /// batch. From then on, every write goes to the log first. `machine` is the random id of this
    /// machine. All sources with a directory become sources of this machine.
    ///
    /// # Errors
    /// When the store is shared already, or cannot be written.
    pub fn share(&self, log: Arc<dyn SharedLog>, machine: u128) -> Result<(), StoreError> {
        let _ = (log, machine);
        Err(StoreError::Defect)
    }

    /// Gives a shared store its log. Without a log, a shared store refuses writes.
    pub fn attach_log(&self, log: Arc<dyn SharedLog>) {
        let _ = log;
    }

    /// Makes a shared store an ordinary one, which keeps all pages and has no log.
    ///
    /// # Errors
    /// When the store cannot be written.
    pub fn unshare(&self) -> Result<(), StoreError> {
        Err(StoreError::Defect)
    }

    /// Returns the last batch that the store contains; `None` if the store is not shared.
    ///
    /// # Errors
    /// When the store cannot be read.
    pub fn log_position(&self) -> Result<Option<LogPosition>, StoreError> {
        Ok(None)
    }

    /// Returns the id of this machine; `None` if the store is not shared.
    ///
    /// # Errors
    /// When the store cannot be read.
    pub fn machine(&self) -> Result<Option<u128>, StoreError> {
        Ok(None)
    }

    /// Applies all batches that the log has and the store does not have. Then sends the jobs that
    /// were accepted while the log was away.
    ///
    /// # Errors
    /// As [`SharedLog::read`]; when the store cannot be read or written.
    pub fn follow(&self) -> Result<Followed, StoreError> {
        Err(StoreError::Defect)
    }

    /// Returns the number of jobs that wait for the log to answer.
    #[must_use]
    pub fn jobs_for_log(&self) -> u64 {
        0
    }

    /// Returns a digest of all rows that machines share. Equal stores at the same position have the
    /// same digest.
    ///
    /// # Errors
    /// When the store cannot be read.
    pub fn shared_digest(&self) -> Result<[u8; 32], StoreError> {
        Err(StoreError::Defect)
    }
}
