//! Parses times and formats time differences. Only [`now`] reads the clock.

use std::time::{SystemTime, UNIX_EPOCH};

use jiff::Timestamp;

use crate::when::zone;

/// Returns the current Unix seconds.
pub(super) fn now() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    since.ok().and_then(|d| i64::try_from(d.as_secs()).ok()).unwrap_or(0)
}

/// Returns the Unix milliseconds of an RFC 3339 time in UTC, as the daemon writes it; `None` for
/// another text.
pub(super) fn millis(text: &str) -> Option<i64> {
    let number = |from: usize, to: usize| -> Option<i64> {
        let digits = text.get(from..to)?;
        digits.bytes().all(|b| b.is_ascii_digit()).then(|| digits.parse().ok())?
    };
    let (year, month, day) = (number(0, 4)?, number(5, 7)?, number(8, 10)?);
    let (hour, minute, second) = (number(11, 13)?, number(14, 16)?, number(17, 19)?);
    if !(1..=12).contains(&month) || !(1..=31).contains(&day) || !text.ends_with('Z') {
        return None;
    }
    let thousandths = if text.get(19..20) == Some(".") { number(20, 23).unwrap_or(0) } else { 0 };
    // Counts years from March, so that a leap day is the last day of its year.
    let (years, months) = if month > 2 { (year, month - 3) } else { (year - 1, month + 9) };
    let days = years * 365 + years / 4 - years / 100 + years / 400 + (153 * months + 2) / 5 + day
        - 1
        - 719_468;
    Some((((days * 24 + hour) * 60 + minute) * 60 + second) * 1000 + thousandths)
}

/// Formats a Unix second as local time of day: `10:45`.
pub(super) fn clock(second: i64) -> String {
    let time = Timestamp::from_second(second).unwrap_or_default();
    time.to_zoned(zone()).strftime("%H:%M").to_string()
}

/// Formats the difference of a Unix second from now: `in 12 min`, `3 h ago`.
pub(super) fn relative(time: i64, now: i64) -> String {
    let seconds = time.abs_diff(now);
    let span = match seconds {
        0..60 => format!("{seconds} s"),
        60..5400 => format!("{} min", seconds / 60),
        5400..172_800 => format!("{} h", seconds / 3600),
        _ => format!("{} d", seconds / 86_400),
    };
    if time >= now { format!("in {span}") } else { format!("{span} ago") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_parsed() {
        for (text, expected) in [
            ("1970-01-01T00:00:00.000Z", Some(0)),
            ("2026-11-21T10:00:00.500Z", Some(1_795_255_200_500)),
            ("2026-11-21T10:00:00Z", Some(1_795_255_200_000)),
            ("2024-02-29T23:59:59.999Z", Some(1_709_251_199_999)),
            ("2000-03-01T00:00:00Z", Some(951_868_800_000)),
            ("2026-11-21", None),
            ("2026-11-21T10:00:00+01:00", None),
            ("2026-13-21T10:00:00Z", None),
            ("été de 2026, vers midiZ", None),
            ("", None),
        ] {
            assert_eq!(millis(text), expected, "{text}");
        }
    }

    #[test]
    fn time_differences_have_units() {
        assert_eq!(relative(1000, 1000), "in 0 s");
        assert_eq!(relative(1000 + 720, 1000), "in 12 min");
        assert_eq!(relative(0, 3 * 3600), "3 h ago");
        assert_eq!(relative(0, 3 * 86_400), "3 d ago");
        assert_eq!(clock(1_795_255_200 + 45 * 60), "10:45");
    }
}
