//! Limits the connections of a listener. When the limit is reached, a connection that serves no
//! request is closed to admit a new one: of the client with the most connections, the oldest.

use std::cmp::Reverse;
use std::collections::HashMap;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::Notify;

use super::bodies::Budget;
use super::pulse::{Phase, Pulse};

/// How often a newcomer asks again, when those who were asked had something to do after all.
const AGAIN: Duration = Duration::from_millis(20);
/// Connections that are compared to find the one that makes room.
const COMPARED: usize = 1024;
/// How many closing connections are asked to go at once.
const CLOSING: usize = 32;

/// The places of one listener.
pub(crate) struct Crowd {
    places: Mutex<Places>,
    left: Notify,
    known: Budget,
    unknown: Budget,
}

struct Places {
    taken: Vec<Option<Arc<Pulse>>>,
    free: Vec<usize>,
    /// Where to look for the next one who is asked to go, when there are more than are compared.
    hand: usize,
}

/// A place; free again when it is dropped.
pub(crate) struct Place {
    crowd: Arc<Crowd>,
    at: usize,
}

impl Crowd {
    /// This many places.
    pub(crate) fn new(most: usize) -> Arc<Self> {
        let places = Places { taken: Vec::new(), free: (0..most).rev().collect(), hand: 0 };
        let (known, unknown) = (Budget::known(most), Budget::unknown(most));
        Arc::new(Self { places: Mutex::new(places), left: Notify::new(), known, unknown })
    }

    /// The budget for bodies of clients that have shown a token, or of all others.
    pub(super) fn budget(&self, known: bool) -> &Budget {
        if known { &self.known } else { &self.unknown }
    }

    /// Refuses bodies that are waited for, of the client whose bodies count for most: one of sixteen,
    /// those that have been waited for longest. The one that `asking` brings, when none is waited for.
    pub(super) fn evict_body(&self, known: bool, asking: &Arc<Pulse>) {
        let places = self.lock();
        let mut clients: HashMap<u64, (u64, Vec<&Arc<Pulse>>)> = HashMap::new();
        for pulse in places.taken.iter().flatten() {
            if pulse.is_known() == known && !pulse.is_evicted() {
                let (weight, waiting) = clients.entry(pulse.client()).or_default();
                *weight += pulse.weight().load(Ordering::Relaxed);
                waiting.extend((pulse.phase() == Phase::Body).then_some(pulse));
            }
        }
        let waiting = clients.into_values().filter(|(_, waiting)| !waiting.is_empty());
        let mut victims =
            waiting.max_by_key(|(weight, _)| *weight).map_or_else(|| vec![asking], |(_, it)| it);
        victims.sort_by_key(|pulse| pulse.in_phase_since());
        // Several at once: in a flood, each look at all connections costs others time.
        victims.truncate(victims.len().div_ceil(16));
        for victim in victims {
            self.budget(known).release(victim);
            victim.evict();
        }
    }

    /// A place for this connection, as soon as there is one.
    pub(crate) async fn enter(self: &Arc<Self>, pulse: &Arc<Pulse>) -> Place {
        loop {
            if let Some(at) = self.take(pulse) {
                return Place { crowd: Arc::clone(self), at };
            }
            self.make_room();
            let _ = tokio::time::timeout(AGAIN, self.left.notified()).await;
        }
    }

    /// Asks connections to go that serve no request: some that are closing; if there are none, of the
    /// client with the most connections, one between two requests rather than one whose request begins;
    /// else the one whose request's body drags on for longest.
    pub(crate) fn make_room(&self) {
        let mut places = self.lock();
        let Places { taken, hand, .. } = &mut *places;
        let begin = if taken.len() > COMPARED { *hand % taken.len() } else { 0 };
        *hand = begin + COMPARED;
        let compared =
            || taken.iter().cycle().skip(begin).take(taken.len().min(COMPARED)).flatten();
        let closing =
            compared().filter(|pulse| pulse.phase() == Phase::Closing && pulse.ask_to_go());
        if closing.take(CLOSING).count() > 0 {
            return;
        }
        let mut connections: HashMap<u64, usize> = HashMap::new();
        for pulse in compared() {
            *connections.entry(pulse.client()).or_default() += 1;
        }
        let order = |pulse: &Pulse| {
            let (class, within) = match pulse.phase() {
                Phase::Idle => (0, 0),
                Phase::Head => (0, 1),
                Phase::Body if pulse.drags_since().is_some() => (1, 0),
                Phase::Closing | Phase::Body | Phase::Busy => return None,
            };
            let many = connections.get(&pulse.client()).copied().filter(|_| class == 0);
            Some((class, Reverse(many.unwrap_or_default()), within, pulse.in_phase_since()))
        };
        let candidates = compared().filter(|pulse| !pulse.is_leaving());
        let ordered = candidates.filter_map(|pulse| Some((order(pulse)?, pulse)));
        if let Some((_, pulse)) = ordered.min_by_key(|(order, _)| *order) {
            pulse.ask_to_go();
        }
    }

    /// Tells all of them that the daemon ends.
    pub(crate) fn end(&self) {
        self.lock().taken.iter().flatten().for_each(|pulse| pulse.ask_to_end());
    }

    /// How many places are taken.
    pub(crate) fn count(&self) -> usize {
        let places = self.lock();
        places.taken.iter().flatten().count()
    }

    fn take(&self, pulse: &Arc<Pulse>) -> Option<usize> {
        let mut places = self.lock();
        let at = places.free.pop()?;
        if places.taken.len() <= at {
            places.taken.resize(at + 1, None);
        }
        if let Some(place) = places.taken.get_mut(at) {
            *place = Some(Arc::clone(pulse));
        }
        Some(at)
    }

    fn lock(&self) -> MutexGuard<'_, Places> {
        self.places.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let mut places = self.crowd.lock();
        if let Some(place) = places.taken.get_mut(self.at) {
            *place = None;
        }
        places.free.push(self.at);
        drop(places);
        self.crowd.left.notify_one();
    }
}

#[cfg(test)]
mod tests {
    use super::super::bodies::RequestBody;
    use super::super::pulse::Asked;
    use super::super::pulse::tests::dragging;
    use super::*;

    #[tokio::test]
    async fn who_waits_longest_without_a_request_makes_room_and_who_works_stays() {
        let crowd = Crowd::new(3);
        let pulses: Vec<_> = (0..3).map(|_| Arc::new(Pulse::new(0))).collect();
        let mut places = Vec::new();
        for pulse in &pulses {
            places.push(Some(crowd.enter(pulse).await));
        }
        pulses[0].begin("GET", b"x");
        pulses[2].begin("GET", b"x");
        pulses[2].answered();
        assert_eq!(crowd.count(), 3);
        let newcomer = Arc::new(Pulse::new(0));
        let entering = crowd.enter(&newcomer);
        let (gone, place) = tokio::join!(
            async {
                pulses[2].asked().await;
                places[2] = None;
                2
            },
            entering
        );
        assert_eq!(gone, 2, "one between two requests goes before one whose head is on its way");
        assert_eq!(crowd.count(), 3);
        drop(place);
        drop(places);
        assert_eq!(crowd.count(), 0);
    }

    #[tokio::test]
    async fn where_all_have_something_under_way_the_body_that_drags_on_longest_makes_room() {
        let crowd = Crowd::new(4);
        let ages = [Some(1), Some(5), Some(9), None];
        let pulses = ages.map(|age| {
            Arc::new(age.map_or_else(|| Pulse::new(0), |age| dragging(Duration::from_secs(age))))
        });
        let mut places = Vec::new();
        for pulse in &pulses {
            places.push(crowd.enter(pulse).await);
        }
        pulses[3].begin("GET", b"x");
        for oldest in [2, 1] {
            crowd.make_room();
            assert_eq!(pulses[oldest].asked().await, Asked::ToGo);
        }
        crowd.make_room();
        for stays in [0, 3] {
            assert!(tokio::time::timeout(AGAIN, pulses[stays].asked()).await.is_err(), "{stays}");
        }
    }

    #[tokio::test]
    async fn the_client_with_the_most_connections_makes_room() {
        let crowd = Crowd::new(4);
        let pulses: Vec<_> = [1, 2, 2, 2].map(|client| Arc::new(Pulse::new(client))).into();
        let mut places = Vec::new();
        for pulse in &pulses {
            places.push(crowd.enter(pulse).await);
            pulse.begin("GET", b"x");
        }
        for pulse in &pulses {
            pulse.answered();
        }
        // The first one has waited longest, and is alone.
        crowd.make_room();
        assert_eq!(pulses[1].asked().await, Asked::ToGo);
    }

    #[tokio::test]
    async fn the_client_with_the_most_bodies_gives_one_up() {
        let crowd = Crowd::new(8);
        let clients = [1, 2, 2, 2, 2];
        let pulses: Vec<_> = clients.map(|client| Arc::new(Pulse::new(client))).into();
        let (mut places, mut bodies) = (Vec::new(), Vec::new());
        for pulse in &pulses {
            places.push(crowd.enter(pulse).await);
            pulse.begin("POST", b"x");
            pulse.set_known(pulse.client());
            let body = RequestBody::new(&crowd, pulse);
            body.wait();
            bodies.push(body);
        }
        let evicted: Vec<bool> = pulses.iter().map(|pulse| pulse.is_evicted()).collect();
        assert_eq!(
            evicted,
            [false, true, false, false, false],
            "half of the places are for bodies"
        );
        // What is given back is there for others.
        bodies.truncate(3);
        let late = Arc::new(Pulse::new(3));
        places.push(crowd.enter(&late).await);
        late.begin("POST", b"x");
        late.set_known(3);
        RequestBody::new(&crowd, &late).wait();
        assert!(!pulses[0].is_evicted() && !pulses[2].is_evicted() && !late.is_evicted());
    }

    #[tokio::test]
    async fn when_all_work_a_newcomer_waits_for_one_who_leaves() {
        let crowd = Crowd::new(1);
        let (busy, newcomer) = (Arc::new(Pulse::new(0)), Arc::new(Pulse::new(0)));
        let place = crowd.enter(&busy).await;
        busy.begin("GET", b"x");
        assert!(tokio::time::timeout(AGAIN * 3, crowd.enter(&newcomer)).await.is_err());
        drop(place);
        drop(crowd.enter(&newcomer).await);
    }
}
