//! Times as people write them: `7d`, `yesterday`, `last week`, `2025-03`.
//!
//! A text names a period in the local time zone. `--since` begins at its start, `--until` ends at
//! its end. The daemon receives instants, or days for dated lines.

use std::{env, fs, sync::LazyLock};

use clap::Args;
use jiff::{
    SignedDuration, Span, Timestamp, ToSpan, Zoned,
    civil::{Date, DateTime, Time, Weekday},
    tz::TimeZone,
};

/// The forms of a time, for messages.
pub(crate) const FORMS: &str = "write an age (7d, \"3 hours\"), a day (yesterday, monday, \
2026-11-21), a period (\"last week\", 2026-11, 2026) or a time (\"2026-11-21 10:30\")";

/// A period that a text names; for an instant, `end` is `start`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct TimePeriod {
    /// The first instant.
    start: Zoned,
    /// The first instant after the period.
    end: Zoned,
}

impl TimePeriod {
    /// Parses a text, relative to the current time.
    ///
    /// # Errors
    /// Returns a message with the valid forms.
    pub(crate) fn parse(text: &str) -> Result<Self, String> {
        Self::parse_at(text, &now()).ok_or_else(|| format!("this is not a time; {FORMS}"))
    }

    /// Parses a text, relative to `now`.
    fn parse_at(text: &str, now: &Zoned) -> Option<Self> {
        if let Ok(instant) = text.trim().parse::<Timestamp>() {
            return Some(Self::instant(instant.to_zoned(now.time_zone().clone())));
        }
        let text = text.trim().to_lowercase();
        let words: Vec<&str> = text.split_whitespace().collect();
        match words.as_slice() {
            ["now"] => Some(Self::instant(now.clone())),
            ["today"] => Self::days(now.date(), 1.day(), now),
            ["yesterday"] => Self::days(now.date().yesterday().ok()?, 1.day(), now),
            ["tomorrow"] => Self::days(now.date().tomorrow().ok()?, 1.day(), now),
            ["this", "week" | "month" | "year"] => Self::calendar(words[1], 0, now),
            ["last", "week" | "month" | "year"] => Self::calendar(words[1], 1, now),
            ["last", name] if weekday(name).is_some() => {
                Self::weekday(weekday(name)?, now.date().yesterday().ok()?, now)
            }
            [name] if weekday(name).is_some() => Self::weekday(weekday(name)?, now.date(), now),
            ["last" | "past", ..] => Self::age(&words[1..].join(" "), now),
            _ => Self::clock(&text, now)
                .or_else(|| Self::date(&text, now))
                .or_else(|| Self::age(&text, now)),
        }
    }

    fn instant(at: Zoned) -> Self {
        Self { start: at.clone(), end: at }
    }

    /// Returns the period of `length` from the start of the day `first`, in the time zone of `now`.
    fn days(first: Date, length: Span, now: &Zoned) -> Option<Self> {
        let start = first.to_zoned(now.time_zone().clone()).ok()?;
        let end = first.saturating_add(length).to_zoned(now.time_zone().clone()).ok()?;
        Some(Self { start, end })
    }

    /// Returns the week, month or year (`unit`) that lies `ago` units before the current one. Weeks
    /// begin on Monday.
    fn calendar(unit: &str, ago: i64, now: &Zoned) -> Option<Self> {
        let today = now.date();
        let (first, length) = match unit {
            "week" => {
                let monday = i64::from(today.weekday().to_monday_zero_offset());
                (today.checked_sub(monday.days()).ok()?, 1.week())
            }
            "month" => (today.first_of_month(), 1.month()),
            _ => (today.first_of_year(), 1.year()),
        };
        let first = first.checked_sub(length.checked_mul(ago).ok()?).ok()?;
        Self::days(first, length, now)
    }

    /// Returns the most recent day of the week `name` that is not after `latest`.
    fn weekday(name: Weekday, latest: Date, now: &Zoned) -> Option<Self> {
        let back = i64::from(name.until(latest.weekday()));
        Self::days(latest.checked_sub(back.days()).ok()?, 1.day(), now)
    }

    /// Parses `10:30`, `2026-11-21 10:30` and `2026-11-21T10:30:45`. The period is one minute if
    /// the text has no seconds, one millisecond if it has a fraction, and else one second.
    fn clock(text: &str, now: &Zoned) -> Option<Self> {
        let length = match text.matches(':').count() {
            1 => SignedDuration::from_mins(1),
            2 if text.contains('.') => SignedDuration::from_millis(1),
            2 => SignedDuration::from_secs(1),
            _ => return None,
        };
        let at = match text.contains('-') {
            true => text.parse::<DateTime>().ok()?,
            false => now.date().to_datetime(text.parse::<Time>().ok()?),
        };
        let start = at.to_zoned(now.time_zone().clone()).ok()?;
        let end = start.checked_add(length).ok()?;
        Some(Self { start, end })
    }

    /// Parses `2026-11-21`, `2026-11` and `2026`.
    fn date(text: &str, now: &Zoned) -> Option<Self> {
        let is_date = text.bytes().all(|b| b.is_ascii_digit() || b == b'-');
        match text.len() {
            _ if !is_date => None,
            10 => Self::days(text.parse().ok()?, 1.day(), now),
            7 => Self::days(format!("{text}-01").parse().ok()?, 1.month(), now),
            4 => Self::days(format!("{text}-01-01").parse().ok()?, 1.year(), now),
            _ => None,
        }
    }

    /// Parses an age: `7d`, `1h30m`, `3 weeks ago`, `a month`.
    fn age(text: &str, now: &Zoned) -> Option<Self> {
        let unit = text.strip_prefix("a ").or_else(|| text.strip_prefix("an "));
        let text = unit.map_or_else(|| text.to_owned(), |unit| format!("1 {unit}"));
        let age = text.parse::<Span>().ok()?.abs();
        Some(Self::instant(now.checked_sub(age).ok()?))
    }

    /// Returns the first instant as RFC 3339.
    pub(crate) fn start(&self) -> String {
        format!("{:.3}", self.start.timestamp())
    }

    /// Returns the last instant as RFC 3339: the millisecond before the field `end`, or the instant
    /// itself.
    pub(crate) fn end(&self) -> String {
        let end = match self.end > self.start {
            true => self.end.timestamp().checked_sub(SignedDuration::from_millis(1)).ok(),
            false => None,
        };
        format!("{:.3}", end.unwrap_or_else(|| self.end.timestamp()))
    }

    /// Returns the first day, `YYYY-MM-DD`.
    pub(crate) fn first_day(&self) -> String {
        self.start.date().to_string()
    }

    /// Returns the last day, `YYYY-MM-DD`.
    fn last_day(&self) -> String {
        let last = match self.end > self.start {
            true => self.end.checked_sub(SignedDuration::from_millis(1)).ok(),
            false => None,
        };
        last.as_ref().unwrap_or(&self.end).date().to_string()
    }
}

/// Parses an English name of a day of the week, or its first letters, at least three.
fn weekday(name: &str) -> Option<Weekday> {
    let days = [
        ("monday", Weekday::Monday),
        ("tuesday", Weekday::Tuesday),
        ("wednesday", Weekday::Wednesday),
        ("thursday", Weekday::Thursday),
        ("friday", Weekday::Friday),
        ("saturday", Weekday::Saturday),
        ("sunday", Weekday::Sunday),
    ];
    let found = days.iter().find(|(day, _)| name.len() >= 3 && day.starts_with(name));
    found.map(|(_, day)| *day)
}

/// Options that limit a list to a period; the same for every command.
#[derive(Debug, Args)]
pub(crate) struct PeriodOptions {
    /// Only since this time: 7d, yesterday, "last week", 2025-03, "2025-03-01 10:30"
    #[arg(long, value_name = "WHEN", value_parser = TimePeriod::parse)]
    pub(crate) since: Option<TimePeriod>,

    /// Until this time; a day, week or month counts in full
    #[arg(long, value_name = "WHEN", value_parser = TimePeriod::parse)]
    pub(crate) until: Option<TimePeriod>,
}

impl PeriodOptions {
    /// Returns the first and the last instant as RFC 3339.
    pub(crate) fn instants(&self) -> (Option<String>, Option<String>) {
        (self.since.as_ref().map(TimePeriod::start), self.until.as_ref().map(TimePeriod::end))
    }

    /// Returns the first and the last day, `YYYY-MM-DD`.
    pub(crate) fn days(&self) -> (Option<String>, Option<String>) {
        (
            self.since.as_ref().map(TimePeriod::first_day),
            self.until.as_ref().map(TimePeriod::last_day),
        )
    }
}

/// Returns the current day, `YYYY-MM-DD`.
pub(crate) fn today() -> String {
    now().date().to_string()
}

fn now() -> Zoned {
    Timestamp::now().to_zoned(zone())
}

/// Returns the time zone of the user, without its name; in unit tests UTC.
pub(crate) fn zone() -> TimeZone {
    static ZONE: LazyLock<TimeZone> = LazyLock::new(|| match env::var_os("TZ") {
        _ if cfg!(test) => TimeZone::UTC,
        // For the name, jiff reads the whole directory of zones, which takes a fifth of a search.
        None => local_zone().unwrap_or_else(TimeZone::system),
        Some(_) => TimeZone::system(),
    });
    ZONE.clone()
}

fn local_zone() -> Option<TimeZone> {
    TimeZone::tzif("local", &fs::read("/etc/localtime").ok()?).ok()
}

/// Formats the day of an RFC 3339 time.
pub(crate) fn format_to_day(time: &str) -> String {
    format_local(time, "%Y-%m-%d")
}

/// Formats day and minute of an RFC 3339 time.
pub(crate) fn format_to_minute(time: &str) -> String {
    format_local(time, "%Y-%m-%d %H:%M")
}

/// Formats an RFC 3339 time with seconds.
pub(crate) fn format_to_second(time: &str) -> String {
    format_local(time, "%Y-%m-%d %H:%M:%S")
}

/// Formats an RFC 3339 time in the user's time zone as RFC 3339 with its offset.
pub(crate) fn format_with_offset(time: &str) -> String {
    format_local(time, "%Y-%m-%dT%H:%M:%S%.3f%:z")
}

/// Formats an RFC 3339 time in the user's time zone. Returns a text that is no time unchanged.
fn format_local(time: &str, format: &str) -> String {
    match time.parse::<Timestamp>() {
        Ok(at) => at.to_zoned(zone()).strftime(format).to_string(),
        Err(_) => time.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Parses `text` relative to Monday, 2026-11-23, 01:00 at UTC+01:00. Returns start and end.
    fn period(text: &str) -> Option<(String, String)> {
        let zone = TimeZone::fixed(jiff::tz::offset(1));
        let now: Timestamp = "2026-11-23T00:00:00Z".parse().expect("a time");
        let when = TimePeriod::parse_at(text, &now.to_zoned(zone))?;
        Some((when.start(), when.end()))
    }

    #[test]
    fn days_and_calendar_periods_are_local() {
        for (text, first, last) in [
            ("today", "2026-11-22T23:00:00.000Z", "2026-11-23T22:59:59.999Z"),
            ("Yesterday", "2026-11-21T23:00:00.000Z", "2026-11-22T22:59:59.999Z"),
            ("monday", "2026-11-22T23:00:00.000Z", "2026-11-23T22:59:59.999Z"),
            ("last monday", "2026-11-15T23:00:00.000Z", "2026-11-16T22:59:59.999Z"),
            ("fri", "2026-11-19T23:00:00.000Z", "2026-11-20T22:59:59.999Z"),
            ("this week", "2026-11-22T23:00:00.000Z", "2026-11-29T22:59:59.999Z"),
            ("last week", "2026-11-15T23:00:00.000Z", "2026-11-22T22:59:59.999Z"),
            ("last month", "2026-09-30T23:00:00.000Z", "2026-10-31T22:59:59.999Z"),
            ("last year", "2024-12-31T23:00:00.000Z", "2025-12-31T22:59:59.999Z"),
            ("2025-03", "2025-02-28T23:00:00.000Z", "2025-03-31T22:59:59.999Z"),
            ("2025", "2024-12-31T23:00:00.000Z", "2025-12-31T22:59:59.999Z"),
            ("2024-02-29", "2024-02-28T23:00:00.000Z", "2024-02-29T22:59:59.999Z"),
        ] {
            assert_eq!(period(text), Some((first.into(), last.into())), "{text}");
        }
    }

    #[test]
    fn times_and_ages_are_relative_to_now() {
        for (text, first, last) in [
            ("7d", "2026-11-16T00:00:00.000Z", "2026-11-16T00:00:00.000Z"),
            ("1h30m", "2026-11-22T22:30:00.000Z", "2026-11-22T22:30:00.000Z"),
            ("3 hours ago", "2026-11-22T21:00:00.000Z", "2026-11-22T21:00:00.000Z"),
            ("a week ago", "2026-11-16T00:00:00.000Z", "2026-11-16T00:00:00.000Z"),
            ("last 2 months", "2026-09-23T00:00:00.000Z", "2026-09-23T00:00:00.000Z"),
            ("now", "2026-11-23T00:00:00.000Z", "2026-11-23T00:00:00.000Z"),
            ("00:30", "2026-11-22T23:30:00.000Z", "2026-11-22T23:30:59.999Z"),
            ("2026-11-21 10:30", "2026-11-21T09:30:00.000Z", "2026-11-21T09:30:59.999Z"),
            ("2026-11-21T10:30:45", "2026-11-21T09:30:45.000Z", "2026-11-21T09:30:45.999Z"),
            ("2026-11-21T10:30:45.5Z", "2026-11-21T10:30:45.500Z", "2026-11-21T10:30:45.500Z"),
        ] {
            assert_eq!(period(text), Some((first.into(), last.into())), "{text}");
        }
    }

    #[test]
    fn texts_that_are_no_times_are_refused() {
        for text in ["", "soon", "2025-13", "2025-02-30", "25:00", "last", "7", "20250", "é", "mo"]
        {
            assert_eq!(period(text), None, "{text}");
        }
    }

    #[test]
    fn days_of_a_period_are_local() {
        let period = |text| PeriodOptions {
            since: TimePeriod::parse(text).ok(),
            until: TimePeriod::parse(text).ok(),
        };
        let (since, until) = period("2025-02").days();
        assert_eq!((since.as_deref(), until.as_deref()), (Some("2025-02-01"), Some("2025-02-28")));
    }

    #[test]
    fn a_time_is_formatted_to_the_day_minute_or_second() {
        let at = "2026-11-21T04:51:43.123Z";
        assert_eq!(format_to_minute(at), "2026-11-21 04:51");
        assert_eq!(
            (format_to_second(at), format_to_day(at)),
            ("2026-11-21 04:51:43".into(), "2026-11-21".into())
        );
        assert_eq!(format_with_offset(at), "2026-11-21T04:51:43.123+00:00");
        assert_eq!(format_to_minute("soon"), "soon");
    }
}
