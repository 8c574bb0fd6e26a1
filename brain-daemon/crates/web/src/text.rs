//! Types for text in HTML, which escape it and replace deceptive characters.

use brain_protocol::{is_direction_control, reorders_text};
use maud::Render;

/// Text in an HTML document, escaped for an element or a quoted attribute.
///
/// Characters that reorder text are replaced by U+FFFD. Joiners and direction marks are kept,
/// because some languages need them.
#[derive(Clone, Copy)]
pub struct Text<'a>(pub &'a str);

/// A name that the reader has to trust. Control, direction and zero-width characters are replaced
/// by U+FFFD, so that the reader sees them.
#[derive(Clone, Copy)]
pub struct Name<'a>(pub &'a str);

impl Render for Text<'_> {
    fn render_to(&self, out: &mut String) {
        out.reserve(self.0.len());
        let (bytes, mut written) = (self.0.as_bytes(), 0);
        // Most text is copied in long pieces.
        while let Some(found) = bytes[written..].iter().position(|byte| may_change(*byte)) {
            let rest = &self.0[written..];
            let Some(char) = rest[found..].chars().next() else { break };
            out.push_str(&rest[..found]);
            push_escaped(out, char);
            written += found + char.len_utf8();
        }
        out.push_str(&self.0[written..]);
    }
}

impl Render for Name<'_> {
    fn render_to(&self, out: &mut String) {
        let is_invisible = |c: char| {
            c.is_control()
                || is_direction_control(c)
                || matches!(c, '\u{200B}'..='\u{200D}' | '\u{2060}'..='\u{206F}' | '\u{FEFF}')
        };
        for char in self.0.chars() {
            push_escaped(out, if is_invisible(char) { '\u{FFFD}' } else { char });
        }
    }
}

/// Maximum length of the shown text of a timeline entry, in characters.
pub(crate) const MAX_LINE: usize = 1000;

/// Returns a number with its noun: `1 reply`, `2 replies`.
pub(crate) fn with_noun(number: u64, one: &str, many: &str) -> String {
    format!("{number} {}", if number == 1 { one } else { many })
}

/// Returns a text for the screen's scripts, which insert it as text content, so HTML is not
/// escaped. Deceptive characters are replaced as in [`Text`].
pub(crate) fn replace_deceptive(text: &str) -> String {
    text.chars().map(replace_deceptive_char).collect()
}

fn replace_deceptive_char(char: char) -> char {
    match char {
        '\n' | '\t' => char,
        char if char.is_control() || reorders_text(char) => '\u{FFFD}',
        char => char,
    }
}

/// Returns the direction of a text by its first letter, as a value of `dir`.
///
/// With `auto`, browsers determine the direction again after each received part of a page, which
/// took minutes for a page of 5 MB.
pub(crate) fn direction(text: &str) -> &'static str {
    match text.chars().find(|char| char.is_alphabetic()) {
        Some(
            '\u{590}'..='\u{8FF}'
            | '\u{FB1D}'..='\u{FDFF}'
            | '\u{FE70}'..='\u{FEFC}'
            | '\u{10800}'..='\u{10FFF}'
            | '\u{1E800}'..='\u{1EFFF}',
        ) => "rtl",
        _ => "ltr",
    }
}

/// Returns whether a character whose first byte is `byte` may be escaped or replaced. These are
/// signs of HTML, control characters (also U+0080 to U+009F), and U+2000 to U+2FFF.
fn may_change(byte: u8) -> bool {
    matches!(byte, b'&' | b'<' | b'>' | b'"' | b'\'' | 0..0x20 | 0x7F | 0xC2 | 0xE2)
}

fn push_escaped(out: &mut String, char: char) {
    match char {
        '&' => out.push_str("&amp;"),
        '<' => out.push_str("&lt;"),
        '>' => out.push_str("&gt;"),
        '"' => out.push_str("&quot;"),
        '\'' => out.push_str("&#39;"),
        char => out.push(replace_deceptive_char(char)),
    }
}

#[cfg(test)]
mod tests {
    use maud::html;

    use super::*;

    #[test]
    fn text_is_escaped_and_names_hide_nothing() {
        let text = "<a b='c' d=\"e\">&\u{202e}\u{0}\n👩\u{200d}💻";
        let expected_start = "&lt;a b=&#39;c&#39; d=&quot;e&quot;&gt;&amp;\u{fffd}\u{fffd}";
        assert_eq!(Text(text).render().0, format!("{expected_start}\n👩\u{200d}💻"));
        assert_eq!(Name(text).render().0, format!("{expected_start}\u{fffd}👩\u{fffd}💻"));
        assert_eq!(Name("a\u{202E}b\u{200B}c").render().0, "a\u{FFFD}b\u{FFFD}c");
        assert_eq!(Name("Ünïcode 日本").render().0, "Ünïcode 日本");
    }

    #[test]
    fn a_long_text_is_escaped_like_its_single_characters() {
        let all: String = ('\0'..='\u{FFFF}').collect();
        let mut one_by_one = String::new();
        all.chars().for_each(|char| push_escaped(&mut one_by_one, char));
        assert!(Text(&all).render().0 == one_by_one);
    }

    #[test]
    fn the_first_letter_decides_the_direction() {
        for text in ["1. שלום Ada", "**مرحبا**"] {
            assert_eq!(direction(text), "rtl", "{text}");
        }
        for text in ["", "12", "Ada שלום", "日本"] {
            assert_eq!(direction(text), "ltr", "{text}");
        }
    }

    #[test]
    fn templates_escape_every_value() {
        let evil = "\"><script>alert(1)</script>";
        let shown = html! { p title=(evil) { (evil) } p title=(Text(evil)) { (Name(evil)) } }.0;
        assert!(!shown.contains("<script"), "{shown}");
        assert_eq!(shown.matches("&lt;script&gt;").count(), 4, "{shown}");
        assert_eq!(shown.matches("title=\"&quot;&gt;").count(), 2, "{shown}");
    }
}
