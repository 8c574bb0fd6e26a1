//! The body of one request, and its use of the budget for bodies.
//!
//! When the body exceeds the budget, the connection limiter chooses the bodies to evict.

use std::sync::{Arc, OnceLock};

use hyper::body::Incoming;
use parking_lot::Mutex;

use super::body_budget::{BodyBudget, SMALL_BODY};
use super::connection_limiter::ConnectionLimiter;
use super::connection_state::ConnectionState;

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
        self.charge(self.budget().min_charge());
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
