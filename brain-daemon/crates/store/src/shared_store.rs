//! What drafts and readers of a shared brain's store have beside the tables: the changes for the
//! log, and which machine has the files of a source.

use brain_protocol::SourceId;
use redb::ReadableTable;

use super::replica::{Replica, RowChanges, from_halves, halves, read_id};
use super::shared_log::LogPosition;
use super::{Draft, Reader, StoreError, tables as t};

/// Stands for no machine in the row of a source whose directory no machine has.
const NO_MACHINE: u128 = 0;

impl Draft<'_> {
    /// Requires that this machine holds the lease `name` while the changes are written to the log
    /// of a shared brain. Without a shared brain, this does nothing.
    pub fn require_lease(&mut self, name: &'static str) {
        self.lease = Some(name);
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
            29 clients, 30 tokens
        );
        changes
    }

    /// Whether this machine has the files of the source. In a brain that was never shared, it has
    /// those of all sources. In a shared one, each machine has the pages in its home, and a
    /// directory outside of the home belongs to one machine.
    ///
    /// # Errors
    /// When the store cannot be read.
    pub fn has_files_of(&self, source: &str) -> Result<bool, StoreError> {
        let owner = self.source_machines.get(source)?.map(|guard| from_halves(guard.value()));
        Ok(owner.is_none_or(|owner| Some(owner) == self.machine))
    }

    /// Makes this machine the one that has the directory of the source.
    ///
    /// # Errors
    /// When the store cannot be written.
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
    ///
    /// # Errors
    /// When the store cannot be written.
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
        let replica = Replica {
            position: LogPosition::default(),
            machine,
            // An ordinary spool can have jobs below the next number, which are in the store.
            next_spooled: self.next_job,
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
        let [number, id_high, id_low, next_spooled, ..] = Replica::KEYS;
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
    ///
    /// # Errors
    /// When the store cannot be read.
    pub fn source_machine(&self, source: &SourceId) -> Result<Option<u128>, StoreError> {
        let machines = self.table(t::SOURCE_MACHINES)?;
        let found = machines.get(source.as_str())?;
        Ok(found.map(|guard| from_halves(guard.value())))
    }

    /// Whether this machine has the files of the source.
    ///
    /// # Errors
    /// When the store cannot be read.
    pub fn has_files_of(&self, source: &SourceId) -> Result<bool, StoreError> {
        let Some(owner) = self.source_machine(source)? else { return Ok(true) };
        Ok(read_id(&self.table(t::META)?, t::META_MACHINE)? == Some(owner))
    }
}
