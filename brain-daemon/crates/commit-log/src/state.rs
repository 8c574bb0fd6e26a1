//! The rules of a log without I/O, for engines that keep their state themselves.
//!
//! PostgreSQL keeps the same rules in SQL; the tests run the same properties over all engines.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::checks::{check_batch, check_name};
use crate::{
    BatchId, Batches, BrainId, Error, Head, Lease, LeaseOutcome, LeaseRequest, Machine, NewBatch,
    Position, Registration, SealedKeys, Snapshot, SnapshotId,
};

/// Everything of a log but the bytes of batches and chunks.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct LogState {
    brain: BrainId,
    pub(crate) position: Position,
    pub(crate) time_ms: i64,
    schema: u32,
    min_reader: u32,
    fencing: u64,
    pub(crate) compacted: u64,
    leases: BTreeMap<String, Lease>,
    machines: BTreeMap<String, Machine>,
    pub(crate) snapshots: Vec<Snapshot>,
    pub(crate) keys: SealedKeys,
    /// Names of stored batches and chunks that the new state does not need. They are deleted after
    /// it is saved.
    #[serde(skip)]
    pub(crate) garbage: Vec<String>,
}

/// Whether a batch is to be appended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Admission {
    /// The batch is the next one.
    Append,
    /// An earlier call appended it.
    Present,
}

impl LogState {
    pub(crate) fn new(brain: BrainId, schema: u32, min_reader: u32, now_ms: i64) -> Self {
        Self {
            brain,
            position: Position::START,
            time_ms: now_ms,
            schema,
            min_reader,
            fencing: 0,
            compacted: 0,
            leases: BTreeMap::new(),
            machines: BTreeMap::new(),
            snapshots: Vec::new(),
            keys: SealedKeys::default(),
            garbage: Vec::new(),
        }
    }

    pub(crate) fn head(&self, clock_ms: i64) -> Head {
        Head {
            brain: self.brain,
            position: self.position,
            time_ms: self.time_ms,
            clock_ms,
            schema: self.schema,
            min_reader: self.min_reader,
            fencing: self.fencing,
            compacted: self.compacted,
            key_generation: self.keys.generation,
        }
    }

    /// Decides about a batch. `successor` is the id of the batch after the expected head, if there
    /// is one. `schema` is the schema of the program that writes.
    pub(crate) fn admit(
        &self,
        expected: &Position,
        batch: &NewBatch,
        successor: Option<BatchId>,
        schema: u32,
        clock_ms: i64,
    ) -> Result<Admission, Error> {
        check_batch(batch)?;
        if successor == Some(batch.id) {
            return Ok(Admission::Present);
        }
        let head = self.head(clock_ms);
        head.check_writer(schema)?;
        if !self.machines.contains_key(&batch.machine) {
            return Err(Error::NotRegistered { machine: batch.machine.clone() });
        }
        if let Some(fence) = &batch.fence
            && self.leases.get(&fence.lease).is_none_or(|lease| lease.fencing != fence.number)
        {
            return Err(Error::Fenced { lease: fence.lease.clone() });
        }
        if self.position != *expected {
            return Err(Error::Moved(Box::new(Batches { batches: Vec::new(), head })));
        }
        Ok(Admission::Append)
    }

    pub(crate) fn lease(&mut self, request: &LeaseRequest, clock_ms: i64) -> LeaseOutcome {
        let stored = self.leases.get(&request.name);
        let is_expired = stored.is_none_or(|lease| lease.expires_ms <= clock_ms);
        let is_own = stored.is_some_and(|lease| lease.holder == request.holder);
        let fencing = match (stored, request.fencing) {
            (Some(lease), Some(number)) if is_own && lease.fencing == number => number,
            (_, None) if is_own || is_expired => self.fencing + 1,
            (_, Some(_)) if is_expired => self.fencing + 1,
            (Some(lease), _) => return LeaseOutcome::Refused(Lease { clock_ms, ..lease.clone() }),
            (None, _) => self.fencing + 1,
        };
        self.fencing = self.fencing.max(fencing);
        let ttl = i64::try_from(request.ttl.as_millis()).unwrap_or(i64::MAX);
        let lease = Lease {
            name: request.name.clone(),
            holder: request.holder.clone(),
            fencing,
            expires_ms: clock_ms.saturating_add(ttl),
            clock_ms,
        };
        self.leases.insert(lease.name.clone(), lease.clone());
        LeaseOutcome::Granted(lease)
    }

    pub(crate) fn release(&mut self, lease: &Lease, clock_ms: i64) {
        if let Some(stored) = self.leases.get_mut(&lease.name)
            && stored.holder == lease.holder
            && stored.fencing == lease.fencing
        {
            stored.expires_ms = stored.expires_ms.min(clock_ms);
        }
    }

    pub(crate) fn leases(&self, clock_ms: i64) -> Vec<Lease> {
        self.leases.values().map(|lease| Lease { clock_ms, ..lease.clone() }).collect()
    }

    pub(crate) fn register(&mut self, entry: &Registration, clock_ms: i64) -> Result<(), Error> {
        check_name(&entry.name)?;
        if self.machines.get(&entry.name).is_some_and(|stored| stored.id != entry.id) {
            return Err(Error::NameTaken { machine: entry.name.clone() });
        }
        self.machines.insert(entry.name.clone(), machine(entry, clock_ms));
        Ok(())
    }

    pub(crate) fn report(&mut self, entry: &Registration, clock_ms: i64) -> Result<(), Error> {
        match self.machines.get_mut(&entry.name) {
            Some(stored) if stored.id == entry.id => *stored = machine(entry, clock_ms),
            _ => return Err(Error::NotRegistered { machine: entry.name.clone() }),
        }
        Ok(())
    }

    pub(crate) fn machines(&self) -> Vec<Machine> {
        self.machines.values().cloned().collect()
    }

    pub(crate) fn remove_machine(&mut self, name: &str) -> bool {
        self.machines.remove(name).is_some()
    }

    pub(crate) fn replace_keys(&mut self, expected: u32, bytes: &[u8]) -> Result<u32, Error> {
        if self.keys.generation != expected {
            return Err(Error::KeysChanged);
        }
        self.keys = SealedKeys { generation: expected + 1, bytes: bytes.to_vec() };
        Ok(self.keys.generation)
    }

    pub(crate) fn raise_schema(&mut self, schema: u32, min_reader: u32) {
        self.schema = self.schema.max(schema);
        self.min_reader = self.min_reader.max(min_reader);
    }

    pub(crate) fn snapshot(&mut self, id: SnapshotId) -> Result<&mut Snapshot, Error> {
        self.snapshots
            .iter_mut()
            .find(|snapshot| snapshot.id == id)
            .ok_or_else(|| Error::NotFound(format!("snapshot {id}")))
    }
}

fn machine(entry: &Registration, clock_ms: i64) -> Machine {
    Machine {
        name: entry.name.clone(),
        id: entry.id,
        version: entry.version.clone(),
        position: entry.position,
        seen_ms: clock_ms,
    }
}
