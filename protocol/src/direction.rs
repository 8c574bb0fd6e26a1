//! Invisible characters that change how a text looks. This is the only list of them.

use std::borrow::Cow;

/// Returns whether `c` changes the order in which the text around it is shown: an embedding, an
/// override or an isolate. No program that shows a text may leave these as they are.
#[must_use]
pub const fn reorders_text(c: char) -> bool {
    matches!(c, '\u{202A}'..='\u{202E}' | '\u{2066}'..='\u{2069}')
}

/// Returns whether `c` is invisible and concerns the direction of text: one that [`reorders_text`],
/// or a mark such as U+200F. Texts in Arabic and Hebrew contain marks, so a page in the browser
/// keeps them. Output for terminals replaces marks, and JSON escapes them, because they can
/// exchange the parts of a line.
#[must_use]
pub const fn is_direction_control(c: char) -> bool {
    reorders_text(c) || matches!(c, '\u{061C}' | '\u{200E}' | '\u{200F}')
}

/// Escapes [direction controls](is_direction_control) and control characters, except line feed,
/// carriage return and tab, as `\u…`. Valid JSON has such characters only in strings, so its value
/// stays the same.
#[must_use]
pub fn escape_json(json: &str) -> Cow<'_, str> {
    let is_unsafe =
        |c: char| (c.is_control() && !matches!(c, '\n' | '\r' | '\t')) || is_direction_control(c);
    if !json.contains(is_unsafe) {
        return Cow::Borrowed(json);
    }
    let mut out = String::with_capacity(json.len() + 64);
    for c in json.chars() {
        if is_unsafe(c) {
            out.push_str(&format!("\\u{:04x}", u32::from(c)));
        } else {
            out.push(c);
        }
    }
    Cow::Owned(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn controls_are_escaped_and_joiners_stay() {
        let json = "\"a\u{1b}\u{7f}\u{9b}\u{61c}\u{200e}\u{200f}\u{202e}\u{2066}\u{2069}\"";
        assert_eq!(
            escape_json(json),
            r#""a\u001b\u007f\u009b\u061c\u200e\u200f\u202e\u2066\u2069""#
        );
        // Joiners are part of words and emoji.
        let plain = "{\n\t\"é\": \"\u{1f469}\u{200d}\u{1f4bb} \u{5d0}\u{200c}\"\r\n}";
        assert!(matches!(escape_json(plain), Cow::Borrowed(text) if text == plain));
    }
}
