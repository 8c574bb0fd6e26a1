//! Detects posts whose likes grow unusually fast. No I/O.

/// Minimum number of old likes for which doubling counts.
const MIN_LIKES: u64 = 50;
/// Maximum gain of likes that is no alert by itself.
const MAX_USUAL_GAIN: u64 = 100;

/// Returns whether the step from `old` to `new` likes is an alert: 50 or more likes at least
/// doubled, or the post gained more than 100.
#[must_use]
pub fn is_velocity_alert(old: u64, new: u64) -> bool {
    (old >= MIN_LIKES && new >= old.saturating_mul(2)) || new.saturating_sub(old) > MAX_USUAL_GAIN
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn alert_bounds_are_exact() {
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
            assert_eq!(is_velocity_alert(old, new), alert, "{old} -> {new}");
        }
    }
}
