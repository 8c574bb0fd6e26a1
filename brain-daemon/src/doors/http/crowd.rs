//! Places for connections: so many at once, and who has nothing under way, or does not get it done, makes room for who comes.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::Notify;

use super::pulse::{Phase, Pulse};

/// How often a newcomer asks again, when those who were asked had something to do after all.
const AGAIN: Duration = Duration::from_millis(20);

/// The places of one listener.
pub(crate) struct Crowd {
    places: Mutex<Places>,
    left: Notify,
}

struct Places {
    taken: Vec<Option<Arc<Pulse>>>,
    free: Vec<usize>,
    /// Where to look for the next one who is asked to go: round and round, so that who has just come is asked last.
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
        Arc::new(Self { places: Mutex::new(places), left: Notify::new() })
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

    /// Asks one who has nothing under way to go: rather one between two requests than one whose request begins; and if there is
    /// none, the one whose request's body drags on for longest.
    pub(crate) fn make_room(&self) {
        let mut places = self.lock();
        let Places { taken, hand, .. } = &mut *places;
        for wanted in [&[Phase::Idle, Phase::Closing][..], &[Phase::Head]] {
            for _ in 0..taken.len() {
                *hand = (*hand + 1) % taken.len();
                if let Some(Some(pulse)) = taken.get(*hand)
                    && wanted.contains(&pulse.phase())
                    && pulse.ask_to_go()
                {
                    return;
                }
            }
        }
        let dragging = taken.iter().flatten().filter_map(|pulse| Some((pulse.drags_since()?, pulse)));
        if let Some((_, pulse)) = dragging.min_by_key(|(since, _)| *since) {
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
    use super::super::pulse::Asked;
    use super::super::pulse::tests::dragging;
    use super::*;

    #[tokio::test]
    async fn who_waits_longest_without_a_request_makes_room_and_who_works_stays() {
        let crowd = Crowd::new(3);
        let pulses: Vec<_> = (0..3).map(|_| Arc::new(Pulse::new())).collect();
        let mut places = Vec::new();
        for pulse in &pulses {
            places.push(Some(crowd.enter(pulse).await));
        }
        pulses[0].begin("GET", b"x");
        pulses[2].begin("GET", b"x");
        pulses[2].answered();
        assert_eq!(crowd.count(), 3);
        let newcomer = Arc::new(Pulse::new());
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
        let pulses =
            ages.map(|age| Arc::new(age.map_or_else(Pulse::new, |age| dragging(Duration::from_secs(age)))));
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
    async fn when_all_work_a_newcomer_waits_for_one_who_leaves() {
        let crowd = Crowd::new(1);
        let (busy, newcomer) = (Arc::new(Pulse::new()), Arc::new(Pulse::new()));
        let place = crowd.enter(&busy).await;
        busy.begin("GET", b"x");
        assert!(tokio::time::timeout(AGAIN * 3, crowd.enter(&newcomer)).await.is_err());
        drop(place);
        drop(crowd.enter(&newcomer).await);
    }
}
