//! Finds the markup of markdown in a part of a text, so that a snippet shows plain text.
//!
//! It reads lines, not documents: markup that needs the whole page, such as a reference, stays.

use std::ops::Range;

/// Maximum distance to the end of a link, in bytes. Keeps the work linear.
const MAX_DISTANCE: usize = 300;

/// The characters with which markup within a line begins.
const MARKS: &[u8] = b"`<|*_~=%\\![";

/// What a snippet shows in place of markup.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Replacement {
    /// Nothing is shown.
    Nothing,
    /// A space is shown.
    Space,
}

/// A part of the text that is markup.
pub(super) type MarkupSpan = (Range<usize>, Replacement);

/// Returns the markup in `body[range]`, in order and without overlaps. `range.start` should be the
/// beginning of a line.
pub(super) fn marks(body: &str, range: Range<usize>) -> Vec<MarkupSpan> {
    let mut marks = Vec::new();
    let mut at = range.start;
    for line in body[range].split_inclusive('\n') {
        let start = at;
        at += line.len();
        let text = line.trim_end();
        if is_rule(text) {
            marks.push((start..start + text.len(), Replacement::Nothing));
            continue;
        }
        let prefix_len = line_prefix_len(text);
        if prefix_len > 0 {
            marks.push((start..start + prefix_len, Replacement::Nothing));
        }
        let is_row = text[prefix_len..].starts_with('|') || text.trim_start().starts_with('|');
        inline(body, start + prefix_len..start + text.len(), is_row, &mut marks);
    }
    marks
}

/// Returns whether a line is a rule, a fence, an underline, or the line below the head of a table.
fn is_rule(line: &str) -> bool {
    let line = line.trim_start();
    let is_fence = line.starts_with("```") || line.starts_with("~~~");
    let is_mark = |c: char| matches!(c, '-' | '=' | '*' | '_' | '|' | ':' | '~' | '`' | '+');
    let is_sign = |c: char| is_mark(c) || c.is_whitespace();
    (is_fence && !line[3..].contains(['`', '~'])) || (line.len() > 1 && line.chars().all(is_sign))
}

/// Returns the length of the marks of a quotation, callout, heading or list item at the beginning
/// of a line.
fn line_prefix_len(line: &str) -> usize {
    let mut rest = line.trim_start();
    loop {
        let quote = rest.trim_start_matches('>');
        let heading = quote.trim_start_matches('#');
        let level = quote.len() - heading.len();
        let is_heading =
            (1..=6).contains(&level) && (heading.is_empty() || heading.starts_with([' ', '\t']));
        let after = if is_heading { heading } else { quote }.trim_start();
        let item = ["- ", "* ", "+ ", "[ ] ", "[x] ", "[X] "]
            .iter()
            .find_map(|mark| after.strip_prefix(mark));
        let after = item.or_else(|| callout(after)).unwrap_or(after).trim_start();
        if after.len() == rest.len() {
            return line.len() - rest.len();
        }
        rest = after;
    }
}

/// Returns the text after the mark of a callout, `[!note]`.
fn callout(text: &str) -> Option<&str> {
    let (name, rest) = text.strip_prefix("[!")?.split_once(']')?;
    let is_name = name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-');
    is_name.then(|| rest.trim_start_matches(['-', '+']))
}

/// Adds the markup within a line.
fn inline(body: &str, range: Range<usize>, is_row: bool, marks: &mut Vec<MarkupSpan>) {
    let line = &body[..range.end];
    let mut at = range.start;
    let mut prev = ' ';
    // The range of the closing marks of the link whose text is being read.
    let mut closing: Option<Range<usize>> = None;
    loop {
        // Skips plain text quickly, because most text is not markup.
        let limit = closing.as_ref().map_or(line.len(), |close| close.start.max(at));
        let rest = line.as_bytes().get(at..limit).unwrap_or_default();
        let plain_len = rest.iter().position(|b| MARKS.contains(b));
        let end = plain_len.map_or(limit, |length| at + length);
        if let Some(last) = line.get(at..end).and_then(|text| text.chars().next_back()) {
            prev = last;
        }
        at = end;
        let Some(c) = line.get(at..).and_then(|rest| rest.chars().next()) else { break };
        if let Some(close) = closing.take_if(|close| close.start <= at) {
            at = close.end;
            marks.push((close, Replacement::Nothing));
            prev = ')';
            continue;
        }
        // Marks within the text of a link end before its closing marks.
        let rest = &line[at..limit];
        let next = rest[c.len_utf8()..].chars().next().unwrap_or(' ');
        let hidden_bytes = match inline_markup(rest, (prev, c, next), is_row, closing.is_some()) {
            InlineMarkup::Hidden(length) => length,
            InlineMarkup::CellEnd => {
                marks.push((at..at + 1, Replacement::Space));
                0
            }
            InlineMarkup::Tag(length) => {
                marks.push((at..at + length, Replacement::Space));
                at += length;
                prev = ' ';
                continue;
            }
            InlineMarkup::Link(opening, close) => {
                closing = Some(at + close.start..at + close.end);
                opening
            }
        };
        if hidden_bytes > 0 {
            marks.push((at..at + hidden_bytes, Replacement::Nothing));
            at += hidden_bytes;
            if c == '\\' {
                at += next.len_utf8();
                prev = next;
            }
            continue;
        }
        prev = c;
        at += c.len_utf8();
    }
    if let Some(close) = closing.filter(|close| close.end <= range.end) {
        marks.push((close, Replacement::Nothing));
    }
}

/// Markup within a line. Lengths are in bytes.
enum InlineMarkup {
    /// A mark of this length that is not shown; 0 for text.
    Hidden(usize),
    /// The end of a cell of a table.
    CellEnd,
    /// A tag of this length that separates texts.
    Tag(usize),
    /// A link: the length of the marks before its text, and the range of those after it.
    Link(usize, Range<usize>),
}

/// Returns the markup at the beginning of `rest`. Of the three characters, the second is the first
/// of `rest`, and the others are those beside it.
fn inline_markup(
    rest: &str,
    (prev, c, next): (char, char, char),
    is_row: bool,
    is_in_link: bool,
) -> InlineMarkup {
    let hidden_bytes = match c {
        '`' => 1,
        '<' => match (address(rest), tag(rest)) {
            (Some(end), _) => return InlineMarkup::Link(1, end..end + 1),
            (None, length) if length > 0 && !is_inline_tag(rest) => {
                return InlineMarkup::Tag(length);
            }
            (None, length) => length,
        },
        '|' if is_row => return InlineMarkup::CellEnd,
        '*' if !(prev.is_whitespace() && next.is_whitespace()) => 1,
        '_' if prev.is_alphanumeric() != next.is_alphanumeric() => 1,
        '_' if prev == '_' || next == '_' => 1,
        '~' | '=' | '%' if next == c && is_pair(prev, &rest[2..]) => 2,
        '\\' if next.is_ascii_punctuation() => 1,
        '!' if next == '[' && link(rest.get(1..).unwrap_or_default()).is_some() => 1,
        '[' if !is_in_link => match link(rest) {
            Some((opening, closing)) => return InlineMarkup::Link(opening, closing),
            None => 0,
        },
        _ => 0,
    };
    InlineMarkup::Hidden(hidden_bytes)
}

/// Returns whether a doubled mark begins or ends a part of the text, rather than being an operator.
fn is_pair(prev: char, rest: &str) -> bool {
    let next = rest.chars().next().unwrap_or(' ');
    let is_between = |is: fn(char) -> bool| is(prev) && is(next);
    !is_between(char::is_whitespace) && !is_between(char::is_alphanumeric)
}

/// Returns the end of the address in `<https://…>`.
fn address(rest: &str) -> Option<usize> {
    let near = search_window(rest);
    let end = near.find('>')?;
    let is_address = near[..end].contains("://") && !near[..end].contains(char::is_whitespace);
    is_address.then_some(end)
}

/// Returns whether the text around a tag of HTML is one text. Cells, lines and raised numbers are
/// texts of their own.
fn is_inline_tag(rest: &str) -> bool {
    let name = rest.trim_start_matches(['<', '/']);
    let end = name.find(|c: char| !c.is_ascii_alphanumeric()).unwrap_or(name.len());
    let name = name[..end].to_ascii_lowercase();
    const INLINE: [&str; 18] = [
        "a", "abbr", "b", "big", "cite", "code", "dfn", "em", "font", "i", "kbd", "mark", "s",
        "small", "span", "strong", "u", "wbr",
    ];
    name.is_empty() || INLINE.contains(&name.as_str())
}

/// Returns the length of the tag or comment of HTML at the beginning of `rest`.
fn tag(rest: &str) -> usize {
    let near = search_window(rest);
    if near.starts_with("<!--") {
        return near.find("-->").map_or(0, |end| end + 3);
    }
    let is_tag = near[1..].starts_with(|c: char| c.is_ascii_alphabetic() || c == '/');
    let end = near[1..].find(['<', '>']).map(|end| end + 1);
    match end.filter(|end| is_tag && near[*end..].starts_with('>')) {
        Some(end) => end + 1,
        None => 0,
    }
}

/// Returns the length of the marks before the text of a link at the beginning of `rest`, and the
/// range of those after it.
fn link(rest: &str) -> Option<(usize, Range<usize>)> {
    let near = search_window(rest);
    if let Some(inner) = near.strip_prefix("[[") {
        let end = inner.find("]]")?;
        let target = &inner[..end];
        if target.contains('[') {
            return None;
        }
        let text = target.find('|').map_or(0, |bar| bar + 1);
        return Some((2 + text, end + 2..end + 4));
    }
    let end = near.find("](")?;
    if near[1..end].contains('[') && !near[1..].starts_with("![") {
        return None;
    }
    let close = near[end..].find(')')?;
    Some((1, end..end + close + 1))
}

/// Returns the beginning of a text in which the end of a link is searched.
fn search_window(text: &str) -> &str {
    &text[..text.floor_char_boundary(MAX_DISTANCE)]
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn plain(body: &str) -> String {
        let mut out = String::new();
        let mut at = 0;
        for (range, shown) in marks(body, 0..body.len()) {
            assert!(range.start >= at && range.end <= body.len(), "{range:?} after {at}");
            out.push_str(&body[at..range.start]);
            out.push_str(if shown == Replacement::Space { " " } else { "" });
            at = range.end;
        }
        out.push_str(&body[at..]);
        out.split_whitespace().collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn markup_is_found_and_text_stays() {
        for (body, expected) in [
            ("## Why **this** *matters*", "Why this matters"),
            ("- [ ] ask [[people/ann|Ann]] and [[Bob Lee]]", "ask Ann and Bob Lee"),
            ("> [!note]- Folded\n> see [the plan](a/b.md \"x\").", "Folded see the plan."),
            ("| Name | Age |\n|---|:-:|\n| Ann | 12 |", "Name Age Ann 12"),
            ("Use `cargo test` ~~now~~ ==today==.", "Use cargo test now today."),
            ("```rust\nlet a_b = c;\n```", "let a_b = c;"),
            (
                "![alt text](x.png) and <b>bold</b> <https://a.example>",
                "alt text and bold https://a.example",
            ),
            (
                "2 * 3 == 6, snake_case, a < b, C# and x | y",
                "2 * 3 == 6, snake_case, a < b, C# and x | y",
            ),
            ("a\\*b [x] and [1] stay", "a*b [x] and [1] stay"),
            ("_so_ it __is__ %%aside%%", "so it is aside"),
            ("Title\n=====\ntext\n***\nmore", "Title text more"),
            ("1. first **[link](u)**", "1. first link"),
            ("see [[<a]]> b", "see <a> b"),
            ("<tr><td>1</td><td>2</td></tr> 3<br>4 10<sup>3</sup>", "1 2 3 4 10 3"),
        ] {
            assert_eq!(plain(body), expected, "{body}");
        }
    }

    proptest! {
        #[test]
        fn marks_are_in_order(
            body in "(\\[\\[|\\]\\]|\\]\\(|\\)|\\||\n|# |- |\\*|_|==|~~|%%|\
                <|>|\\\\|!|`|東|é|a| ){0,40}",
        ) {
            plain(&body);
        }
    }
}
