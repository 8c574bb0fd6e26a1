//! The commit log of a shared brain: batches of changes in one order, for all its machines.
//!
//! A batch is opaque bytes. Its number follows its predecessor's without a gap, and it names its
//! predecessor's id, so a replica notices a server that was restored or failed over. A machine
//! writes its batch only if the head is the one that it expects.
//!
//! The engine is `PostgresLog`, which the feature `machines` contains. Tests also have an engine
//! in memory, which passes the same tests.
//! Calls block: callers run them on blocking threads, never on threads of an async runtime.
//! [`cipher`] encrypts batches and snapshots, so that no engine sees what they contain. The crate
//! knows neither pages nor the store.

mod batch;
pub mod checks;
pub mod cipher;
mod commit_log;
mod engine;
mod error;
mod id;
mod lease;
#[cfg(feature = "machines")]
mod postgres;
mod shared;

pub use batch::{Batch, Batches, Head, NewBatch, Position, ReadLimit};
pub use commit_log::{Administration, CommitLog, Snapshots};
pub use engine::{Delivery, Durability, Engine};
pub use error::Error;
pub use id::{BatchId, BrainId, IdError, MachineId, SnapshotId};
pub use lease::{Fence, Lease, LeaseOutcome, LeaseRequest};
#[cfg(feature = "machines")]
pub use postgres::{PostgresLog, PostgresSettings, ServerUrl, Timeouts};
pub use shared::{BrainSnapshot, Compaction, Machine, Registration, SealedKeys};

/// The largest payload of a batch in bytes: 256 MiB. PostgreSQL's limit for one value is 1 GiB.
pub const MAX_PAYLOAD: usize = 256 << 20;
/// The largest chunk of a snapshot in bytes: 16 MiB.
pub const MAX_CHUNK: usize = 16 << 20;
/// The longest name of a machine, a lease or its holder, in bytes.
pub const MAX_NAME: usize = 100;
