//! What strangers wrote, made fit for a line of a page. Nothing that they write may end a line, begin a link, a tag, a comment or HTML, or
//! be read as the `[Source: …]` of a dated line. Knows nothing of posts or pages. Pure.

use std::iter::Peekable;

/// The longest thing between `&` and `;` that may be an entity.
const ENTITY: usize = 32;

/// `text` on one line: white space as one space, and without characters that nobody sees or that steer what is seen (control, direction,
/// tag characters). What the platform writes as entities (`&amp;`, `&lt;`, `&gt;`) is what it stands for.
pub(super) fn plain(text: &str) -> String {
    let text = text.replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&");
    let seen = text.chars().filter(|c| c.is_whitespace() || !is_unseen(*c));
    let text: String = seen.map(|c| if c.is_whitespace() { ' ' } else { c }).collect();
    text.split(' ').filter(|word| !word.is_empty()).collect::<Vec<_>>().join(" ")
}

/// Characters without a shape of their own. The joiners stay: scripts and emoji need them.
fn is_unseen(c: char) -> bool {
    c.is_control()
        || matches!(c, '\u{ad}' | '\u{61c}' | '\u{180e}' | '\u{200b}' | '\u{200e}' | '\u{200f}' | '\u{feff}')
        || matches!(c, '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{fff9}'..='\u{fffb}')
        || matches!(c, '\u{e0000}'..='\u{e01ef}')
}

/// At most `most` characters of `text`, with `…` where it was cut.
pub(super) fn cut(text: &str, most: usize) -> String {
    match text.char_indices().nth(most) {
        None => text.to_owned(),
        Some(_) => {
            let kept: String = text.chars().take(most.saturating_sub(1)).collect();
            format!("{}…", kept.trim_end())
        }
    }
}

/// A [`plain`] text as markdown that shows it and does nothing else. Brackets become parentheses: behind a backslash they would still
/// be a `[Source: …]` or a `[[link]]` for who does not know markdown.
pub(super) fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 8);
    let mut chars = text.chars().peekable();
    let mut before = ' ';
    while let Some(c) = chars.next() {
        match c {
            '[' => out.push('('),
            ']' => out.push(')'),
            '\\' | '`' | '*' | '_' | '<' | '>' | '#' | '|' => out.extend(['\\', c]),
            // Two of them mean something: a comment, a mark, a formula, what is struck out.
            '%' | '=' | '$' | '~' if before == c => out.extend(['\\', c]),
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

fn is_entity(rest: &Peekable<std::str::Chars<'_>>) -> bool {
    let mut rest = rest.clone().take(ENTITY).skip_while(|c| c.is_ascii_alphanumeric() || *c == '#');
    rest.next() == Some(';')
}

fn is_www(before: &str) -> bool {
    let word = before.rsplit(|c: char| !c.is_alphanumeric()).next().unwrap_or_default();
    word.eq_ignore_ascii_case("www")
}

/// The first `words` words of what somebody says in a post: without the accounts that an answer begins with, the mark of a repost, and
/// addresses. Empty when nothing is left. Not escaped.
pub(super) fn quote(text: &str, words: usize, most: usize) -> String {
    let text = plain(text);
    let mut said = text.split(' ').filter(|word| !word.contains("://")).peekable();
    while said.next_if(|word| *word == "RT" || word.starts_with('@')).is_some() {}
    let mut kept: Vec<&str> = said.by_ref().take(words).collect();
    let more = said.next().is_some();
    if kept.iter().all(|word| !word.contains(char::is_alphanumeric)) {
        kept.clear();
    }
    let quote = cut(&kept.join(" "), most);
    if more && !kept.is_empty() && !quote.ends_with('…') { format!("{quote}…") } else { quote }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::page::{self, Frontmatter, TimelineEntry};

    #[test]
    fn a_text_comes_on_one_line_without_what_nobody_sees() {
        assert_eq!(plain(" a\r\n\tb\u{2028}c\u{0}\u{1b}[31m "), "a b c[31m");
        assert_eq!(plain("ab\u{202e}cd\u{200b}e\u{feff}"), "abcde");
        assert_eq!(plain("hi\u{e0069}\u{e0067}"), "hi");
        assert_eq!(plain("R&amp;D &lt;3 &amp;lt;"), "R&D <3 &lt;");
        assert_eq!(plain("👩\u{200d}🚀 é"), "👩\u{200d}🚀 é");
        assert_eq!(plain("\n---\n"), "---");
    }

    #[test]
    fn a_text_is_cut_by_characters() {
        assert_eq!(cut("größe", 5), "größe");
        assert_eq!(cut("größer", 5), "größ…");
        assert_eq!(cut("ab cd", 4), "ab…");
    }

    #[test]
    fn markdown_of_strangers_shows_itself() {
        for (text, shown) in [
            ("[a](https://x.org)", "(a)(https:\\//x.org)"),
            ("[[people/ann|you]]", "((people/ann|you))"),
            ("<b>#tag</b>", "\\<b\\>\\#tag\\</b\\>"),
            ("%%a%% ==b== $$c$$ ~~d~~", "%\\%a%\\% =\\=b=\\= $\\$c$\\$ ~\\~d~\\~"),
            ("100% of $5 = 5", "100% of $5 = 5"),
            ("&lt; &#91; AT&T; a & b;", "\\&lt; \\&#91; AT\\&T; a & b;"),
            ("see www.x.org or me@x.org, @ann", "see www\\.x.org or me\\@x.org, @ann"),
            ("*a* _b_ `c` \\", "\\*a\\* \\_b\\_ \\`c\\` \\\\"),
        ] {
            let shown = shown.replace("&#91", "&\\#91").replace('|', "\\|");
            assert_eq!(escaped(text), shown, "{text}");
        }
    }

    #[test]
    fn a_quote_is_what_somebody_says() {
        assert_eq!(
            quote("@a @b so I think that this is how we do it", 8, 80),
            "so I think that this is how we…"
        );
        assert_eq!(quote("RT @ann: hello there", 8, 80), "hello there");
        assert_eq!(quote("https://t.co/x look", 8, 80), "look");
        for none in ["", "https://t.co/x", "@ann", "🎉 …", "\u{202e}"] {
            assert_eq!(quote(none, 8, 80), "", "{none}");
        }
        assert_eq!(quote(&"字".repeat(200), 8, 80).chars().count(), 80);
    }

    proptest! {
        #[test]
        fn whatever_strangers_write_is_one_dated_line(
            text in "([\\[\\]()|`*_<>#%=&;:/\\\\!@~$^{}-]|source:|https://x|www[.]|a|\\n|\\r|\u{2028}|\u{202e}| |\\PC){1,40}"
        ) {
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
    }
}
