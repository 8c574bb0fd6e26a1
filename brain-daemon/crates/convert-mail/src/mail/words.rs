//! Encoded words of a header: `=?charset?B?…?=` (RFC 2047).

use crate::codec;

/// Maximum length of a word, in bytes. RFC 2047 allows 75.
const MAX_WORD: usize = 4096;

/// Returns a header's text with its encoded words decoded. Bytes of adjacent words are joined
/// first, because programs cut words within a character.
pub(super) fn decode_words(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut pending = Pending::default();
    let mut rest = text;
    while let Some(at) = rest.find("=?") {
        let (before, from_word) = rest.split_at(at);
        let Some((word, after)) = word(from_word) else {
            pending.flush(&mut out);
            out.push_str(before);
            out.push_str("=?");
            rest = &from_word[2..];
            continue;
        };
        // White space between two encoded words is not part of the text.
        if !before.trim().is_empty() || pending.bytes.is_empty() {
            pending.flush(&mut out);
            out.push_str(before);
        }
        if !pending.charset.eq_ignore_ascii_case(word.charset) {
            pending.flush(&mut out);
            word.charset.clone_into(&mut pending.charset);
        }
        pending.bytes.extend(word.bytes());
        rest = after;
    }
    pending.flush(&mut out);
    out.push_str(rest);
    out
}

/// Bytes of words that are not decoded yet.
#[derive(Default)]
struct Pending {
    charset: String,
    bytes: Vec<u8>,
}

impl Pending {
    fn flush(&mut self, out: &mut String) {
        if !self.bytes.is_empty() {
            out.push_str(&codec::text(&self.bytes, Some(&self.charset)));
            self.bytes.clear();
        }
    }
}

struct Word<'a> {
    charset: &'a str,
    is_base64: bool,
    payload: &'a str,
}

impl Word<'_> {
    fn bytes(&self) -> Vec<u8> {
        match self.is_base64 {
            true => codec::base64(self.payload.as_bytes()),
            false => codec::quoted_printable(self.payload.replace('_', "=20").as_bytes()),
        }
    }
}

/// Returns the encoded word at the beginning of a text, and what follows it.
fn word(text: &str) -> Option<(Word<'_>, &str)> {
    let end = (0..=text.len().min(MAX_WORD)).rev().find(|at| text.is_char_boundary(*at))?;
    let (charset, rest) = text[..end].strip_prefix("=?")?.split_once('?')?;
    let (encoding, rest) = rest.split_once('?')?;
    let (payload, rest) = rest.split_once("?=")?;
    let rest = &text[end - rest.len()..];
    let is_base64 = encoding.eq_ignore_ascii_case("b");
    if !is_base64 && !encoding.eq_ignore_ascii_case("q") || charset.contains(char::is_whitespace) {
        return None;
    }
    // RFC 2231 adds a language after `*`.
    let charset = charset.split('*').next().unwrap_or_default();
    Some((Word { charset, is_base64, payload }, rest))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_that_cut_a_character_are_joined() {
        assert_eq!(decode_words("=?utf-8?B?SsM=?= =?UTF-8?B?tnJn?="), "J\u{f6}rg");
        assert_eq!(decode_words("=?utf-8?Q?J=C3?=\r\n =?utf-8?q?=B6rg_M=2E?= x"), "J\u{f6}rg M. x");
        assert_eq!(decode_words("a =?utf-8?Q?=3D?= =?iso-8859-1*de?Q?=FC?="), "a =\u{fc}");
    }

    #[test]
    fn what_is_no_word_stays() {
        for text in ["a =? b", "=?utf-8?X?a?=", "=?utf-8?B?", "1 =?= 2", ""] {
            assert_eq!(decode_words(text), text);
        }
    }
}
