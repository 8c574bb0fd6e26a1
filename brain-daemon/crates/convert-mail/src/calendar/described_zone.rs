//! Time zones that are named by an offset and places, as Outlook and Exchange do it:
//! `(UTC+01:00) Amsterdam, Berlin`, `GMT +0100 (Standard) / GMT +0200 (Daylight)`.

use jiff::Timestamp;
use jiff::tz::{Offset, TimeZone};

use super::windows_zones::zone_name;

/// The parts of the world in names of the zone database.
const REGIONS: [&str; 8] =
    ["Europe", "America", "Asia", "Africa", "Australia", "Pacific", "Atlantic", "Indian"];
/// Maximum number of places that are looked up.
const MAX_PLACES: usize = 12;
/// A day in January and one in July, in seconds since 1970. One of them is not in summer time.
const DAYS: [i64; 2] = [1_768_435_200, 1_784_073_600];

/// A zone that was found by its description.
#[derive(Debug)]
pub(super) enum DescribedZone {
    /// The zone of one of the places.
    Place(TimeZone, String),
    /// Only the offset is known, so summer time is not.
    Offset(Offset),
}

impl DescribedZone {
    /// Returns the zone of a description, or `None` if the text begins with no offset.
    pub(super) fn of(text: &str) -> Option<Self> {
        let (offset, places) = described_offset(text)?;
        let places = places.split([',', '/', ';']).take(MAX_PLACES);
        let zones = places.filter_map(|place| zone_of_place(place.trim()));
        let mut zones = zones.filter(|(zone, _)| standard_offset(zone) == Some(offset));
        Some(zones.next().map_or(Self::Offset(offset), |(zone, name)| Self::Place(zone, name)))
    }
}

/// Returns the offset at the beginning of a description, and the text after it.
fn described_offset(text: &str) -> Option<(Offset, &str)> {
    let text = text.trim().trim_matches('"').trim_start_matches('(');
    let rest = text.strip_prefix("UTC").or_else(|| text.strip_prefix("GMT"))?.trim_start();
    let Some(sign) = rest.chars().next().filter(|c| matches!(c, '+' | '-')) else {
        return rest.strip_prefix(')').map(|places| (Offset::UTC, places));
    };
    let rest = &rest[1..];
    let end = rest.find(|c: char| !(c.is_ascii_digit() || matches!(c, ':' | '.')));
    let (number, places) = rest.split_at(end.unwrap_or(rest.len()));
    if !(places.is_empty() || places.starts_with([')', ' '])) {
        return None;
    }
    let (hours, minutes) = match (number.split_once([':', '.']), number.len()) {
        (Some(parts), _) => parts,
        (None, 4) => number.split_at(2),
        (None, _) => (number, "0"),
    };
    let seconds = hours.parse::<i32>().ok()?.checked_mul(3600)?;
    let seconds = seconds.checked_add(minutes.parse::<i32>().ok()?.checked_mul(60)?)?;
    let seconds = if sign == '-' { -seconds } else { seconds };
    Some((Offset::from_seconds(seconds).ok()?, places.trim_start_matches(')')))
}

/// Returns the zone of a place: that of a city, or `Eastern Time (US & Canada)`.
fn zone_of_place(place: &str) -> Option<(TimeZone, String)> {
    let windows = place.split(" (").next().unwrap_or_default();
    let windows = format!("{} Standard Time", windows.trim_end_matches(" Time"));
    let known =
        zone_name(&windows).and_then(|name| Some((TimeZone::get(name).ok()?, name.to_owned())));
    known.or_else(|| {
        let city = place.replace(' ', "_");
        let is_name = |c: char| c.is_alphanumeric() || matches!(c, '_' | '-' | '.');
        if city.is_empty() || !city.chars().all(is_name) {
            return None;
        }
        REGIONS.iter().find_map(|region| {
            let zone = TimeZone::get(&format!("{region}/{city}")).ok()?;
            let name = zone.iana_name()?.to_owned();
            Some((zone, name))
        })
    })
}

/// Returns the offset of a zone without summer time.
fn standard_offset(zone: &TimeZone) -> Option<Offset> {
    let days = DAYS.iter().filter_map(|day| Timestamp::from_second(*day).ok());
    days.map(|day| zone.to_offset(day)).min()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(text: &str) -> String {
        match DescribedZone::of(text) {
            Some(DescribedZone::Place(_, name)) => name,
            Some(DescribedZone::Offset(offset)) => format!("UTC{offset}"),
            None => "none".to_owned(),
        }
    }

    #[test]
    fn places_of_the_offset_are_found() {
        for (text, expected) in [
            ("(UTC+01:00) Amsterdam, Berlin, Bern, Rome, Stockholm, Vienna", "Europe/Amsterdam"),
            ("\"(GMT+01.00) Nowhere / Berlin\"", "Europe/Berlin"),
            ("(UTC-05:00) Eastern Time (US & Canada)", "America/New_York"),
            ("(GMT-03:30) Newfoundland", "America/St_Johns"),
            ("(UTC+10:00) Canberra, Melbourne, Sydney", "Australia/Canberra"),
            ("(UTC) Dublin, Edinburgh, Lisbon, London", "Europe/Dublin"),
            // Berlin is no place of this offset.
            ("(UTC+05:00) Berlin", "UTC+05"),
            ("(UTC-07:00) Arizona", "UTC-07"),
            ("GMT +0100 (Standard) / GMT +0200 (Daylight)", "UTC+01"),
            ("(UTC+05:45)", "UTC+05:45"),
        ] {
            assert_eq!(found(text), expected, "{text}");
        }
    }

    #[test]
    fn other_texts_are_no_zones() {
        for text in ["", "UTC+2x", "(UTC+99:99) Berlin", "Berlin", "(UTC Berlin", "UTC+", "(GMT+1:"]
        {
            assert_eq!(found(text), "none", "{text}");
        }
    }
}
