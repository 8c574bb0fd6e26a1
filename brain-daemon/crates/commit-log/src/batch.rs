//! Batches, positions and the head of a log.

use crate::{BatchId, BrainId, Fence};

/// A place in the log: a batch's number and id. Replicas store the position that they contain.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct Position {
    /// The number of the batch. The first batch has number 1.
    pub number: u64,
    /// The id of the batch.
    pub id: BatchId,
}

impl Position {
    /// The position before the first batch.
    pub const START: Self = Self { number: 0, id: BatchId([0; 16]) };
}

/// A batch to append. Its number and predecessor follow from the expected head.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewBatch {
    /// The id. A batch that is sent again after an unknown outcome keeps its id.
    pub id: BatchId,
    /// The name of the machine that writes the batch. It must be registered.
    pub machine: String,
    /// The changes, at most [`crate::MAX_PAYLOAD`] bytes.
    pub payload: Vec<u8>,
    /// The lease that must still be held. If it is not, the batch is refused.
    pub fence: Option<Fence>,
}

/// A batch of the log.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Batch {
    /// The batch's number and id.
    pub position: Position,
    /// The id of the batch before it.
    pub predecessor: BatchId,
    /// The name of the machine that wrote the batch.
    pub machine: String,
    /// When the batch was written, in Unix milliseconds of the engine's clock.
    pub time_ms: i64,
    /// The changes.
    pub payload: Vec<u8>,
}

/// How much one [`crate::CommitLog::read`] returns.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ReadLimit {
    /// The largest number of batches; at least 1.
    pub batches: u32,
    /// The payloads together in bytes. The first batch is returned even if it is larger.
    pub bytes: u64,
}

impl Default for ReadLimit {
    /// 1,000 batches and 512 KiB: a server that does not answer is noticed after few seconds, also
    /// on a slow link.
    fn default() -> Self {
        Self { batches: 1_000, bytes: 512 << 10 }
    }
}

/// Consecutive batches, and the head after they were read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Batches {
    /// The batches in order. Empty if there are none after the given position.
    pub batches: Vec<Batch>,
    /// The head. It can be newer than the last batch returned.
    pub head: Head,
}

/// The end of the log, and what applies to the whole log.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Head {
    /// The brain that the log belongs to.
    pub brain: BrainId,
    /// The last batch.
    pub position: Position,
    /// When the last batch was written, in Unix milliseconds of the engine's clock.
    pub time_ms: i64,
    /// The engine's clock when it answered, in Unix milliseconds.
    pub clock_ms: i64,
    /// The schema that batches are written in. A program with an older schema must not write.
    pub schema: u32,
    /// The oldest schema that can read the log.
    pub min_reader: u32,
    /// The highest fencing number that a lease got.
    pub fencing: u64,
    /// The number of the last batch that compaction deleted; 0 if none.
    pub compacted: u64,
    /// The generation of the sealed keys. It grows when the key is replaced.
    pub key_generation: u32,
}
