//! The clock, and time formats. Code that depends on time takes a [`Clock`], so that tests can set
//! it.

use std::time::{SystemTime, UNIX_EPOCH};

use brain_protocol::{Fault, FaultCode};
use jiff::Timestamp;
use jiff::civil::Date;
use jiff::tz::TimeZone;

/// A source of the current time.
pub trait Clock: Send + Sync {
    /// Returns the current time in Unix milliseconds.
    fn now(&self) -> i64;
}

/// The clock of the operating system.
#[derive(Debug, Clone, Copy, Default)]
pub struct SystemClock;

impl Clock for SystemClock {
    fn now(&self) -> i64 {
        SystemTime::now()
            .duration_since(UNIX_EPOCH)
            .map_or(0, |d| i64::try_from(d.as_millis()).unwrap_or(i64::MAX))
    }
}

/// Formats Unix milliseconds as RFC 3339 in UTC: `2026-11-21T10:30:45.123Z`. A time outside of the
/// calendar's range becomes `<ms>ms`.
#[must_use]
pub fn rfc3339(ms: i64) -> String {
    match Timestamp::from_millisecond(ms) {
        Ok(t) => format!("{t:.3}"),
        Err(_) => format!("{ms}ms"),
    }
}

/// Formats the UTC day of Unix milliseconds: `2026-11-21`. A time outside of the calendar's range
/// becomes `1970-01-01`.
#[must_use]
pub fn day(ms: i64) -> String {
    match Timestamp::from_millisecond(ms) {
        Ok(t) => t.to_zoned(TimeZone::UTC).date().to_string(),
        Err(_) => "1970-01-01".into(),
    }
}

/// Returns the time zone of this machine; in unit tests of this crate UTC.
#[must_use]
pub fn zone() -> TimeZone {
    if cfg!(test) { TimeZone::UTC } else { TimeZone::system() }
}

/// Returns the offset of the time zone of this machine from UTC at a time, in minutes.
#[must_use]
pub fn zone_minutes(ms: i64) -> i16 {
    let at = Timestamp::from_millisecond(ms).unwrap_or_default();
    (zone().to_offset(at).seconds() / 60) as i16
}

/// Formats the local day of Unix milliseconds: `2026-11-21`.
#[must_use]
pub fn local_day(ms: i64) -> String {
    match Timestamp::from_millisecond(ms) {
        Ok(t) => t.to_zoned(zone()).date().to_string(),
        Err(_) => day(ms),
    }
}

/// Returns the local day of Unix milliseconds. For a time outside of the calendar's range, returns
/// the day of the epoch.
#[must_use]
pub fn local_date(ms: i64) -> Date {
    Timestamp::from_millisecond(ms).unwrap_or_default().to_zoned(zone()).date()
}

/// Formats Unix milliseconds as RFC 3339 with the offset and the name of this machine's time zone:
/// `2026-11-21T11:30:45+01:00[Europe/Berlin]`.
#[must_use]
pub fn local_time(ms: i64) -> String {
    match Timestamp::from_millisecond(ms) {
        Ok(t) => format!("{:.0}", t.to_zoned(zone())),
        Err(_) => rfc3339(ms),
    }
}

/// Formats Unix milliseconds as local time to the minute: `2026-11-21 04:51`.
#[must_use]
pub fn local_minute(ms: i64) -> String {
    match Timestamp::from_millisecond(ms) {
        Ok(t) => t.to_zoned(zone()).strftime("%Y-%m-%d %H:%M").to_string(),
        Err(_) => rfc3339(ms),
    }
}

/// Parses a local day `YYYY-MM-DD`, which stands for its first millisecond, or an RFC 3339 instant.
///
/// Returns Unix milliseconds; `None` for other texts.
#[must_use]
pub fn parse_instant(text: &str) -> Option<i64> {
    match parse_day(text) {
        Some(date) => first_millisecond(date),
        None => parse_timestamp(text),
    }
}

/// As [`parse_instant`], for the end of a period: a day stands for its last millisecond.
#[must_use]
pub fn parse_end_instant(text: &str) -> Option<i64> {
    match parse_day(text) {
        Some(date) => Some(first_millisecond(date.tomorrow().ok()?)? - 1),
        None => parse_timestamp(text),
    }
}

/// Returns the first millisecond of a local day.
fn first_millisecond(date: Date) -> Option<i64> {
    Some(date.to_zoned(zone()).ok()?.timestamp().as_millisecond())
}

fn parse_timestamp(text: &str) -> Option<i64> {
    text.parse::<Timestamp>().ok().map(Timestamp::as_millisecond)
}

/// Parses a calendar day `YYYY-MM-DD`.
#[must_use]
pub fn parse_day(text: &str) -> Option<Date> {
    (text.len() == 10).then(|| text.parse().ok()).flatten()
}

/// Formats a day by a pattern with the letters of strftime, for example `%Y-%m-%d`. Returns `None`
/// for an invalid pattern.
#[must_use]
pub fn format_day(day: Date, pattern: &str) -> Option<String> {
    jiff::fmt::strtime::format(pattern, day).ok()
}

/// Parses a day or an instant of a request; see [`parse_instant`].
pub fn instant_argument(text: Option<&str>) -> Result<Option<i64>, Fault> {
    text.map(|text| parse_instant(text).ok_or_else(|| instant_fault(text))).transpose()
}

/// Parses the end of a period of a request; see [`parse_end_instant`].
pub fn end_instant_argument(text: Option<&str>) -> Result<Option<i64>, Fault> {
    text.map(|text| parse_end_instant(text).ok_or_else(|| instant_fault(text))).transpose()
}

fn instant_fault(text: &str) -> Fault {
    let message = format!("\"{}\" is neither a day nor an instant", text.escape_debug());
    Fault::new(FaultCode::Usage, message)
        .hint("write YYYY-MM-DD, or RFC 3339 as in 2026-11-21T10:30:00Z")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn instants_are_formatted_and_parsed_in_utc() {
        assert_eq!(rfc3339(1_795_257_045_123), "2026-11-21T10:30:45.123Z");
        assert_eq!(day(1_795_257_045_123), "2026-11-21");
        assert_eq!(parse_instant("1970-01-02"), Some(86_400_000));
        assert_eq!(parse_end_instant("1970-01-02"), Some(2 * 86_400_000 - 1));
        assert_eq!(parse_instant("1970-01-01T01:00:00+01:00"), Some(0));
        assert_eq!(parse_instant("2024-02-30"), None);
        assert_eq!(parse_instant("tomorrow"), None);
    }

    #[test]
    fn local_texts_have_the_zone_of_the_machine() {
        let ms = 1_795_257_045_123;
        assert_eq!(
            (local_day(ms), local_minute(ms)),
            ("2026-11-21".into(), "2026-11-21 10:30".into())
        );
        assert_eq!(local_date(ms).to_string(), "2026-11-21");
        assert_eq!(local_time(ms), "2026-11-21T10:30:45+00:00[UTC]");
        assert_eq!(
            parse_day("2026-11-21").and_then(|day| format_day(day, "%Y/%V")),
            Some("2026/47".into())
        );
        assert_eq!(format_day(local_date(ms), "%"), None);
    }

    #[test]
    fn time_outside_of_the_calendar_has_a_text() {
        let texts = [local_minute(i64::MAX), local_time(i64::MAX), rfc3339(i64::MAX)];
        assert_eq!(texts, ["9223372036854775807ms"; 3]);
        assert_eq!(
            (day(i64::MAX), local_day(i64::MAX)),
            ("1970-01-01".into(), "1970-01-01".into())
        );
    }

    #[test]
    fn wrong_instant_of_a_request_is_named() {
        assert_eq!(instant_argument(Some("1970-01-02")), Ok(Some(86_400_000)));
        assert_eq!(end_instant_argument(Some("1970-01-01")), Ok(Some(86_400_000 - 1)));
        assert_eq!((instant_argument(None), end_instant_argument(None)), (Ok(None), Ok(None)));
        for fault in [instant_argument(Some("so\"on")), end_instant_argument(Some("so\"on"))] {
            let fault = fault.err().map(|fault| (fault.code, fault.message));
            let message = "\"so\\\"on\" is neither a day nor an instant";
            assert_eq!(fault, Some((FaultCode::Usage, message.into())));
        }
    }
}
