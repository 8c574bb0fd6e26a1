//! Decodes the bytes of plain text.

use encoding_rs::{UTF_8, WINDOWS_1252};

/// Decodes plain text: by its byte order mark, as UTF-8, or as Windows-1252. The mark is left out.
pub fn decode_text(bytes: &[u8]) -> String {
    let is_utf_8 = std::str::from_utf8(bytes).is_ok();
    let encoding = if is_utf_8 { UTF_8 } else { WINDOWS_1252 };
    encoding.decode(bytes).0.into_owned()
}
