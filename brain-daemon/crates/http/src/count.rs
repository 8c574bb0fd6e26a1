//! Counters for `/metrics`: how many requests, how long they took, what was taken in. Atomics only; nothing here waits.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// Routes that are counted by name; there are fewer.
const ROUTES: usize = 64;
/// Upper bounds of the histogram, in microseconds.
pub(crate) const BOUNDS_US: [u64; 12] = [
    500, 1000, 2500, 5000, 10_000, 25_000, 50_000, 100_000, 250_000, 500_000, 1_000_000, 5_000_000,
];

/// A counter.
#[derive(Debug, Default)]
pub(crate) struct Count(AtomicU64);

impl Count {
    /// This many more.
    pub(crate) fn add(&self, more: u64) {
        self.0.fetch_add(more, Ordering::Relaxed);
    }

    /// How many.
    pub(crate) fn get(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }
}

/// Requests of one route by the first digit of their status.
#[derive(Debug, Default)]
pub(crate) struct Route {
    name: OnceLock<String>,
    classes: [Count; 5],
}

impl Route {
    /// Class (1 to 5) and count, where there were any.
    pub(crate) fn classes(&self) -> impl Iterator<Item = (usize, u64)> {
        self.classes
            .iter()
            .enumerate()
            .map(|(at, count)| (at + 1, count.get()))
            .filter(|(_, count)| *count > 0)
    }
}

/// What was counted since the daemon began.
#[derive(Debug)]
pub(crate) struct Counts {
    routes: [Route; ROUTES],
    /// One for each bound, and one for what took longer.
    buckets: [Count; BOUNDS_US.len() + 1],
    /// Microseconds that they took together.
    pub(crate) took_us: Count,
    /// Bytes of bodies that came.
    pub(crate) bytes_in: Count,
    /// Items taken in.
    pub(crate) accepted: Count,
    /// Items that were there already.
    pub(crate) duplicate: Count,
    /// Items refused.
    pub(crate) refused: Count,
}

impl Default for Counts {
    fn default() -> Self {
        Self {
            routes: std::array::from_fn(|_| Route::default()),
            buckets: Default::default(),
            took_us: Count::default(),
            bytes_in: Count::default(),
            accepted: Count::default(),
            duplicate: Count::default(),
            refused: Count::default(),
        }
    }
}

impl Counts {
    /// A request was answered.
    pub(crate) fn answered(&self, route: &str, status: u16, took: Duration) {
        let us = took.as_micros() as u64;
        self.took_us.add(us);
        let at = BOUNDS_US.iter().position(|bound| us <= *bound).unwrap_or(BOUNDS_US.len());
        if let Some(bucket) = self.buckets.get(at) {
            bucket.add(1);
        }
        if let Some(count) =
            self.route(route).and_then(|found| found.classes.get(usize::from(status / 100) - 1))
        {
            count.add(1);
        }
    }

    /// The counters of a route, which are made at its first request.
    fn route(&self, name: &str) -> Option<&Route> {
        self.routes.iter().find(|route| route.name.get_or_init(|| name.to_owned()) == name)
    }

    /// Every route that was asked for, with its name.
    pub(crate) fn routes(&self) -> impl Iterator<Item = (&str, &Route)> {
        self.routes.iter().filter_map(|route| Some((route.name.get()?.as_str(), route)))
    }

    /// How many requests were answered.
    pub(crate) fn requests(&self) -> u64 {
        self.buckets.iter().map(Count::get).sum()
    }

    /// How many requests took at most each of [`BOUNDS_US`].
    pub(crate) fn histogram(&self) -> impl Iterator<Item = (u64, u64)> {
        BOUNDS_US.iter().zip(&self.buckets).scan(0, |sum, (bound, count)| {
            *sum += count.get();
            Some((*bound, *sum))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_are_counted_by_route_class_and_time() {
        let counts = Counts::default();
        counts.answered("/health", 200, Duration::from_micros(400));
        counts.answered("/ingest", 202, Duration::from_millis(2));
        counts.answered("/ingest", 429, Duration::from_secs(60));
        let routes: Vec<_> = counts
            .routes()
            .map(|(name, route)| (name, route.classes().collect::<Vec<_>>()))
            .collect();
        assert_eq!(routes, [("/health", vec![(2, 1)]), ("/ingest", vec![(2, 1), (4, 1)])]);
        let sums: Vec<u64> = counts.histogram().map(|(_, sum)| sum).collect();
        assert_eq!((sums[0], sums[1], sums[2], sums.last()), (1, 1, 2, Some(&2)));
        assert_eq!(counts.requests(), 3);
    }

    #[test]
    fn more_routes_than_there_is_room_for_are_no_harm() {
        let counts = Counts::default();
        for at in 0..2 * ROUTES {
            counts.answered(&format!("/{at}"), 200, Duration::ZERO);
        }
        assert_eq!(counts.routes().count(), ROUTES);
        assert_eq!(counts.requests(), 2 * ROUTES as u64);
    }
}
