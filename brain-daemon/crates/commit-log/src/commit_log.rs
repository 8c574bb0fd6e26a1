//! The traits that every engine implements.

use std::time::Duration;

use crate::{
    Batches, BrainSnapshot, Compaction, Error, Head, Lease, LeaseOutcome, LeaseRequest, Machine,
    NewBatch, Position, ReadLimit, Registration, SealedKeys, SnapshotId,
};

/// A log of batches in one order, shared by the machines of a brain. All calls block.
///
/// Every method can return [`Error::Unavailable`], [`Error::Denied`] and [`Error::Corrupt`].
pub trait CommitLog: Send + Sync {
    /// Returns the end of the log.
    ///
    /// # Errors
    /// As all methods.
    fn head(&self) -> Result<Head, Error>;

    /// Returns batches after a position, in order and without a gap.
    ///
    /// # Errors
    /// - [`Error::Diverged`] if the log's history does not contain the position
    /// - [`Error::Compacted`] if batches after the position were deleted
    /// - [`Error::TooNew`] if this program cannot read the log's schema
    fn read(&self, after: &Position, limit: ReadLimit) -> Result<Batches, Error>;

    /// Appends a batch after the expected head, and returns the new head.
    ///
    /// A call with the same expected head and the same batch id succeeds again while the batch is
    /// in the log, also if other batches follow it. So after [`Error::OutcomeUnknown`] the caller
    /// repeats the call. If several machines append, a refused machine has the next turn
    /// for a short time.
    ///
    /// # Errors
    /// - [`Error::Moved`] with the new head and the first new batches
    /// - [`Error::Fenced`] if the fence's lease has a newer number
    /// - [`Error::NotRegistered`] if the machine is not in the registry
    /// - [`Error::OutcomeUnknown`] if the batch may be in the log or not
    /// - [`Error::ReadOnly`], [`Error::TooNew`], [`Error::TooLarge`]; nothing is appended
    fn append(&self, expected: &Position, batch: &NewBatch) -> Result<Head, Error>;

    /// Waits until the log may have a batch after this number, at most for `timeout`.
    ///
    /// Returns the number of the head if it seems to differ from `after`. The number is a hint:
    /// only `read` tells whether there are batches.
    ///
    /// # Errors
    /// As all methods.
    fn wait(&self, after: u64, timeout: Duration) -> Result<Option<u64>, Error>;

    /// Takes or renews a lease. The engine's clock decides when a lease has expired.
    ///
    /// # Errors
    /// [`Error::ReadOnly`]
    fn lease(&self, request: &LeaseRequest) -> Result<LeaseOutcome, Error>;

    /// Ends a lease if its holder and number are still the stored ones.
    ///
    /// # Errors
    /// [`Error::ReadOnly`]
    fn release(&self, lease: &Lease) -> Result<(), Error>;

    /// Returns all leases, also expired ones, by name.
    ///
    /// # Errors
    /// As all methods.
    fn leases(&self) -> Result<Vec<Lease>, Error>;
}

/// Snapshots beside the log, and compaction of the log.
pub trait Snapshots {
    /// Starts a snapshot that contains the batches up to a position.
    ///
    /// # Errors
    /// [`Error::Diverged`] if the position is after the head.
    fn begin_snapshot(
        &self,
        id: SnapshotId,
        contains: &Position,
        machine: &str,
    ) -> Result<(), Error>;

    /// Stores a chunk of an incomplete snapshot. `index` counts from 0. Storing a chunk again
    /// replaces it.
    ///
    /// # Errors
    /// [`Error::NotFound`] if there is no such incomplete snapshot, [`Error::TooLarge`] above
    /// [`crate::MAX_CHUNK`].
    fn put_chunk(&self, id: SnapshotId, index: u32, bytes: &[u8]) -> Result<(), Error>;

    /// Marks a snapshot as complete if it has exactly the chunks from 0 to `chunks - 1`.
    ///
    /// # Errors
    /// [`Error::NotFound`] if there is no such snapshot, [`Error::Corrupt`] if a chunk is missing.
    fn complete_snapshot(&self, id: SnapshotId, chunks: u32) -> Result<(), Error>;

    /// Returns all snapshots, the newest first, also incomplete ones.
    ///
    /// # Errors
    /// As all methods.
    fn snapshots(&self) -> Result<Vec<BrainSnapshot>, Error>;

    /// Returns a chunk.
    ///
    /// # Errors
    /// [`Error::NotFound`]
    fn read_chunk(&self, id: SnapshotId, index: u32) -> Result<Vec<u8>, Error>;

    /// Deletes a snapshot with its chunks. Deleting a missing snapshot does nothing.
    ///
    /// # Errors
    /// [`Error::SnapshotNeeded`] if it is the last snapshot that contains the deleted batches.
    fn delete_snapshot(&self, id: SnapshotId) -> Result<(), Error>;

    /// Deletes batches that a complete snapshot contains and that no machine needs. A machine
    /// that has not reported for `max_silence` is not waited for: it joins again from a snapshot.
    ///
    /// # Errors
    /// [`Error::NotFound`] if there is no such complete snapshot.
    fn compact(&self, id: SnapshotId, max_silence: Duration) -> Result<Compaction, Error>;
}

/// The registry of machines, the keys, and the schema.
pub trait Administration {
    /// Adds a machine, or replaces its entry if the id is the same.
    ///
    /// # Errors
    /// [`Error::NameTaken`] if a machine with another id has the name.
    fn register(&self, machine: &Registration) -> Result<(), Error>;

    /// Updates a machine's position, version and time.
    ///
    /// # Errors
    /// [`Error::NotRegistered`] if the machine was removed.
    fn report(&self, machine: &Registration) -> Result<(), Error>;

    /// Returns all machines by name.
    ///
    /// # Errors
    /// As all methods.
    fn machines(&self) -> Result<Vec<Machine>, Error>;

    /// Removes a machine. Its later batches are refused. Returns whether it was there.
    ///
    /// # Errors
    /// [`Error::ReadOnly`]
    fn remove_machine(&self, name: &str) -> Result<bool, Error>;

    /// Returns the encrypted keys.
    ///
    /// # Errors
    /// As all methods.
    fn sealed_keys(&self) -> Result<SealedKeys, Error>;

    /// Replaces the encrypted keys if their generation is still `expected`. Returns the new
    /// generation.
    ///
    /// # Errors
    /// [`Error::KeysChanged`] if another machine replaced them.
    fn replace_keys(&self, expected: u32, bytes: &[u8]) -> Result<u32, Error>;

    /// Raises the schema and the oldest schema that can read the log. Neither is ever lowered.
    ///
    /// # Errors
    /// [`Error::ReadOnly`]
    fn raise_schema(&self, schema: u32, min_reader: u32) -> Result<(), Error>;
}
