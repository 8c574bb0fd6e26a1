//! Pauses between attempts.

use std::time::Duration;

use crate::random::{self, RandomSource};

/// Pauses that double with each failure, up to a maximum.
#[derive(Debug, Clone, Copy)]
pub struct Backoff {
    first: Duration,
    max: Duration,
}

impl Backoff {
    /// Begins with `first`, which is not longer than `max`.
    #[must_use]
    pub const fn new(first: Duration, max: Duration) -> Self {
        Self { first, max }
    }

    /// Returns the pause before the next attempt; the first one for 0 earlier failures.
    #[must_use]
    pub fn pause(&self, earlier_failures: u32) -> Duration {
        self.first.saturating_mul(2_u32.saturating_pow(earlier_failures)).min(self.max)
    }

    /// As [`Backoff::pause`], in milliseconds.
    #[must_use]
    pub fn pause_ms(&self, earlier_failures: u32) -> i64 {
        i64::try_from(self.pause(earlier_failures).as_millis()).unwrap_or(i64::MAX)
    }

    /// Returns between half and one and a half of [`Backoff::pause`], so that machines do not
    /// retry at the same time.
    #[must_use]
    pub fn random_pause(&self, earlier_failures: u32, random: &dyn RandomSource) -> Duration {
        let number = random::number(random).unwrap_or(u64::MAX / 2);
        let fraction = f64::from(u16::try_from(number >> 48).unwrap_or(0)) / f64::from(u16::MAX);
        self.pause(earlier_failures).mul_f64(0.5 + fraction)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Error;

    struct FixedRandom(u8);

    impl RandomSource for FixedRandom {
        fn fill(&self, bytes: &mut [u8]) -> Result<(), Error> {
            bytes.fill(self.0);
            Ok(())
        }
    }

    #[test]
    fn pauses_double_up_to_the_maximum() {
        let backoff = Backoff::new(Duration::from_millis(500), Duration::from_secs(60));
        let pauses = [0, 1, 6, 7, 31, 32, u32::MAX].map(|failures| backoff.pause_ms(failures));
        assert_eq!(pauses, [500, 1000, 32_000, 60_000, 60_000, 60_000, 60_000]);
    }

    #[test]
    fn random_pauses_are_near_the_pause() {
        let backoff = Backoff::new(Duration::from_secs(1), Duration::from_secs(4));
        for (random, ms) in [(0, 2000), (0xff, 6000)] {
            let pause = backoff.random_pause(5, &FixedRandom(random));
            assert_eq!(pause, Duration::from_millis(ms));
        }
    }
}
