//! The store of a shared brain: its log, the changes for the log, and which machine has the files
//! of a source.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use brain_protocol::{Fault, FaultCode, SourceId};
use redb::ReadableTable;

use super::record::{Hash, JobRecord};
use super::replica::{
    FIRST_SPOOLED_ID, MAX_SHARED_ATTACHMENT, ReplicaPlace, RowChanges, from_halves, halves, read_id,
};
use super::shared_log::{FollowRequest, FollowResult, LogPosition, RemoteChanges, SharedLog};
use super::verify::RowDigest;
use super::{Reader, Store, StoreError, Transaction, spool, tables as t};

/// Stands for no machine in the row of a source whose directory no machine has.
const NO_MACHINE: u128 = 0;

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
        let result = self.write(move |transaction| {
            transaction.write_count += 1;
            // Ids that clients got before stay valid, and are valid on all machines.
            transaction.set_meta(t::META_NUMBER_KEY, number_key)?;
            transaction.become_replica(machine)
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
    pub fn unshare(&self) -> Result<(), StoreError> {
        let shared = Arc::clone(&self.shared);
        self.write(move |transaction| {
            let next = transaction.replica.map_or(1, |replica| replica.next_spooled);
            let jobs = spool::all_jobs_from(&shared.path, shared.store_id, next)?;
            transaction.write_count += 1;
            transaction.leave_log()?;
            jobs.iter().try_for_each(|(_, job)| transaction.add_job(job).map(|_| ()))
        })?;
        spool::remove(self.path());
        self.shared.pending_keys.spooled.lock().clear();
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
    pub fn log_position(&self) -> Result<Option<LogPosition>, StoreError> {
        Ok(self.shared.replica()?.map(|replica| replica.position))
    }

    /// Returns the id of this machine; `None` if the store is not shared.
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
    pub fn job_for_log(&self, id: u64) -> Result<Option<JobRecord>, StoreError> {
        if id < FIRST_SPOOLED_ID || self.jobs_for_log() == 0 {
            return Ok(None);
        }
        let Some(replica) = self.shared.replica()? else { return Ok(None) };
        let spooled = self.shared.pending_keys.spooled.lock();
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
    pub fn take_remote_changes(&self) -> RemoteChanges {
        std::mem::take(&mut *self.shared.remote_changes.lock())
    }

    /// Returns a digest of all rows that machines share. Equal stores at the same position have the
    /// same digest.
    pub fn shared_digest(&self) -> Result<[u8; 32], StoreError> {
        let txn = self.snapshot()?;
        let mut digest = RowDigest::default();
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

impl Transaction<'_> {
    /// Requires that this machine holds the lease `name` while the changes are written to the log
    /// of a shared brain. Without a shared brain, this does nothing.
    pub fn require_lease(&mut self, name: &'static str) {
        self.effects.lease = Some(name);
    }

    /// Returns the recorded changes of all shared tables.
    pub(super) fn into_row_changes(self) -> RowChanges {
        let mut changes = RowChanges::default();
        macro_rules! add {
            ($($number:literal $field:ident),*) => {$(
                changes.add($number, &self.$field.into_changes());
            )*};
        }
        // The numbers of `every_shared_table`.
        add!(
            1 meta, 2 sources, 3 source_settings, 4 source_machines, 5 pages, 6 ids, 7 contents,
            8 derived, 9 versions, 10 changes, 11 paths, 12 names, 13 links_in,
            14 broken_link_counts, 15 broken_link_totals, 16 pending_link_checks, 17 tags,
            18 types, 19 tag_counts, 20 timeline, 21 deleted, 22 captured, 23 attachments,
            24 attachment_files, 25 jobs, 26 jobs_due, 27 jobs_seen, 28 finished_jobs_by_expiry,
            29 clients, 30 tokens, 31 steps, 32 seen, 33 left, 34 citations, 35 recall,
            36 settled, 37 undone, 38 made_from
        );
        changes
    }

    /// Whether this machine has the files of the source. In a brain that was never shared, it has
    /// those of all sources. In a shared one, each machine has the pages in its home, and a
    /// directory outside of the home belongs to one machine.
    pub fn has_files_of(&self, source: &str) -> Result<bool, StoreError> {
        let owner = self.source_machines.get(source)?.map(|guard| from_halves(guard.value()));
        Ok(owner.is_none_or(|owner| Some(owner) == self.machine))
    }

    /// Makes this machine the one that has the directory of the source.
    pub fn claim_source(&mut self, source: &SourceId) -> Result<(), StoreError> {
        self.write_count += 1;
        match &self.replica {
            Some(replica) => {
                self.source_machines.insert(source.as_str(), halves(replica.machine))?;
            }
            None => _ = self.source_machines.remove(source.as_str())?,
        }
        Ok(())
    }

    /// Lets no machine of a shared brain have the directory of the source, so that the removal of
    /// its pages removes no file.
    pub fn release_source(&mut self, source: &SourceId) -> Result<(), StoreError> {
        if self.replica.is_some() {
            self.write_count += 1;
            self.source_machines.insert(source.as_str(), halves(NO_MACHINE))?;
        }
        Ok(())
    }

    /// Makes the store a replica that contains no batch. Its directories become those of this
    /// machine, except the directories of other machines of a former shared brain.
    pub(super) fn become_replica(&mut self, machine: u128) -> Result<(), StoreError> {
        let mut own = Vec::new();
        for (id, record) in self.all_sources()? {
            if record.path.is_some() && self.has_files_of(id.as_str())? {
                own.push(id);
            }
        }
        let replica = ReplicaPlace {
            position: LogPosition::default(),
            machine,
            // An ordinary spool can have jobs below the next number, which are in the store.
            next_spooled: self.counters.next_job,
            store_id: 0,
        };
        for (key, number) in replica.numbers() {
            self.set_meta(key, number)?;
        }
        self.replica = Some(replica);
        own.iter().try_for_each(|id| self.claim_source(id))?;
        // The changes so far are in the first snapshot.
        self.replica = None;
        Ok(())
    }

    /// Makes the store an ordinary one. It keeps the machine's id, and knows which directories
    /// other machines have.
    pub(super) fn leave_log(&mut self) -> Result<(), StoreError> {
        let [number, id_high, id_low, next_spooled, ..] = ReplicaPlace::KEYS;
        for key in [number, id_high, id_low, next_spooled] {
            self.remove_meta(key)?;
        }
        self.replica = None;
        Ok(())
    }
}

impl Reader {
    /// Returns the machine that has the directory of a source; `None` if every machine has the
    /// source's files in its home, or the brain is not shared.
    pub fn source_machine(&self, source: &SourceId) -> Result<Option<u128>, StoreError> {
        let machines = self.table(t::SOURCE_MACHINES)?;
        let found = machines.get(source.as_str())?;
        Ok(found.map(|guard| from_halves(guard.value())))
    }

    /// Whether this machine has the files of the source.
    pub fn has_files_of(&self, source: &SourceId) -> Result<bool, StoreError> {
        let Some(owner) = self.source_machine(source)? else { return Ok(true) };
        Ok(read_id(&self.table(t::META)?, t::META_MACHINE)? == Some(owner))
    }
}
