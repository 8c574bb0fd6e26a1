//! Limits the memory that request bodies of a listener use.
//!
//! A large body, and a body that a handler waits for, uses budget until its request is answered.
//! When the budget is spent, unfinished bodies of the client with the most bytes are evicted. So a
//! client with many unfinished requests only stops itself. Knows no socket.
//!
//! A limit for each body, as in tower-http, admits many half-sent bodies. Two tests in `http_flood`
//! need one budget for all bodies: `health_answers_during_unauthenticated_floods` and
//! `a_flood_of_one_client_does_not_end_other_uploads`.

use std::sync::atomic::{AtomicU64, Ordering};

use super::connection_state::ConnectionState;

/// Maximum bytes for bodies of authenticated clients.
const MAX_AUTHENTICATED: u64 = 64 * 1024 * 1024;
/// Maximum bytes for bodies of all other clients, which send nothing larger than a form.
const MAX_OTHERS: u64 = 4 * 1024 * 1024;
/// A body of up to this size uses no budget if it arrives with its head.
pub(super) const SMALL_BODY: u64 = 64 * 1024;

/// The memory for request bodies of authenticated, or of all other clients.
pub(super) struct BodyBudget {
    /// The maximum of all charges, in bytes.
    max: u64,
    /// The minimum charge of a body while a handler waits for it, in bytes.
    min_charge: u64,
    /// The sum of all charges, in bytes.
    used: AtomicU64,
}

impl BodyBudget {
    fn new(max: u64, bodies: usize) -> Self {
        Self { max, min_charge: max / (bodies.max(1) as u64), used: AtomicU64::new(0) }
    }

    /// Creates the budget of authenticated clients of a listener. Half of its connections may wait
    /// for bodies; the others stay free for requests without one.
    pub(super) fn for_authenticated(connections: usize) -> Self {
        Self::new(MAX_AUTHENTICATED, connections / 2)
    }

    /// Creates the budget of all other clients, who may use an eighth of the connections.
    pub(super) fn for_others(connections: usize) -> Self {
        Self::new(MAX_OTHERS, connections / 8)
    }

    /// Returns the minimum charge of a body while a handler waits for it, in bytes.
    pub(super) fn min_charge(&self) -> u64 {
        self.min_charge
    }

    /// Releases the budget that this connection's body uses.
    pub(super) fn release(&self, state: &ConnectionState) {
        self.used.fetch_sub(state.body_charge().swap(0, Ordering::AcqRel), Ordering::AcqRel);
    }

    /// Raises the charge of this connection's body to `bytes`. Returns whether the budget is
    /// exceeded.
    pub(super) fn charge(&self, state: &ConnectionState, bytes: u64) -> bool {
        let before = state.body_charge().fetch_max(bytes, Ordering::AcqRel);
        let added = bytes.saturating_sub(before);
        added > 0 && self.used.fetch_add(added, Ordering::AcqRel) + added > self.max
    }
}
