//! An engine over a storage on this machine: the rules of [`LogState`], applied in transactions.

use std::sync::Arc;
use std::time::{Duration, Instant};

use brain_base::clock::Clock;
use serde::{Deserialize, Serialize};

use crate::checks::{check_deletion, check_name, check_order, check_size};
use crate::shared::compactable;
use crate::state::{Admission, LogState};
use crate::storage::{Fault, State, Storage};
use crate::{
    Administration, Batch, BatchId, Batches, BrainId, CommitLog, Compaction, Error, Head, Lease,
    LeaseOutcome, LeaseRequest, MAX_CHUNK, Machine, NewBatch, Position, ReadLimit, Registration,
    SealedKeys, Snapshot, SnapshotId, Snapshots,
};

/// A log on this machine.
pub struct LocalLog<S> {
    pub(crate) storage: S,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) schema: u32,
}

/// The first line of a stored batch. The payload follows.
#[derive(Serialize, Deserialize)]
struct BatchHeader {
    id: BatchId,
    predecessor: BatchId,
    machine: String,
    time_ms: i64,
}

fn batch_name(number: u64) -> String {
    format!("batch-{number:020}")
}

fn chunk_name(id: SnapshotId, index: u32) -> String {
    format!("chunk-{id}-{index:010}")
}

impl<S: Storage> LocalLog<S> {
    pub(crate) fn over(storage: S, clock: Arc<dyn Clock>, schema: u32) -> Self {
        Self { storage, clock, schema }
    }

    pub(crate) fn new_state(brain: BrainId, schema: u32, clock: &dyn Clock) -> State {
        State(LogState::new(brain, schema, schema, clock.now()))
    }

    fn write<R>(
        &self,
        mut change: impl FnMut(&mut LogState, i64) -> Result<R, Error>,
    ) -> Result<R, Error> {
        let mut result = None;
        self.storage.write(&mut |state| {
            result = Some(change(&mut state.0, self.clock.now())?);
            Ok(())
        })?;
        result.ok_or_else(|| Error::Corrupt("a transaction did not run".into()))
    }

    fn state(&self) -> Result<LogState, Error> {
        Ok(self.storage.state()?.0)
    }

    /// Returns a stored batch.
    pub(crate) fn batch(&self, number: u64) -> Result<Option<Batch>, Error> {
        let Some(bytes) = self.storage.get(&batch_name(number))? else { return Ok(None) };
        let damaged = || Error::Corrupt(format!("change {number} has no readable header"));
        let end = bytes.iter().position(|byte| *byte == b'\n').ok_or_else(damaged)?;
        let header: BatchHeader = serde_json::from_slice(&bytes[..end]).map_err(|_| damaged())?;
        Ok(Some(Batch {
            position: Position { number, id: header.id },
            predecessor: header.predecessor,
            machine: header.machine,
            time_ms: header.time_ms,
            payload: bytes[end + 1..].to_vec(),
        }))
    }

    /// Appends without looking for a fault to inject.
    pub(crate) fn append_now(&self, expected: &Position, new: &NewBatch) -> Result<Head, Error> {
        match self.append_next(expected, new) {
            Err(Error::Moved(found)) => {
                let found = self.read(expected, ReadLimit::MOVED).map_or(found, Box::new);
                Err(Error::Moved(found))
            }
            result => result,
        }
    }

    fn append_next(&self, expected: &Position, new: &NewBatch) -> Result<Head, Error> {
        self.write(|state, now| {
            let number = expected.number + 1;
            let successor = match state.position.number >= number {
                true => self.batch(number)?.map(|batch| batch.position.id),
                false => None,
            };
            if state.admit(expected, new, successor, self.schema, now)? == Admission::Append {
                let time_ms = now.max(state.time_ms);
                let header = BatchHeader {
                    id: new.id,
                    predecessor: expected.id,
                    machine: new.machine.clone(),
                    time_ms,
                };
                let mut bytes = serde_json::to_vec(&header)
                    .map_err(|e| Error::Corrupt(format!("a header cannot be written: {e}")))?;
                bytes.push(b'\n');
                bytes.extend_from_slice(&new.payload);
                self.storage.put(&batch_name(number), bytes)?;
                state.position = Position { number, id: new.id };
                state.time_ms = time_ms;
            }
            Ok(state.head(now))
        })
    }

    fn unknown(&self, batch: BatchId) -> Error {
        Error::OutcomeUnknown { batch, source: Box::new(self.unavailable()) }
    }

    fn unavailable(&self) -> Error {
        Error::unavailable(&self.storage.address(), "the test asks for it", None)
    }
}

impl<S: Storage> CommitLog for LocalLog<S> {
    fn head(&self) -> Result<Head, Error> {
        Ok(self.state()?.head(self.clock.now()))
    }

    fn read(&self, after: &Position, limit: ReadLimit) -> Result<Batches, Error> {
        let state = self.state()?;
        let head = state.head(self.clock.now());
        head.check_reader(self.schema)?;
        let (mut batches, mut bytes) = (Vec::new(), 0);
        let end = state.position.number.min(after.number + u64::from(limit.batches.max(1)));
        for number in after.number.max(state.compacted) + 1..=end {
            // Compaction can delete batches that the copy of the state has.
            let Some(batch) = self.batch(number)? else { break };
            bytes += batch.payload.len() as u64;
            if !batches.is_empty() && bytes > limit.bytes {
                break;
            }
            batches.push(batch);
        }
        let head = if batches.is_empty() { self.head()? } else { head };
        let found = Batches { batches, head };
        check_order(after, &found)?;
        Ok(found)
    }

    fn append(&self, expected: &Position, batch: &NewBatch) -> Result<Head, Error> {
        match self.storage.next_fault(expected, batch) {
            None => self.append_now(expected, batch),
            Some(Fault::Unavailable) => Err(self.unavailable()),
            Some(Fault::LostRequest | Fault::DelayedRequest) => Err(self.unknown(batch.id)),
            Some(Fault::LostReply) => {
                self.append_now(expected, batch)?;
                Err(self.unknown(batch.id))
            }
        }
    }

    fn wait(&self, after: u64, timeout: Duration) -> Result<Option<u64>, Error> {
        let end = Instant::now() + timeout;
        loop {
            let number = self.state()?.position.number;
            if number != after {
                return Ok(Some(number));
            }
            let left = end.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return Ok(None);
            }
            self.storage.wait(left);
        }
    }

    fn lease(&self, request: &LeaseRequest) -> Result<LeaseOutcome, Error> {
        check_name(&request.name)?;
        check_name(&request.holder)?;
        self.write(|state, now| Ok(state.lease(request, now)))
    }

    fn release(&self, lease: &Lease) -> Result<(), Error> {
        self.write(|state, now| {
            state.release(lease, now);
            Ok(())
        })
    }

    fn leases(&self) -> Result<Vec<Lease>, Error> {
        Ok(self.state()?.leases(self.clock.now()))
    }
}

impl<S: Storage> Snapshots for LocalLog<S> {
    fn begin_snapshot(
        &self,
        id: SnapshotId,
        contains: &Position,
        machine: &str,
    ) -> Result<(), Error> {
        check_name(machine)?;
        self.write(|state, now| {
            if contains.number > state.position.number {
                return Err(Error::Diverged { replica: *contains, log: state.position });
            }
            state.snapshots.retain(|snapshot| snapshot.id != id);
            state.snapshots.push(Snapshot {
                id,
                contains: *contains,
                machine: machine.to_owned(),
                chunks: 0,
                bytes: 0,
                time_ms: now,
                complete: false,
            });
            Ok(())
        })
    }

    fn put_chunk(&self, id: SnapshotId, index: u32, bytes: &[u8]) -> Result<(), Error> {
        check_size("the chunk", bytes.len(), MAX_CHUNK)?;
        self.write(|state, _| {
            let snapshot = state.snapshot(id)?;
            if snapshot.complete {
                return Err(Error::NotFound(format!("incomplete snapshot {id}")));
            }
            match self.storage.get(&chunk_name(id, index))? {
                Some(former) => snapshot.bytes -= former.len() as u64,
                None => snapshot.chunks += 1,
            }
            snapshot.bytes += bytes.len() as u64;
            self.storage.put(&chunk_name(id, index), bytes.to_vec())
        })
    }

    fn complete_snapshot(&self, id: SnapshotId, chunks: u32) -> Result<(), Error> {
        self.write(|state, _| {
            let snapshot = state.snapshot(id)?;
            let mut is_whole = snapshot.chunks == chunks;
            for index in 0..chunks {
                is_whole &= self.storage.get(&chunk_name(id, index))?.is_some();
            }
            if !is_whole {
                let stored = snapshot.chunks;
                return Err(Error::Corrupt(format!(
                    "snapshot {id} has {stored} of {chunks} chunks"
                )));
            }
            snapshot.complete = true;
            Ok(())
        })
    }

    fn snapshots(&self) -> Result<Vec<Snapshot>, Error> {
        let mut snapshots = self.state()?.snapshots;
        snapshots.sort_by_key(|one| std::cmp::Reverse((one.contains.number, one.time_ms, one.id)));
        Ok(snapshots)
    }

    fn read_chunk(&self, id: SnapshotId, index: u32) -> Result<Vec<u8>, Error> {
        self.storage
            .get(&chunk_name(id, index))?
            .ok_or_else(|| Error::NotFound(format!("chunk {index} of snapshot {id}")))
    }

    fn delete_snapshot(&self, id: SnapshotId) -> Result<(), Error> {
        self.write(|state, _| {
            check_deletion(&state.snapshots, id, state.compacted)?;
            if let Ok(snapshot) = state.snapshot(id) {
                let names = (0..snapshot.chunks).map(|index| chunk_name(id, index)).collect();
                state.garbage = names;
                state.snapshots.retain(|snapshot| snapshot.id != id);
            }
            Ok(())
        })
    }

    fn compact(&self, id: SnapshotId, max_silence: Duration) -> Result<Compaction, Error> {
        self.write(|state, now| {
            let snapshot = state.snapshot(id)?.clone();
            if !snapshot.complete {
                return Err(Error::NotFound(format!("complete snapshot {id}")));
            }
            let through = compactable(&snapshot, &state.machines(), now, max_silence);
            let from = state.compacted;
            let through = through.max(from);
            state.garbage = (from + 1..=through).map(batch_name).collect();
            state.compacted = through;
            Ok(Compaction { through, batches: through - from })
        })
    }
}

impl<S: Storage> Administration for LocalLog<S> {
    fn register(&self, machine: &Registration) -> Result<(), Error> {
        self.write(|state, now| state.register(machine, now))
    }

    fn report(&self, machine: &Registration) -> Result<(), Error> {
        self.write(|state, now| state.report(machine, now))
    }

    fn machines(&self) -> Result<Vec<Machine>, Error> {
        Ok(self.state()?.machines())
    }

    fn remove_machine(&self, name: &str) -> Result<bool, Error> {
        self.write(|state, _| Ok(state.remove_machine(name)))
    }

    fn sealed_keys(&self) -> Result<SealedKeys, Error> {
        Ok(self.state()?.keys)
    }

    fn replace_keys(&self, expected: u32, bytes: &[u8]) -> Result<u32, Error> {
        self.write(|state, _| state.replace_keys(expected, bytes))
    }

    fn raise_schema(&self, schema: u32, min_reader: u32) -> Result<(), Error> {
        self.write(|state, _| {
            state.raise_schema(schema, min_reader);
            Ok(())
        })
    }
}
