//! Divides a long text into parts that can be shown one by one. Linear in the text's length.
//!
//! A part ends before a block at the top level, if one begins in its last three quarters. A longer
//! block is cut between lines, and the next part repeats the beginning of its code or the head of
//! its table. A longer line is cut at a space. Reads lines and does not parse markdown, so what it
//! takes for a block may be inside of one.

use std::borrow::Cow;
use std::collections::HashSet;
use std::ops::Range;

use super::fence::Fences;
use super::markdown::{cut_paragraph, window_length_within};

/// The maximum length of a part in bytes.
const MAX_PART: usize = 256 * 1024;
/// The maximum number of punctuation characters and line ends in a part, which limits its HTML.
/// The parser reads a part, with all that is repeated and added, at once: else it would cut a
/// table.
const MAX_SIGNS: usize = 1 << 14;
/// The maximum length of what a part repeats of the one before it, in bytes.
const MAX_HEAD: usize = 4096;
/// The maximum length of the label of a footnote, in bytes.
const MAX_LABEL: usize = 200;
/// The maximum length of the definitions of other parts that a part gets, in bytes.
const MAX_DEFINITIONS: usize = 8 * 1024;

/// A text in parts.
#[derive(Debug)]
pub struct LongText<'a> {
    text: &'a str,
    parts: Vec<Part>,
    /// The ranges of lines that define links and footnotes, if there is more than one part.
    definitions: Vec<Range<usize>>,
}

/// A part of a text.
#[derive(Debug, PartialEq, Eq)]
struct Part {
    range: Range<usize>,
    /// The lines of former parts that are repeated before this part.
    head: String,
    /// Whether the part ends inside of code.
    is_open: bool,
}

/// The markdown of a part.
#[derive(Debug, PartialEq, Eq)]
pub struct PartText<'a> {
    /// The markdown, with what the part needs of other parts.
    pub text: Cow<'a, str>,
    /// Where the part begins in the whole text, in bytes.
    pub start: usize,
    /// The length of what `text` repeats of former parts at its beginning, in bytes.
    pub head: usize,
}

impl<'a> LongText<'a> {
    /// Divides `text`. A text that is not long has one part.
    #[must_use]
    pub fn new(text: &'a str) -> Self {
        let (mut parts, mut at, mut head) = (Vec::new(), 0, String::new());
        loop {
            let rest = &text[at..];
            let end = window_length_within(rest, MAX_SIGNS).min(rest.floor_char_boundary(MAX_PART));
            let PartEnd { length, next_head, is_open } = match end == rest.len() {
                true => PartEnd { length: end, next_head: String::new(), is_open: false },
                false => cut(&rest[..end], &head),
            };
            let length = if length == 0 { end } else { length };
            parts.push(Part { range: at..at + length, head, is_open });
            (at, head) = (at + length, next_head);
            if at == text.len() {
                break;
            }
        }
        let definitions = if parts.len() > 1 { definitions(text) } else { Vec::new() };
        Self { text, parts, definitions }
    }

    /// Returns the number of parts, at least 1.
    #[must_use]
    pub fn count(&self) -> usize {
        self.parts.len()
    }

    /// Returns the number of the part with this byte of the text, from 1.
    #[must_use]
    pub fn part_with(&self, at: usize) -> usize {
        self.parts.partition_point(|part| part.range.start <= at).max(1)
    }

    /// Returns a part by its number, from 1; the last one for a larger number. Links and footnotes
    /// that other parts define are defined in it, too.
    #[must_use]
    pub fn part(&self, number: usize) -> PartText<'a> {
        let index = number.clamp(1, self.parts.len()) - 1;
        let Part { range, head, is_open } = &self.parts[index];
        let (own, start) = (&self.text[range.clone()], range.start);
        let others = if *is_open { String::new() } else { self.definitions_for(range) };
        if head.is_empty() && others.is_empty() {
            return PartText { text: own.into(), start, head: 0 };
        }
        let text = format!("{head}{own}{others}");
        PartText { text: text.into(), start, head: head.len() }
    }

    /// Returns the definitions outside of a part that it may need.
    fn definitions_for(&self, part: &Range<usize>) -> String {
        let own = &self.text[part.clone()];
        let notes: HashSet<&str> =
            own.match_indices("[^").filter_map(|(at, _)| label(&own[at..])).collect();
        let mut out = String::new();
        for range in self.definitions.iter().filter(|it| !part.contains(&it.start)) {
            let line = &self.text[range.clone()];
            let bare = line.trim_start();
            let is_note = bare.starts_with("[^");
            let is_needed = !is_note || label(bare).is_some_and(|label| notes.contains(label));
            if is_needed && out.len() + line.len() <= MAX_DEFINITIONS {
                // A blank line ends the block before it.
                out.push_str(if out.is_empty() { "\n\n" } else { "\n" });
                out.push_str(line.trim_end());
            }
        }
        out
    }
}

/// Returns the label in brackets at the beginning of `text`.
fn label(text: &str) -> Option<&str> {
    let text = &text[..text.floor_char_boundary(MAX_LABEL)];
    text.find(']').map(|end| &text[..=end])
}

/// Where a part ends.
struct PartEnd {
    length: usize,
    next_head: String,
    is_open: bool,
}

/// Returns where to end a part that begins with `text` and is followed by more. `head` is repeated
/// before it.
fn cut(text: &str, head: &str) -> PartEnd {
    let mut fences = Fences::default();
    let is_code = fences.push_line(head);
    // The line that opened the last code, and the two that opened the current table.
    let mut fence = if is_code { head } else { "" };
    let mut table = if is_code { ("", "") } else { (head, "") };
    // The start of the last block at the top level. The start of the last line, and the code and
    // the table that are open there.
    let (mut block, mut last) = (0, (0, "", ("", "")));
    let (mut at, mut before, mut is_after_blank) = (0, "", false);
    for line in text.split_inclusive('\n') {
        let was_code = fences.is_inside();
        let is_code = fences.push_line(line);
        let is_blank = !is_code && line.trim().is_empty();
        if is_blank {
            table = ("", "");
        }
        let is_block = is_after_blank && !is_blank && !line.starts_with([' ', '\t']);
        if !was_code && (is_block || !is_code && is_heading(line)) {
            block = at;
        }
        last = (at, if was_code { fence } else { "" }, table);
        if is_code && !was_code {
            fence = line;
        }
        if !is_code && table.0.is_empty() && is_delimiter_row(line) && before.contains('|') {
            table = (before, line);
        }
        (before, is_after_blank) = (line, is_blank);
        at += line.len();
    }
    if block > text.len() / 4 {
        return PartEnd { length: block, next_head: String::new(), is_open: false };
    }
    let (line_start, code, table) = last;
    if line_start > text.len() / 4 {
        let lines = if code.is_empty() { [table.0, table.1] } else { [code, ""] };
        let next_head = repeated_head(lines);
        return PartEnd { length: line_start, next_head, is_open: !code.is_empty() };
    }
    let is_open = fences.is_inside();
    let next_head = if is_open { repeated_head([fence, ""]) } else { String::new() };
    PartEnd { length: cut_paragraph(text), next_head, is_open }
}

/// Returns lines that the next part repeats; nothing if they are too long.
fn repeated_head(lines: [&str; 2]) -> String {
    let bare = |line: &str| line.trim_end_matches(['\n', '\r']).to_owned();
    let lines = lines.map(bare).into_iter().filter(|line| !line.is_empty());
    let head: String = lines.flat_map(|line| [line, "\n".to_owned()]).collect();
    if head.len() > MAX_HEAD { String::new() } else { head }
}

fn is_heading(line: &str) -> bool {
    let text = line.trim_start_matches('#');
    (1..=6).contains(&(line.len() - text.len())) && text.starts_with([' ', '\t'])
}

/// Returns whether a line is the second one of a table.
fn is_delimiter_row(line: &str) -> bool {
    let is_sign = |sign: char| matches!(sign, '|' | '-' | ':') || sign.is_ascii_whitespace();
    line.contains('|') && line.contains('-') && line.chars().all(is_sign)
}

/// Returns the lines that define links (`[label]: address`) and footnotes (`[^label]: text`),
/// outside of code.
fn definitions(text: &str) -> Vec<Range<usize>> {
    let (mut out, mut fences, mut at) = (Vec::new(), Fences::default(), 0);
    for line in text.split_inclusive('\n') {
        let bare = line.trim_start_matches(' ');
        if !fences.push_line(line)
            && line.len() - bare.len() < 4
            && bare.starts_with('[')
            && bare.find(']').is_some_and(|end| bare[end..].starts_with("]:"))
        {
            out.push(at..at + line.len());
        }
        at += line.len();
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn texts(text: &str) -> Vec<String> {
        let long = LongText::new(text);
        (1..=long.count()).map(|number| long.part(number).text.into_owned()).collect()
    }

    #[test]
    fn parts_begin_with_blocks() {
        let text = format!("# A\n\n{}", "Some words\nin *lines*.\n\n- [[one]]\n\n".repeat(20_000));
        let parts = texts(&text);
        assert!(parts.len() > 3, "{}", parts.len());
        assert!(parts.iter().skip(1).all(|it| it.starts_with("Some") || it.starts_with("- ")));
        assert!(parts.iter().all(|part| part.len() <= MAX_PART));
        assert_eq!(parts.concat(), text);
        assert_eq!(texts("short"), ["short"]);
        assert_eq!(texts(""), [""]);
    }

    #[test]
    fn code_and_tables_continue() {
        let code = format!("```rust\n{}```\n\nend\n", "let a = \"*\";\n".repeat(50_000));
        let parts = texts(&code);
        assert!(parts.len() > 3 && parts.iter().all(|it| it.starts_with("```rust\nlet ")));
        assert!(parts.last().is_some_and(|it| it.ends_with("```\n\nend\n")));
        let table = format!("| a | b |\n|---|---|\n{}", "| x | [[y]] |\n".repeat(30_000));
        let parts = texts(&table);
        assert!(parts.len() > 3);
        assert!(parts.iter().all(|it| it.starts_with("| a | b |\n|---|---|\n| x |")));
    }

    #[test]
    fn a_long_line_is_cut_outside_of_links() {
        let parts = texts(&"[[a link]] word ".repeat(100_000));
        assert!(parts.len() > 3);
        for part in parts {
            assert_eq!(part.matches("[[").count(), part.matches("]]").count());
        }
    }

    #[test]
    fn definitions_of_other_parts_are_added() {
        let text = format!(
            "See [here] and[^n].\n\n{}[here]: https://x.example\n[^n]: A note.\n[^m]: Other.\n",
            "Some words.\n\n".repeat(30_000)
        );
        let parts = texts(&text);
        assert!(parts[0].ends_with("\n[here]: https://x.example\n[^n]: A note."), "{}", parts[0]);
        assert!(parts[1].ends_with("\n[here]: https://x.example"));
        assert_eq!(LongText::new(&text).part(2).head, 0);
    }

    #[test]
    fn each_byte_has_its_part() {
        let text = "Some words.\n\n".repeat(50_000);
        let long = LongText::new(&text);
        for number in 1..=long.count() {
            let start = long.part(number).start;
            assert_eq!(long.part_with(start), number);
            assert_eq!(long.part_with(start.saturating_sub(1)), number.saturating_sub(1).max(1));
        }
        assert_eq!(long.part(99).start, long.part(long.count()).start);
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(16))]
        #[test]
        fn nothing_is_lost(unit in "([\\[\\]|`#a-cé日\n ~-]|```\n|\\[\\[|\\|-\\|\n){1,14}") {
            let text = unit.repeat(700_000 / unit.len());
            let long = LongText::new(&text);
            let mut end = 0;
            for part in &long.parts {
                prop_assert_eq!(part.range.start, end);
                prop_assert!(part.range.len() <= MAX_PART && !part.range.is_empty());
                end = part.range.end;
            }
            prop_assert_eq!(end, text.len());
        }
    }
}
