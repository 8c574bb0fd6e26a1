//! Follows the other machines of a shared brain: what their changes mean for access, sources, the
//! ingest queue, and the files of this machine.

use std::time::Duration;

use brain_base::leases;
use brain_protocol::Fault;
use brain_store::RemoteChanges;
use tokio::sync::watch;

use crate::Brain;

impl Brain {
    /// Follows the other machines for about a second, and applies their changes to this machine.
    /// Returns when to begin the next round; `None` if the brain is not shared. Blocks.
    pub fn follow_machines(&self) -> Option<Duration> {
        let pause = self.machines.follow();
        let RemoteChanges { access, jobs, files } = self.store.take_remote_changes();
        if access && let Err(fault) = self.access.reload() {
            tracing::warn!(%fault, "clients and tokens of other machines not read");
        }
        if let Err(fault) = self.sources.notice_remote_changes() {
            tracing::debug!(%fault, "sources of other machines not read");
        }
        if jobs {
            self.ingest.wake();
        }
        self.files.add_remote_changes(files);
        pause
    }

    /// Writes the files of pages that other machines changed, for about half a second: the follower
    /// must not wait for them. Returns whether all are written. Blocks.
    pub fn write_remote_files(&self) -> bool {
        self.files.write_remote_changes()
    }

    /// Completes when other machines changed pages since the last call.
    pub async fn wait_for_remote_files(&self) {
        self.files.wait_for_remote_changes().await;
    }

    /// Takes and renews the leases of this machine's tasks. Returns when to begin the next round;
    /// `None` if the brain is not shared. Blocks.
    pub fn renew_leases(&self) -> Option<Duration> {
        self.machines.renew_leases(&self.wanted_leases())
    }

    /// Writes a snapshot for machines that join, if one is due. Returns when to look again; `None`
    /// if the brain is not shared. Blocks.
    pub fn write_snapshot_if_due(&self) -> Option<Duration> {
        self.machines.write_snapshot_if_due()
    }

    /// Returns a receiver that hears when the brain is shared, and when it no longer is.
    #[must_use]
    pub fn sharing_changes(&self) -> watch::Receiver<()> {
        self.machines.changes()
    }

    /// Ends the work with the log, and gives the leases back. Blocks.
    pub fn stop_following(&self) {
        self.machines.stop();
    }

    /// Refuses calls with tokens while this machine may not know of revocations.
    ///
    /// # Errors
    /// `server_away` if this machine may not know of revocations.
    pub fn check_token_age(&self) -> Result<(), Fault> {
        self.machines.check_token_age()
    }

    /// Describes how old reads are, while the server is away or this machine has stopped.
    #[must_use]
    pub fn age_of_reads(&self) -> Option<String> {
        self.machines.degraded()
    }

    /// Returns the tasks that are set up on this machine and that only one machine of a shared
    /// brain may run.
    fn wanted_leases(&self) -> Vec<&'static str> {
        let config = &self.env.config;
        let is_collector = config.collector.enabled && self.collector.has_token();
        let wanted = [
            (leases::COLLECTOR, is_collector),
            (leases::TUNNEL, brain_tunnel::Settings::from_config(config).is_some()),
            (leases::BACKUP, config.backup.dir.is_some()),
            (leases::PURGE, true),
            (leases::SNAPSHOT, true),
        ];
        wanted.into_iter().filter(|(_, is_set_up)| *is_set_up).map(|(name, _)| name).collect()
    }
}
