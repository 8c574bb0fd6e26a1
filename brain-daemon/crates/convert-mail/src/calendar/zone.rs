//! Time zones of a calendar.
//!
//! A name is looked up in the zone database, then in the table of Windows names, then in the file
//! itself: a definition in a file covers few years, and programs write wrong ones. If it is in none
//! of these, it can say its offset.

use std::collections::HashMap;
use std::rc::Rc;

use jiff::Timestamp;
use jiff::civil::{Date, DateTime};
use jiff::tz::{Offset, TimeZone};

use super::described_zone::DescribedZone;
use super::rule::Rule;
use super::windows_zones::zone_name;
use crate::content_line::Component;

/// Maximum number of definitions that are kept for a zone.
const MAX_OBSERVANCES: usize = 200;

/// A time zone.
#[derive(Debug)]
pub(super) enum Zone {
    /// No zone: the time is that of the reader.
    Floating,
    /// A zone of the database.
    Known(TimeZone, String),
    /// A zone that only the file defines.
    Defined(Vec<Observance>),
}

/// A part of a definition: from a time on, and again by a rule, this offset is used.
#[derive(Debug)]
pub(super) struct Observance {
    onset: DateTime,
    more: Vec<DateTime>,
    rule: Option<Rule>,
    before: Offset,
    offset: Offset,
}

impl Zone {
    /// Returns UTC.
    pub(super) fn utc() -> Self {
        Self::Known(TimeZone::UTC, "UTC".to_owned())
    }

    /// Splits a time with an offset: `20260107T190000+0200`.
    pub(super) fn split_offset(text: &str) -> Option<(&str, Self)> {
        let at = text.rfind(['+', '-']).filter(|at| text.find('T').is_some_and(|t| t < *at))?;
        let (local, offset) = text.split_at(at);
        let offset = fixed_offset(&format!("UTC{offset}"))?;
        Some((local, Self::Known(TimeZone::fixed(offset), format!("UTC{offset}"))))
    }

    /// Returns the moment of a local time.
    pub(super) fn instant(&self, local: DateTime) -> Option<Timestamp> {
        match self {
            Self::Floating => None,
            Self::Known(zone, _) => Some(zone.to_timestamp(local).ok()?),
            Self::Defined(observances) => offset_at(observances, local)?.to_timestamp(local).ok(),
        }
    }

    /// Returns the local time of a moment.
    pub(super) fn local(&self, instant: Timestamp) -> Option<DateTime> {
        match self {
            Self::Floating => None,
            Self::Known(zone, _) => Some(zone.to_datetime(instant)),
            Self::Defined(observances) => {
                let first = offset_at(observances, Offset::UTC.to_datetime(instant))?;
                let local = first.to_datetime(instant);
                Some(offset_at(observances, local)?.to_datetime(instant))
            }
        }
    }

    /// Returns the time with its offset, in ISO 8601.
    pub(super) fn iso(&self, local: DateTime) -> String {
        match self.instant(local).zip(self.offset(local)) {
            Some((instant, offset)) => instant
                .to_zoned(TimeZone::fixed(offset))
                .strftime("%Y-%m-%dT%H:%M:%S%:z")
                .to_string(),
            None => local.strftime("%Y-%m-%dT%H:%M:%S").to_string(),
        }
    }

    /// Returns the name for people at a local time; empty for none.
    pub(super) fn name(&self, local: DateTime) -> String {
        match self {
            Self::Floating => String::new(),
            Self::Known(_, name) => name.clone(),
            Self::Defined(_) => {
                self.offset(local).map_or_else(String::new, |it| format!("UTC{it}"))
            }
        }
    }

    fn offset(&self, local: DateTime) -> Option<Offset> {
        match self {
            Self::Floating => None,
            Self::Known(zone, _) => Some(zone.to_offset(self.instant(local)?)),
            Self::Defined(observances) => offset_at(observances, local),
        }
    }
}

/// Returns the offset at a local time: that of the last change before it.
fn offset_at(observances: &[Observance], local: DateTime) -> Option<Offset> {
    let last = observances.iter().filter_map(|it| Some((it.last_before(local)?, it.offset)));
    let last = last.max_by_key(|(time, _)| *time);
    let first = observances.iter().min_by_key(|it| it.onset);
    last.map(|(_, offset)| offset).or_else(|| first.map(|it| it.before))
}

impl Observance {
    fn of(component: &Component) -> Option<Self> {
        let rule = component.line("RRULE").and_then(|line| Rule::parse(&line.raw()));
        let more = component.all("RDATE").flat_map(|line| line.texts(b','));
        Some(Self {
            onset: component.text("DTSTART").trim_end_matches('Z').parse().ok()?,
            more: more.filter_map(|text| text.trim_end_matches('Z').parse().ok()).collect(),
            rule,
            before: offset(&component.text("TZOFFSETFROM"))
                .or_else(|| offset(&component.text("TZOFFSETTO")))?,
            offset: offset(&component.text("TZOFFSETTO"))?,
        })
    }

    /// Returns the last change to this offset that is not after a local time.
    fn last_before(&self, local: DateTime) -> Option<DateTime> {
        let once =
            self.more.iter().copied().chain([self.onset]).filter(|time| *time <= local).max();
        let by_rule = self.rule.as_ref().and_then(|rule| {
            // Definitions begin in 1601; only the last years matter. The rule finds the day.
            let year = local.year().checked_sub(2)?;
            let start = match self.onset.year() < year {
                true => Date::new(year, 1, 1).ok()?.to_datetime(self.onset.time()),
                false => self.onset,
            };
            let until = rule.until.as_deref().and_then(|it| it.trim_end_matches('Z').parse().ok());
            rule.last_before(start, until.map_or(local, |until: DateTime| until.min(local)))
        });
        by_rule.max(once)
    }
}

/// Parses a name that says its offset: `UTC+2`, `GMT-0330`, `UTC+05:30`.
fn fixed_offset(name: &str) -> Option<Offset> {
    let rest = name.strip_prefix("UTC").or_else(|| name.strip_prefix("GMT"))?;
    let sign = rest.chars().next().filter(|c| matches!(c, '+' | '-'))?;
    let digits = rest[1..].replace(':', "");
    let is_number = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
    match digits.len() {
        1 | 2 if is_number => offset(&format!("{sign}{digits:0>2}00")),
        4 if is_number => offset(&format!("{sign}{digits}")),
        _ => None,
    }
}

/// Parses `+0200` or `-033000`.
fn offset(text: &str) -> Option<Offset> {
    let (sign, digits) = match text.strip_prefix('-') {
        Some(digits) => (-1, digits),
        None => (1, text.strip_prefix('+').unwrap_or(text)),
    };
    let number = |range: std::ops::Range<usize>| digits.get(range)?.parse::<i32>().ok();
    let seconds = if digits.len() == 6 { number(4..6)? } else { 0 };
    Offset::from_seconds(sign * (number(0..2)? * 3600 + number(2..4)? * 60 + seconds)).ok()
}

/// The zones of a file by their names.
pub(super) struct Zones<'a> {
    defined: HashMap<String, &'a Component>,
    known: HashMap<String, Rc<Zone>>,
    /// Names of zones that cannot be found, in order of use.
    pub(super) unknown: Vec<String>,
    /// Names of zones of which only the offset is known.
    pub(super) offsets: Vec<String>,
}

impl<'a> Zones<'a> {
    /// Takes the definitions in calendars.
    pub(super) fn of(calendars: &'a [Component]) -> Self {
        let all = calendars.iter().flat_map(|it| &it.children);
        let zones = all.filter(|it| it.name == "VTIMEZONE").map(|it| (it.text("TZID"), it));
        Self {
            defined: zones.collect(),
            known: HashMap::new(),
            unknown: Vec::new(),
            offsets: Vec::new(),
        }
    }

    /// Returns the zone of this name. An unknown zone is none.
    pub(super) fn zone(&mut self, name: &str) -> Rc<Zone> {
        if let Some(zone) = self.known.get(name) {
            return Rc::clone(zone);
        }
        let zone = by_name(name).or_else(|| {
            let definition = self.defined.get(name)?;
            // Outlook writes a Windows name there, or the name of the database.
            let other = definition.text("X-LIC-LOCATION");
            by_name(&other).or_else(|| defined(definition))
        });
        let zone = zone.or_else(|| self.described(name));
        if zone.is_none() {
            self.unknown.push(name.to_owned());
        }
        let zone = Rc::new(zone.unwrap_or(Zone::Floating));
        self.known.insert(name.to_owned(), Rc::clone(&zone));
        zone
    }

    fn described(&mut self, name: &str) -> Option<Zone> {
        Some(match DescribedZone::of(name)? {
            DescribedZone::Place(zone, name) => Zone::Known(zone, name),
            DescribedZone::Offset(offset) => {
                self.offsets.push(name.to_owned());
                Zone::Known(TimeZone::fixed(offset), format!("UTC{offset}"))
            }
        })
    }
}

/// Returns the zone that the database or the table of Windows names has. Some programs write a
/// path before the name: `/example.org/20260101/Europe/Oslo`.
fn by_name(name: &str) -> Option<Zone> {
    let name = name.trim().trim_matches('"');
    if name.is_empty() {
        return None;
    }
    // Exchange numbers zones of one name, and has a name of its own for UTC.
    let plain = name.trim_end_matches(|c: char| c.is_ascii_digit()).trim_end();
    let name = match name {
        "tzone://Microsoft/Utc" => "UTC",
        name => zone_name(name).or_else(|| zone_name(plain)).unwrap_or(name),
    };
    if let Some(offset) = fixed_offset(name) {
        return Some(Zone::Known(TimeZone::fixed(offset), name.to_owned()));
    }
    let parts: Vec<&str> = name.split('/').filter(|part| !part.is_empty()).collect();
    let is_path = name.starts_with('/');
    let lens = if is_path { 1..=3.min(parts.len()) } else { parts.len()..=parts.len() };
    lens.rev().find_map(|len| {
        let name = parts[parts.len() - len..].join("/");
        let zone = TimeZone::get(&name).ok()?;
        let name = zone.iana_name().unwrap_or(&name).to_owned();
        Some(Zone::Known(zone, name))
    })
}

fn defined(component: &Component) -> Option<Zone> {
    let children = component.children.iter().take(MAX_OBSERVANCES);
    let observances: Vec<Observance> = children.filter_map(Observance::of).collect();
    (!observances.is_empty()).then_some(Zone::Defined(observances))
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::content_line::Components;

    fn iso(name: &str, file: &str, local: &str) -> String {
        let mut components = Components::new(file.as_bytes());
        let calendars: Vec<Component> = components.next().unwrap().into_iter().collect();
        Zones::of(&calendars).zone(name).iso(local.parse().unwrap())
    }

    #[test]
    fn a_zone_can_be_named_by_its_offset() {
        for (name, expected) in [
            ("UTC+2", "2026-07-10T13:00:00+02:00"),
            ("GMT-0330", "2026-07-10T13:00:00-03:30"),
            ("GMT+05:30", "2026-07-10T13:00:00+05:30"),
            ("tzone://Microsoft/Utc", "2026-07-10T13:00:00+00:00"),
            ("W. Europe Standard Time 1", "2026-07-10T13:00:00+02:00"),
            ("UTC+2x", "2026-07-10T13:00:00"),
        ] {
            assert_eq!(iso(name, "", "2026-07-10T13:00"), expected, "{name}");
        }
    }

    #[test]
    fn im08_a_zone_can_have_a_windows_name() {
        let romance = iso("Romance Standard Time", "", "2026-07-10T13:00");
        assert_eq!(romance, "2026-07-10T13:00:00+02:00");
    }

    #[test]
    fn im08_a_zone_can_be_defined_in_the_file() {
        let file = "BEGIN:VCALENDAR\nBEGIN:VTIMEZONE\nTZID:Customized Time Zone\nBEGIN:STANDARD\n\
                    DTSTART:16010101T000000\nTZOFFSETFROM:+0200\nTZOFFSETTO:+0200\nEND:STANDARD\n\
                    END:VTIMEZONE\nEND:VCALENDAR\n";
        let custom = iso("Customized Time Zone", file, "2026-01-15T09:00");
        assert_eq!(custom, "2026-01-15T09:00:00+02:00");
    }

    #[test]
    fn im08_an_unknown_zone_is_none() {
        assert_eq!(iso("Nowhere", "", "2026-01-15T09:00"), "2026-01-15T09:00:00");
        let mut zones = Zones::of(&[]);
        zones.zone("Nowhere");
        zones.zone("Nowhere");
        assert_eq!(zones.unknown, ["Nowhere"]);
    }

    #[test]
    fn a_definition_precedes_a_described_offset() {
        let name = "(UTC+01:00) Amsterdam, Berlin";
        assert_eq!(iso(name, "", "2026-07-10T13:00"), "2026-07-10T13:00:00+02:00");
        let file = format!(
            "BEGIN:VCALENDAR\nBEGIN:VTIMEZONE\nTZID:{name}\nBEGIN:STANDARD\n\
             DTSTART:16010101T000000\nTZOFFSETFROM:+0300\nTZOFFSETTO:+0300\nEND:STANDARD\n\
             END:VTIMEZONE\nEND:VCALENDAR\n"
        );
        assert_eq!(iso(name, &file, "2026-07-10T13:00"), "2026-07-10T13:00:00+03:00");
        let mut zones = Zones::of(&[]);
        zones.zone("(UTC-07:00) Arizona");
        zones.zone(name);
        assert_eq!((zones.offsets.len(), zones.unknown.len()), (1, 0));
    }

    #[test]
    fn a_defined_zone_changes_by_its_rules() {
        let part = |name: &str, rule: &str, from: &str, to: &str| {
            format!(
                "BEGIN:{name}\nDTSTART:16010101T020000\nRRULE:FREQ=YEARLY;{rule}\n\
                 TZOFFSETFROM:{from}\n\
                 TZOFFSETTO:{to}\nEND:{name}\n"
            )
        };
        let file = format!(
            "BEGIN:VCALENDAR\nBEGIN:VTIMEZONE\nTZID:Office\n{}{}END:VTIMEZONE\nEND:VCALENDAR\n",
            part("STANDARD", "BYDAY=-1SU;BYMONTH=10", "-0230", "-0330"),
            part("DAYLIGHT", "BYDAY=-1SU;BYMONTH=3", "-0330", "-0230"),
        );
        for (local, expected) in [
            ("2026-01-15T09:00", "-03:30"),
            ("2026-03-28T09:00", "-03:30"),
            ("2026-03-29T09:00", "-02:30"),
            ("2026-10-24T09:00", "-02:30"),
            ("2026-10-25T09:00", "-03:30"),
        ] {
            assert!(iso("Office", &file, local).ends_with(expected), "{local}");
        }
    }

    #[test]
    fn a_name_can_follow_a_path() {
        for name in
            ["Europe/Oslo", "/example.org/2026_1/Europe/Oslo", "europe/oslo", "\"Europe/Oslo\""]
        {
            assert_eq!(iso(name, "", "2026-01-15T09:00"), "2026-01-15T09:00:00+01:00", "{name}");
        }
        assert_eq!(iso("/x/UTC", "", "2026-01-15T09:00"), "2026-01-15T09:00:00+00:00");
    }
}
