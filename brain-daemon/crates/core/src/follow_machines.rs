//! Follows the other machines of a shared brain: what their changes mean for access, sources, the
//! ingest queue, and the files of this machine.

use std::time::Duration;

use brain_base::leases;
use brain_store::RemoteChanges;

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

    /// Returns the tasks that are set up on this machine and that only one machine of a shared
    /// brain may run.
    #[must_use]
    pub fn wanted_leases(&self) -> Vec<&'static str> {
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
