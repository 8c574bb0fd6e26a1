//! What strangers wrote or said, made fit for a page: text that shows itself and does nothing else. Nothing of theirs may end a line, begin a
//! link, a tag, a comment or HTML, or be read as the `[Source: …]` of a dated line. Knows nothing of posts or calls.

use std::iter::Peekable;

/// The longest thing between `&` and `;` that may be an entity.
const ENTITY: usize = 32;
/// The most digits that the number of a list has (CommonMark 5.2).
const NUMBER: usize = 9;

/// `text` on one line: white space as one space, and without characters that nobody sees or that steer what is seen (control, direction,
/// tag characters).
#[must_use]
pub fn plain(text: &str) -> String {
    let seen: String = text.chars().filter(|c| c.is_whitespace() || !is_unseen(*c)).collect();
    seen.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Characters without a shape of their own. The joiners stay: scripts and emoji need them.
fn is_unseen(c: char) -> bool {
    c.is_control()
        || matches!(
            c,
            '\u{ad}' | '\u{61c}' | '\u{180e}' | '\u{200b}' | '\u{200e}' | '\u{200f}' | '\u{feff}'
        )
        || matches!(c, '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{fff9}'..='\u{fffb}')
        || matches!(c, '\u{fffe}' | '\u{ffff}' | '\u{e0000}'..='\u{e01ef}')
}

/// A [`plain`] text as markdown that shows it, for somewhere in a line. Brackets become parentheses: behind a backslash they would still
/// be a `[Source: …]` or a `[[link]]` for who does not know markdown.
#[must_use]
pub fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 8);
    let mut chars = text.chars().peekable();
    let mut before = ' ';
    while let Some(c) = chars.next() {
        match c {
            '[' => out.push('('),
            ']' => out.push(')'),
            '\\' | '`' | '*' | '_' | '<' | '>' | '#' | '|' | '~' => out.extend(['\\', c]),
            // Two of them mean something: a comment, a mark, a formula.
            '%' | '=' | '$' if before == c => out.extend(['\\', c]),
            '&' if is_entity(&chars) => out.push_str("\\&"),
            // Addresses that would become links by themselves.
            '/' if before == ':' => out.push_str("\\/"),
            '@' if before.is_alphanumeric() => out.push_str("\\@"),
            '.' if is_www(&out) => out.push_str("\\."),
            c => out.push(c),
        }
        before = c;
    }
    out
}

/// A [`plain`] text as a paragraph that shows it: as [`escaped`], and nothing at its beginning makes a list or a rule of it.
#[must_use]
pub fn paragraph(text: &str) -> String {
    let mut shown = escaped(text);
    let digits = shown.bytes().take_while(u8::is_ascii_digit).count();
    let mut rest = shown.chars().skip(digits);
    let begins = matches!(
        (digits, rest.next(), rest.next()),
        (0, Some('-' | '+'), _) | (1..=NUMBER, Some('.' | ')'), None | Some(' '))
    );
    if begins {
        shown.insert(digits, '\\');
    }
    shown
}

fn is_entity(rest: &Peekable<std::str::Chars<'_>>) -> bool {
    let mut rest = rest.clone().take(ENTITY).skip_while(|c| c.is_ascii_alphanumeric() || *c == '#');
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
    fn a_text_comes_on_one_line_without_what_nobody_sees() {
        assert_eq!(plain(" a\r\n---\n\tb\u{2028}c\u{0}\u{1b}[31m\u{202e} "), "a --- b c[31m");
        assert_eq!(plain("ab\u{202e}cd\u{200b}e\u{feff}\u{ffff}"), "abcde");
        assert_eq!(plain("hi\u{e0069}\u{e0067}"), "hi");
        assert_eq!(plain("👩\u{200d}🚀 é \u{fffd}"), "👩\u{200d}🚀 é \u{fffd}");
        assert_eq!(plain("\n---\n"), "---");
        assert_eq!(plain(&"é ".repeat(9000)).chars().count(), 17_999, "nothing is left out");
    }

    #[test]
    fn markdown_of_strangers_shows_itself() {
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
            assert_eq!(escaped(text), shown, "{text}");
        }
    }

    #[test]
    fn a_paragraph_begins_no_list() {
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
            assert_eq!(paragraph(text), shown, "{text}");
        }
    }

    /// What strangers may come upon.
    const HOSTILE: &str = "([\\[\\]()|`*_<>#%=&;:/\\\\!@~$^{}+-]|source:|https://x|www[.]|a|\\n|\\r|1[.)]|\u{2028}|\u{202e}| |\\PC){1,40}";

    proptest! {
        #[test]
        fn whatever_strangers_write_is_one_dated_line(text in HOSTILE) {
            let text = escaped(&plain(&text));
            prop_assume!(!text.is_empty());
            let entry = TimelineEntry {
                date: "2026-11-21".into(),
                text: format!("Deleted tweet: {text}"),
                source: Some("X deletion, detected 2026-11-21".into()),
            };
            let body = "# Ann\n\nHello.\n\n## Timeline\n\n- 2026-11-20 | old\n";
            let new = page::add_dated(body, &entry).unwrap().unwrap();
            prop_assert_eq!(new.lines().count(), body.lines().count() + 1);
            prop_assert_eq!(page::headings(&new).len(), 2);
            prop_assert!(page::timeline(&new).contains(&entry));
            prop_assert_eq!(page::body_tags(&new), Vec::<&str>::new());
            let slug = brain_protocol::Slug::parse("people/ann").unwrap();
            prop_assert_eq!(page::links(&slug, &new, &Frontmatter::empty()).len(), 0);
        }

        #[test]
        fn whatever_strangers_say_is_a_paragraph_that_shows_it(text in HOSTILE) {
            let said = plain(&text);
            let body = paragraph(&said);
            let slug = brain_protocol::Slug::parse("calls/x").unwrap();
            prop_assert!(page::links(&slug, &body, &Frontmatter::empty()).is_empty(), "{}", body);
            prop_assert!(page::body_tags(&body).is_empty(), "{}", body);
            let mut shown = String::new();
            let mut everything = Options::all();
            everything.remove(Options::ENABLE_SMART_PUNCTUATION | Options::ENABLE_MATH | Options::ENABLE_SUPERSCRIPT);
            for event in Parser::new_ext(&body, everything) {
                match event {
                    Event::Text(text) => shown.push_str(&text),
                    Event::Start(Tag::Paragraph) | Event::End(_) => {}
                    other => prop_assert!(false, "{:?} in {}", other, body),
                }
            }
            prop_assert_eq!(shown, said.replace('[', "(").replace(']', ")"), "{}", body);
        }
    }
}
