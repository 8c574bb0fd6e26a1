//! Dates of messages (RFC 5322, 3.3 and 4.3), and of what programs wrote in their place.

use jiff::fmt::rfc2822;
use jiff::{Timestamp, Zoned};

const MONTHS: [&str; 12] =
    ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];

/// Offsets of the zones that mail programs write by name: those of RFC 5322, 4.3, and others. Names
/// that stand for several zones, such as `IST`, are not here.
const ZONES: [(&str, &str); 40] = [
    ("ACST", "+0930"),
    ("AEDT", "+1100"),
    ("AEST", "+1000"),
    ("AKDT", "-0800"),
    ("AKST", "-0900"),
    ("AWST", "+0800"),
    ("BST", "+0100"),
    ("CDT", "-0500"),
    ("CEST", "+0200"),
    ("CET", "+0100"),
    ("CST", "-0600"),
    ("EDT", "-0400"),
    ("EEST", "+0300"),
    ("EET", "+0200"),
    ("EST", "-0500"),
    ("GMT", "+0000"),
    ("HKT", "+0800"),
    ("HST", "-1000"),
    ("JST", "+0900"),
    ("KST", "+0900"),
    ("MDT", "-0600"),
    ("MEST", "+0200"),
    ("MESZ", "+0200"),
    ("MET", "+0100"),
    ("MEZ", "+0100"),
    ("MSK", "+0300"),
    ("MST", "-0700"),
    ("NDT", "-0230"),
    ("NST", "-0330"),
    ("NZDT", "+1300"),
    ("NZST", "+1200"),
    ("PDT", "-0700"),
    ("PST", "-0800"),
    ("SAST", "+0200"),
    ("SGT", "+0800"),
    ("UT", "+0000"),
    ("UTC", "+0000"),
    ("WEST", "+0100"),
    ("WET", "+0000"),
    ("Z", "+0000"),
];

/// Parses a date with a zone. A name of a zone that is not known is none.
pub(super) fn date(text: &str) -> Option<Zoned> {
    // Some programs write ISO 8601.
    if let Ok(time) = text.parse::<Timestamp>() {
        return Some(time.to_zoned(jiff::tz::TimeZone::UTC));
    }
    rfc2822::parse(&Parts::of(text)?.text()?).ok()
}

/// The parts of a date, in any order.
#[derive(Default)]
struct Parts<'a> {
    day: Option<&'a str>,
    month: Option<&'a str>,
    year: Option<&'a str>,
    time: Option<&'a str>,
    offset: Option<String>,
}

impl<'a> Parts<'a> {
    /// Finds the parts. A word that is none of them makes the date unreadable.
    fn of(text: &'a str) -> Option<Self> {
        let text = text.split('(').next().unwrap_or(text);
        let mut parts = Self::default();
        for word in text.split([' ', '\t', '\r', '\n', ',', '"']).filter(|word| !word.is_empty()) {
            // `03-Mar-2026`
            match word.split('-').collect::<Vec<_>>().as_slice() {
                [day, month, year] if month_of(month).is_some() => {
                    parts.add(day)?;
                    parts.add(month)?;
                    parts.add(year)?;
                }
                _ => parts.add(word)?,
            }
        }
        Some(parts)
    }

    fn add(&mut self, word: &'a str) -> Option<()> {
        let is_number = word.bytes().all(|byte| byte.is_ascii_digit());
        if word.contains(':') && word.starts_with(|c: char| c.is_ascii_digit()) {
            // `10:00:00+0100`
            let end = word.find(['+', '-']).unwrap_or(word.len());
            let (time, zone) = word.split_at(end);
            self.time = Some(time);
            self.offset = offset_of(zone).or(self.offset.take());
        } else if is_number && word.len() <= 2 && self.day.is_none() {
            self.day = Some(word);
        } else if is_number && self.year.is_none() {
            self.year = Some(word);
        } else if let Some(month) = month_of(word).filter(|_| self.month.is_none()) {
            self.month = Some(month);
        } else if let Some(offset) = offset_of(word) {
            // The name after an offset says nothing more.
            self.offset.get_or_insert(offset);
        } else if self.offset.is_none() && self.has_any() {
            return None;
        }
        // Any other first word is the day of the week, in any language.
        Some(())
    }

    fn has_any(&self) -> bool {
        self.day.is_some() || self.month.is_some() || self.time.is_some() || self.year.is_some()
    }

    /// Returns the date as RFC 5322 has it, without the day of the week, which can be wrong.
    fn text(self) -> Option<String> {
        let Self { day, month, year, time, offset } = self;
        let time = time?;
        let pad = if time.find(':')? == 1 { "0" } else { "" };
        Some(format!("{} {} {} {pad}{time} {}", day?, month?, year?, offset?))
    }
}

fn month_of(word: &str) -> Option<&'static str> {
    let start = word.get(..3).filter(|_| word.bytes().all(|byte| byte.is_ascii_alphabetic()))?;
    MONTHS.into_iter().find(|month| month.eq_ignore_ascii_case(start))
}

/// Returns the offset in `+0100`, `+01:00`, `GMT+0100` or `CET`, as RFC 5322 has it.
fn offset_of(word: &str) -> Option<String> {
    let name = word.to_ascii_uppercase();
    if let Some((_, offset)) = ZONES.iter().find(|(known, _)| *known == name) {
        return Some((*offset).to_owned());
    }
    let offset = name.strip_prefix("GMT").or_else(|| name.strip_prefix("UTC")).unwrap_or(&name);
    let digits: String = offset.get(1..)?.chars().filter(|c| *c != ':').collect();
    let is_offset = digits.len() == 4 && digits.bytes().all(|byte| byte.is_ascii_digit());
    let sign = offset.chars().next().filter(|c| matches!(c, '+' | '-') && is_offset)?;
    Some(format!("{sign}{digits}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_of_many_programs_are_moments() {
        let day = Some("2026-03-03T09:00:00Z".to_owned());
        let time = |text: &str| date(text).map(|date| date.timestamp().to_string());
        for text in [
            "Tue, 3 Mar 2026 10:00:00 +0100",
            "Mon, 3 Mar 2026 10:00:00 +0100 (CET)",
            "3 Mar 2026 09:00:00 GMT",
            "3 Mar 2026 09:00:00 utc",
            "2026-03-03T10:00:00+01:00",
            "Tue, 3 Mar 2026 10:00:00 CET",
            "3 Mar 26 11:00 MESZ (Berlin)",
            "Tue, 3 Mar 2026 10:00:00 GMT+0100",
            "Tue, 3 Mar 2026 01:00:00 -0800 PST",
            "Tue, 3 Mar 2026 10:00:00 +01:00",
            "Tuesday, 03 March 2026 10:00:00 +0100",
            "Tue Mar  3 10:00:00 +0100 2026",
            "Tue, 3 Mar 2026 10:00:00 \"CET\"",
            "Di, 3 Mar 2026 10:00:00 +0100",
            "Tue,3 Mar 2026 10:00:00+0100",
            "Tue, 3 Mar 2026 9:00 UT",
            "Tue, 03-Mar-2026 10:00:00 +0100",
        ] {
            assert_eq!(time(text), day, "{text}");
        }
        for text in [
            "",
            "Tue, 3 Mar 2026 10:00:00",
            "Tue Mar  3 10:00:00 2026",
            "2026-03-03 10:00",
            "3 Mar 2026 10:00:00 IST",
            "3/3/2026 10:00:00 AM",
            "3 Mar 2026 10:00:00 PM +0100",
            "3 ä 2026 : +0100",
            "99 Mar 2026 99:00 +9900",
        ] {
            assert_eq!(time(text), None, "{text}");
        }
    }
}
