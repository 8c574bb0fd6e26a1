//! How much of the processor the copies of past states may take that others than the owner ask for.

use std::time::{Duration, Instant};

/// The time of copies that may be made at once.
const BURST: Duration = Duration::from_secs(60);
/// After it, copies take one part of the time in so many.
const PARTS: u32 = 5;

/// The time that was spent, less what came back since.
#[derive(Debug)]
pub(super) struct BuildBudget {
    spent: Duration,
    at: Instant,
}

impl BuildBudget {
    pub(super) fn new(now: Instant) -> Self {
        Self { spent: Duration::ZERO, at: now }
    }

    /// Returns how long a copy has to wait; `None` if it can be made now.
    pub(super) fn wait(&mut self, now: Instant) -> Option<Duration> {
        let passed = now.saturating_duration_since(self.at);
        self.spent = self.spent.saturating_sub(passed / PARTS);
        self.at = now;
        let over = self.spent.saturating_sub(BURST);
        (!over.is_zero()).then(|| over * PARTS)
    }

    /// Counts the time that a copy took.
    pub(super) fn add(&mut self, time: Duration) {
        self.spent += time;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn copies_take_a_part_of_the_time_after_a_burst() {
        let begin = Instant::now();
        let at = |seconds| begin + Duration::from_secs(seconds);
        let mut budget = BuildBudget::new(begin);
        for _ in 0..7 {
            assert_eq!(budget.wait(begin), None);
            budget.add(Duration::from_secs(10));
        }
        assert_eq!(budget.wait(begin), Some(Duration::from_secs(50)));
        assert_eq!(budget.wait(at(20)), Some(Duration::from_secs(30)));
        assert_eq!(budget.wait(at(51)), None);
        budget.add(Duration::from_secs(10));
        assert!(budget.wait(at(60)).is_some());
        assert_eq!(budget.wait(at(1000)), None, "the whole burst comes back");
        budget.add(Duration::from_secs(60));
        assert_eq!(budget.wait(at(1000)), None);
    }
}
