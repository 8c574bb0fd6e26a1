//! Decides whether embedding should pause because pages are being imported. No I/O.

use std::time::{Duration, Instant};

/// Rate of changes per second, and minimum number, that count as an import.
const STREAM: f64 = 100.0;
const MANY: u64 = 64;
/// How long a decision is valid.
const HOLDS: Duration = Duration::from_secs(1);
/// After a longer gap, the rate of the changes is unknown.
const LONG: Duration = Duration::from_secs(5);

/// The last measurement.
#[derive(Debug)]
pub(super) struct BackgroundThrottle {
    looked: Instant,
    changes: u64,
    streams: bool,
}

impl BackgroundThrottle {
    pub(super) fn new(now: Instant) -> Self {
        Self { looked: now, changes: 0, streams: false }
    }

    /// Returns whether to pause, given the total number of changes so far.
    pub(super) fn streams(&mut self, now: Instant, changes: u64) -> bool {
        let since = now.saturating_duration_since(self.looked);
        if since >= HOLDS {
            let changed = changes.saturating_sub(self.changes);
            let fast = since > LONG || changed as f64 / since.as_secs_f64() > STREAM;
            *self = Self { looked: now, changes, streams: changed > MANY && fast };
        }
        self.streams
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stream_is_seen_when_it_begins_and_when_it_ends() {
        let start = Instant::now();
        let mut pace = BackgroundThrottle::new(start);
        let mut at =
            |ms: u64, changes: u64| pace.streams(start + Duration::from_millis(ms), changes);
        assert!(!at(500, 400), "too soon to tell");
        assert!(at(1000, 900));
        assert!(at(1500, 900), "the look holds");
        assert!(!at(2100, 901));
        assert!(!at(4000, 1000), "50 a second are no stream");
        // After a minute, many changes look like a burst.
        assert!(at(64_000, 1100));
        assert!(!at(65_100, 1100));
        assert!(!at(165_100, 1160), "few are no stream");
    }
}
