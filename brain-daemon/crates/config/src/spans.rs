//! Time spans as text: digits and a unit.

/// The units of a time span in seconds, largest first.
const UNITS: [(char, u64); 4] = [('d', 24 * 60 * 60), ('h', 60 * 60), ('m', 60), ('s', 1)];

/// Returns the seconds of a text that has digits and a unit.
pub(super) fn parse_span(text: &str) -> Option<u64> {
    let unit = text.chars().next_back()?;
    let digits = &text[..text.len() - unit.len_utf8()];
    let (_, seconds) = UNITS.iter().find(|(known, _)| *known == unit)?;
    let is_plain = !digits.is_empty() && digits.bytes().all(|b| b.is_ascii_digit());
    is_plain.then(|| digits.parse::<u64>().ok()?.checked_mul(*seconds)).flatten()
}

/// Formats seconds in the largest unit that divides them.
pub(super) fn format_span(seconds: u64) -> String {
    let unit = UNITS.iter().find(|(_, unit)| seconds.is_multiple_of(*unit));
    unit.map_or_else(|| format!("{seconds}s"), |(name, unit)| format!("{}{name}", seconds / unit))
}
