//! The data that machines share besides batches: the registry, snapshots, and the sealed keys.

use crate::{MachineId, Position, SnapshotId};

/// What a machine says about itself when it joins and when it reports its position.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Registration {
    /// The name that people see, at most [`crate::MAX_NAME`] bytes.
    pub name: String,
    /// The id of the machine's replica.
    pub id: MachineId,
    /// The version of the program.
    pub version: String,
    /// The last batch that the replica contains.
    pub position: Position,
}

/// A machine of the registry.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Machine {
    /// The name that people see.
    pub name: String,
    /// The id of the machine's replica.
    pub id: MachineId,
    /// The version of the program that reported last.
    pub version: String,
    /// The position that the machine reported last.
    pub position: Position,
    /// When the machine reported last, in Unix milliseconds of the engine's clock.
    pub seen_ms: i64,
}

/// A snapshot: the whole brain at one position, in encrypted chunks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BrainSnapshot {
    /// The id.
    pub id: SnapshotId,
    /// The last batch that the snapshot contains.
    pub contains: Position,
    /// The machine that wrote it.
    pub machine: String,
    /// The number of chunks stored so far.
    pub chunks: u32,
    /// The size of the chunks together, in bytes.
    pub bytes: u64,
    /// When the snapshot was begun, in Unix milliseconds of the engine's clock.
    pub time_ms: i64,
    /// Whether all chunks are stored. A machine joins only from a complete snapshot.
    pub complete: bool,
}

/// The result of a compaction.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Compaction {
    /// The last batch that is deleted, by this compaction or an earlier one; 0 if none.
    pub through: u64,
    /// How many batches this compaction deleted.
    pub batches: u64,
}

/// The keys of the batches, encrypted with the root key, which the owner keeps as 24 words.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct SealedKeys {
    /// Grows by one at each replacement; 0 before the first.
    pub generation: u32,
    /// The bytes from [`crate::cipher::Keys::seal`]. Empty if batches are not encrypted.
    pub bytes: Vec<u8>,
}
