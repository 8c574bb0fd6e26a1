//! Escapes untrusted text, so that a page shows it literally.
//!
//! Untrusted text must not end a line, start a link, a tag, a comment or HTML, or form the
//! `[Source: …]` of a dated line. The module does not know the origin of the text.

use std::iter::Peekable;

use brain_protocol::is_direction_control;

/// Maximum length of an entity after `&`, including `;`.
const MAX_ENTITY: usize = 32;
/// Maximum number of digits of a list number (CommonMark 5.2).
const MAX_LIST_DIGITS: usize = 9;

/// Returns `text` on one line, with single spaces and without invisible characters.
///
/// Invisible are, for example, control characters, direction marks and tag characters.
#[must_use]
pub fn single_line(text: &str) -> String {
    let visible: String = text.chars().filter(|c| c.is_whitespace() || !is_invisible(*c)).collect();
    visible.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Returns whether a character is invisible. Joiners are not: scripts and emoji need them.
fn is_invisible(c: char) -> bool {
    c.is_control()
        || is_direction_control(c)
        || matches!(c, '\u{ad}' | '\u{180e}' | '\u{200b}' | '\u{2028}' | '\u{2029}' | '\u{feff}')
        || matches!(c, '\u{2060}'..='\u{206f}' | '\u{fff9}'..='\u{fffb}')
        || matches!(c, '\u{fffe}' | '\u{ffff}' | '\u{e0000}'..='\u{e01ef}')
}

/// Returns a [`single_line`] text as markdown that shows it literally within a line.
///
/// Brackets become parentheses. Escaped ones would still form a `[Source: …]` or a `[[link]]` for
/// readers that do not parse markdown.
#[must_use]
pub fn escape_inline(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 8);
    let mut chars = text.chars().peekable();
    let mut before = ' ';
    while let Some(c) = chars.next() {
        match c {
            '[' => out.push('('),
            ']' => out.push(')'),
            '\\' | '`' | '*' | '_' | '<' | '>' | '#' | '|' | '~' => out.extend(['\\', c]),
            // Doubled, they start a comment, a highlight or a formula.
            '%' | '=' | '$' if before == c => out.extend(['\\', c]),
            '&' if is_entity(&chars) => out.push_str("\\&"),
            // Addresses that would become autolinks.
            '/' if before == ':' => out.push_str("\\/"),
            '@' if before.is_alphanumeric() => out.push_str("\\@"),
            '.' if is_www(&out) => out.push_str("\\."),
            c => out.push(c),
        }
        before = c;
    }
    out
}

/// Returns a [`single_line`] text as a paragraph that shows it literally.
///
/// Escapes like [`escape_inline`], and also what would start a list or a rule.
#[must_use]
pub fn escape_paragraph(text: &str) -> String {
    let mut shown = escape_inline(text);
    let digits = shown.bytes().take_while(u8::is_ascii_digit).count();
    let mut rest = shown.chars().skip(digits);
    let starts_block = matches!(
        (digits, rest.next(), rest.next()),
        (0, Some('-' | '+'), _) | (1..=MAX_LIST_DIGITS, Some('.' | ')'), None | Some(' '))
    );
    if starts_block {
        shown.insert(digits, '\\');
    }
    shown
}

fn is_entity(rest: &Peekable<std::str::Chars<'_>>) -> bool {
    let mut rest =
        rest.clone().take(MAX_ENTITY).skip_while(|c| c.is_ascii_alphanumeric() || *c == '#');
    rest.next() == Some(';')
}

fn is_www(before: &str) -> bool {
    let word = before.rsplit(|c: char| !c.is_alphanumeric()).next().unwrap_or_default();
    word.eq_ignore_ascii_case("www")
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use proptest::prelude::*;
    use pulldown_cmark::{Event, Options, Parser, Tag};

    use super::*;
    use crate::{self as page, Frontmatter, TimelineEntry};

    #[test]
    fn a_single_line_has_no_invisible_characters() {
        assert_eq!(single_line(" a\r\n---\n\tb\u{2028}c\u{0}\u{1b}[31m\u{202e} "), "a --- b c[31m");
        assert_eq!(single_line("ab\u{202e}cd\u{200b}e\u{feff}\u{ffff}"), "abcde");
        assert_eq!(single_line("hi\u{e0069}\u{e0067}"), "hi");
        assert_eq!(single_line("👩\u{200d}🚀 é \u{fffd}"), "👩\u{200d}🚀 é \u{fffd}");
        assert_eq!(single_line("\n---\n"), "---");
        assert_eq!(single_line(&"é ".repeat(9000)).chars().count(), 17_999, "nothing is left out");
    }

    #[test]
    fn inline_text_is_escaped() {
        for (text, shown) in [
            ("[a](https://x.org)", "(a)(https:\\//x.org)"),
            ("[[people/ann|you]] #tag", "((people/ann\\|you)) \\#tag"),
            ("<b>#tag</b>", "\\<b\\>\\#tag\\</b\\>"),
            ("%%a%% ==b== $$c$$ ~d~ ~~e~~", "%\\%a%\\% =\\=b=\\= $\\$c$\\$ \\~d\\~ \\~\\~e\\~\\~"),
            ("100% of $5 = 5, 50 %", "100% of $5 = 5, 50 %"),
            ("&lt; &#91; AT&T; a & b;", "\\&lt; \\&\\#91; AT\\&T; a & b;"),
            ("see www.x.org or me@x.org, @ann", "see www\\.x.org or me\\@x.org, @ann"),
            ("%%a%% x@y.org http://x", "%\\%a%\\% x\\@y.org http:\\//x"),
            ("*a* _b_ `c` \\", "\\*a\\* \\_b\\_ \\`c\\` \\\\"),
            ("- a - b", "- a - b"),
            ("Buy milk, and 3 eggs.", "Buy milk, and 3 eggs."),
        ] {
            assert_eq!(escape_inline(text), shown, "{text}");
        }
    }

    #[test]
    fn a_paragraph_starts_no_list() {
        for (text, shown) in [
            ("- a - b", "\\- a - b"),
            ("+++", "\\+++"),
            ("1. a 2. b", "1\\. a 2. b"),
            ("12) a", "12\\) a"),
            ("2.5 liters", "2.5 liters"),
            ("1@x.org", "1\\@x.org"),
            ("1.", "1\\."),
            ("1234567890. a", "1234567890. a"),
            ("7 eggs. Milk.", "7 eggs. Milk."),
            ("---", "\\---"),
            ("* a", "\\* a"),
            ("> a", "\\> a"),
            ("# a", "\\# a"),
            ("", ""),
        ] {
            assert_eq!(escape_paragraph(text), shown, "{text}");
        }
    }

    /// A pattern of hostile text.
    const HOSTILE: &str = "([\\[\\]()|`*_<>#%=&;:/\\\\!@~$^{}+-]|source:|https://x|www[.]|a|\\n\
            |\\r|1[.)]|\u{2028}|\u{202e}| |\\PC){1,40}";

    proptest! {
        #[test]
        fn any_untrusted_text_is_one_dated_line(text in HOSTILE) {
            let text = escape_inline(&single_line(&text));
            prop_assume!(!text.is_empty());
            let entry = TimelineEntry {
                date: "2026-11-21".into(),
                text: format!("Deleted tweet: {text}"),
                source: Some("X deletion, detected 2026-11-21".into()),
            };
            let body = "# Ann\n\nHello.\n\n## Timeline\n\n- 2026-11-20 | old\n";
            let new = page::add_timeline_entry(body, &entry).unwrap().unwrap();
            prop_assert_eq!(new.lines().count(), body.lines().count() + 1);
            prop_assert_eq!(page::headings(&new).len(), 2);
            prop_assert!(page::timeline(&new).contains(&entry));
            prop_assert_eq!(page::body_tags(&new), Vec::<&str>::new());
            let slug = brain_protocol::Slug::parse("people/ann").unwrap();
            prop_assert_eq!(page::links(&slug, &new, &Frontmatter::empty()).len(), 0);
        }

        #[test]
        fn any_untrusted_text_is_a_literal_paragraph(text in HOSTILE) {
            let line = single_line(&text);
            let body = escape_paragraph(&line);
            let slug = brain_protocol::Slug::parse("calls/x").unwrap();
            prop_assert!(page::links(&slug, &body, &Frontmatter::empty()).is_empty(), "{}", body);
            prop_assert!(page::body_tags(&body).is_empty(), "{}", body);
            let mut shown = String::new();
            let mut options = Options::all();
            options.remove(Options::ENABLE_SMART_PUNCTUATION);
            options.remove(Options::ENABLE_MATH | Options::ENABLE_SUPERSCRIPT);
            for event in Parser::new_ext(&body, options) {
                match event {
                    Event::Text(text) => shown.push_str(&text),
                    Event::Start(Tag::Paragraph) | Event::End(_) => {}
                    other => prop_assert!(false, "{:?} in {}", other, body),
                }
            }
            prop_assert_eq!(shown, line.replace('[', "(").replace(']', ")"), "{}", body);
        }
    }
}
