//! Follows the other machines of a shared brain, keeps leases, and writes snapshots.
//!
//! On a brain of one machine the workers wait until it is shared.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::watch;

use super::runner::{Next, Worker};
use brain_core::Brain;

/// The pause while the brain is not shared; sharing it ends the pause.
const NOT_SHARED: Duration = Duration::from_secs(24 * 60 * 60);

/// Returns when the next round begins. `pause` is `None` if the brain is not shared.
fn next(pause: Option<Duration>) -> Next {
    match pause {
        Some(pause) => Next::AfterOrWakeup(pause),
        None => Next::AfterOrWakeup(NOT_SHARED),
    }
}

/// Completes when the brain is shared or no longer shared.
async fn change(changes: &mut watch::Receiver<()>) {
    // The sender lives as long as the brain.
    if changes.changed().await.is_err() {
        std::future::pending::<()>().await;
    }
}

/// Applies the batches of other machines.
pub(super) struct Follower {
    brain: Arc<Brain>,
    changes: watch::Receiver<()>,
}

impl Follower {
    pub(super) fn new(brain: Arc<Brain>) -> Self {
        Self { changes: brain.machines.changes(), brain }
    }
}

impl Worker for Follower {
    fn round(&mut self) -> Next {
        next(self.brain.follow_machines())
    }

    async fn wakeup(&mut self) {
        change(&mut self.changes).await;
    }
}

/// Writes the files of pages that other machines changed.
pub(super) struct OutsideFiles(pub(super) Arc<Brain>);

impl Worker for OutsideFiles {
    fn round(&mut self) -> Next {
        match self.0.write_outside_files() {
            true => next(None),
            false => Next::After(Duration::ZERO),
        }
    }

    async fn wakeup(&mut self) {
        self.0.wait_for_outside_files().await;
    }
}

/// Takes and renews the leases of the tasks that are set up on this machine.
pub(super) struct Leases {
    brain: Arc<Brain>,
    changes: watch::Receiver<()>,
}

impl Leases {
    pub(super) fn new(brain: Arc<Brain>) -> Self {
        Self { changes: brain.machines.changes(), brain }
    }
}

impl Worker for Leases {
    fn round(&mut self) -> Next {
        let wanted = self.brain.wanted_leases();
        next(self.brain.machines.renew_leases(&wanted))
    }

    async fn wakeup(&mut self) {
        change(&mut self.changes).await;
    }
}

/// Writes snapshots for machines that join.
pub(super) struct Snapshots {
    brain: Arc<Brain>,
    changes: watch::Receiver<()>,
}

impl Snapshots {
    pub(super) fn new(brain: Arc<Brain>) -> Self {
        Self { changes: brain.machines.changes(), brain }
    }
}

impl Worker for Snapshots {
    fn round(&mut self) -> Next {
        next(self.brain.machines.write_snapshot_if_due())
    }

    async fn wakeup(&mut self) {
        change(&mut self.changes).await;
    }
}
