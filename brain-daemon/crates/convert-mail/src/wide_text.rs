//! Reads UTF-16 as UTF-8. Old versions of Outlook and Windows write contacts so.

use std::io::{BufRead, BufReader, Read};

use encoding_rs_io::DecodeReaderBytesBuilder;

/// Returns the beginning of a file as UTF-8, without a byte order mark.
pub(crate) fn utf_8_head(head: &[u8]) -> Vec<u8> {
    let mut text = Vec::new();
    // Reading from memory does not fail.
    let _ = utf_8_reader(head).read_to_end(&mut text);
    text
}

/// Returns a reader of UTF-8, without a byte order mark. The mark decides; without one, or with
/// that of UTF-8, no other byte is changed.
pub(crate) fn utf_8_reader(reader: impl Read) -> impl BufRead {
    let decoder = DecodeReaderBytesBuilder::new().utf8_passthru(true).strip_bom(true).build(reader);
    BufReader::new(decoder)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn utf_16_with_a_mark_is_read_as_utf_8() {
        let text = "aé€𝄞\r\n".repeat(10_000);
        let units: Vec<u16> = std::iter::once(0xFEFF).chain(text.encode_utf16()).collect();
        let little: Vec<u8> = units.iter().flat_map(|unit| unit.to_le_bytes()).collect();
        let big: Vec<u8> = units.iter().flat_map(|unit| unit.to_be_bytes()).collect();
        for bytes in [&little, &big, &text.as_bytes().to_vec()] {
            let mut found = String::new();
            let mut reader = BufReader::with_capacity(7, bytes.as_slice());
            utf_8_reader(&mut reader).read_to_string(&mut found).unwrap();
            assert_eq!(found, text);
            assert!(utf_8_head(&bytes[..20]).starts_with("aé€".as_bytes()));
        }
    }

    #[test]
    fn without_utf_16_only_the_mark_is_left_out() {
        for (bytes, expected) in
            [(&b"\xEF\xBB\xBFa\xFFb"[..], &b"a\xFFb"[..]), (b"a\xFFb", b"a\xFFb"), (b"", b"")]
        {
            assert_eq!(utf_8_head(bytes), expected);
        }
    }
}
