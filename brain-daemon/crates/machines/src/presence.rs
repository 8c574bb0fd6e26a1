//! Notices that another process runs as this machine: a copy of its home.

use std::sync::Arc;
use std::time::Duration;

use brain_commit_log::{Engine, Error, Lease, LeaseOutcome, LeaseRequest, MachineId};
use parking_lot::Mutex;

use crate::{TTL, Uptime};

/// The prefix of the name of a lease that one process of each machine holds.
pub const PRESENCE: &str = "machine:";
/// If the lease is lost twice within this time, another process runs at the same time. A single
/// loss can come from a late request of this process itself.
const WINDOW: Duration = Duration::from_secs(60);

/// The lease on this machine's identity, for one process. A new process takes it from the former
/// one, because a machine that starts again has the same identity.
pub(crate) struct IdentityLease {
    lease_name: String,
    machine: String,
    uptime: Arc<dyn Uptime>,
    state: Mutex<PresenceState>,
}

#[derive(Default)]
struct PresenceState {
    lease: Option<Lease>,
    /// When another process took the lease last, by uptime.
    lost_at: Option<Duration>,
}

impl IdentityLease {
    pub(crate) fn new(machine: String, id: MachineId, uptime: Arc<dyn Uptime>) -> Self {
        Self { lease_name: format!("{PRESENCE}{id}"), machine, uptime, state: Mutex::default() }
    }

    /// Takes or renews the lease. Returns whether this process is the only one.
    pub(crate) fn confirm(&self, engine: &dyn Engine) -> Result<bool, Error> {
        let mut state = self.state.lock();
        let fencing = state.lease.as_ref().map(|lease| lease.fencing);
        match engine.lease(&self.request(fencing))? {
            LeaseOutcome::Granted(lease) => state.lease = Some(lease),
            LeaseOutcome::Refused(_) if fencing.is_some() => {
                let now = self.uptime.now();
                if state.lost_at.is_some_and(|lost_at| now < lost_at + WINDOW) {
                    return Ok(false);
                }
                state.lost_at = Some(now);
                state.lease = engine.lease(&self.request(None))?.granted();
            }
            // Until the lease expires, its holder is the former name of this machine.
            LeaseOutcome::Refused(_) => {}
        }
        Ok(true)
    }

    fn request(&self, fencing: Option<u64>) -> LeaseRequest {
        let (name, holder) = (self.lease_name.clone(), self.machine.clone());
        LeaseRequest { name, holder, fencing, ttl: TTL }
    }
}
