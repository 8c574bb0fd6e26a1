//! Whether pages stream in: then making vectors gives way. Pure.

use std::time::{Duration, Instant};

/// So many pages a second that change are a stream, when they are many.
const STREAM: f64 = 100.0;
const MANY: u64 = 64;
/// How long a look holds.
const HOLDS: Duration = Duration::from_secs(1);
/// After so long without a look it is not known when the pages came.
const LONG: Duration = Duration::from_secs(5);

/// What was seen at the last look.
#[derive(Debug)]
pub(super) struct Pace {
    looked: Instant,
    changes: u64,
    streams: bool,
}

impl Pace {
    pub(super) fn new(now: Instant) -> Self {
        Self { looked: now, changes: 0, streams: false }
    }

    /// Whether they stream in, when this many pages have changed until now.
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
        let mut pace = Pace::new(start);
        let mut at =
            |ms: u64, changes: u64| pace.streams(start + Duration::from_millis(ms), changes);
        assert!(!at(500, 400), "too soon to tell");
        assert!(at(1000, 900));
        assert!(at(1500, 900), "the look holds");
        assert!(!at(2100, 901));
        assert!(!at(4000, 1000), "50 a second are no stream");
        // A minute later many have come, as it seems just now.
        assert!(at(64_000, 1100));
        assert!(!at(65_100, 1100));
        assert!(!at(165_100, 1160), "few are no stream");
    }
}
