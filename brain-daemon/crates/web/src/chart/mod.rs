//! Charts of numbers over time, as inline SVG. Style comes from classes. No I/O.
//!
//! A table with the same numbers follows each chart, except a sparkline. Labels are text beside
//! the chart, so that they keep their size on a narrow screen.

mod bars;
mod curves;

pub(crate) use bars::cost_bars;
pub(crate) use curves::{CurveMark, curves, sparkline};

/// Maps `value` from `low..=high` to `0..=size`; to the middle if both bounds are equal. A value
/// outside the bounds is mapped to the nearest edge.
fn scale(value: i128, low: i128, high: i128, size: i64) -> i64 {
    let (span, size) = (high - low, i128::from(size));
    let at = if span <= 0 { size / 2 } else { ((value - low) * size + span / 2) / span };
    i64::try_from(at.clamp(0, size)).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_scaled_into_the_chart() {
        assert_eq!(scale(5, 0, 10, 600), 300);
        assert_eq!(scale(7, 7, 7, 600), 300);
        assert_eq!(scale(99, 0, 10, 600), 600);
        assert_eq!(scale(i128::from(u64::MAX), 0, i128::from(u64::MAX), 600), 600);
    }
}
