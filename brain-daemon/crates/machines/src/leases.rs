//! Leases of this machine: tasks that only one machine runs at a time.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use brain_commit_log::{Engine, Error, Fence, Lease, LeaseOutcome, LeaseRequest};
use parking_lot::Mutex;
use rustix::time::{ClockId, clock_gettime};

/// How long a lease is valid after the server's answer.
pub const TTL: Duration = Duration::from_secs(30);
/// How often leases are renewed.
pub const RENEWAL: Duration = Duration::from_secs(10);
/// A holder stops using a lease this long before its end.
const MARGIN: Duration = Duration::from_secs(3);

/// Time since an arbitrary start. It never goes back.
pub trait Uptime: Send + Sync {
    /// Returns the time.
    fn now(&self) -> Duration;
}

/// Time since the system started. It goes on while the system sleeps, so that a laptop does not
/// trust a lease after it wakes up.
#[derive(Debug, Clone, Copy, Default)]
pub struct BootClock;

impl Uptime for BootClock {
    fn now(&self) -> Duration {
        let time = clock_gettime(ClockId::Boottime);
        let seconds = u64::try_from(time.tv_sec).unwrap_or(0);
        Duration::new(seconds, u32::try_from(time.tv_nsec).unwrap_or(0))
    }
}

/// A lease as this machine knows it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Holding {
    /// The name of the lease.
    pub name: &'static str,
    /// The machine that holds it; `None` if unknown.
    pub holder: Option<String>,
    /// Whether this machine holds it.
    pub is_own: bool,
}

/// Takes and renews the leases that this machine wants.
pub struct LeaseKeeper {
    machine: String,
    uptime: Arc<dyn Uptime>,
    state: Mutex<LeasesState>,
}

#[derive(Default)]
struct LeasesState {
    wanted: BTreeSet<&'static str>,
    leases: BTreeMap<&'static str, LastAnswer>,
}

/// The server's last answer about a lease.
struct LastAnswer {
    /// The lease with the number of its last holder.
    lease: Lease,
    /// Whether this machine was granted it.
    is_granted: bool,
    /// When the answer expires, by this machine's uptime.
    until: Duration,
}

impl LeaseKeeper {
    /// Creates a keeper for the machine of this name. It wants no lease yet.
    #[must_use]
    pub fn new(machine: String, uptime: Arc<dyn Uptime>) -> Self {
        Self { machine, uptime, state: Mutex::default() }
    }

    /// Sets the leases that this machine wants: those of the tasks that are set up on it.
    pub fn set_wanted(&self, names: impl IntoIterator<Item = &'static str>) {
        self.state.lock().wanted = names.into_iter().collect();
    }

    /// Takes and renews the wanted leases, and ends others that this machine holds.
    ///
    /// # Errors
    /// The first error of the engine. Leases that were not renewed end by themselves.
    pub fn renew(&self, engine: &dyn Engine) -> Result<(), Error> {
        let (wanted, unwanted) = {
            let state = self.state.lock();
            let unwanted = state.leases.iter();
            let unwanted: Vec<Lease> = unwanted
                .filter(|(name, known)| known.is_granted && !state.wanted.contains(*name))
                .map(|(_, known)| known.lease.clone())
                .collect();
            (state.wanted.clone(), unwanted)
        };
        for lease in unwanted {
            self.state.lock().leases.retain(|name, _| *name != lease.name);
            engine.release(&lease)?;
        }
        for name in wanted {
            self.take(engine, name)?;
        }
        Ok(())
    }

    fn take(&self, engine: &dyn Engine, name: &'static str) -> Result<(), Error> {
        // The time is taken before the request: the lease ends here before it ends at the server.
        let begin = self.uptime.now();
        let granted = |known: &&LastAnswer| known.is_granted;
        let fencing = self.state.lock().leases.get(name).filter(granted).map(|k| k.lease.fencing);
        let holder = self.machine.clone();
        let request = LeaseRequest { name: name.to_owned(), holder, fencing, ttl: TTL };
        let (lease, is_granted) = match engine.lease(&request)? {
            LeaseOutcome::Granted(lease) => (lease, true),
            LeaseOutcome::Refused(lease) => (lease, false),
        };
        let until = begin + lease.remaining();
        let known = LastAnswer { lease, is_granted, until };
        let former = self.state.lock().leases.insert(name, known);
        let was_granted = former.is_some_and(|known| known.is_granted);
        if is_granted != was_granted {
            tracing::info!(lease = name, held = is_granted, "lease changed");
        }
        Ok(())
    }

    /// Ends all leases of this machine, so that another one can take them at once.
    pub fn release_all(&self, engine: &dyn Engine) {
        let held: Vec<Lease> = {
            let mut state = self.state.lock();
            state.wanted.clear();
            let leases = std::mem::take(&mut state.leases);
            leases.into_values().filter(|known| known.is_granted).map(|k| k.lease).collect()
        };
        for lease in held {
            if let Err(error) = engine.release(&lease) {
                tracing::debug!(%error, lease = lease.name, "lease not released; it expires");
                return;
            }
        }
    }

    /// Returns whether this machine holds the lease. Never true past the lease's end.
    #[must_use]
    pub fn holds(&self, name: &str) -> bool {
        self.fence(name).is_some()
    }

    /// Returns whether another machine holds the lease, by the server's last answer.
    #[must_use]
    pub fn is_elsewhere(&self, name: &str) -> bool {
        let now = self.uptime.now();
        let state = self.state.lock();
        state.leases.get(name).is_some_and(|known| !known.is_granted && now < known.until)
    }

    /// Returns the fence for batches of the lease's task; `None` if this machine does not hold it.
    #[must_use]
    pub fn fence(&self, name: &str) -> Option<Fence> {
        let now = self.uptime.now();
        let state = self.state.lock();
        let known = state.leases.get(name)?;
        (known.is_granted && now + MARGIN < known.until).then(|| known.lease.fence())
    }

    /// Returns the wanted leases and their holders, as far as they are known.
    #[must_use]
    pub fn holdings(&self) -> Vec<Holding> {
        let now = self.uptime.now();
        let state = self.state.lock();
        let holding = |name: &&'static str| {
            let known = state.leases.get(name).filter(|known| now < known.until);
            let is_own = known.is_some_and(|known| known.is_granted);
            Holding { name, holder: known.map(|known| known.lease.holder.clone()), is_own }
        };
        state.wanted.iter().map(holding).collect()
    }
}
