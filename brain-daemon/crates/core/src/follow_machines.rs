//! Follows the other machines of a shared brain: what their changes mean for access, sources, the
//! ingest queue, and the files of this machine.

use std::time::{Duration, Instant};

use brain_base::leases;
use brain_store::OutsideChanges;

use crate::Brain;

/// How long a round writes files before it looks for further changes.
const FILES_LIMIT: Duration = Duration::from_millis(500);

impl Brain {
    /// Follows the other machines for about a second, and applies their changes to this machine.
    /// Returns when to begin the next round; `None` if the brain is not shared. Blocks.
    pub fn follow_machines(&self) -> Option<Duration> {
        let pause = self.machines.follow();
        let OutsideChanges { access, jobs, files } = self.store.take_outside_changes();
        if access && let Err(fault) = self.access.reload() {
            tracing::warn!(%fault, "clients and tokens of other machines not read");
        }
        self.sources.notice_outside_changes();
        if jobs {
            self.ingest.wake();
        }
        match self.files.write_outside_changes(files, Instant::now() + FILES_LIMIT) {
            true => pause,
            false => pause.map(|_| Duration::ZERO),
        }
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
