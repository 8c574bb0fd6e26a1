//! Leases: which machine runs a task that only one may run.

use std::time::Duration;

/// The lease that a batch depends on. The engine refuses the batch if the lease has another
/// number.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fence {
    /// The name of the lease.
    pub lease: String,
    /// The fencing number from [`Lease::fencing`].
    pub number: u64,
}

/// A request to take or renew a lease.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LeaseRequest {
    /// The name of the lease, for example `collector`.
    pub name: String,
    /// The machine that asks.
    pub holder: String,
    /// The fencing number of the lease to renew. `None` takes the lease with a new number, even
    /// from an earlier process of the same holder.
    pub fencing: Option<u64>,
    /// How long the lease is valid after the engine's answer.
    pub ttl: Duration,
}

/// A lease as the engine stores it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Lease {
    /// The name of the lease.
    pub name: String,
    /// The machine that holds it, or held it last.
    pub holder: String,
    /// The fencing number. A new holder gets a higher one than all leases before.
    pub fencing: u64,
    /// When the lease ends, in Unix milliseconds of the engine's clock.
    pub expires_ms: i64,
    /// The engine's clock when it answered, in Unix milliseconds.
    pub clock_ms: i64,
}

impl Lease {
    /// Returns how long the lease is valid after the engine's answer. A holder measures this time
    /// from its request, so that it stops before another machine starts.
    #[must_use]
    pub fn remaining(&self) -> Duration {
        let left = self.expires_ms.saturating_sub(self.clock_ms);
        Duration::from_millis(u64::try_from(left).unwrap_or(0))
    }

    /// Returns the fence for batches that depend on this lease.
    #[must_use]
    pub fn fence(&self) -> Fence {
        Fence { lease: self.name.clone(), number: self.fencing }
    }
}

/// The answer to a [`LeaseRequest`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LeaseOutcome {
    /// The caller holds the lease.
    Granted(Lease),
    /// Another machine, or another process of this machine, holds it.
    Refused(Lease),
}

impl LeaseOutcome {
    /// Returns the lease if the caller holds it.
    #[must_use]
    pub fn granted(self) -> Option<Lease> {
        match self {
            Self::Granted(lease) => Some(lease),
            Self::Refused(_) => None,
        }
    }
}
