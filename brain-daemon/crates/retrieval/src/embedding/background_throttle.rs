//! Decides whether embedding should pause because pages are being imported. No I/O.

use std::time::{Duration, Instant};

/// Rate above which changes count as an import, in changes per second.
const IMPORT_RATE: f64 = 100.0;
/// Number above which changes between two measurements can count as an import.
const MIN_IMPORT_CHANGES: u64 = 64;
/// Minimum time between two measurements.
const VALIDITY: Duration = Duration::from_secs(1);
/// Time between two measurements above which the rate is unknown. Then only the number counts.
const MAX_GAP: Duration = Duration::from_secs(5);

/// The last measurement of the rate of changes.
#[derive(Debug)]
pub(super) struct BackgroundThrottle {
    measured_at: Instant,
    /// The total number of changes at that time.
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
            let new_changes = changes.saturating_sub(self.changes);
            let rate = new_changes as f64 / elapsed.as_secs_f64();
            let is_fast = elapsed > MAX_GAP || rate > IMPORT_RATE;
            *self = Self {
                measured_at: now,
                changes,
                is_importing: new_changes > MIN_IMPORT_CHANGES && is_fast,
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
        let mut is_importing_at = |ms: u64, changes: u64| {
            throttle.is_importing(start + Duration::from_millis(ms), changes)
        };
        assert!(!is_importing_at(500, 400), "too soon to tell");
        assert!(is_importing_at(1000, 900));
        assert!(is_importing_at(1500, 900), "the result is kept until the next measurement");
        assert!(!is_importing_at(2100, 901));
        assert!(!is_importing_at(4000, 1000), "99 changes in two seconds are not an import");
        // After a minute, the rate is unknown, and 100 changes count as an import.
        assert!(is_importing_at(64_000, 1100));
        assert!(!is_importing_at(65_100, 1100));
        assert!(!is_importing_at(165_100, 1160), "60 changes in 100 seconds are not an import");
    }
}
