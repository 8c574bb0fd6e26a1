//! Texts and times as PDF writes them.

use jiff::Timestamp;
use jiff::civil::{Date, DateTime};
use jiff::tz::{Offset, TimeZone};

/// The characters 0x18 to 0x1F of PDFDocEncoding (ISO 32000-1, annex D.2).
const LOW: [char; 8] = ['˘', 'ˇ', 'ˆ', '˙', '˝', '˛', '˚', '˜'];
/// The characters 0x80 to 0xA0 of PDFDocEncoding. 0x9F has no meaning.
const HIGH: [char; 33] = [
    '•', '†', '‡', '…', '—', '–', 'ƒ', '⁄', '‹', '›', '−', '‰', '„', '“', '”', '‘', '’', '‚', '™',
    'ﬁ', 'ﬂ', 'Ł', 'Œ', 'Š', 'Ÿ', 'Ž', 'ı', 'ł', 'œ', 'š', 'ž', '\u{fffd}', '€',
];

/// Returns a text string (ISO 32000-1, 7.9.2.2): UTF-16 or UTF-8 with a mark, else
/// PDFDocEncoding. Some programs write UTF-8 without the mark.
pub(super) fn text(bytes: &[u8]) -> String {
    let utf16 = |bytes: &[u8], unit: fn([u8; 2]) -> u16| {
        let units = bytes.chunks_exact(2).map(|pair| unit([pair[0], pair[1]]));
        char::decode_utf16(units).map(|it| it.unwrap_or(char::REPLACEMENT_CHARACTER)).collect()
    };
    match bytes {
        [0xFE, 0xFF, rest @ ..] => utf16(rest, u16::from_be_bytes),
        [0xFF, 0xFE, rest @ ..] => utf16(rest, u16::from_le_bytes),
        [0xEF, 0xBB, 0xBF, rest @ ..] => String::from_utf8_lossy(rest).into_owned(),
        _ => std::str::from_utf8(bytes).map_or_else(
            |_| bytes.iter().map(|byte| pdf_doc_char(*byte)).collect(),
            |text| text.chars().map(|c| u8::try_from(c).map_or(c, ascii_pdf_doc_char)).collect(),
        ),
    }
}

/// Returns a character of PDFDocEncoding.
fn pdf_doc_char(byte: u8) -> char {
    match byte {
        0x18..=0x1F => LOW[usize::from(byte - 0x18)],
        0x80..=0xA0 => HIGH[usize::from(byte - 0x80)],
        byte => char::from(byte),
    }
}

/// Returns a character of PDFDocEncoding below 0x80. In UTF-8 the others have their own meaning.
fn ascii_pdf_doc_char(byte: u8) -> char {
    if byte < 0x80 { pdf_doc_char(byte) } else { char::from(byte) }
}

/// Reads `D:20260703140000+02'00'` or a time of XMP, such as `2026-07-03T14:00:00+02:00`. A time
/// without an offset is in UTC. Times that no PDF can have stand for none.
pub(super) fn time(text: &str) -> Option<Timestamp> {
    let text = text.trim();
    let moment = xmp_time(text).or_else(|| pdf_time(text.trim_start_matches("D:")))?;
    // 1980 is before the first PDF; the other end is a fault of the program's clock.
    let limit = |year| Date::new(year, 1, 1).ok()?.to_zoned(TimeZone::UTC).ok();
    let is_plausible = moment >= limit(1980)?.timestamp() && moment < limit(2200)?.timestamp();
    is_plausible.then_some(moment)
}

fn xmp_time(text: &str) -> Option<Timestamp> {
    let in_utc = || text.parse::<DateTime>().ok()?.to_zoned(TimeZone::UTC).ok();
    let has_dashes = text.as_bytes().get(4) == Some(&b'-');
    has_dashes.then(|| text.parse().ok().or_else(|| in_utc().map(|it| it.timestamp()))).flatten()
}

fn pdf_time(text: &str) -> Option<Timestamp> {
    let digits = text.bytes().take_while(u8::is_ascii_digit).count();
    let field = |from: usize, to: usize, absent: i8| -> Option<i8> {
        if digits < to { Some(absent) } else { text.get(from..to)?.parse().ok() }
    };
    let year: i16 = text.get(..4).filter(|_| digits >= 4)?.parse().ok()?;
    let time = DateTime::new(
        year,
        field(4, 6, 1)?,
        field(6, 8, 1)?,
        field(8, 10, 0)?,
        field(10, 12, 0)?,
        field(12, 14, 0)?,
        0,
    );
    let zone = text.get(digits..).unwrap_or_default();
    let zone_digits: String = zone.chars().filter(char::is_ascii_digit).collect();
    let two = |at: usize| zone_digits.get(at..at + 2).map_or(Some(0), |it| it.parse().ok());
    let seconds = two(0)? * 3600 + two(2)? * 60;
    let seconds = if zone.starts_with('-') { -seconds } else { seconds };
    let zone = Offset::from_seconds(seconds).ok()?.to_time_zone();
    Some(time.ok()?.to_zoned(zone).ok()?.timestamp())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_are_read_in_their_encoding() {
        for (bytes, expected) in [
            (&b"\xFE\xFF\0I\0l\0s\0e\0 \xD8\x3D\xDE\x00"[..], "Ilse 😀"),
            (b"\xFF\xFEI\0l\0", "Il"),
            (b"\xEF\xBB\xBFGr\xC3\xBCn", "Grün"),
            (b"Gr\xC3\xBCn", "Grün"),
            (b"Gr\xFCn \x84 5 \xA0", "Grün — 5 €"),
            (b"\x1Aa", "ˆa"),
            (b"\xFE\xFF\0", ""),
        ] {
            assert_eq!(text(bytes), expected);
        }
    }

    #[test]
    fn times_keep_their_offset() {
        for (text, expected) in [
            ("D:20260703140000+02'00'", "2026-07-03T12:00:00Z"),
            ("D:20260703140000-0330", "2026-07-03T17:30:00Z"),
            ("D:20260703140000Z00'00'", "2026-07-03T14:00:00Z"),
            ("20260703", "2026-07-03T00:00:00Z"),
            ("D:2026", "2026-01-01T00:00:00Z"),
            ("2026-07-03T14:00:00+02:00", "2026-07-03T12:00:00Z"),
            ("2026-07-03T14:00:00", "2026-07-03T14:00:00Z"),
        ] {
            assert_eq!(time(text).map(|it| it.to_string()).as_deref(), Some(expected), "{text}");
        }
    }

    #[test]
    fn times_that_stand_for_none_are_none() {
        for text in ["", "D:", "D:16010101000000Z", "D:22620411000000Z", "D:20261399", "now", "ü"]
        {
            assert_eq!(time(text), None, "{text}");
        }
        assert_eq!(time("D:20260703140000+99'99'"), None);
    }
}
