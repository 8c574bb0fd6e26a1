//! Ingest jobs: content accepted over HTTP that becomes a page.
//!
//! Each job has a row in `jobs`. A waiting job has a row in `jobs_due` under its due time; a
//! finished job has one in `jobs_over` under its expiry time. A duplicate key leads to the latest
//! job with that key: in memory while the job waits, in `jobs_seen` afterwards. The caller decides
//! whether a new item with the key is a duplicate of that job.
//!
//! This module does not know access rights, or how a job becomes a page.

use std::collections::{BTreeSet, HashMap};

use brain_protocol::{JobCounts, JobState};
use redb::{ReadableTable, ReadableTableMetadata};

use super::record::{Hash, JobKind, JobRecord, read, state_of_job, to_bytes};
use super::{Reader, StoreError, Transaction, tables as t};

/// How long a stored job is kept, in milliseconds. It exceeds the 24 hours of the duplicate check,
/// so that a reply about a duplicate names an existing job.
pub(super) const STORED_JOB_RETENTION_MS: i64 = (24 * 60 + 10) * 60 * 1000;

/// How long a failed job is kept, in milliseconds: 7 days.
pub(super) const FAILED_JOB_RETENTION_MS: i64 = 7 * 24 * 60 * 60 * 1000;

/// Maximum time until a waiting job is due, in milliseconds. If its due time is later, the clock
/// was set back, and the job is due now.
const MAX_WAIT_MS: i64 = 60 * 1000;

/// The second table with a row for a job, and the row's time.
enum JobRow {
    /// In `jobs_due`.
    Due(i64),
    /// In `jobs_over`.
    Finished(i64),
}

/// Returns the job's row in the second table, by its state.
fn job_row(record: &JobRecord) -> JobRow {
    let finished = record.finished_at.unwrap_or(record.received_at);
    match record.state {
        JobState::Queued | JobState::Processing | JobState::Retrying => JobRow::Due(record.due_at),
        JobState::Stored => JobRow::Finished(finished + STORED_JOB_RETENTION_MS),
        JobState::Failed => JobRow::Finished(finished + FAILED_JOB_RETENTION_MS),
    }
}

/// Returns the expected times in `jobs_due` and `jobs_over`, for verification.
pub(super) fn rows_of(record: &JobRecord) -> (Option<i64>, Option<i64>) {
    match job_row(record) {
        JobRow::Due(at) => (Some(at), None),
        JobRow::Finished(at) => (None, Some(at)),
    }
}

/// Returns the hashes of the files that jobs still need.
pub(super) fn files_of_jobs(
    jobs: &impl ReadableTable<u64, &'static [u8]>,
) -> Result<BTreeSet<Hash>, StoreError> {
    let mut files = BTreeSet::new();
    for row in jobs.iter()? {
        let job: Option<JobRecord> = read(Some(row?.1.value()))?;
        files.extend(job.filter(JobRecord::needs_file).map(|job| job.content_hash));
    }
    Ok(files)
}

impl Transaction<'_> {
    /// Returns the number of waiting jobs.
    #[must_use]
    pub fn waiting_jobs(&self) -> u64 {
        self.counters.waiting
    }

    /// Returns the job with this number, in any state.
    pub fn job(&self, id: u64) -> Result<Option<JobRecord>, StoreError> {
        read(self.jobs.get(id)?.as_ref().map(redb::AccessGuard::value))
    }

    /// Returns the latest job with the duplicate key `key`, if it still exists.
    pub fn latest_job_with_key(&self, key: &Hash) -> Result<Option<(u64, JobRecord)>, StoreError> {
        if let Some(replica) = &self.replica {
            let spooled = self.pending_keys.spooled.lock();
            let latest = spooled.iter().rev().find(|(_, job)| job.duplicate_keys.contains(key));
            if let Some((number, job)) = latest {
                return Ok(Some((replica.spooled_id(*number), job.clone())));
            }
        }
        let id = match self
            .effects
            .pending_keys_change
            .added
            .get(key)
            .copied()
            .or(self.waiting_job_with_key(key)?)
        {
            Some(id) => Some(id),
            None => self.jobs_seen.get(key)?.map(|guard| guard.value()),
        };
        let Some(id) = id else { return Ok(None) };
        Ok(self.job(id)?.map(|record| (id, record)))
    }

    /// Returns the latest waiting job of an earlier transaction with the key `key`.
    fn waiting_job_with_key(&self, key: &Hash) -> Result<Option<u64>, StoreError> {
        let mut keys = self.pending_keys.waiting.lock();
        if let Some(keys) = &*keys {
            return Ok(keys.get(key).copied());
        }
        let mut all = HashMap::new();
        for row in self.jobs_due.iter()? {
            let (_, id) = row?.0.value();
            for key in self.job(id)?.into_iter().flat_map(|record| record.duplicate_keys) {
                // A key leads to its latest job.
                let latest = all.entry(key).or_insert(id);
                *latest = id.max(*latest);
            }
        }
        // The commit of this transaction adds its keys.
        all.retain(|key, id| self.effects.pending_keys_change.added.get(key) != Some(id));
        Ok(keys.insert(all).get(key).copied())
    }

    /// Adds a job and returns its number.
    pub fn add_job(&mut self, record: &JobRecord) -> Result<u64, StoreError> {
        let next = self.next_spooled_id.as_mut().unwrap_or(&mut self.counters.next_job);
        let id = *next;
        *next += 1;
        self.add_job_as(id, record)?;
        Ok(id)
    }

    /// Adds a job with this number, which no other job has.
    pub(super) fn add_job_as(&mut self, id: u64, record: &JobRecord) -> Result<(), StoreError> {
        self.write_count += 1;
        self.effects
            .pending_keys_change
            .added
            .extend(record.duplicate_keys.iter().map(|key| (*key, id)));
        let bytes = self.store_job(id, record)?;
        if let Some(records) = &mut self.spool_records {
            records.push(bytes);
        }
        Ok(())
    }

    /// Whether the job is waiting with the due time `due_at`.
    pub fn job_waits(&self, id: u64, due_at: i64) -> Result<bool, StoreError> {
        Ok(self.jobs_due.get((due_at, id))?.is_some())
    }

    /// Replaces the job record `from` by `to`. The caller has checked that `from` is current.
    ///
    /// # Errors
    /// [`StoreError::Damaged`] when `from` is not in its table; errors of the disk.
    pub fn change_job(
        &mut self,
        id: u64,
        from: &JobRecord,
        to: &JobRecord,
    ) -> Result<(), StoreError> {
        self.write_count += 1;
        let was_there = match job_row(from) {
            JobRow::Due(at) => {
                self.counters.waiting = self.counters.waiting.saturating_sub(1);
                self.jobs_due.remove((at, id))?.is_some()
            }
            JobRow::Finished(at) => {
                self.counters.failed =
                    self.counters.failed.saturating_sub(u64::from(from.state == JobState::Failed));
                self.finished_jobs_by_expiry.remove((at, id))?.is_some()
            }
        };
        if !was_there {
            return Err(StoreError::damaged(format!(
                "job {id} has no row under its due or expiry time"
            )));
        }
        // redb would update the smaller value in place and leave the rest of the block empty. A
        // value that is removed and inserted again shares a block with its neighbours.
        self.jobs.remove(id)?;
        self.store_job(id, to).map(|_| ())
    }

    /// Writes the job's rows and returns the record's bytes.
    fn store_job(&mut self, id: u64, record: &JobRecord) -> Result<Vec<u8>, StoreError> {
        match job_row(record) {
            JobRow::Due(at) => {
                self.jobs_due.insert((at, id), ())?;
                self.counters.waiting += 1;
            }
            JobRow::Finished(at) => {
                self.finished_jobs_by_expiry.insert((at, id), ())?;
                self.counters.failed += u64::from(record.state == JobState::Failed);
                self.write_seen_keys(id, record)?;
            }
        }
        let bytes = to_bytes(record)?;
        self.jobs.insert(id, bytes.as_slice())?;
        Ok(bytes)
    }

    /// Writes the keys of a finished job, unless a later job has them.
    fn write_seen_keys(&mut self, id: u64, record: &JobRecord) -> Result<(), StoreError> {
        for key in &record.duplicate_keys {
            let latest_id = self.jobs_seen.get(key)?.map(|guard| guard.value());
            if latest_id.is_none_or(|latest_id| latest_id < id) {
                self.jobs_seen.insert(key, id)?;
            }
            self.effects.pending_keys_change.settled.push((*key, id));
        }
        Ok(())
    }

    /// Removes up to `limit` jobs that have expired at `now` (Unix milliseconds). Returns their
    /// number.
    pub fn forget_jobs(&mut self, now: i64, limit: usize) -> Result<usize, StoreError> {
        self.task.frees_space = true;
        let mut expired = Vec::new();
        for row in self.finished_jobs_by_expiry.range(..=(now, u64::MAX))?.take(limit) {
            expired.push(row?.0.value());
        }
        for &(at, id) in &expired {
            // The row may have outlived its job.
            self.finished_jobs_by_expiry.remove((at, id))?;
            self.erase_job(id)?;
        }
        Ok(expired.len())
    }

    /// Removes a finished job with all its rows.
    pub(super) fn erase_job(&mut self, id: u64) -> Result<(), StoreError> {
        self.write_count += 1;
        let removed: Option<JobRecord> =
            read(self.jobs.remove(id)?.as_ref().map(redb::AccessGuard::value))?;
        let Some(removed) = removed else { return Ok(()) };
        if let JobRow::Finished(at) = job_row(&removed) {
            self.finished_jobs_by_expiry.remove((at, id))?;
        }
        self.counters.failed =
            self.counters.failed.saturating_sub(u64::from(removed.state == JobState::Failed));
        for key in &removed.duplicate_keys {
            // A later job may have the key.
            let points_here = self.jobs_seen.get(key)?.is_some_and(|guard| guard.value() == id);
            if points_here {
                self.jobs_seen.remove(key)?;
            }
        }
        Ok(())
    }
}

impl Reader {
    /// Returns the jobs of this kind that are due at `now`, oldest due time first. Stops at `limit`
    /// jobs, or when their records would exceed `max_bytes` bytes, but returns at least one job if
    /// any is due.
    pub fn due_jobs(
        &self,
        kind: JobKind,
        now: i64,
        limit: usize,
        max_bytes: usize,
    ) -> Result<Vec<(u64, JobRecord)>, StoreError> {
        let (jobs, due_times) = (self.table(t::JOBS)?, self.table(t::JOBS_DUE)?);
        let (mut due, mut size) = (Vec::new(), 0);
        let until = match due_times.first()?.map(|(key, _)| key.value().0) {
            // The clock was set back: all jobs are due.
            Some(first) if first > now.saturating_add(MAX_WAIT_MS) => i64::MAX,
            _ => now,
        };
        for row in due_times.range(..=(until, u64::MAX))? {
            if due.len() == limit {
                break;
            }
            let (_, id) = row?.0.value();
            let Some(guard) = jobs.get(id)? else { continue };
            let Some(record) = read::<JobRecord>(Some(guard.value()))? else { continue };
            if record.kind() != kind {
                continue;
            }
            size += guard.value().len();
            if size > max_bytes && !due.is_empty() {
                break;
            }
            due.push((id, record));
        }
        Ok(due)
    }

    /// Returns the due time of the next waiting job of this kind in Unix milliseconds. `now` is the
    /// current time.
    pub fn next_due_job(&self, kind: JobKind, now: i64) -> Result<Option<i64>, StoreError> {
        let jobs = self.table(t::JOBS)?;
        for row in self.table(t::JOBS_DUE)?.iter()? {
            let (at, id) = row?.0.value();
            let Some(guard) = jobs.get(id)? else { continue };
            if read::<JobRecord>(Some(guard.value()))?.is_some_and(|job| job.kind() == kind) {
                return Ok(Some(if at > now.saturating_add(MAX_WAIT_MS) { now } else { at }));
            }
        }
        Ok(None)
    }

    /// Returns the job with this number, in any state.
    pub fn job(&self, id: u64) -> Result<Option<JobRecord>, StoreError> {
        read(self.table(t::JOBS)?.get(id)?.as_ref().map(redb::AccessGuard::value))
    }

    /// Calls `each` with the jobs that `accepts` accepts and whose numbers are below `below`,
    /// newest first. Stops when `each` returns `false` or an error.
    pub fn newest_jobs(
        &self,
        below: u64,
        accepts: impl Fn(u64, JobState) -> bool,
        mut each: impl FnMut(u64, JobRecord) -> Result<bool, StoreError>,
    ) -> Result<(), StoreError> {
        for row in self.table(t::JOBS)?.range(..below)?.rev() {
            let (id, value) = row?;
            if accepts(id.value(), state_of_job(value.value())?)
                && let Some(record) = read(Some(value.value()))?
                && !each(id.value(), record)?
            {
                break;
            }
        }
        Ok(())
    }

    /// Returns the numbers of all failed jobs.
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

    /// Returns the number of jobs by state, including acknowledged jobs that this snapshot does not
    /// show.
    pub fn job_counts(&self) -> Result<JobCounts, StoreError> {
        let meta = self.table(t::META)?;
        let number =
            |key: &str| -> Result<u64, StoreError> { Ok(meta.get(key)?.map_or(0, |n| n.value())) };
        let (waiting, failed) = (number(t::META_WAITING)?, number(t::META_FAILED)?);
        let all = self.table(t::JOBS)?.len()?;
        let stored = all.saturating_sub(waiting + failed);
        Ok(JobCounts { waiting: waiting + self.hidden_jobs()?, failed, stored })
    }
}
