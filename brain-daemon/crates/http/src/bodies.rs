//! The bodies of requests: how many bytes of them a listener keeps at once.
//!
//! A body counts from the moment when it has to be waited for, or is large, until its request is
//! answered. When the budget is spent, the client with the most bytes gives one of its bodies up, so
//! a client that begins many requests and never ends them only stops itself. Knows no socket.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use hyper::body::Incoming;

use super::crowd::Crowd;
use super::pulse::Pulse;

/// Bytes for bodies of clients that have shown a token.
const KNOWN: u64 = 64 * 1024 * 1024;
/// Bytes for bodies of all other clients, none of which is larger than a form.
const UNKNOWN: u64 = 4 * 1024 * 1024;
/// A body up to this size that need not be waited for does not count.
pub(super) const SMALL: u64 = 64 * 1024;

/// Bytes for the bodies of one kind of clients.
pub(super) struct Budget {
    max: u64,
    /// The least that a body counts for once it has to be waited for.
    least: u64,
    used: AtomicU64,
}

impl Budget {
    fn new(max: u64, bodies: usize) -> Self {
        Self { max, least: max / (bodies.max(1) as u64), used: AtomicU64::new(0) }
    }

    /// For clients with a token on a listener of so many connections: half of them may wait for
    /// bodies, so the other half is there for requests without one.
    pub(super) fn known(connections: usize) -> Self {
        Self::new(KNOWN, connections / 2)
    }

    /// For all other clients: an eighth of the connections.
    pub(super) fn unknown(connections: usize) -> Self {
        Self::new(UNKNOWN, connections / 8)
    }

    /// Gives back what this connection's body took.
    pub(super) fn release(&self, pulse: &Pulse) {
        self.used.fetch_sub(pulse.weight().swap(0, Ordering::AcqRel), Ordering::AcqRel);
    }

    /// Lets this connection's body count for `bytes`, or as much as it did; whether that is too much.
    fn charge(&self, pulse: &Pulse, bytes: u64) -> bool {
        let before = pulse.weight().fetch_max(bytes, Ordering::AcqRel);
        let more = bytes.saturating_sub(before);
        more > 0 && self.used.fetch_add(more, Ordering::AcqRel) + more > self.max
    }
}

/// The body of one request, from its head to the end of its answer.
pub(crate) struct RequestBody {
    crowd: Arc<Crowd>,
    pulse: Arc<Pulse>,
    /// The budget that it counts in: the one of clients with a token or not.
    known: OnceLock<bool>,
    /// What a handler left unread.
    rest: Mutex<Option<Incoming>>,
}

impl RequestBody {
    /// The body of the request that came through the connection with this pulse.
    pub(crate) fn new(crowd: &Arc<Crowd>, pulse: &Arc<Pulse>) -> Arc<Self> {
        let (crowd, pulse) = (Arc::clone(crowd), Arc::clone(pulse));
        Arc::new(Self { crowd, pulse, known: OnceLock::new(), rest: Mutex::default() })
    }

    /// The connection that it comes through.
    pub(crate) fn pulse(&self) -> &Arc<Pulse> {
        &self.pulse
    }

    /// It has to be waited for.
    pub(crate) fn wait(&self) {
        self.pulse.wait_for_body();
        self.charge(self.budget().least);
    }

    /// Bytes of it came.
    pub(crate) fn receive(&self, bytes: usize) {
        self.pulse.receive(bytes);
        let received = self.pulse.received();
        if received > SMALL {
            self.charge(received);
        }
    }

    /// Keeps what a handler did not read.
    pub(crate) fn leave(&self, rest: Option<Incoming>) {
        *self.rest.lock().unwrap_or_else(PoisonError::into_inner) = rest;
    }

    /// What a handler did not read.
    pub(crate) fn take_rest(&self) -> Option<Incoming> {
        self.rest.lock().unwrap_or_else(PoisonError::into_inner).take()
    }

    fn is_known(&self) -> bool {
        *self.known.get_or_init(|| self.pulse.is_known())
    }

    fn budget(&self) -> &Budget {
        self.crowd.budget(self.is_known())
    }

    fn charge(&self, bytes: u64) {
        if !self.pulse.is_evicted() && self.budget().charge(&self.pulse, bytes) {
            self.crowd.evict_body(self.is_known(), &self.pulse);
        }
    }
}

impl Drop for RequestBody {
    fn drop(&mut self) {
        self.budget().release(&self.pulse);
    }
}
