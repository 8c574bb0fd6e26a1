//! Follows the other machines of a shared brain, keeps leases, and writes snapshots.
//!
//! On a brain of one machine the workers wait until it is shared.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::watch;

use super::runner::{Next, Worker};
use brain_core::Brain;

/// The pause of a worker that has nothing to do. A wakeup ends it.
const UNTIL_WAKEUP: Duration = Duration::from_secs(24 * 60 * 60);

/// Does one round of a machine's work. Returns the pause after it, or `None` if the brain is not
/// shared.
type MachineRound = fn(&Brain) -> Option<Duration>;

/// A worker that waits while the brain is not shared.
pub(super) struct MachineWorker {
    brain: Arc<Brain>,
    changes: watch::Receiver<()>,
    run: MachineRound,
}

impl MachineWorker {
    /// Creates the worker that applies the changes of other machines.
    pub(super) fn follower(brain: Arc<Brain>) -> Self {
        Self::new(brain, Brain::follow_machines)
    }

    /// Creates the worker that takes and renews the leases of this machine's tasks.
    pub(super) fn leases(brain: Arc<Brain>) -> Self {
        Self::new(brain, Brain::renew_leases)
    }

    /// Creates the worker that writes snapshots for machines that join.
    pub(super) fn snapshots(brain: Arc<Brain>) -> Self {
        Self::new(brain, Brain::write_snapshot_if_due)
    }

    fn new(brain: Arc<Brain>, run: MachineRound) -> Self {
        Self { changes: brain.sharing_changes(), brain, run }
    }
}

impl Worker for MachineWorker {
    fn round(&mut self) -> Next {
        Next::AfterOrWakeup((self.run)(&self.brain).unwrap_or(UNTIL_WAKEUP))
    }

    /// Completes when the brain is shared, or no longer shared.
    async fn wakeup(&mut self) {
        // The sender lives as long as the brain.
        if self.changes.changed().await.is_err() {
            std::future::pending::<()>().await;
        }
    }
}

/// Writes the files of pages that other machines changed.
pub(super) struct RemoteFiles(pub(super) Arc<Brain>);

impl Worker for RemoteFiles {
    fn round(&mut self) -> Next {
        match self.0.write_remote_files() {
            true => Next::AfterOrWakeup(UNTIL_WAKEUP),
            false => Next::After(Duration::ZERO),
        }
    }

    async fn wakeup(&mut self) {
        self.0.wait_for_remote_files().await;
    }
}
