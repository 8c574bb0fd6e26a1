//! What a store asks of the log of a brain on several machines. The crate `brain-machines`
//! implements it over the commit log; this crate does not know servers, keys or machine names.

use std::sync::mpsc::SyncSender;
use std::time::Duration;

use super::StoreError;

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

    /// Waits for a notification of a later batch, at most for `limit`. Returns whether one arrived.
    /// Returns false at once if the log does not notify.
    fn wait_for_notification(&self, after: LogPosition, limit: Duration) -> bool;

    /// Returns how far this machine's clock is ahead of the server's, in milliseconds; 0 if that is
    /// little or not known. So a clock that is wrong dates no change of a page.
    fn clock_ahead(&self) -> i64;
}

/// The result of [`super::Store::follow`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FollowResult {
    /// The number of batches that were applied.
    pub batches: u64,
    /// The last batch that the store contains.
    pub position: LogPosition,
}

/// A caller that waits for batches of the log.
pub(super) struct FollowRequest {
    /// The number of the batch that is enough; `None` for all batches.
    pub(super) number: Option<u64>,
    pub(super) sender: SyncSender<Result<FollowResult, StoreError>>,
}

/// What changed without a caller on this machine: by batches of other machines, or because the log
/// answers again.
#[derive(Debug, Default)]
pub struct RemoteChanges {
    /// Whether clients or tokens changed.
    pub access: bool,
    /// Whether jobs that waited for the log were sent, so that they can become pages.
    pub jobs: bool,
    /// The ids of new outbox rows.
    pub files: Vec<u64>,
}
