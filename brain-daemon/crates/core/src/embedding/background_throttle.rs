//! Decides whether embedding should pause because pages are being imported. No I/O.

use std::time::{Duration, Instant};

/// Rate of changes per second, and minimum number, that count as an import.
const IMPORT_RATE: f64 = 100.0;
const MIN_IMPORT_CHANGES: u64 = 64;
/// How long a decision is valid.
const VALIDITY: Duration = Duration::from_secs(1);
/// After a longer gap, the rate of the changes is unknown.
const MAX_GAP: Duration = Duration::from_secs(5);

/// The last measurement of the rate of changes.
#[derive(Debug)]
pub(super) struct BackgroundThrottle {
    measured_at: Instant,
    changes: u64,
    is_importing: bool,
}

impl BackgroundThrottle {
    pub(super) fn new(now: Instant) -> Self {
        Self { measured_at: now, changes: 0, is_importing: false }
    }

    /// Returns whether to pause, given the total number of changes so far.
    pub(super) fn is_importing(&mut self, now: Instant, changes: u64) -> bool {
        let elapsed = now.saturating_duration_since(self.measured_at);
        if elapsed >= VALIDITY {
            let changed = changes.saturating_sub(self.changes);
            let is_fast = elapsed > MAX_GAP || changed as f64 / elapsed.as_secs_f64() > IMPORT_RATE;
            *self = Self {
                measured_at: now,
                changes,
                is_importing: changed > MIN_IMPORT_CHANGES && is_fast,
            };
        }
        self.is_importing
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn import_is_detected_from_start_to_end() {
        let start = Instant::now();
        let mut throttle = BackgroundThrottle::new(start);
        let mut at = |ms: u64, changes: u64| {
            throttle.is_importing(start + Duration::from_millis(ms), changes)
        };
        assert!(!at(500, 400), "too soon to tell");
        assert!(at(1000, 900));
        assert!(at(1500, 900), "the result is kept until the next measurement");
        assert!(!at(2100, 901));
        assert!(!at(4000, 1000), "50 changes in two seconds are not an import");
        // After a minute, many changes look like a burst.
        assert!(at(64_000, 1100));
        assert!(!at(65_100, 1100));
        assert!(!at(165_100, 1160), "60 changes in 100 seconds are not an import");
    }
}
