//! A brain on several machines: the layer between the store and the commit log.
//!
//! [`MachineLog`] is the log that the store's writer calls: it encrypts batches, checks that they
//! belong to this brain, and turns failures into named states. [`LeaseKeeper`] decides which
//! machine runs a task that only one may run. [`Replica`] follows the log, reports to the registry
//! and writes snapshots. [`MachineService`] has the operations: setup, state, and the work in the
//! background. The crate knows neither pages nor interfaces. All calls block.

mod compression;
mod condition;
mod connection;
mod identity;
mod keyring;
mod leases;
mod log;
mod payload;
mod presence;
mod replica;
#[cfg(feature = "machines")]
mod server;
#[cfg(not(feature = "machines"))]
#[path = "without_server.rs"]
mod server;
mod service;
mod snapshots;
#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::panic)]
mod tests;

pub use condition::{Condition, StopReason, fault};
pub use connection::{DEADLINE, ServerSecrets};
pub use identity::{Identity, write_json};
pub use keyring::Keyring;
pub use leases::{BootClock, Holding, LeaseKeeper, RENEWAL, TTL, Uptime};
pub use log::MachineLog;
pub use presence::PRESENCE;
pub use replica::{Replica, Round};
pub use service::{KEPT_PAGES, LeaseTable, MachineEnvironment, MachineService, complete_join};
pub use snapshots::{SnapshotContent, SnapshotFile, download, newest, schema, upload, verify};

pub use brain_commit_log::cipher::{Keys, RootKey};
pub use brain_commit_log::{
    BrainId, BrainSnapshot, Compaction, Delivery, Durability, Engine, Error, Head, Lease, Machine,
    MachineId, Position, Registration, SealedKeys, SnapshotId,
};

/// The schema of the batches that this program writes: the store's.
pub const SCHEMA: u32 = brain_store::SCHEMA as u32;

/// How long compaction keeps batches for a machine that does not report: 30 days.
pub const MAX_SILENCE: std::time::Duration = std::time::Duration::from_secs(30 * 24 * 60 * 60);
