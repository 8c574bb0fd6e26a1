//! A commit log in memory. It passes the same tests as the engine in PostgreSQL.

use std::collections::{BTreeMap, VecDeque};
use std::sync::{Arc, Condvar, Mutex, MutexGuard};
use std::time::Duration;

use brain_base::clock::Clock;
use brain_commit_log::checks::{
    check_batch, check_deletion, check_name, check_order, check_size, compactable,
};
use brain_commit_log::{
    Administration, Batch, BatchId, Batches, BrainId, BrainSnapshot, CommitLog, Compaction, Engine,
    Error, Head, Lease, LeaseOutcome, LeaseRequest, MAX_CHUNK, Machine, NewBatch, Position,
    ReadLimit, Registration, SealedKeys, SnapshotId, Snapshots,
};

/// What comes with [`Error::Moved`].
const MOVED: ReadLimit = ReadLimit { batches: 16, bytes: 256 << 10 };

/// What goes wrong with an append.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AppendFault {
    /// The log refuses the call. Nothing is appended, and the caller knows it.
    Unavailable,
    /// The connection breaks before the log has the request. The caller cannot know it.
    LostRequest,
    /// The connection breaks after the log has appended the batch.
    LostReply,
    /// The connection breaks, and the log carries out the request at [`MemoryLog::deliver`].
    DelayedRequest,
}

/// A log in memory. Each handle stands for a machine.
pub struct MemoryLog {
    shared: Arc<Shared>,
    clock: Arc<dyn Clock>,
    schema: u32,
}

struct Shared {
    content: Mutex<Content>,
    appended: Condvar,
}

#[derive(Clone)]
struct Content {
    /// The head without the time of an answer.
    head: Head,
    batches: BTreeMap<u64, Batch>,
    leases: BTreeMap<String, Lease>,
    machines: BTreeMap<String, Machine>,
    snapshots: BTreeMap<SnapshotId, StoredSnapshot>,
    sealed: Vec<u8>,
    faults: VecDeque<Option<AppendFault>>,
    delayed: Vec<(Position, NewBatch)>,
    hides_batches: bool,
}

#[derive(Clone)]
struct StoredSnapshot {
    entry: BrainSnapshot,
    chunks: BTreeMap<u32, Vec<u8>>,
}

impl MemoryLog {
    /// Creates an empty log that is written in `schema`.
    pub fn create(brain: BrainId, schema: u32, clock: Arc<dyn Clock>) -> Self {
        let head = Head {
            brain,
            position: Position::START,
            time_ms: clock.now(),
            clock_ms: 0,
            schema,
            min_reader: schema,
            fencing: 0,
            compacted: 0,
            key_generation: 0,
        };
        let content = Content {
            head,
            batches: BTreeMap::new(),
            leases: BTreeMap::new(),
            machines: BTreeMap::new(),
            snapshots: BTreeMap::new(),
            sealed: Vec::new(),
            faults: VecDeque::new(),
            delayed: Vec::new(),
            hides_batches: false,
        };
        Self { shared: Shared::of(content), clock, schema }
    }

    /// Returns another handle of the same log, for a program with this schema.
    pub fn connect(&self, schema: u32, clock: Arc<dyn Clock>) -> Self {
        Self { shared: self.shared.clone(), clock, schema }
    }

    /// Returns a copy that shares nothing with this log but the clock.
    pub fn fork(&self) -> Self {
        let content = self.content().clone();
        Self { shared: Shared::of(content), clock: self.clock.clone(), schema: self.schema }
    }

    /// Adds to the queue what happens to the next append without an entry: a fault or nothing.
    pub fn plan(&self, fault: Option<AppendFault>) {
        self.content().faults.push_back(fault);
    }

    /// Sets whether reads find no batches though the head names them, as behind a pooler that keeps
    /// results of queries.
    pub fn hide_batches(&self, hides: bool) {
        self.content().hides_batches = hides;
    }

    /// Carries out the delayed requests, the oldest first. Refused ones are dropped.
    pub fn deliver(&self) {
        let delayed = std::mem::take(&mut self.content().delayed);
        for (expected, batch) in delayed {
            drop(self.append_now(&expected, &batch));
        }
    }

    /// Removes all batches after a number, as a server does that is restored from a backup. The
    /// log must have the batch with this number.
    pub fn rewind(&self, number: u64) {
        let mut content = self.content();
        content.head.position = match number {
            0 => Position::START,
            _ => content.batches[&number].position,
        };
        content.batches.split_off(&(number + 1));
    }

    fn content(&self) -> MutexGuard<'_, Content> {
        self.shared.content.lock().unwrap()
    }

    /// Appends without looking for a planned fault.
    fn append_now(&self, expected: &Position, new: &NewBatch) -> Result<Head, Error> {
        let now = self.clock.now();
        let head = self.content().append(expected, new, self.schema, now)?;
        self.shared.appended.notify_all();
        Ok(head)
    }
}

impl Shared {
    fn of(content: Content) -> Arc<Self> {
        Arc::new(Self { content: Mutex::new(content), appended: Condvar::new() })
    }
}

impl Content {
    fn head(&self, clock_ms: i64) -> Head {
        Head { clock_ms, ..self.head.clone() }
    }

    fn read(
        &self,
        after: &Position,
        limit: ReadLimit,
        schema: u32,
        now: i64,
    ) -> Result<Batches, Error> {
        let head = self.head(now);
        head.check_reader(schema)?;
        let mut bytes = 0;
        let batches = self.batches.range(after.number + 1..).map(|(_, batch)| batch).enumerate();
        let batches = batches
            .take(if self.hides_batches { 0 } else { limit.batches.max(1) as usize })
            .take_while(|(index, batch)| {
                bytes += batch.payload.len() as u64;
                *index == 0 || bytes <= limit.bytes
            })
            .map(|(_, batch)| batch.clone())
            .collect();
        let found = Batches { batches, head };
        check_order(after, &found)?;
        Ok(found)
    }

    fn append(
        &mut self,
        expected: &Position,
        new: &NewBatch,
        schema: u32,
        now: i64,
    ) -> Result<Head, Error> {
        check_batch(new)?;
        let head = self.head(now);
        let position = Position { number: expected.number + 1, id: new.id };
        if self.batches.get(&position.number).is_some_and(|batch| batch.position == position) {
            return Ok(head);
        }
        head.check_writer(schema)?;
        if !self.machines.contains_key(&new.machine) {
            return Err(Error::NotRegistered { machine: new.machine.clone() });
        }
        if let Some(fence) = &new.fence
            && self.leases.get(&fence.lease).is_none_or(|lease| lease.fencing != fence.number)
        {
            return Err(Error::Fenced { lease: fence.lease.clone() });
        }
        if head.position != *expected {
            let nothing = Batches { batches: Vec::new(), head };
            let found = self.read(expected, MOVED, schema, now).unwrap_or(nothing);
            return Err(Error::Moved(Box::new(found)));
        }
        self.head.position = position;
        self.head.time_ms = now.max(head.time_ms);
        let batch = Batch {
            position,
            predecessor: expected.id,
            machine: new.machine.clone(),
            time_ms: self.head.time_ms,
            payload: new.payload.clone(),
        };
        self.batches.insert(position.number, batch);
        Ok(self.head(now))
    }

    /// Returns all snapshots, the newest first.
    fn snapshots(&self) -> Vec<BrainSnapshot> {
        let mut all: Vec<_> = self.snapshots.values().map(|stored| stored.entry.clone()).collect();
        all.sort_by_key(|one| std::cmp::Reverse((one.contains.number, one.time_ms, one.id)));
        all
    }

    fn snapshot(&mut self, id: SnapshotId) -> Result<&mut StoredSnapshot, Error> {
        self.snapshots.get_mut(&id).ok_or_else(|| Error::NotFound(format!("snapshot {id}")))
    }
}

fn unavailable() -> Error {
    let reason = "the test asks for it".to_owned();
    Error::Unavailable { address: "memory".to_owned(), reason, source: None }
}

fn unknown(batch: BatchId) -> Error {
    Error::OutcomeUnknown { batch, source: Box::new(unavailable()) }
}

impl CommitLog for MemoryLog {
    fn head(&self) -> Result<Head, Error> {
        Ok(self.content().head(self.clock.now()))
    }

    fn read(&self, after: &Position, limit: ReadLimit) -> Result<Batches, Error> {
        self.content().read(after, limit, self.schema, self.clock.now())
    }

    fn append(&self, expected: &Position, batch: &NewBatch) -> Result<Head, Error> {
        let fault = self.content().faults.pop_front().flatten();
        match fault {
            None => self.append_now(expected, batch),
            Some(AppendFault::Unavailable) => Err(unavailable()),
            Some(AppendFault::LostRequest) => Err(unknown(batch.id)),
            Some(AppendFault::DelayedRequest) => {
                self.content().delayed.push((*expected, batch.clone()));
                Err(unknown(batch.id))
            }
            Some(AppendFault::LostReply) => {
                self.append_now(expected, batch)?;
                Err(unknown(batch.id))
            }
        }
    }

    fn wait(&self, after: u64, timeout: Duration) -> Result<Option<u64>, Error> {
        let is_unchanged = |content: &mut Content| content.head.position.number == after;
        let content = self.content();
        let (content, _) =
            self.shared.appended.wait_timeout_while(content, timeout, is_unchanged).unwrap();
        let number = content.head.position.number;
        Ok((number != after).then_some(number))
    }

    fn lease(&self, request: &LeaseRequest) -> Result<LeaseOutcome, Error> {
        check_name(&request.name)?;
        check_name(&request.holder)?;
        let clock_ms = self.clock.now();
        let mut content = self.content();
        let mut number = content.head.fencing + 1;
        if let Some(stored) = content.leases.get(&request.name) {
            let is_own = stored.holder == request.holder;
            let is_renewal = is_own && request.fencing == Some(stored.fencing);
            let is_restart = is_own && request.fencing.is_none();
            if is_renewal {
                number = stored.fencing;
            } else if !is_restart && stored.expires_ms > clock_ms {
                return Ok(LeaseOutcome::Refused(Lease { clock_ms, ..stored.clone() }));
            }
        }
        content.head.fencing = content.head.fencing.max(number);
        let ttl = i64::try_from(request.ttl.as_millis()).unwrap_or(i64::MAX);
        let lease = Lease {
            name: request.name.clone(),
            holder: request.holder.clone(),
            fencing: number,
            expires_ms: clock_ms.saturating_add(ttl),
            clock_ms,
        };
        content.leases.insert(lease.name.clone(), lease.clone());
        Ok(LeaseOutcome::Granted(lease))
    }

    fn release(&self, lease: &Lease) -> Result<(), Error> {
        let now = self.clock.now();
        if let Some(stored) = self.content().leases.get_mut(&lease.name)
            && (&stored.holder, stored.fencing) == (&lease.holder, lease.fencing)
        {
            stored.expires_ms = stored.expires_ms.min(now);
        }
        Ok(())
    }

    fn leases(&self) -> Result<Vec<Lease>, Error> {
        let clock_ms = self.clock.now();
        let content = self.content();
        Ok(content.leases.values().map(|lease| Lease { clock_ms, ..lease.clone() }).collect())
    }
}

impl Snapshots for MemoryLog {
    fn begin_snapshot(
        &self,
        id: SnapshotId,
        contains: &Position,
        machine: &str,
    ) -> Result<(), Error> {
        check_name(machine)?;
        let mut content = self.content();
        let head = content.head.position;
        if contains.number > head.number {
            return Err(Error::Diverged { replica: *contains, log: head });
        }
        let entry = BrainSnapshot {
            id,
            contains: *contains,
            machine: machine.to_owned(),
            chunks: 0,
            bytes: 0,
            time_ms: self.clock.now(),
            complete: false,
        };
        content.snapshots.insert(id, StoredSnapshot { entry, chunks: BTreeMap::new() });
        Ok(())
    }

    fn put_chunk(&self, id: SnapshotId, index: u32, bytes: &[u8]) -> Result<(), Error> {
        check_size("the chunk", bytes.len(), MAX_CHUNK)?;
        let mut content = self.content();
        let StoredSnapshot { entry, chunks } = content.snapshot(id)?;
        if entry.complete {
            return Err(Error::NotFound(format!("incomplete snapshot {id}")));
        }
        chunks.insert(index, bytes.to_vec());
        entry.chunks = u32::try_from(chunks.len()).unwrap();
        entry.bytes = chunks.values().map(|chunk| chunk.len() as u64).sum();
        Ok(())
    }

    fn complete_snapshot(&self, id: SnapshotId, chunks: u32) -> Result<(), Error> {
        let mut content = self.content();
        let stored = content.snapshot(id)?;
        if !stored.chunks.keys().copied().eq(0..chunks) {
            let count = stored.entry.chunks;
            return Err(Error::Corrupt(format!("snapshot {id} has {count} of {chunks} chunks")));
        }
        stored.entry.complete = true;
        Ok(())
    }

    fn snapshots(&self) -> Result<Vec<BrainSnapshot>, Error> {
        Ok(self.content().snapshots())
    }

    fn read_chunk(&self, id: SnapshotId, index: u32) -> Result<Vec<u8>, Error> {
        let content = self.content();
        let chunk = content.snapshots.get(&id).and_then(|stored| stored.chunks.get(&index));
        chunk.cloned().ok_or_else(|| Error::NotFound(format!("chunk {index} of snapshot {id}")))
    }

    fn delete_snapshot(&self, id: SnapshotId) -> Result<(), Error> {
        let mut content = self.content();
        check_deletion(&content.snapshots(), id, content.head.compacted)?;
        content.snapshots.remove(&id);
        Ok(())
    }

    fn compact(&self, id: SnapshotId, max_silence: Duration) -> Result<Compaction, Error> {
        let now = self.clock.now();
        let mut content = self.content();
        let snapshot = content.snapshot(id)?.entry.clone();
        if !snapshot.complete {
            return Err(Error::NotFound(format!("complete snapshot {id}")));
        }
        let machines: Vec<Machine> = content.machines.values().cloned().collect();
        let from = content.head.compacted;
        let through = compactable(&snapshot, &machines, now, max_silence).max(from);
        content.batches = content.batches.split_off(&(through + 1));
        content.head.compacted = through;
        Ok(Compaction { through, batches: through - from })
    }
}

impl Administration for MemoryLog {
    fn register(&self, machine: &Registration) -> Result<(), Error> {
        check_name(&machine.name)?;
        let mut content = self.content();
        if content.machines.get(&machine.name).is_some_and(|stored| stored.id != machine.id) {
            return Err(Error::NameTaken { machine: machine.name.clone() });
        }
        content.machines.insert(machine.name.clone(), entry_of(machine, self.clock.now()));
        Ok(())
    }

    fn report(&self, machine: &Registration) -> Result<(), Error> {
        match self.content().machines.get_mut(&machine.name) {
            Some(stored) if stored.id == machine.id => {
                *stored = entry_of(machine, self.clock.now());
                Ok(())
            }
            _ => Err(Error::NotRegistered { machine: machine.name.clone() }),
        }
    }

    fn machines(&self) -> Result<Vec<Machine>, Error> {
        Ok(self.content().machines.values().cloned().collect())
    }

    fn remove_machine(&self, name: &str) -> Result<bool, Error> {
        Ok(self.content().machines.remove(name).is_some())
    }

    fn sealed_keys(&self) -> Result<SealedKeys, Error> {
        let content = self.content();
        let (generation, bytes) = (content.head.key_generation, content.sealed.clone());
        Ok(SealedKeys { generation, bytes })
    }

    fn replace_keys(&self, expected: u32, bytes: &[u8]) -> Result<u32, Error> {
        let mut content = self.content();
        if content.head.key_generation != expected {
            return Err(Error::KeysChanged);
        }
        content.head.key_generation += 1;
        content.sealed = bytes.to_vec();
        Ok(content.head.key_generation)
    }

    fn raise_schema(&self, schema: u32, min_reader: u32) -> Result<(), Error> {
        let head = &mut self.content().head;
        head.schema = head.schema.max(schema);
        head.min_reader = head.min_reader.max(min_reader);
        Ok(())
    }
}

impl Engine for MemoryLog {}

fn entry_of(machine: &Registration, seen_ms: i64) -> Machine {
    Machine {
        name: machine.name.clone(),
        id: machine.id,
        version: machine.version.clone(),
        position: machine.position,
        seen_ms,
    }
}
