//! Times of a calendar: a day, or a local time in a zone.

use std::rc::Rc;

use jiff::civil::{Date, DateTime};
use jiff::{SignedDuration, SpanRelativeTo};

use super::zone::{Zone, Zones};
use crate::content_line::Line;

/// A day, or a local time in a zone.
#[derive(Debug, Clone)]
pub(super) struct Moment {
    pub(super) local: DateTime,
    /// Whether it is a day without a time.
    pub(super) is_day: bool,
    zone: Rc<Zone>,
}

impl Moment {
    /// Parses all times of a property: `DTSTART;TZID=Europe/Oslo:20260107T190000`. Of a period,
    /// this is the start. vCalendar 1.0 separates them by `;`.
    pub(super) fn all(line: &Line, zones: &mut Zones<'_>) -> Vec<Self> {
        let zone = line.param("TZID").map(|name| zones.zone(name));
        let zone = zone.unwrap_or_else(|| Rc::new(Zone::Floating));
        let texts = line.texts(b',');
        let texts = texts.iter().flat_map(|text| text.split(';'));
        texts.filter_map(|text| Self::parse(text, &zone)).collect()
    }

    /// Parses one time. `Z` at its end means UTC. Some programs write an offset there: `+0200`.
    pub(super) fn parse(text: &str, zone: &Rc<Zone>) -> Option<Self> {
        let text = text.split('/').next().unwrap_or_default().trim();
        if let Some(text) = text.strip_suffix('Z') {
            let local = text.parse().ok()?;
            return Some(Self { local, is_day: false, zone: Rc::new(Zone::utc()) });
        }
        if let Some((text, zone)) = Zone::split_offset(text) {
            return Some(Self { local: text.parse().ok()?, is_day: false, zone: Rc::new(zone) });
        }
        let is_day = !text.contains('T');
        let local = match is_day {
            true => text.parse::<Date>().ok()?.to_datetime(jiff::civil::Time::midnight()),
            false => text.parse().ok()?,
        };
        Some(Self { local, is_day, zone: Rc::clone(zone) })
    }

    /// Returns another local time in the same zone.
    pub(super) fn at(&self, local: DateTime) -> Self {
        Self { local, ..self.clone() }
    }

    /// Returns a moment as the local time of another's zone.
    pub(super) fn local_of(&self, other: &Self) -> DateTime {
        let instant = other.zone.instant(other.local).filter(|_| !other.is_day && !self.is_day);
        instant.and_then(|instant| self.zone.local(instant)).unwrap_or(other.local)
    }

    /// Returns the time after a duration.
    pub(super) fn after(&self, duration: SignedDuration) -> Option<Self> {
        Some(self.at(self.local.checked_add(duration).ok()?))
    }

    /// Returns how long it is to a later time, by the clocks of both places.
    pub(super) fn until(&self, end: &Self) -> SignedDuration {
        self.local.duration_until(end.local)
    }

    /// Returns the day.
    pub(super) fn day(&self) -> String {
        self.local.strftime("%Y-%m-%d").to_string()
    }

    /// Returns the last day before this day, or this time: the end of an event of whole days is the
    /// day after it.
    pub(super) fn last(&self) -> Option<Self> {
        match self.is_day {
            true => Some(self.at(self.local.yesterday().ok()?)),
            false => Some(self.clone()),
        }
    }

    /// Returns the day, or the time with its offset, in ISO 8601.
    pub(super) fn iso(&self) -> String {
        if self.is_day { self.day() } else { self.zone.iso(self.local) }
    }

    /// Returns day and time for people: `2026-01-07 19:00 Europe/Oslo`.
    pub(super) fn shown(&self) -> String {
        match self.is_day {
            true => self.day(),
            false => format!("{} {}", self.day(), self.time_and_zone()),
        }
    }

    fn time(&self) -> String {
        self.local.strftime("%H:%M").to_string()
    }

    fn zone_name(&self) -> String {
        self.zone.name(self.local)
    }

    fn time_and_zone(&self) -> String {
        format!("{} {}", self.time(), self.zone_name()).trim_end().to_owned()
    }

    /// Returns the time from here to an end, without this day: `19:00–20:30 Europe/Oslo`.
    pub(super) fn span(&self, end: Option<&Self>) -> String {
        let end = end.filter(|end| end.local > self.local);
        match end {
            _ if self.is_day => {
                // The end of a day is the next one.
                let last = end.and_then(|end| end.local.date().yesterday().ok());
                let last = last.filter(|last| *last > self.local.date());
                last.map_or("all day".to_owned(), |last| format!("all day, to {last}"))
            }
            None => self.time_and_zone(),
            Some(end) if end.zone_name() != self.zone_name() => {
                format!("{} – {}", self.time_and_zone(), end.shown())
            }
            Some(end) if end.local.date() == self.local.date() => {
                format!("{}–{}", self.time(), end.time_and_zone())
            }
            Some(end) => format!("{} – {} {}", self.time(), end.day(), end.time_and_zone()),
        }
    }
}

/// Parses a duration: `PT1H30M`, `-P1D`, `P1W`.
pub(super) fn duration(text: &str) -> Option<SignedDuration> {
    let span: jiff::Span = text.trim().parse().ok()?;
    span.to_duration(SpanRelativeTo::days_are_24_hours()).ok()
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn moment(text: &str, zone: &str) -> Moment {
        Moment::parse(text, &Zones::of(&[]).zone(zone)).unwrap()
    }

    #[test]
    fn a_span_names_the_day_of_its_end_if_that_differs() {
        let start = moment("20260107T190000", "Europe/Oslo");
        let span = |end: &str, zone: &str| start.span(Some(&moment(end, zone)));
        assert_eq!(start.span(None), "19:00 Europe/Oslo");
        assert_eq!(span("20260107T203000", "Europe/Oslo"), "19:00–20:30 Europe/Oslo");
        assert_eq!(span("20260108T010000", "Europe/Oslo"), "19:00 – 2026-01-08 01:00 Europe/Oslo");
        assert_eq!(
            span("20260107T210000", "America/New_York"),
            "19:00 Europe/Oslo – 2026-01-07 21:00 America/New_York"
        );
        let day = moment("20260107", "");
        assert_eq!(day.span(Some(&moment("20260108", ""))), "all day");
        assert_eq!(day.span(Some(&moment("20260110", ""))), "all day, to 2026-01-09");
    }

    #[test]
    fn utc_becomes_the_time_of_a_zone() {
        let oslo = moment("20260107T190000", "Europe/Oslo");
        assert_eq!(
            oslo.local_of(&moment("20260114T180000Z", "")).to_string(),
            "2026-01-14T19:00:00"
        );
        assert_eq!(moment("20260107T190000Z", "Europe/Oslo").iso(), "2026-01-07T19:00:00+00:00");
        assert_eq!(oslo.iso(), "2026-01-07T19:00:00+01:00");
    }

    #[test]
    fn dates_far_out_and_garbage_are_no_panic() {
        for text in ["16010101", "16040101T000000", "22620101T000000Z", "99991231T235959"] {
            let moment = moment(text, "Europe/Oslo");
            moment.iso();
            moment.after(SignedDuration::from_hours(1_000_000));
        }
        for text in ["", "2026", "20261301", "T", "20260101T990000", "Z", "\u{fc}"] {
            assert!(Moment::parse(text, &Rc::new(Zone::Floating)).is_none(), "{text}");
        }
        assert_eq!(duration("-PT15M"), Some(SignedDuration::from_mins(-15)));
        assert_eq!(duration("P1W"), Some(SignedDuration::from_hours(168)));
        assert_eq!(duration("P1Y"), None);
    }
}
