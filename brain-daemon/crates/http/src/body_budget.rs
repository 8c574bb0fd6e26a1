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
use std::sync::{Arc, OnceLock};

use hyper::body::Incoming;
use parking_lot::Mutex;

use super::connection_limiter::ConnectionLimiter;
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

    /// Releases the budget that this connection's body uses.
    pub(super) fn release(&self, state: &ConnectionState) {
        self.used.fetch_sub(state.body_charge().swap(0, Ordering::AcqRel), Ordering::AcqRel);
    }

    /// Raises the charge of this connection's body to `bytes`. Returns whether the budget is
    /// exceeded.
    fn charge(&self, state: &ConnectionState, bytes: u64) -> bool {
        let before = state.body_charge().fetch_max(bytes, Ordering::AcqRel);
        let added = bytes.saturating_sub(before);
        added > 0 && self.used.fetch_add(added, Ordering::AcqRel) + added > self.max
    }
}

/// The body of one request, from its head to the end of its response.
pub(crate) struct RequestBody {
    limiter: Arc<ConnectionLimiter>,
    state: Arc<ConnectionState>,
    /// Whether the client is authenticated, which selects the budget.
    is_authenticated: OnceLock<bool>,
    /// The part that the handler did not read.
    unread: Mutex<Option<Incoming>>,
}

impl RequestBody {
    /// Creates the body of the current request of the connection with this state.
    pub(crate) fn new(limiter: &Arc<ConnectionLimiter>, state: &Arc<ConnectionState>) -> Arc<Self> {
        let (limiter, state) = (Arc::clone(limiter), Arc::clone(state));
        let (is_authenticated, unread) = (OnceLock::new(), Mutex::default());
        Arc::new(Self { limiter, state, is_authenticated, unread })
    }

    /// Returns the state of the body's connection.
    pub(crate) fn state(&self) -> &Arc<ConnectionState> {
        &self.state
    }

    /// Records that a handler waits for the body.
    pub(crate) fn start_waiting(&self) {
        self.state.wait_for_body();
        self.charge(self.budget().min_charge);
    }

    /// Records that bytes of the body arrived.
    pub(crate) fn record_bytes(&self, bytes: usize) {
        self.state.record_body_bytes(bytes);
        let received = self.state.body_bytes();
        if received > SMALL_BODY {
            self.charge(received);
        }
    }

    /// Stores the part that the handler did not read.
    pub(crate) fn set_unread(&self, unread: Option<Incoming>) {
        *self.unread.lock() = unread;
    }

    /// Takes the part that the handler did not read.
    pub(crate) fn take_unread(&self) -> Option<Incoming> {
        self.unread.lock().take()
    }

    fn is_authenticated(&self) -> bool {
        *self.is_authenticated.get_or_init(|| self.state.is_authenticated())
    }

    fn budget(&self) -> &BodyBudget {
        self.limiter.budget(self.is_authenticated())
    }

    fn charge(&self, bytes: u64) {
        if !self.state.is_evicted() && self.budget().charge(&self.state, bytes) {
            self.limiter.evict_body(self.is_authenticated(), &self.state);
        }
    }
}

impl Drop for RequestBody {
    fn drop(&mut self) {
        self.budget().release(&self.state);
    }
}
