//! Limits concurrent connections of a listener.
//!
//! When the limit is reached, a connection that serves no request is closed to admit a new one: one
//! of the client with the most connections. If there is none, one with a slow body is closed.
//!
//! With a semaphore alone, new clients would wait behind idle ones: the tests
//! `ten_thousand_idle_connections_do_not_block_others` and `active_connections_are_not_evicted` in
//! `http_slow` need the eviction.

use std::cmp::Reverse;
use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use parking_lot::{Mutex, MutexGuard};
use tokio::sync::Notify;

use super::body_budget::BodyBudget;
use super::connection_state::{ConnectionState, Phase};

/// How often a waiting connection tries to evict another one.
const RETRY_INTERVAL: Duration = Duration::from_millis(20);
/// Maximum number of connections that are compared to find the one to evict.
const MAX_COMPARED: usize = 1024;
/// Maximum number of closing connections that are evicted at once.
const MAX_CLOSING_EVICTED: usize = 32;

/// The connections of one listener, and the limits on them.
pub(crate) struct ConnectionLimiter {
    slots: Mutex<Slots>,
    slot_freed: Notify,
    authenticated: BodyBudget,
    others: BodyBudget,
}

struct Slots {
    /// The state of the connection in each slot; `None` for a free slot.
    states: Vec<Option<Arc<ConnectionState>>>,
    /// The numbers of free slots.
    free: Vec<usize>,
    /// Where the next comparison begins, when there are more slots than [`MAX_COMPARED`].
    cursor: usize,
}

/// Permission for one connection. Its slot is freed on drop.
pub(crate) struct Permit {
    limiter: Arc<ConnectionLimiter>,
    slot: usize,
}

impl ConnectionLimiter {
    /// Creates a limiter for `max` connections.
    pub(crate) fn new(max: usize) -> Arc<Self> {
        let slots = Slots { states: Vec::new(), free: (0..max).rev().collect(), cursor: 0 };
        Arc::new(Self {
            slots: Mutex::new(slots),
            slot_freed: Notify::new(),
            authenticated: BodyBudget::for_authenticated(max),
            others: BodyBudget::for_others(max),
        })
    }

    /// Returns the body budget of authenticated clients, or of all others.
    pub(super) fn budget(&self, is_authenticated: bool) -> &BodyBudget {
        if is_authenticated { &self.authenticated } else { &self.others }
    }

    /// Evicts request bodies of the client whose bodies use more of the budget than any other's.
    ///
    /// One in sixteen of its unfinished bodies is evicted, the oldest first. If no body is
    /// unfinished, the body of `requester` is evicted.
    pub(super) fn evict_body(&self, is_authenticated: bool, requester: &Arc<ConnectionState>) {
        let slots = self.lock();
        let mut clients: HashMap<u64, (u64, Vec<&Arc<ConnectionState>>)> = HashMap::new();
        for state in slots.states.iter().flatten() {
            if state.is_authenticated() == is_authenticated && !state.is_evicted() {
                let (weight, unfinished) = clients.entry(state.client()).or_default();
                *weight += state.body_charge().load(Ordering::Relaxed);
                unfinished.extend((state.phase() == Phase::Body).then_some(state));
            }
        }
        let unfinished = clients.into_values().filter(|(_, bodies)| !bodies.is_empty());
        let mut victims = unfinished
            .max_by_key(|(weight, _)| *weight)
            .map_or_else(|| vec![requester], |(_, bodies)| bodies);
        victims.sort_by_key(|state| state.in_phase_since());
        // Several at once: in a flood, each scan of all connections delays other requests.
        victims.truncate(victims.len().div_ceil(16));
        for victim in victims {
            self.budget(is_authenticated).release(victim);
            victim.evict();
        }
    }

    /// Waits for a free slot and takes it for this connection.
    pub(crate) async fn acquire(self: &Arc<Self>, state: &Arc<ConnectionState>) -> Permit {
        loop {
            if let Some(slot) = self.try_acquire(state) {
                return Permit { limiter: Arc::clone(self), slot };
            }
            self.evict_connection();
            let _ = tokio::time::timeout(RETRY_INTERVAL, self.slot_freed.notified()).await;
        }
    }

    /// Asks connections to close, so that their slots become free.
    ///
    /// Closing connections go first, several at once. Otherwise one connection is chosen: of the
    /// client with the most connections, an idle one before one that reads a head. If there is
    /// none, the connection with the oldest slow body is chosen.
    pub(crate) fn evict_connection(&self) {
        let mut slots = self.lock();
        let Slots { states, cursor, .. } = &mut *slots;
        let begin = if states.len() > MAX_COMPARED { *cursor % states.len() } else { 0 };
        *cursor = begin + MAX_COMPARED;
        let compared =
            || states.iter().cycle().skip(begin).take(states.len().min(MAX_COMPARED)).flatten();
        let closing =
            compared().filter(|state| state.phase() == Phase::Closing && state.request_close());
        if closing.take(MAX_CLOSING_EVICTED).count() > 0 {
            return;
        }
        let mut connections: HashMap<u64, usize> = HashMap::new();
        for state in compared() {
            *connections.entry(state.client()).or_default() += 1;
        }
        // The connection that is first in this order is evicted.
        let order = |state: &ConnectionState| {
            let (class, phase_order) = match state.phase() {
                Phase::Idle => (0, 0),
                Phase::Head => (0, 1),
                Phase::Body if state.slow_body_since().is_some() => (1, 0),
                Phase::Closing | Phase::Body | Phase::Busy => return None,
            };
            let count = connections.get(&state.client()).copied().filter(|_| class == 0);
            Some((class, Reverse(count.unwrap_or_default()), phase_order, state.in_phase_since()))
        };
        let candidates = compared().filter(|state| !state.is_close_requested());
        let ordered = candidates.filter_map(|state| Some((order(state)?, state)));
        if let Some((_, state)) = ordered.min_by_key(|(order, _)| *order) {
            state.request_close();
        }
    }

    /// Tells all connections that the daemon stops.
    pub(crate) fn shut_down(&self) {
        self.lock().states.iter().flatten().for_each(|state| state.request_shutdown());
    }

    /// Returns the number of open connections.
    pub(crate) fn count(&self) -> usize {
        let slots = self.lock();
        slots.states.iter().flatten().count()
    }

    fn try_acquire(&self, state: &Arc<ConnectionState>) -> Option<usize> {
        let mut slots = self.lock();
        let slot = slots.free.pop()?;
        if slots.states.len() <= slot {
            slots.states.resize(slot + 1, None);
        }
        if let Some(occupant) = slots.states.get_mut(slot) {
            *occupant = Some(Arc::clone(state));
        }
        Some(slot)
    }

    fn lock(&self) -> MutexGuard<'_, Slots> {
        self.slots.lock()
    }
}

impl Drop for Permit {
    fn drop(&mut self) {
        let mut slots = self.limiter.lock();
        if let Some(occupant) = slots.states.get_mut(self.slot) {
            *occupant = None;
        }
        slots.free.push(self.slot);
        drop(slots);
        self.limiter.slot_freed.notify_one();
    }
}

#[cfg(test)]
mod tests {
    use super::super::connection_state::CloseRequest;
    use super::super::connection_state::tests::slow_body;
    use super::super::request_body::RequestBody;
    use super::*;

    #[tokio::test]
    async fn an_idle_connection_is_evicted_before_one_reading_a_head() {
        let limiter = ConnectionLimiter::new(3);
        let states: Vec<_> = (0..3).map(|_| Arc::new(ConnectionState::new(0))).collect();
        let mut permits = Vec::new();
        for state in &states {
            permits.push(Some(limiter.acquire(state).await));
        }
        states[0].begin_request("GET", b"x");
        states[2].begin_request("GET", b"x");
        states[2].finish_request();
        assert_eq!(limiter.count(), 3);
        let newcomer = Arc::new(ConnectionState::new(0));
        let acquiring = limiter.acquire(&newcomer);
        let (evicted, permit) = tokio::join!(
            async {
                states[2].wait_for_close_request().await;
                permits[2] = None;
                2
            },
            acquiring
        );
        assert_eq!(evicted, 2, "an idle connection goes before one whose head is arriving");
        assert_eq!(limiter.count(), 3);
        drop(permit);
        drop(permits);
        assert_eq!(limiter.count(), 0);
    }

    #[tokio::test]
    async fn the_oldest_slow_body_is_evicted_when_no_connection_is_idle() {
        let limiter = ConnectionLimiter::new(4);
        let ages = [Some(1), Some(5), Some(9), None];
        let states =
            ages.map(|age| {
                Arc::new(age.map_or_else(
                    || ConnectionState::new(0),
                    |age| slow_body(Duration::from_secs(age)),
                ))
            });
        let mut permits = Vec::new();
        for state in &states {
            permits.push(limiter.acquire(state).await);
        }
        states[3].begin_request("GET", b"x");
        for oldest in [2, 1] {
            limiter.evict_connection();
            assert_eq!(states[oldest].wait_for_close_request().await, CloseRequest::Immediately);
        }
        limiter.evict_connection();
        for stays in [0, 3] {
            assert!(
                tokio::time::timeout(RETRY_INTERVAL, states[stays].wait_for_close_request())
                    .await
                    .is_err(),
                "{stays}"
            );
        }
    }

    #[tokio::test]
    async fn the_client_with_the_most_connections_loses_one() {
        let limiter = ConnectionLimiter::new(4);
        let states: Vec<_> =
            [1, 2, 2, 2].map(|client| Arc::new(ConnectionState::new(client))).into();
        let mut permits = Vec::new();
        for state in &states {
            permits.push(limiter.acquire(state).await);
            state.begin_request("GET", b"x");
        }
        for state in &states {
            state.finish_request();
        }
        // The first connection is idle longest, but its client has only one.
        limiter.evict_connection();
        assert_eq!(states[1].wait_for_close_request().await, CloseRequest::Immediately);
    }

    #[tokio::test]
    async fn the_client_with_the_most_bodies_loses_one() {
        let limiter = ConnectionLimiter::new(8);
        let clients = [1, 2, 2, 2, 2];
        let states: Vec<_> = clients.map(|client| Arc::new(ConnectionState::new(client))).into();
        let (mut permits, mut bodies) = (Vec::new(), Vec::new());
        for state in &states {
            permits.push(limiter.acquire(state).await);
            state.begin_request("POST", b"x");
            state.set_authenticated(state.client());
            let body = RequestBody::new(&limiter, state);
            body.start_waiting();
            bodies.push(body);
        }
        let evicted: Vec<bool> = states.iter().map(|state| state.is_evicted()).collect();
        assert_eq!(evicted, [false, true, false, false, false], "half of the slots are for bodies");
        // Released budget is available to other clients.
        bodies.truncate(3);
        let late = Arc::new(ConnectionState::new(3));
        permits.push(limiter.acquire(&late).await);
        late.begin_request("POST", b"x");
        late.set_authenticated(3);
        RequestBody::new(&limiter, &late).start_waiting();
        assert!(!states[0].is_evicted() && !states[2].is_evicted() && !late.is_evicted());
    }

    #[tokio::test]
    async fn a_new_connection_waits_while_all_others_are_busy() {
        let limiter = ConnectionLimiter::new(1);
        let (busy, newcomer) =
            (Arc::new(ConnectionState::new(0)), Arc::new(ConnectionState::new(0)));
        let permit = limiter.acquire(&busy).await;
        busy.begin_request("GET", b"x");
        assert!(
            tokio::time::timeout(RETRY_INTERVAL * 3, limiter.acquire(&newcomer)).await.is_err()
        );
        drop(permit);
        drop(limiter.acquire(&newcomer).await);
    }
}
