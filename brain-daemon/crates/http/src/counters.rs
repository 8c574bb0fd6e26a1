//! Counters for `/metrics`: requests, their duration, and ingest results.
//!
//! Counting is atomic and takes no lock, except to name a new route.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// Maximum number of routes that are counted by name.
const MAX_ROUTES: usize = 64;
/// Upper bounds of the histogram, in microseconds.
pub(crate) const BOUNDS_US: [u64; 12] = [
    500, 1000, 2500, 5000, 10_000, 25_000, 50_000, 100_000, 250_000, 500_000, 1_000_000, 5_000_000,
];

#[derive(Debug, Default)]
pub(crate) struct Counter(AtomicU64);

impl Counter {
    pub(crate) fn add(&self, count: u64) {
        self.0.fetch_add(count, Ordering::Relaxed);
    }

    /// Returns the value.
    pub(crate) fn get(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }
}

/// The requests of one route, by the first digit of their status.
#[derive(Debug, Default)]
pub(crate) struct Route {
    name: OnceLock<String>,
    classes: [Counter; 5],
}

impl Route {
    /// Returns each status class (1 to 5) with its count, if that is not zero.
    pub(crate) fn classes(&self) -> impl Iterator<Item = (usize, u64)> {
        self.classes
            .iter()
            .enumerate()
            .map(|(at, count)| (at + 1, count.get()))
            .filter(|(_, count)| *count > 0)
    }
}

/// The counters since the start of the daemon.
#[derive(Debug)]
pub(crate) struct Counters {
    routes: [Route; MAX_ROUTES],
    /// The requests by duration: a counter for each bound, and one for longer requests.
    buckets: [Counter; BOUNDS_US.len() + 1],
    /// The total duration of requests, in microseconds.
    pub(crate) total_duration_us: Counter,
    /// Bytes of request bodies.
    pub(crate) bytes_in: Counter,
    /// Ingested items that were accepted.
    pub(crate) accepted: Counter,
    /// Ingested items that were duplicates.
    pub(crate) duplicate: Counter,
    /// Ingested items that were refused.
    pub(crate) refused: Counter,
}

impl Default for Counters {
    fn default() -> Self {
        Self {
            routes: std::array::from_fn(|_| Route::default()),
            buckets: Default::default(),
            total_duration_us: Counter::default(),
            bytes_in: Counter::default(),
            accepted: Counter::default(),
            duplicate: Counter::default(),
            refused: Counter::default(),
        }
    }
}

impl Counters {
    /// Counts an answered request.
    pub(crate) fn record(&self, route: &str, status: u16, took: Duration) {
        let us = took.as_micros() as u64;
        self.total_duration_us.add(us);
        let at = BOUNDS_US.iter().position(|bound| us <= *bound).unwrap_or(BOUNDS_US.len());
        if let Some(bucket) = self.buckets.get(at) {
            bucket.add(1);
        }
        if let Some(count) =
            self.route(route).and_then(|route| route.classes.get(usize::from(status / 100) - 1))
        {
            count.add(1);
        }
    }

    /// Returns the counters of a route, and creates them at its first request. Returns `None` for a
    /// new route when [`MAX_ROUTES`] exist.
    fn route(&self, name: &str) -> Option<&Route> {
        self.routes.iter().find(|route| route.name.get_or_init(|| name.to_owned()) == name)
    }

    /// Returns every requested route with its name.
    pub(crate) fn routes(&self) -> impl Iterator<Item = (&str, &Route)> {
        self.routes.iter().filter_map(|route| Some((route.name.get()?.as_str(), route)))
    }

    /// Returns the number of answered requests.
    pub(crate) fn requests(&self) -> u64 {
        self.buckets.iter().map(Counter::get).sum()
    }

    /// Returns, for each of [`BOUNDS_US`], how many requests took at most that long.
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
        let counters = Counters::default();
        counters.record("/health", 200, Duration::from_micros(400));
        counters.record("/ingest", 202, Duration::from_millis(2));
        counters.record("/ingest", 429, Duration::from_secs(60));
        let routes: Vec<_> = counters
            .routes()
            .map(|(name, route)| (name, route.classes().collect::<Vec<_>>()))
            .collect();
        assert_eq!(routes, [("/health", vec![(2, 1)]), ("/ingest", vec![(2, 1), (4, 1)])]);
        let sums: Vec<u64> = counters.histogram().map(|(_, sum)| sum).collect();
        assert_eq!((sums[0], sums[1], sums[2], sums.last()), (1, 1, 2, Some(&2)));
        assert_eq!(counters.requests(), 3);
    }

    #[test]
    fn routes_over_the_limit_count_only_in_the_total() {
        let counters = Counters::default();
        for at in 0..2 * MAX_ROUTES {
            counters.record(&format!("/{at}"), 200, Duration::ZERO);
        }
        assert_eq!(counters.routes().count(), MAX_ROUTES);
        assert_eq!(counters.requests(), 2 * MAX_ROUTES as u64);
    }
}
