//! Parses markdown in bounded memory.
//!
//! The parser builds a tree with a node of 48 bytes for almost every punctuation character, so a
//! text of only brackets takes 150 times its length. This module therefore parses a long text in
//! parts with a limited number of such characters.
//!
//! A part ends where a block of the top level begins, so each block is parsed as in the whole text.
//! A block longer than a part is cut: a list between its items, a quote between its blocks, a
//! paragraph between its lines or words and outside of brackets. Code and HTML that long are not
//! parsed.

use std::collections::HashMap;
use std::hash::{BuildHasher, RandomState};
use std::ops::{ControlFlow, Range};

use pulldown_cmark::{BrokenLink, CodeBlockKind, CowStr, Event, Options, Parser, Tag, TagEnd};

use super::fence::Fences;

/// Maximum number of ASCII punctuation characters and line ends in a part. The parser's tree for a
/// part takes about 5 MB.
const MAX_PUNCTUATION: usize = 1 << 15;
/// How far before a cut an unclosed bracket is searched, in bytes.
const MAX_BRACKET_DISTANCE: usize = 2000;

/// Calls `each` with the events of `text` and their byte ranges, until `each` breaks.
pub fn for_each_event<'a>(
    text: &'a str,
    options: Options,
    mut each: impl FnMut(Event<'a>, Range<usize>) -> ControlFlow<()>,
) {
    if window_length(text) == text.len() {
        for (event, range) in Parser::new_ext(text, options).into_offset_iter() {
            if each(event, range).is_break() {
                return;
            }
        }
        return;
    }
    let mut definitions = Definitions::of(text, options);
    each_part(text, options, &mut |start, part| {
        let shifted = |range: Range<usize>| range.start + start..range.end + start;
        match part {
            MarkdownPart::Parsed(part) => {
                let defined = |link: BrokenLink<'a>| definitions.find(&link.reference);
                let parser = Parser::new_with_broken_link_callback(part, options, Some(defined));
                for (event, range) in parser.into_offset_iter() {
                    each(event, shifted(range))?;
                }
            }
            MarkdownPart::Raw(tag, content) => {
                let (end, whole) = (tag.to_end(), start..start + content.len());
                let text = CowStr::Borrowed(content);
                let text = if matches!(end, TagEnd::HtmlBlock) {
                    Event::Html(text)
                } else {
                    Event::Text(text)
                };
                each(Event::Start(tag), whole.clone())?;
                each(text, whole.clone())?;
                each(Event::End(end), whole)?;
            }
        }
        ControlFlow::Continue(())
    });
}

/// A part of a text.
enum MarkdownPart<'a> {
    /// A part to parse.
    Parsed(&'a str),
    /// A block whose content is not parsed: code or HTML.
    Raw(Tag<'a>, &'a str),
}

/// Calls `each` with the parts of `text` and their offsets, until `each` breaks.
fn each_part<'a>(
    text: &'a str,
    options: Options,
    each: &mut dyn FnMut(usize, MarkdownPart<'a>) -> ControlFlow<()>,
) {
    let mut at = 0;
    while at < text.len() {
        let rest = &text[at..];
        let end = window_length(rest);
        let cut = if end == rest.len() { Cut::Before(end) } else { cut(&rest[..end], options) };
        let (part, length) = match cut {
            Cut::Before(end) => (MarkdownPart::Parsed(&rest[..end]), end),
            Cut::Code => {
                let (code, length) = code_block(rest);
                (MarkdownPart::Raw(Tag::CodeBlock(CodeBlockKind::Indented), code), length)
            }
            Cut::Html => {
                let length = html_block_length(rest);
                (MarkdownPart::Raw(Tag::HtmlBlock, &rest[..length]), length)
            }
        };
        // The parser found code or HTML, and this module did not recognise it.
        let (part, length) =
            if length == 0 { (MarkdownPart::Parsed(&rest[..end]), end) } else { (part, length) };
        if each(at, part).is_break() {
            return;
        }
        at += length;
    }
}

/// Returns the length of the longest beginning of `text` that is parsed at once.
fn window_length(text: &str) -> usize {
    window_length_within(text, MAX_PUNCTUATION)
}

/// Returns the length of the longest beginning of `text` with at most `max` ASCII punctuation
/// characters and line ends.
pub(super) fn window_length_within(text: &str, max: usize) -> usize {
    let mut left = max;
    for (at, byte) in text.bytes().enumerate() {
        if byte.is_ascii_punctuation() || byte == b'\n' || byte == b'\r' {
            if left == 0 {
                return at;
            }
            left -= 1;
        }
    }
    text.len()
}

/// How a part ends.
enum Cut {
    /// Before this byte.
    Before(usize),
    /// The part is one block of code that continues.
    Code,
    /// The part is one block of HTML that continues.
    Html,
}

/// Returns where to cut the part `text`, which is followed by more text.
fn cut(text: &str, options: Options) -> Cut {
    let line_start = |at: usize| text[..at].rfind('\n').map_or(0, |end| end + 1);
    let mut depth = 0_usize;
    // The start of the last block at the top level, of its last child, and of the last block at any
    // depth.
    let (mut top, mut child, mut any) = (0, 0, 0);
    let mut kind = None;
    for (event, range) in Parser::new_ext(text, options).into_offset_iter() {
        match event {
            Event::Start(tag) => {
                if is_block(&tag) {
                    let start = line_start(range.start);
                    match depth {
                        0 => (top, kind) = (start, Some(tag)),
                        1 => child = start,
                        _ => {}
                    }
                    any = start;
                }
                depth += 1;
            }
            Event::End(_) => depth -= 1,
            Event::Rule if depth == 0 => (top, kind) = (line_start(range.start), None),
            _ => {}
        }
    }
    if top > 0 {
        return Cut::Before(top);
    }
    match kind {
        Some(Tag::CodeBlock(_)) => Cut::Code,
        Some(Tag::HtmlBlock) => Cut::Html,
        _ => {
            let inner = if child > 0 { child } else { any };
            if inner == 0 {
                return Cut::Before(cut_paragraph(text));
            }
            // Skips the indentation, which would turn the content of a list into code.
            let bare = text[inner..].trim_start_matches([' ', '\t']);
            Cut::Before(text.len() - bare.len())
        }
    }
}

fn is_block(tag: &Tag<'_>) -> bool {
    matches!(
        tag,
        Tag::Paragraph
            | Tag::Heading { .. }
            | Tag::BlockQuote(_)
            | Tag::CodeBlock(_)
            | Tag::HtmlBlock
            | Tag::List(_)
            | Tag::Item
            | Tag::FootnoteDefinition(_)
            | Tag::Table(_)
            | Tag::TableRow
    )
}

/// Returns where to cut a paragraph that continues after `text`: at a line end in the second half,
/// else at a space, else at the end. The cut moves before an unclosed bracket, if one is near.
pub(super) fn cut_paragraph(text: &str) -> usize {
    let half = text.floor_char_boundary(text.len() / 2);
    let later = &text[half..];
    let spaced = [&['\n'][..], &[' ', '\t'][..]]
        .iter()
        .find_map(|set| later.rfind(*set))
        .map_or(text.len(), |at| half + at + 1);
    let near = text.floor_char_boundary(spaced.saturating_sub(MAX_BRACKET_DISTANCE).max(half));
    let head = &text[near..spaced];
    let open = head.rfind('[').filter(|open| !head[*open..].contains(']') || spaced == text.len());
    // All of `![[` belongs to the next part.
    let at = open.map_or(spaced, |open| near + head[..open].trim_end_matches(['[', '!']).len());
    if at > half { at } else { spaced }
}

/// Returns the content of the block of code at the beginning of `text`, and the block's length.
fn code_block(text: &str) -> (&str, usize) {
    let mut fences = Fences::default();
    let is_fenced = text.split_inclusive('\n').next().is_some_and(|line| fences.push_line(line));
    let (mut at, mut start, mut end) = (0, 0, 0);
    for (n, line) in text.split_inclusive('\n').enumerate() {
        if is_fenced {
            at += line.len();
            if n == 0 {
                start = at;
            } else if fences.push_line(line) && !fences.is_inside() {
                return (&text[start..end.max(start)], at);
            }
            end = at;
        } else {
            let bare = line.trim_start_matches([' ', '\t']);
            let indent = &line[..line.len() - bare.len()];
            if !bare.trim().is_empty() && indent.len() < 4 && !indent.contains('\t') {
                break;
            }
            at += line.len();
            end = at;
        }
    }
    (&text[start.min(end)..end], at)
}

/// Returns the length of the block of HTML at the beginning of `text` (CommonMark 0.31, section
/// 4.6).
fn html_block_length(text: &str) -> usize {
    let head = text.trim_start().get(..16).unwrap_or_default().to_ascii_lowercase();
    let ends = [
        ("<!--", "-->"),
        ("<?", "?>"),
        ("<![cdata[", "]]>"),
        ("<!", ">"),
        ("<script", "</script>"),
        ("<pre", "</pre>"),
        ("<style", "</style>"),
        ("<textarea", "</textarea>"),
    ];
    let end = ends.iter().find(|(start, _)| head.starts_with(start)).map(|(_, end)| *end);
    let mut at = 0;
    for line in text.split_inclusive('\n') {
        if end.is_none() && line.trim().is_empty() {
            break;
        }
        at += line.len();
        if end.is_some_and(|end| line.to_ascii_lowercase().contains(end)) {
            break;
        }
    }
    at
}

/// Positions of a text's link definitions, by the hash of their label.
struct Definitions<'a> {
    text: &'a str,
    options: Options,
    hasher: RandomState,
    spans: HashMap<u64, Range<u32>>,
    /// What [`Self::find`] returned: a text can refer to one definition many thousand times.
    found: HashMap<u64, Option<Definition<'a>>>,
}

/// The address and the title of a link.
type Definition<'a> = (CowStr<'a>, CowStr<'a>);

impl<'a> Definitions<'a> {
    fn of(text: &'a str, options: Options) -> Self {
        let (hasher, spans, found) = (RandomState::new(), HashMap::new(), HashMap::new());
        let mut definitions = Self { text, options, hasher, spans, found };
        if text.contains("]:") {
            each_part(text, options, &mut |start, part| {
                if let MarkdownPart::Parsed(part) = part {
                    definitions.collect(start, part);
                }
                ControlFlow::Continue(())
            });
        }
        definitions
    }

    fn collect(&mut self, start: usize, part: &str) {
        let parser = Parser::new_ext(part, self.options);
        for (label, definition) in parser.reference_definitions().iter() {
            let place = |at: usize| u32::try_from(start + at).unwrap_or(u32::MAX);
            let span = place(definition.span.start)..place(definition.span.end);
            let key = self.key(label);
            // The first definition of a label counts.
            let known = self.spans.entry(key).or_insert_with(|| span.clone());
            if span.start < known.start {
                *known = span;
            }
        }
    }

    fn key(&self, label: &str) -> u64 {
        let words: Vec<&str> = label.split_whitespace().collect();
        self.hasher.hash_one(words.join(" ").to_lowercase())
    }

    /// Returns the address and the title of the link with this label.
    fn find(&mut self, label: &str) -> Option<Definition<'a>> {
        if self.spans.is_empty() {
            return None;
        }
        let key = self.key(label);
        let span = self.spans.get(&key)?.clone();
        let (text, options) = (self.text, self.options);
        let found = self.found.entry(key).or_insert_with(|| {
            let definition = text.get(span.start as usize..span.end as usize)?;
            let parser = Parser::new_ext(definition, options);
            let (_, found) = parser.reference_definitions().iter().next()?;
            let title = found.title.clone().map(CowStr::into_string).unwrap_or_default();
            Some((found.dest.clone().into_string().into(), title.into()))
        });
        found.clone()
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::prose::MARKDOWN;
    use proptest::prelude::*;

    /// Returns texts and link targets of the events.
    fn shown(text: &str) -> Vec<String> {
        let mut out = Vec::new();
        let mut depth = 0_i64;
        for_each_event(text, MARKDOWN, |event, range| {
            assert!(text.get(range.clone()).is_some());
            match &event {
                Event::Start(Tag::Link { dest_url, .. } | Tag::Image { dest_url, .. }) => {
                    out.push(format!("{}: {dest_url}", range.start));
                }
                Event::Text(text) => out.push(format!("{}: {text}", range.start)),
                _ => {}
            }
            depth += i64::from(matches!(event, Event::Start(_)))
                - i64::from(matches!(event, Event::End(_)));
            ControlFlow::Continue(())
        });
        assert_eq!(depth, 0);
        out
    }

    /// Returns the same as [`shown`], by one parser of the whole text.
    fn whole(text: &str) -> Vec<String> {
        let mut out = Vec::new();
        for (event, range) in Parser::new_ext(text, MARKDOWN).into_offset_iter() {
            match &event {
                Event::Start(Tag::Link { dest_url, .. } | Tag::Image { dest_url, .. }) => {
                    out.push(format!("{}: {dest_url}", range.start));
                }
                Event::Text(text) => out.push(format!("{}: {text}", range.start)),
                _ => {}
            }
        }
        out
    }

    fn many(unit: &str) -> String {
        let signs = unit.bytes().filter(|b| b.is_ascii_punctuation() || *b == b'\n').count();
        unit.repeat(3 * MAX_PUNCTUATION / signs + 7)
    }

    fn links(text: &str) -> usize {
        let mut links = 0;
        for_each_event(text, MARKDOWN, |event, _| {
            links += usize::from(matches!(event, Event::Start(Tag::Link { .. })));
            ControlFlow::Continue(())
        });
        links
    }

    #[test]
    fn long_texts_of_short_blocks_parse_as_a_whole() {
        for unit in [
            "A [link](to.md), *and* [[more]].\n\n",
            "- one [a](b)\n- two\n\n  text `code`\n\n",
            "> quote [a](b)\n> more\n\nText\n\n",
            "# Head [[a]]\nText\n===\n***\n",
            "```\n[no](link)\n\n```\n[[yes]]\n\n",
            "<div>\n[no](link)\n</div>\n\n[yes](b)\n\n",
            "    [code](x)\n\n[text](y)\n\n",
            "See [there][here], which is not as short as it could be.\n\n",
        ] {
            let text = format!("{}[here]: https://x.test/a\n", many(unit));
            assert!(window_length(&text) < text.len());
            assert_eq!(shown(&text), whole(&text), "{unit:?}");
        }
    }

    #[test]
    fn no_link_is_lost_in_a_block_longer_than_a_part() {
        for unit in [
            "- [a](b)\n",
            "1. [a](b)\n",
            "- x\n  - [a](b)\n",
            "    - [a](b)\n",
            "> [a](b)\n>\n",
            "> - [a](b)\n",
            "[a](b)\n",
            "[a](b) ",
            "[[a]]",
            "[a](b)",
            "some words, [a few\nlines](b) more\n",
        ] {
            let text = many(unit);
            let text = if unit.starts_with("    ") { format!("- x\n{text}") } else { text };
            assert_eq!(links(&text), whole_links(&text), "{unit:?}");
        }
    }

    fn whole_links(text: &str) -> usize {
        Parser::new_ext(text, MARKDOWN)
            .filter(|e| matches!(e, Event::Start(Tag::Link { .. })))
            .count()
    }

    #[test]
    fn long_code_and_html_hide_their_links() {
        for (start, unit, end) in [
            ("```\n", "[a](b)\n", "```\n"),
            ("~~~~ rust\n", "[a](b)\n\n```\n", "~~~~\n"),
            ("", "    [a](b)\n", "\n"),
            ("<!-- x\n", "[a](b)\n\n", "-->\n"),
            ("<div>\n", "[a](b)\n", "\n"),
            ("<script>\n", "[a](b)\n\n", "</script>\n"),
        ] {
            let text = format!("{start}{}{end}[yes](c)\n", many(unit));
            assert_eq!(links(&text), 1, "{start:?} {unit:?}");
        }
    }

    #[test]
    fn link_definitions_are_found_anywhere() {
        let text = format!("[Some  Where]: <a b> \"t\"\n\n{}[some where] [else]\n", many("x\n\n"));
        assert_eq!(links(&text), 1);
        let text =
            format!("[some where] [else][Other]\n\n{}[Some Where]: a\n[other]: b", many("x\n\n"));
        assert_eq!(links(&text), 2);
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(24))]
        #[test]
        fn any_long_text_is_read_to_its_end(unit in "([\\[\\]()<>*_`#|~!&\\\\ \
            a-c1.:é>\n\t-]|!\\[\\[|\\]\\(|```\n|- |<!--){1,14}") {
            prop_assume!(unit.contains(|c: char| c.is_ascii_punctuation() || c == '\n'));
            let text = many(&unit);
            let mut end = 0;
            each_part(&text, MARKDOWN, &mut |start, part| {
                let length = match part { MarkdownPart::Parsed(part) => part.len(),
                    MarkdownPart::Raw(_, content) => content.len() };
                assert!(start >= end && window_length(&text[start..start + length]) <= text.len());
                end = start + length;
                ControlFlow::Continue(())
            });
            shown(&text);
        }
    }
}
