//! Derives a title from a text that has none. Knows only the body's text.

use super::fence::Fences;
use super::grapheme;
use brain_protocol::is_direction_control;
use pulldown_cmark::{Event, LinkType, Options, Parser, Tag, TagEnd};

/// Maximum length of a derived title, in characters.
pub const MAX_TITLE: usize = 80;

/// How much of a line is read for a title, in bytes.
const LINE_BYTES: usize = 4096;

/// Returns the last segment if `text` is the target of a wiki link without its own text; otherwise
/// `text`.
pub(super) fn link_text(text: &str, is_target: bool) -> &str {
    if is_target { text.rsplit('/').next().unwrap_or(text) } else { text }
}

/// Returns the syntax that a title may contain.
pub(super) fn inline_options() -> Options {
    Options::ENABLE_STRIKETHROUGH | Options::ENABLE_WIKILINKS
}

/// Returns a title for `body`: its first usable line without the syntax of headings, lists,
/// quotations and emphasis, and without link targets. Cut after [`MAX_TITLE`] characters, but never
/// inside an emoji or between a letter and its accent. Runs of white space become one space.
///
/// Rules, fences, setext underlines, comments, HTML, styles, badges, table rulers and link
/// definitions are not usable. Code is used only if there is nothing else. Returns `Capture` when
/// no line is usable.
#[must_use]
pub fn derive_title(body: &str) -> String {
    let body = body.strip_prefix('\u{FEFF}').unwrap_or(body);
    let mut fences = Fences::default();
    // The text that ends the open comment, element or tag.
    let mut until: Option<&str> = None;
    let mut code = None;
    for line in body.split(['\n', '\r']) {
        let line = &line[..line.floor_char_boundary(LINE_BYTES)];
        if until.is_none() && fences.push_line(line) {
            if code.is_none() && !line.trim_start().starts_with(['`', '~']) {
                code = shorten_line(line, MAX_TITLE);
            }
            continue;
        }
        let mut rest = line.trim();
        while let Some(end) = until.or_else(|| closing_text(rest)) {
            match rest.find(end) {
                Some(at) => (rest, until) = (rest[at + end.len()..].trim(), None),
                None => (rest, until) = ("", Some(end)),
            }
            if rest.is_empty() {
                break;
            }
        }
        if let Some(title) = title_of_line(rest) {
            return title;
        }
    }
    code.unwrap_or_else(|| "Capture".to_owned())
}

/// Returns the text that ends the comment, the style, the script or the tag at the beginning of
/// `line`.
fn closing_text(line: &str) -> Option<&'static str> {
    if line.starts_with("<!--") {
        return Some("-->");
    }
    let rest = line.strip_prefix('<')?;
    let name = rest.strip_prefix('/').unwrap_or(rest);
    let end = name.find(|c: char| !c.is_ascii_alphanumeric() && c != '-').unwrap_or(name.len());
    let is_name = name.starts_with(|c: char| c.is_ascii_alphabetic());
    let behind = name[end..].chars().next();
    if !is_name || behind.is_some_and(|c| !c.is_whitespace() && c != '>' && c != '/') {
        return None;
    }
    Some(match &name[..end] {
        "style" if !rest.starts_with('/') => "</style>",
        "script" if !rest.starts_with('/') => "</script>",
        _ => ">",
    })
}

/// Returns the title from `line`, if it is usable.
fn title_of_line(line: &str) -> Option<String> {
    let line = without_prefixes(line);
    if line.starts_with("[![") && line.ends_with(')') && only_badges(line) {
        return None;
    }
    let only = |set: &[char]| line.chars().all(|c| set.contains(&c));
    if line.is_empty()
        || only(&['-', ' ', '\t'])
        || only(&['*', ' ', '\t'])
        || only(&['_', ' ', '\t'])
        || only(&['=', ' '])
        || only(&['#'])
        || only(&['|', '-', ':', ' ', '+'])
        || (line.starts_with('[') && !line.starts_with("[[") && line.contains("]: "))
    {
        return None;
    }
    shorten_line(&plain(line), MAX_TITLE)
}

/// Returns whether the line has links around images and nothing else.
fn only_badges(line: &str) -> bool {
    let (mut images, mut links) = (0_usize, 0_usize);
    Parser::new(line).all(|event| {
        match event {
            Event::Start(Tag::Image { .. }) => images += 1,
            Event::End(TagEnd::Image) => images = images.saturating_sub(1),
            Event::Start(Tag::Link { .. }) => links += 1,
            Event::End(TagEnd::Link) => links = links.saturating_sub(1),
            Event::Text(text) => return text.trim().is_empty() || (images > 0 && links > 0),
            _ => {}
        }
        true
    })
}

/// Returns the line without the markdown at its beginning: `>`, bullets, numbers, check boxes,
/// `#` of headings.
fn without_prefixes(mut line: &str) -> &str {
    loop {
        let is_space_or_end = |rest: &'_ str| rest.is_empty() || rest.starts_with([' ', '\t']);
        let digits = line.bytes().take_while(u8::is_ascii_digit).count();
        let level = line.bytes().take_while(|&b| b == b'#').count();
        let rest = if let Some(rest) = line.strip_prefix('>') {
            rest
        } else if let Some(rest) = line.strip_prefix(['-', '*', '+']).filter(|r| is_space_or_end(r))
        {
            let rest = rest.trim_start();
            ["[ ] ", "[x] ", "[X] "].iter().find_map(|b| rest.strip_prefix(b)).unwrap_or(rest)
        } else if (1..=6).contains(&level) && is_space_or_end(&line[level..]) {
            &line[level..]
        } else if (1..=3).contains(&digits) {
            // A year that ends a sentence does not begin a list.
            match line[digits..].strip_prefix(['.', ')']).filter(|r| r.starts_with([' ', '\t'])) {
                Some(rest) => rest,
                None => return line,
            }
        } else {
            return line;
        };
        line = rest.trim();
    }
}

/// Returns the shown text of one line of markdown.
fn plain(line: &str) -> String {
    if !line.contains(['*', '_', '`', '[', '<', '&', '\\', '~', '#']) {
        return line.to_owned();
    }
    // Parsed as a heading, the line cannot start a block.
    let heading = format!("# {line}");
    let mut out = String::with_capacity(line.len());
    let mut is_bare_wiki_link = false;
    for event in Parser::new_ext(&heading, inline_options()) {
        match event {
            Event::Start(Tag::Link {
                link_type: LinkType::WikiLink { has_pothole: false },
                ..
            }) => {
                is_bare_wiki_link = true;
            }
            Event::End(TagEnd::Link) => is_bare_wiki_link = false,
            Event::Text(text) => out.push_str(link_text(&text, is_bare_wiki_link)),
            Event::Code(text) => out.push_str(&text),
            Event::SoftBreak | Event::HardBreak => out.push(' '),
            _ => {}
        }
    }
    out
}

/// Returns `text` on one line, without invisible characters (controls, direction marks), cut after
/// `max_chars` characters; `None` when nothing is left.
pub(super) fn shorten_line(text: &str, max_chars: usize) -> Option<String> {
    let mut out = String::with_capacity(text.len().min(400));
    for c in text.chars() {
        if c.is_whitespace() || c.is_control() {
            if !out.is_empty() && !out.ends_with(' ') {
                out.push(' ');
            }
        } else if !is_invisible(c) {
            out.push(c);
        }
    }
    let title = grapheme::cut(out.trim(), max_chars).trim_end();
    (!title.is_empty()).then(|| title.to_owned())
}

/// Returns whether `c` is a zero-width space, a direction control, a word joiner or a byte order
/// mark.
fn is_invisible(c: char) -> bool {
    is_direction_control(c) || matches!(c, '\u{200B}' | '\u{2060}' | '\u{FEFF}')
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn the_title_is_the_first_usable_line() {
        for (body, title) in [
            ("", "Capture"),
            ("---\n\n***\n\n", "Capture"),
            ("\u{FEFF}\r\n# Plan #\r\nx", "Plan"),
            ("---\n## The *big* [idea](http://x) `now`\n", "The big idea now"),
            ("====\nTitle\n====", "Title"),
            ("```rust\nfn main() {}\n```\nAfter code", "After code"),
            ("```rust\nfn main() {}\n```\n", "fn main() {}"),
            ("> - [ ] Buy **milk** & bread", "Buy milk & bread"),
            ("1. First\n2. Second", "First"),
            ("1986. A great year", "1986. A great year"),
            ("#idea is a tag", "#idea is a tag"),
            ("#\n##\ntext", "text"),
            ("See [[people/ann]] and [[companies/acme|Acme]]", "See ann and Acme"),
            ("![](x.png)\n![A chart](y.png)", "A chart"),
            ("<!-- a\nb --> c\nd", "c"),
            ("| a | b |\n|---|---|", "| a | b |"),
            ("[x]: http://y\nz", "z"),
            ("snake_case_name and 2 * 3 * 4", "snake_case_name and 2 * 3 * 4"),
            ("a\u{202E}b\u{0007}  c", "ab c"),
            ("- 2024-01-01 | met", "2024-01-01 | met"),
            ("~~old~~ \\*new\\* &amp; more", "old *new* & more"),
            ("<source media=\"(x)\"\n  srcset=\"y\">\n<p>Hello</p>", "Hello"),
            ("<style>\na { b: c }\n</style>\ntext", "text"),
            ("[![Build](a.svg)](b) [![Docs](c.svg)](d)\n\nA tool", "A tool"),
            ("<https://example.org> is down", "https://example.org is down"),
        ] {
            assert_eq!(derive_title(body), title, "{body:?}");
        }
    }

    #[test]
    fn a_title_is_cut_without_splitting_letters() {
        assert_eq!(derive_title(&"é".repeat(200)), "é".repeat(80));
        let family = "👩‍👩‍👧‍👦";
        assert_eq!(derive_title(&format!("{}{family}", "a".repeat(75))), "a".repeat(75));
        assert_eq!(
            derive_title(&format!("{}{family}", "a".repeat(73))),
            format!("{}{family}", "a".repeat(73))
        );
        assert_eq!(derive_title(&format!("{}e\u{301}", "a".repeat(79))), "a".repeat(79));
        assert_eq!(derive_title(&"\u{301}".repeat(200)).chars().count(), 80);
        assert_eq!(derive_title(&"[".repeat(1_000_000)).chars().count(), 80);
    }

    proptest! {
        #[test]
        fn a_title_is_one_short_line(body in "(?s:.{0,60})|([#>*_`\\[\\]()\\-=~|! \
            a1é<&\\\\\n]){0,60}") {
            let title = derive_title(&body);
            prop_assert!(!title.is_empty() && title.trim() == title);
            prop_assert!(title.chars().count() <= MAX_TITLE);
            prop_assert!(!title.contains(char::is_control));
        }
    }
}
