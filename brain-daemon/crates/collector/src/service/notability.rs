//! The notability gate: which accounts get a page. No I/O.

use super::topics::WEEK_MS;

/// The minimums that an account must reach to get a page.
#[derive(Debug, Clone, Copy)]
pub(super) struct NotabilityGate {
    /// Minimum number of followers of an unverified account.
    pub(super) min_followers: u64,
    /// Minimum number of posts within a week.
    pub(super) min_posts: u64,
}

impl NotabilityGate {
    /// Returns whether an account with posts at `times` (Unix milliseconds) gets a page.
    pub(super) fn passes(self, times: &[i64], is_verified: bool, followers: u64) -> bool {
        (is_verified || followers >= self.min_followers)
            && max_in_a_week(times) as u64 >= self.min_posts
    }
}

/// Returns the maximum number of `times` (Unix milliseconds) within any one week.
fn max_in_a_week(times: &[i64]) -> usize {
    let mut times = times.to_vec();
    times.sort_unstable();
    let (mut start, mut max) = (0, 0);
    for end in 0..times.len() {
        while times[end].saturating_sub(times[start]) > WEEK_MS {
            start += 1;
        }
        max = max.max(end + 1 - start);
    }
    max
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_gate_needs_posts_of_one_week_and_followers() {
        let gate = NotabilityGate { min_followers: 10_000, min_posts: 3 };
        let week = [0, 5, WEEK_MS];
        assert!(gate.passes(&week, false, 10_000));
        assert!(!gate.passes(&week, false, 9_999));
        assert!(gate.passes(&week, true, 0));
        assert!(!gate.passes(&week[..2], true, 10_000));
        assert!(!gate.passes(&[0, 5, WEEK_MS + 1], true, 10_000));
        assert!(gate.passes(&[9 * WEEK_MS, 0, 9 * WEEK_MS, 9 * WEEK_MS - 1], true, 0));
        assert!(!gate.passes(&[], true, 0));
        assert!(NotabilityGate { min_followers: 0, min_posts: 1 }.passes(&[0], false, 0));
    }
}
