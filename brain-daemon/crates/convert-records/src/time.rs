//! Reads times as the programs write them.

use jiff::Timestamp;
use jiff::civil::DateTime;
use jiff::tz::TimeZone;
use serde_json::Value;

/// Microseconds from 1601 to 1970, which Chromium counts from.
const SINCE_1601: i64 = 11_644_473_600_000_000;

/// Returns the time of a number of seconds since 1970, which can have a fraction.
pub(crate) fn from_seconds(value: Option<&Value>) -> Option<Timestamp> {
    let value = value?;
    let seconds = value.as_f64().or_else(|| value.as_str()?.trim().parse().ok())?;
    if seconds == 0.0 || !seconds.is_finite() || seconds.abs() > 1e12 {
        return None;
    }
    #[allow(clippy::cast_possible_truncation)]
    let micros = (seconds * 1e6).round() as i64;
    Timestamp::from_microsecond(micros).ok()
}

/// Returns the time of a number whose unit is not known: seconds, milliseconds, microseconds or
/// nanoseconds since 1970, or microseconds or their tenths since 1601. The ranges of sensible times
/// do not overlap. 0 is none.
pub(crate) fn from_any_unit(number: &str) -> Option<Timestamp> {
    let number = number.trim().split('.').next()?.parse::<i64>().ok().filter(|it| *it > 0)?;
    let time = if number < 100_000_000_000 {
        Timestamp::from_second(number)
    } else if number < 100_000_000_000_000 {
        Timestamp::from_millisecond(number)
    } else if number < 10_000_000_000_000_000 {
        Timestamp::from_microsecond(number)
    } else if number < 100_000_000_000_000_000 {
        Timestamp::from_microsecond(number - SINCE_1601)
    } else if number < 200_000_000_000_000_000 {
        Timestamp::from_microsecond(number / 10 - SINCE_1601)
    } else {
        Timestamp::from_nanosecond(number.into())
    };
    time.ok()
}

/// Returns the time of a number of microseconds since 1601.
pub(crate) fn from_1601(value: &Value) -> Option<Timestamp> {
    let micros: i64 = value.as_i64().or_else(|| value.as_str()?.trim().parse().ok())?;
    let micros = (micros > 0).then(|| micros.checked_sub(SINCE_1601)).flatten()?;
    Timestamp::from_microsecond(micros).ok()
}

/// Returns the time of a text: `2026-02-01T08:00:00.000000Z`. A text without a zone is UTC.
pub(crate) fn from_text(text: &str) -> Option<Timestamp> {
    let text = text.trim();
    text.parse().ok().or_else(|| {
        let local: DateTime = text.parse().ok()?;
        Some(local.to_zoned(TimeZone::UTC).ok()?.timestamp())
    })
}

/// Returns a time as a page shows it: `2026-02-01 08:00:00 UTC`.
pub(crate) fn shown(time: Timestamp) -> String {
    time.strftime("%Y-%m-%d %H:%M:%S UTC").to_string()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn im19_the_unit_is_known_by_the_size() {
        let since_1970 = ["1250000000", "1250000000588", "1250000000588170", "1250000000588170000"];
        for number in since_1970.into_iter().chain(["12894473600588170", "128944736005881700"]) {
            let time = from_any_unit(number).map(Timestamp::as_second);
            assert_eq!(time, Some(1_250_000_000), "{number}");
        }
        for number in ["0", "", "-1", "x", "99999999999999999999"] {
            assert_eq!(from_any_unit(number), None, "{number}");
        }
    }

    #[test]
    fn numbers_that_are_no_time_are_none() {
        for value in [json!(0), json!(null), json!(1e300), json!("x"), json!([])] {
            assert_eq!(from_seconds(Some(&value)), None, "{value}");
        }
        let time = from_seconds(Some(&json!(1_700_000_000.5)));
        assert_eq!(time.map(|it| it.to_string()).as_deref(), Some("2023-11-14T22:13:20.5Z"));
        assert_eq!(from_1601(&json!("0")), None);
        assert_eq!(from_1601(&json!(i64::MIN)), None);
    }
}
