//! Which machine runs a task that only one machine of a shared brain may run.

/// Runs of the collector.
pub const COLLECTOR: &str = "collector";
/// The agent that keeps the public address, and the telephone number's webhook, which leads to it.
pub const TUNNEL: &str = "tunnel";
/// Removal of expired pages, clients and tokens.
pub const PURGE: &str = "purge";
/// Scheduled backups.
pub const BACKUP: &str = "backup";
/// Snapshots for new machines.
pub const SNAPSHOT: &str = "snapshot";

/// Knows the tasks that this machine may run. Features ask before each round.
pub trait LeaseHolder: Send + Sync {
    /// Returns whether this machine may run the task now. Always true if the brain is not shared.
    fn holds(&self, lease: &'static str) -> bool;

    /// Returns whether another machine is known to run the task.
    fn is_elsewhere(&self, lease: &'static str) -> bool;
}

/// The only machine of a brain.
#[derive(Debug, Clone, Copy, Default)]
pub struct Alone;

impl LeaseHolder for Alone {
    fn holds(&self, _: &'static str) -> bool {
        true
    }

    fn is_elsewhere(&self, _: &'static str) -> bool {
        false
    }
}
