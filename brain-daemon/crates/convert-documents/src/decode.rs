//! Decodes the bytes of XML, HTML and plain text.

use brain_convert_base::decode_text;
use encoding_rs::{Encoding, UTF_8, UTF_16BE, UTF_16LE};

/// How much of a file is searched for the name of its encoding, in bytes.
const MAX_HEAD: usize = 2048;

/// Decodes XML: by its byte order mark, its declaration, or as UTF-8.
pub(crate) fn xml_text(bytes: &[u8]) -> String {
    let head = head(bytes);
    let declared = head.split_once("?>").and_then(|(declaration, _)| {
        let (_, value) = declaration.split_once("encoding")?;
        quoted(value)
    });
    let by_zeros = match bytes {
        [b'<', 0, ..] => Some(UTF_16LE),
        [0, b'<', ..] => Some(UTF_16BE),
        _ => None,
    };
    let declared = by_zeros.or_else(|| Encoding::for_label(declared?.as_bytes()));
    decode(bytes, declared.unwrap_or(UTF_8))
}

/// Decodes HTML: by its byte order mark, what it declares, as UTF-8, or as Windows-1252.
pub(crate) fn html_text(bytes: &[u8]) -> String {
    let head = head(bytes).to_ascii_lowercase();
    let declared = head.split_once("charset=").map(|(_, value)| {
        let end = |c: char| matches!(c, '"' | '\'' | '>' | ';' | '/') || c.is_whitespace();
        value.trim_start_matches(['"', '\'']).split(end).next().unwrap_or_default().to_owned()
    });
    let xml = head.strip_prefix("<?xml").and_then(|it| it.split_once("encoding"));
    let declared = declared.or_else(|| quoted(xml?.1));
    match declared.and_then(|label| Encoding::for_label(label.as_bytes())) {
        // A page that was saved keeps the declaration of its server.
        Some(encoding) if encoding != UTF_8 && std::str::from_utf8(bytes).is_err() => {
            decode(bytes, encoding)
        }
        _ => decode_text(bytes),
    }
}

/// Returns whether the beginning of a file is text: it has no NUL, unless it is UTF-16.
pub(crate) fn is_text(head: &[u8]) -> bool {
    let is_wide = head.starts_with(b"\xff\xfe") || head.starts_with(b"\xfe\xff");
    let controls = head.iter().filter(|byte| **byte < 9 || (14..27).contains(*byte)).count();
    is_wide || (!head.contains(&0) && controls * 100 <= head.len())
}

/// Decodes bytes, without a byte order mark. The mark decides.
fn decode(bytes: &[u8], encoding: &'static Encoding) -> String {
    encoding.decode(bytes).0.into_owned()
}

fn head(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes.get(..MAX_HEAD).unwrap_or(bytes)).into_owned()
}

fn quoted(text: &str) -> Option<String> {
    let (_, value) = text.split_once(['"', '\''])?;
    Some(value.split(['"', '\'']).next()?.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn wide(text: &str) -> Vec<u8> {
        text.encode_utf16().flat_map(u16::to_le_bytes).collect()
    }

    #[test]
    fn xml_is_decoded_by_mark_or_declaration() {
        let latin = b"<?xml version='1.0' encoding='ISO-8859-1'?><a>\xfc</a>";
        assert!(xml_text(latin).ends_with("<a>ü</a>"));
        assert_eq!(xml_text(b"\xef\xbb\xbf<a>\xc3\xbc</a>"), "<a>ü</a>");
        assert_eq!(xml_text(&wide("\u{feff}<a>ü</a>")), "<a>ü</a>");
        assert_eq!(xml_text(&wide("<a>ü</a>")), "<a>ü</a>");
    }

    #[test]
    fn html_and_text_are_decoded_by_their_bytes() {
        assert!(html_text(b"<meta charset=\"koi8-r\">\xc1").ends_with('а'));
        assert!(html_text(b"<meta charset=latin1>\xc3\xbc").ends_with('ü'), "UTF-8 in truth");
        assert_eq!(decode_text(b"M\xfcller \x80"), "Müller €");
        assert_eq!(decode_text("Müller".as_bytes()), "Müller");
        assert_eq!(decode_text(&wide("\u{feff}Müller")), "Müller");
        assert!(is_text("Müller\r\n".as_bytes()) && is_text(&wide("\u{feff}a")));
        assert!(!is_text(b"a\0b") && !is_text(b"\x01\x02\x03\x04"));
    }
}
