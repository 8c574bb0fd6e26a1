//! Items that were taken in over HTTP and are on their way to a page: queued, tried, stored or failed, forgotten.
//!
//! A job has one row in `jobs`. While it waits it has one in `jobs_due`, at the time when it is due; when it is over, one in
//! `jobs_over`, at the time when it may be forgotten. What makes two items one leads to the latest such job: in memory while
//! that job waits, in `jobs_seen` from when it is over. It only points, and whether that job still counts is for whoever asks.
//! Who may send what, and what becomes of it, is not known here.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

use brain_protocol::{JobCounts, JobState};
use redb::{ReadableTable, ReadableTableMetadata};

use super::draft::read;
use super::record::{Hash, JobRecord, state_of_job, to_bytes};
use super::{Draft, Reader, StoreError, tables as t};

/// How long a job that became a page is remembered, in milliseconds: the 24 hours in which the same item is a duplicate, and
/// a little, so that the answer to a duplicate names a job that can still be asked for.
pub(super) const STORED_KEPT_MS: i64 = (24 * 60 + 10) * 60 * 1000;

/// How long a job that failed for good is kept, in milliseconds: 7 days.
pub(super) const FAILED_KEPT_MS: i64 = 7 * 24 * 60 * 60 * 1000;

/// What makes two items one, of those that wait: their keys lie anywhere in the table, and a leaf read and written for each
/// would be half of what taking an item in costs. So a key goes to the table when its job is over, which is work for later.
/// As many as wait, so bounded as they are; read from the jobs when it is asked for the first time. Only the writer asks.
#[derive(Default)]
pub(super) struct Waiting(Mutex<Option<HashMap<Hash, u64>>>);

/// What a transaction changes of [`Waiting`], once it is on disk.
#[derive(Default)]
pub(super) struct SeenChange {
    added: HashMap<Hash, u64>,
    /// Keys that are in the table now, and the job that put them there.
    settled: Vec<(Hash, u64)>,
}

impl Waiting {
    /// The transaction is on disk.
    pub(super) fn apply(&self, change: SeenChange) {
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        // What nobody has asked for is read from the jobs, these included.
        let Some(known) = known.as_mut() else { return };
        known.extend(change.added);
        for (key, id) in change.settled {
            if known.get(&key) == Some(&id) {
                known.remove(&key);
            }
        }
        if known.is_empty() {
            *known = HashMap::new();
        }
    }

    /// A transaction came to nothing, and it may have been read in the middle of it.
    pub(super) fn forget(&self) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = None;
    }
}

/// A waiting job is due within this time, in milliseconds, whatever happened to it. One that is due later was put there by a clock
/// that has been set back since: it is due now.
const SOON_MS: i64 = 60 * 1000;

/// Where a job stands beside `jobs`.
enum Place {
    /// In `jobs_due`.
    Due(i64),
    /// In `jobs_over`.
    Over(i64),
}

fn place(record: &JobRecord) -> Place {
    let finished = record.finished_at.unwrap_or(record.received_at);
    match record.state {
        JobState::Queued | JobState::Processing | JobState::Retrying => Place::Due(record.due_at),
        JobState::Stored => Place::Over(finished + STORED_KEPT_MS),
        JobState::Failed => Place::Over(finished + FAILED_KEPT_MS),
    }
}

/// What the tables beside `jobs` have to say of a job, for those who check them.
pub(super) fn rows_of(record: &JobRecord) -> (Option<i64>, Option<i64>) {
    match place(record) {
        Place::Due(at) => (Some(at), None),
        Place::Over(at) => (None, Some(at)),
    }
}

impl Draft<'_> {
    /// How many jobs wait.
    #[must_use]
    pub fn waiting_jobs(&self) -> u64 {
        self.waiting
    }

    /// The job.
    ///
    /// # Errors
    /// When the store fails.
    pub fn job(&self, id: u64) -> Result<Option<JobRecord>, StoreError> {
        read(self.jobs.get(id)?.as_ref().map(redb::AccessGuard::value))
    }

    /// The latest job that was seen under `key`, if it is still there.
    ///
    /// # Errors
    /// When the store fails.
    pub fn seen_job(&self, key: &Hash) -> Result<Option<(u64, JobRecord)>, StoreError> {
        let id = match self.seen.added.get(key).copied().or(self.waiting_under(key)?) {
            Some(id) => Some(id),
            None => self.jobs_seen.get(key)?.map(|guard| guard.value()),
        };
        let Some(id) = id else { return Ok(None) };
        Ok(self.job(id)?.map(|record| (id, record)))
    }

    /// The waiting job of an earlier transaction that was seen under `key`.
    fn waiting_under(&self, key: &Hash) -> Result<Option<u64>, StoreError> {
        let mut known = self.shared_waiting.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = &*known {
            return Ok(known.get(key).copied());
        }
        let mut all = HashMap::new();
        for row in self.jobs_due.iter()? {
            let (_, id) = row?.0.value();
            for key in self.job(id)?.into_iter().flat_map(|record| record.seen) {
                // Of two, the latest.
                let latest = all.entry(key).or_insert(id);
                *latest = id.max(*latest);
            }
        }
        // Of this transaction's own the commit tells.
        all.retain(|key, id| self.seen.added.get(key) != Some(id));
        Ok(known.insert(all).get(key).copied())
    }

    /// Adds a job; its number.
    ///
    /// # Errors
    /// When the store fails.
    pub fn add_job(&mut self, record: &JobRecord) -> Result<u64, StoreError> {
        self.dirty += 1;
        let id = self.next_job;
        self.next_job += 1;
        self.seen.added.extend(record.seen.iter().map(|key| (*key, id)));
        let bytes = self.store_job(id, record)?;
        if let Some(accepted) = &mut self.accepted {
            accepted.push(bytes);
        }
        Ok(id)
    }

    /// Whether the job still waits and is due at `due_at`.
    ///
    /// # Errors
    /// When the store fails.
    pub fn job_waits(&self, id: u64, due_at: i64) -> Result<bool, StoreError> {
        Ok(self.jobs_due.get((due_at, id))?.is_some())
    }

    /// Changes a job from what it was. The caller has looked that it still is so.
    ///
    /// # Errors
    /// When the job is not what `from` says, and when the store fails.
    pub fn change_job(
        &mut self,
        id: u64,
        from: &JobRecord,
        to: &JobRecord,
    ) -> Result<(), StoreError> {
        self.dirty += 1;
        let was_there = match place(from) {
            Place::Due(at) => {
                self.waiting = self.waiting.saturating_sub(1);
                self.jobs_due.remove((at, id))?.is_some()
            }
            Place::Over(at) => {
                self.failed = self.failed.saturating_sub(u64::from(from.state == JobState::Failed));
                self.jobs_over.remove((at, id))?.is_some()
            }
        };
        if !was_there {
            return Err(StoreError::damaged(format!("job {id} is not where it should be")));
        }
        // redb writes a smaller value in the place of the larger one, and the rest of that block
        // stays empty: a job without its text would take as much room as one with it. What is
        // inserted anew shares a block with its neighbours.
        self.jobs.remove(id)?;
        self.store_job(id, to).map(|_| ())
    }

    /// The bytes that stand for it.
    fn store_job(&mut self, id: u64, record: &JobRecord) -> Result<Vec<u8>, StoreError> {
        match place(record) {
            Place::Due(at) => {
                self.jobs_due.insert((at, id), ())?;
                self.waiting += 1;
            }
            Place::Over(at) => {
                self.jobs_over.insert((at, id), ())?;
                self.failed += u64::from(record.state == JobState::Failed);
                self.settle_seen(id, record)?;
            }
        }
        let bytes = to_bytes(record)?;
        self.jobs.insert(id, bytes.as_slice())?;
        Ok(bytes)
    }

    /// The keys of a job that is over go to the table, unless a later job's are there.
    fn settle_seen(&mut self, id: u64, record: &JobRecord) -> Result<(), StoreError> {
        for key in &record.seen {
            let there = self.jobs_seen.get(key)?.map(|guard| guard.value());
            if there.is_none_or(|there| there < id) {
                self.jobs_seen.insert(key, id)?;
            }
            self.seen.settled.push((*key, id));
        }
        Ok(())
    }

    /// Forgets up to `limit` jobs whose time is over; how many there were.
    ///
    /// # Errors
    /// When the store fails.
    pub fn forget_jobs(&mut self, now: i64, limit: usize) -> Result<usize, StoreError> {
        self.frees_room = true;
        let mut over = Vec::new();
        for row in self.jobs_over.range(..=(now, u64::MAX))?.take(limit) {
            over.push(row?.0.value());
        }
        for &(at, id) in &over {
            self.dirty += 1;
            self.jobs_over.remove((at, id))?;
            let gone: Option<JobRecord> =
                read(self.jobs.remove(id)?.as_ref().map(redb::AccessGuard::value))?;
            let Some(gone) = gone else { continue };
            self.failed = self.failed.saturating_sub(u64::from(gone.state == JobState::Failed));
            for key in &gone.seen {
                // A later job may have taken its place.
                let points_here = self.jobs_seen.get(key)?.is_some_and(|guard| guard.value() == id);
                if points_here {
                    self.jobs_seen.remove(key)?;
                }
            }
        }
        Ok(over.len())
    }
}

impl Reader {
    /// Jobs that are due at `now`, the longest due first: up to `limit` of them and about `bytes` bytes of text, but one at
    /// least.
    ///
    /// # Errors
    /// When the store cannot be read.
    pub fn due_jobs(
        &self,
        now: i64,
        limit: usize,
        bytes: usize,
    ) -> Result<Vec<(u64, JobRecord)>, StoreError> {
        let (jobs, all) = (self.table(t::JOBS)?, self.table(t::JOBS_DUE)?);
        let (mut due, mut size) = (Vec::new(), 0);
        let until = match all.first()?.map(|(key, _)| key.value().0) {
            Some(first) if first > now.saturating_add(SOON_MS) => i64::MAX,
            _ => now,
        };
        for row in all.range(..=(until, u64::MAX))?.take(limit) {
            let (_, id) = row?.0.value();
            let Some(guard) = jobs.get(id)? else { continue };
            size += guard.value().len();
            if size > bytes && !due.is_empty() {
                break;
            }
            due.extend(read(Some(guard.value()))?.map(|record| (id, record)));
        }
        Ok(due)
    }

    /// When the next waiting job is due, or was, Unix milliseconds, as the clock stands `now`.
    ///
    /// # Errors
    /// When the store cannot be read.
    pub fn next_due_job(&self, now: i64) -> Result<Option<i64>, StoreError> {
        let first = self.table(t::JOBS_DUE)?.first()?.map(|(key, _)| key.value().0);
        Ok(first.map(|at| if at > now.saturating_add(SOON_MS) { now } else { at }))
    }

    /// The job.
    ///
    /// # Errors
    /// When the store cannot be read.
    pub fn job(&self, id: u64) -> Result<Option<JobRecord>, StoreError> {
        read(self.table(t::JOBS)?.get(id)?.as_ref().map(redb::AccessGuard::value))
    }

    /// Calls `each` with the jobs that `wanted` takes by number and state, the newest first, from below the number `below`,
    /// until it says stop.
    ///
    /// # Errors
    /// When the store cannot be read, or `each` fails.
    pub fn newest_jobs(
        &self,
        below: u64,
        wanted: impl Fn(u64, JobState) -> bool,
        mut each: impl FnMut(u64, JobRecord) -> Result<bool, StoreError>,
    ) -> Result<(), StoreError> {
        for row in self.table(t::JOBS)?.range(..below)?.rev() {
            let (id, value) = row?;
            if wanted(id.value(), state_of_job(value.value())?)
                && let Some(record) = read(Some(value.value()))?
                && !each(id.value(), record)?
            {
                break;
            }
        }
        Ok(())
    }

    /// The numbers of all jobs that failed for good.
    ///
    /// # Errors
    /// When the store cannot be read.
    pub fn failed_jobs(&self) -> Result<Vec<u64>, StoreError> {
        let mut failed = Vec::new();
        for row in self.table(t::JOBS)?.iter()? {
            let (id, value) = row?;
            if state_of_job(value.value())? == JobState::Failed {
                failed.push(id.value());
            }
        }
        Ok(failed)
    }

    /// How many jobs are so far, those included that the snapshot does not show yet.
    ///
    /// # Errors
    /// When the store cannot be read.
    pub fn job_counts(&self) -> Result<JobCounts, StoreError> {
        let meta = self.table(t::META)?;
        let number =
            |key: &str| -> Result<u64, StoreError> { Ok(meta.get(key)?.map_or(0, |n| n.value())) };
        let (waiting, failed) = (number(t::META_WAITING)?, number(t::META_FAILED)?);
        let all = self.table(t::JOBS)?.len()?;
        let stored = all.saturating_sub(waiting + failed);
        Ok(JobCounts { waiting: waiting + self.unshown()?, failed, stored })
    }
}
