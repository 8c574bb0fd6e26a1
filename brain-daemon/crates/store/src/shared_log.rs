//! What a store asks of the log of a brain on several machines. The crate `brain-machines`
//! implements it over the commit log; this crate does not know servers, keys or machine names.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::sync::mpsc::SyncSender;
use std::time::Duration;

use brain_protocol::{Fault, FaultCode};
use redb::ReadableTable;

use super::record::{Hash, JobRecord};
use super::replica::{FIRST_SPOOLED_ID, MAX_SHARED_ATTACHMENT};
use super::verify::Digest;
use super::{Store, StoreError, spool, tables as t};

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
}

/// The result of [`Store::follow`].
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
pub struct OutsideChanges {
    /// Whether clients or tokens changed.
    pub access: bool,
    /// Whether jobs that waited for the log were sent, so that they can become pages.
    pub jobs: bool,
    /// The ids of new outbox rows.
    pub files: Vec<u64>,
}

impl Store {
    /// Makes this store the first replica of a shared brain, at the position before the first
    /// batch. From then on, every write goes to the log first. `machine` is the random id of this
    /// machine. It gets the directories of all sources, except those that other machines of a
    /// former shared brain have.
    ///
    /// # Errors
    /// [`StoreError::Refused`] when the store is shared already; when it cannot be written.
    pub fn share(&self, log: Arc<dyn SharedLog>, machine: u128) -> Result<(), StoreError> {
        if self.is_shared() {
            return Err(StoreError::Refused(Fault::new(
                FaultCode::Conflict,
                "this brain is on several machines already",
            )));
        }
        self.attach_log(log);
        // Before the change, so that no ingest job is committed without the log after it.
        self.shared.is_shared.store(true, Ordering::Release);
        let number_key = self.number_key();
        let result = self.write(move |draft| {
            draft.write_count += 1;
            // Ids that clients got before stay valid, and are valid on all machines.
            draft.set_meta(t::META_NUMBER_KEY, number_key)?;
            draft.become_replica(machine)
        });
        if result.is_err() {
            self.shared.is_shared.store(false, Ordering::Release);
        }
        result
    }

    /// Gives a shared store its log. Without a log, a shared store refuses writes.
    pub fn attach_log(&self, log: Arc<dyn SharedLog>) {
        *self.shared.log.write() = Some(log);
    }

    /// Makes a shared store an ordinary one, which keeps all pages and has no log. Jobs that wait
    /// for the log become jobs of this store.
    ///
    /// # Errors
    /// When the store cannot be written.
    pub fn unshare(&self) -> Result<(), StoreError> {
        let shared = Arc::clone(&self.shared);
        self.write(move |draft| {
            let next = draft.replica.map_or(1, |replica| replica.next_spooled);
            let jobs = spool::all_jobs_from(&shared.path, shared.store_id, next)?;
            draft.write_count += 1;
            draft.leave_log()?;
            jobs.iter().try_for_each(|(_, job)| draft.add_job(job).map(|_| ()))
        })?;
        spool::remove(self.path());
        self.shared.waiting_jobs.spooled.lock().clear();
        self.shared.is_shared.store(false, Ordering::Release);
        *self.shared.log.write() = None;
        Ok(())
    }

    /// Whether the brain is on several machines.
    #[must_use]
    pub fn is_shared(&self) -> bool {
        self.shared.is_shared.load(Ordering::Acquire)
    }

    /// Returns the last batch that the store contains; `None` if the store is not shared.
    ///
    /// # Errors
    /// When the store cannot be read.
    pub fn log_position(&self) -> Result<Option<LogPosition>, StoreError> {
        Ok(self.shared.replica()?.map(|replica| replica.position))
    }

    /// Returns the id of this machine; `None` if the store is not shared.
    ///
    /// # Errors
    /// When the store cannot be read.
    pub fn machine(&self) -> Result<Option<u128>, StoreError> {
        Ok(self.shared.replica()?.map(|replica| replica.machine))
    }

    /// Applies all batches that the log has and the store does not have. Then sends the jobs that
    /// were accepted while the log was away.
    ///
    /// # Errors
    /// As [`SharedLog::read`]; when the store cannot be read or written.
    pub fn follow(&self) -> Result<FollowResult, StoreError> {
        self.request_follow(None)
    }

    /// As [`Store::follow`], but ends at the batch with this number. The log also notifies of the
    /// batches of this machine, for which nothing is read.
    ///
    /// # Errors
    /// As [`Store::follow`].
    pub fn follow_to(&self, number: u64) -> Result<FollowResult, StoreError> {
        self.request_follow(Some(number))
    }

    fn request_follow(&self, number: Option<u64>) -> Result<FollowResult, StoreError> {
        let (sender, result) = std::sync::mpsc::sync_channel(1);
        self.shared.follow_requests.lock().push(FollowRequest { number, sender });
        self.writer.wake()?;
        result.recv().map_err(|_| StoreError::Closed)?
    }

    /// Returns the number of jobs that wait for the log to answer.
    #[must_use]
    pub fn jobs_for_log(&self) -> u64 {
        self.shared.jobs_for_log()
    }

    /// Returns the job with this id that waits for the log to answer, without its text.
    ///
    /// # Errors
    /// When the store cannot be read.
    pub fn job_for_log(&self, id: u64) -> Result<Option<JobRecord>, StoreError> {
        if id < FIRST_SPOOLED_ID || self.jobs_for_log() == 0 {
            return Ok(None);
        }
        let Some(replica) = self.shared.replica()? else { return Ok(None) };
        let spooled = self.shared.waiting_jobs.spooled.lock();
        let found = spooled.iter().find(|(number, _)| replica.spooled_id(**number) == id);
        Ok(found.map(|(_, job)| job.clone()))
    }

    /// Whether the file of an attachment of this length is on another machine only, because it is
    /// too large for the log.
    #[must_use]
    pub fn is_attachment_elsewhere(&self, hash: &Hash, bytes: u64) -> bool {
        self.is_shared()
            && bytes > MAX_SHARED_ATTACHMENT
            && self.attachments().length(hash).is_none()
    }

    /// Returns what changed without a caller on this machine since the last call.
    #[must_use]
    pub fn take_outside_changes(&self) -> OutsideChanges {
        std::mem::take(&mut *self.shared.outside_changes.lock())
    }

    /// Returns a digest of all rows that machines share. Equal stores at the same position have the
    /// same digest.
    ///
    /// # Errors
    /// When the store cannot be read.
    pub fn shared_digest(&self) -> Result<[u8; 32], StoreError> {
        let txn = self.snapshot()?;
        let mut digest = Digest::default();
        macro_rules! add_rows {
            ($($number:literal $table:ident),*) => {$(
                for row in txn.open_table(t::$table)?.iter()? {
                    let (key, value) = row?;
                    digest.row(&t::$table, &key.value(), &value.value());
                }
            )*};
        }
        t::every_shared_table!(add_rows);
        let meta = txn.open_table(t::META)?;
        for key in t::SHARED_META {
            let number = meta.get(key)?.map_or(0, |guard| guard.value());
            digest.row(&t::IDS, &number, &(key, ""));
        }
        Ok(digest.end())
    }
}
