//! Decodes bytes as text and computes the content hash, which decides whether two texts are equal.

use sha2::{Digest, Sha256};
use std::borrow::Cow;
use unicode_normalization::{UnicodeNormalization, is_nfc};

/// Why bytes are not text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum NotTextReason {
    /// A NUL byte: valid UTF-8, but C code ends a string there.
    #[error("a NUL byte")]
    Nul,
    /// Bytes that are not UTF-8, including lone surrogates.
    #[error("invalid UTF-8")]
    InvalidUtf8,
}

/// Bytes that are not text. The caller adds the name of the input.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("{reason} at byte {offset}")]
pub struct NotTextError {
    /// Offset of the first invalid byte, 0-based.
    pub offset: usize,
    /// What is wrong with the byte.
    pub reason: NotTextReason,
}

/// Returns `bytes` as text, without copying.
///
/// # Errors
/// The first NUL byte or the first byte that is not UTF-8, whichever comes first.
pub fn decode_text(bytes: &[u8]) -> Result<&str, NotTextError> {
    let nul = |end: usize| {
        let offset = bytes[..end].iter().position(|&b| b == 0);
        offset.map(|offset| NotTextError { offset, reason: NotTextReason::Nul })
    };
    match std::str::from_utf8(bytes) {
        Ok(text) => nul(bytes.len()).map_or(Ok(text), Err),
        Err(e) => {
            let offset = e.valid_up_to();
            Err(nul(offset).unwrap_or(NotTextError { offset, reason: NotTextReason::InvalidUtf8 }))
        }
    }
}

/// Returns the content hash of `text`: [`content_digest`] as 64 lower-case hexadecimal digits.
#[must_use]
pub fn content_hash(text: &str) -> String {
    hex(&content_digest(text))
}

/// Returns the SHA-256 of the text without one leading byte order mark, with CRLF and lone CR as
/// LF, trimmed of Unicode white space, in NFC.
///
/// All interfaces hash the same way, so a text has the same hash whichever way it arrived.
#[must_use]
pub fn content_digest(text: &str) -> [u8; 32] {
    let text = text.strip_prefix('\u{FEFF}').unwrap_or(text).trim();
    // Line ends and NFC are independent: LF is a starter that composes with nothing.
    let lines = if text.contains('\r') {
        Cow::Owned(text.replace("\r\n", "\n").replace('\r', "\n"))
    } else {
        Cow::Borrowed(text)
    };
    if lines.is_ascii() || is_nfc(&lines) {
        Sha256::digest(lines.as_bytes()).into()
    } else {
        Sha256::digest(lines.nfc().collect::<String>().as_bytes()).into()
    }
}

/// Returns a digest as lower-case hexadecimal digits.
#[must_use]
pub fn hex(digest: &[u8; 32]) -> String {
    const HEX: &[u8; 16] = b"0123456789abcdef";
    let mut out = String::with_capacity(64);
    for byte in digest {
        out.push(char::from(HEX[usize::from(byte >> 4)]));
        out.push(char::from(HEX[usize::from(byte & 15)]));
    }
    out
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::expect_used)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn text_and_binary_are_distinguished() {
        assert_eq!(decode_text("añ\n".as_bytes()), Ok("añ\n"));
        assert_eq!(decode_text(b""), Ok(""));
        assert_eq!(
            decode_text(b"ab\0c"),
            Err(NotTextError { offset: 2, reason: NotTextReason::Nul })
        );
        assert_eq!(
            decode_text(b"ab\xff\0"),
            Err(NotTextError { offset: 2, reason: NotTextReason::InvalidUtf8 })
        );
        assert_eq!(
            decode_text(b"a\0b\xff"),
            Err(NotTextError { offset: 1, reason: NotTextReason::Nul })
        );
        assert_eq!(
            decode_text(b"\xed\xa0\x80"),
            Err(NotTextError { offset: 0, reason: NotTextReason::InvalidUtf8 })
        );
        assert_eq!(
            NotTextError { offset: 2, reason: NotTextReason::Nul }.to_string(),
            "a NUL byte at byte 2"
        );
    }

    #[test]
    fn the_hash_is_sha256_of_the_normal_form() {
        // printf hello | sha256sum
        let hello = "2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824";
        assert_eq!(content_hash("hello"), hello);
        assert_eq!(content_hash("\u{FEFF}\r\n hello\u{3000}\r"), hello);
        assert_ne!(content_hash("hel lo"), hello);
        assert_ne!(content_hash("\u{FEFF}\u{FEFF}hello"), hello);
        assert_eq!(content_hash("a\r\n\rb"), content_hash("a\n\nb"));
        assert_ne!(content_hash("a\nb"), content_hash("a\n\nb"));
        assert_eq!(content_hash("e\u{301}"), content_hash("é"));
        assert_ne!(content_hash("ﬁ"), content_hash("fi"));
    }

    proptest! {
        #[test]
        fn the_hash_ignores_line_ends_and_outer_space(text in "[^\u{FEFF}\r]{0,80}") {
            let hash = content_hash(&text);
            prop_assert_eq!(&hash, &content_hash(&format!("\u{FEFF}{text}")));
            prop_assert_eq!(&hash, &content_hash(&text.replace('\n', "\r\n")));
            prop_assert_eq!(&hash, &content_hash(&text.replace('\n', "\r")));
            prop_assert_eq!(&hash, &content_hash(&format!(" \n\t{text}\u{2003}\n")));
            prop_assert_eq!(&hash, &content_hash(&text.nfc().collect::<String>()));
            prop_assert_eq!(&hash, &content_hash(&text.nfd().collect::<String>()));
        }
    }
}
