//! Decodes bytes of mail and contacts: transfer encodings and character sets.

use std::borrow::Cow;

use base64::Engine as _;
use base64::alphabet::STANDARD;
use base64::engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig};
use encoding_rs::{Encoding, UTF_8, UTF_16BE, WINDOWS_1252};

/// Decodes what is cut or has wrong padding as far as possible.
const LENIENT: GeneralPurpose = GeneralPurpose::new(
    &STANDARD,
    GeneralPurposeConfig::new()
        .with_decode_allow_trailing_bits(true)
        .with_decode_padding_mode(DecodePaddingMode::Indifferent),
);

/// Decodes base64 up to its padding. Ignores characters that base64 does not have, such as line
/// ends.
pub(crate) fn base64(bytes: &[u8]) -> Vec<u8> {
    let end = bytes.iter().position(|byte| *byte == b'=').unwrap_or(bytes.len());
    let is_digit = |byte: &&u8| byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'/');
    let mut digits: Vec<u8> = bytes[..end].iter().filter(is_digit).copied().collect();
    // One digit alone has six bits, which are no byte.
    if digits.len() % 4 == 1 {
        digits.pop();
    }
    LENIENT.decode(&digits).unwrap_or_default()
}

/// Decodes quoted-printable. A `=` that starts no code stays.
pub(crate) fn quoted_printable(bytes: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(bytes.len());
    for line in bytes.split_inclusive(|byte| *byte == b'\n') {
        let end = line.iter().rposition(|byte| !byte.is_ascii_whitespace()).map_or(0, |at| at + 1);
        let (text, line_end) = line.split_at(end);
        // Blanks at the end of a line are not part of the text (RFC 2045, 6.7).
        let line_end =
            &line_end[line_end.iter().take_while(|b| matches!(b, b' ' | b'\t')).count()..];
        let (text, line_end) = match text.strip_suffix(b"=") {
            Some(text) => (text, &b""[..]),
            None => (text, line_end),
        };
        let mut rest = text;
        while let Some((byte, after)) = rest.split_first() {
            rest = after;
            match (byte, after) {
                (b'=', [high, low, after @ ..]) if hex(*high).is_some() && hex(*low).is_some() => {
                    out.push(hex(*high).unwrap_or(0) << 4 | hex(*low).unwrap_or(0));
                    rest = after;
                }
                _ => out.push(*byte),
            }
        }
        out.extend_from_slice(line_end);
    }
    out
}

/// Returns the value of a hexadecimal digit.
pub(crate) fn hex(digit: u8) -> Option<u8> {
    char::from(digit).to_digit(16).and_then(|value| u8::try_from(value).ok())
}

/// Decodes text. Without a known character set it is UTF-8, or else Windows-1252, which contains
/// the printable characters of ISO 8859-1. NUL characters are dropped.
pub(crate) fn text(bytes: &[u8], charset: Option<&str>) -> String {
    if charset.is_some_and(|label| label.trim().eq_ignore_ascii_case("utf-7")) {
        return utf_7(bytes);
    }
    let encoding = charset.and_then(|label| Encoding::for_label(label.trim().as_bytes()));
    let text = match encoding {
        // Programs state ASCII and Windows-1252 for text that is UTF-8.
        Some(encoding) if encoding != UTF_8 && encoding != WINDOWS_1252 => encoding.decode(bytes).0,
        _ => match std::str::from_utf8(bytes) {
            Ok(text) if encoding != Some(WINDOWS_1252) || !is_latin(charset) => Cow::Borrowed(text),
            _ => WINDOWS_1252.decode(bytes).0,
        },
    };
    let text = text.strip_prefix('\u{feff}').unwrap_or(&text);
    text.replace('\0', "")
}

/// Decodes UTF-7 (RFC 2152), which Outlook wrote until about 2003.
fn utf_7(bytes: &[u8]) -> String {
    let text = String::from_utf8_lossy(bytes).replace('\0', "");
    let mut parts = text.split('+');
    let mut out = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let is_digit = |c: char| c.is_ascii_alphanumeric() || c == '/';
        let end = part.find(|c| !is_digit(c)).unwrap_or(part.len());
        let (digits, rest) = part.split_at(end);
        match digits {
            "" => out.push('+'),
            digits => out.push_str(&UTF_16BE.decode(&base64(digits.as_bytes())).0),
        }
        out.push_str(rest.strip_prefix('-').unwrap_or(rest));
    }
    out
}

/// Returns whether the label means ISO 8859-1 or Windows-1252, not ASCII.
fn is_latin(charset: Option<&str>) -> bool {
    charset.is_some_and(|label| !label.to_ascii_lowercase().contains("ascii"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn base64_with_faults_is_decoded_as_far_as_possible() {
        assert_eq!(base64(b"aGVs\r\nbG8="), b"hello");
        assert_eq!(base64(b"aGVsbG8"), b"hello");
        assert_eq!(base64(b"aGVs!bG8=garbage"), b"hello");
        assert_eq!(base64(b"aGVsb"), b"hel");
        assert_eq!(base64(b""), b"");
    }

    #[test]
    fn quoted_printable_with_faults_keeps_its_text() {
        assert_eq!(quoted_printable(b"a=3Db=\r\nc  \r\nd"), b"a=bc\r\nd");
        assert_eq!(quoted_printable(b"50=50=ZZ ="), b"50P=ZZ ");
        assert_eq!(quoted_printable("J=C3=\n=B6rg".as_bytes()), "J\u{f6}rg".as_bytes());
    }

    #[test]
    fn text_without_a_known_charset_is_utf_8_or_latin() {
        assert_eq!(text("Gr\u{fc}n".as_bytes(), None), "Gr\u{fc}n");
        assert_eq!(text(b"Gr\xfcn", None), "Gr\u{fc}n");
        assert_eq!(text(b"Gr\xfcn", Some("utf-8")), "Gr\u{fc}n");
        assert_eq!(text(b"5 \x80", Some("iso-8859-1")), "5 \u{20ac}");
        assert_eq!(text("\u{fc}".as_bytes(), Some("us-ascii")), "\u{fc}");
        assert_eq!(text(b"\x93\xfa\x96{", Some("Shift_JIS")), "\u{65e5}\u{672c}");
        assert_eq!(text(b"Fr+APY-sche 1 +- 2", Some("UTF-7")), "Fr\u{f6}sche 1 + 2");
        assert_eq!(text(b"a\0b", None), "ab");
    }
}
