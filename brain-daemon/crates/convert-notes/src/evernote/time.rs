//! Times of ENEX.

use jiff::Timestamp;
use jiff::civil::DateTime;
use jiff::tz::TimeZone;

/// Reads a time of ENEX: `20231114T101112Z`, in UTC.
pub(super) fn time(text: &str) -> Option<Timestamp> {
    let time = DateTime::strptime("%Y%m%dT%H%M%SZ", text.trim()).ok()?;
    time.to_zoned(TimeZone::UTC).ok().map(|time| time.timestamp())
}
