//! When likes grow so fast that somebody should know. Pure.

/// Likes from which on doubling counts.
const MANY: u64 = 50;
/// A gain above this counts always.
const GAIN: u64 = 100;

/// Whether the step from `old` to `new` likes is an alert: at 50 or more, when they have at least doubled; else when more than 100
/// were gained.
#[must_use]
pub fn gains(old: u64, new: u64) -> bool {
    (old >= MANY && new >= old.saturating_mul(2)) || new.saturating_sub(old) > GAIN
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_boundary_on_both_sides() {
        for (old, new, alert) in [
            (45, 90, false),
            (49, 98, false),
            (50, 99, false),
            (50, 100, true),
            (30, 150, true),
            (49, 149, false),
            (49, 150, true),
            (0, 100, false),
            (0, 101, true),
            (200, 300, false),
            (200, 301, true),
            (100, 50, false),
            (0, 0, false),
            (u64::MAX, u64::MAX, true),
        ] {
            assert_eq!(gains(old, new), alert, "{old} -> {new}");
        }
    }
}
