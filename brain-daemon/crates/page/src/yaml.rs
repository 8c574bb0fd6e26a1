//! The YAML of a frontmatter block: its keys, the lines of each key, and its scalars in the
//! author's spelling (`1.10` stays `1.10`, `no` stays `no`).
//!
//! Reads the parser's events and builds no typed values. Refuses aliases, so nothing can grow
//! beyond the text. Knows nothing of pages or of the meaning of a key.

use serde_saphyr::granit_parser::{
    Event, Options, Parser, ScalarStyle, ScanError, Span, StructureStyle,
};
use std::collections::HashSet;
use std::ops::Range;

/// Maximum nesting of collections. Usual frontmatter nests two or three levels.
const MAX_DEPTH: usize = 32;

/// The value of a key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Value {
    /// No value: `key:`, `key: ~`, `key: null`.
    Null,
    /// A scalar as written, with quotes and escapes resolved.
    Text(String),
    /// The scalars of a sequence.
    List(Vec<String>),
    /// A mapping, or another value that is not read.
    Other,
}

/// One top-level key.
#[derive(Debug, Clone)]
pub(super) struct TopLevelKey {
    /// The key, with quotes and escapes resolved.
    pub(super) key: String,
    /// The value, as far as it is read.
    pub(super) value: Value,
    /// Whether `value` represents all of the YAML value. False if nested parts were dropped.
    pub(super) is_complete: bool,
    /// Byte range of the key, including quotes.
    key_at: Range<usize>,
    /// End of the last part of the value, in bytes.
    end: usize,
    /// Byte range of the whole lines of the key and its value. Valid only if
    /// [`Mapping::is_block_style`].
    pub(super) block: Range<usize>,
}

/// The top-level mapping.
#[derive(Debug, Clone)]
pub(super) struct Mapping {
    pub(super) entries: Vec<TopLevelKey>,
    /// Whether every key begins a line of its own; not so in `{a: 1, b: 2}`.
    pub(super) is_block_style: bool,
    /// Column of the keys.
    pub(super) indent: usize,
}

/// Why a text is not a mapping.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum BadText {
    /// Valid YAML, but a scalar or a sequence.
    NotMapping,
    /// Invalid YAML, or a refused feature. Line and column (both 1-based, the column in characters)
    /// are within the text.
    Bad { line: usize, column: usize, message: String },
}

impl BadText {
    fn at(span: &Span, message: impl Into<String>) -> Self {
        Self::Bad { line: span.start.line(), column: span.start.col() + 1, message: message.into() }
    }
}

impl From<ScanError> for BadText {
    fn from(error: ScanError) -> Self {
        let at = error.marker();
        Self::Bad { line: at.line(), column: at.col() + 1, message: error.kind().to_string() }
    }
}

/// Parses `raw` as a mapping. White space and comments alone are an empty mapping.
///
/// # Errors
/// [`BadText::NotMapping`] for a scalar or a sequence. [`BadText::Bad`] for invalid YAML, a key
/// twice in one mapping, aliases, anchors or tags on a key or on the whole, more than one document,
/// or nesting beyond [`MAX_DEPTH`].
pub(super) fn read(raw: &str) -> Result<Mapping, BadText> {
    let mut options = Options::default();
    options.emit_comments = false;
    options.flow_nesting_limit = MAX_DEPTH;
    options.block_nesting_limit = MAX_DEPTH;
    let mut reader = YamlReader { raw, events: Parser::new_from_str_with_options(raw, options) };
    let mut mapping = Mapping { entries: Vec::new(), is_block_style: true, indent: 0 };
    loop {
        let (event, span) = reader.next()?;
        match event {
            Event::StreamStart => {}
            Event::DocumentStart(true, _) => {
                return Err(BadText::at(&span, "a document marker within the frontmatter"));
            }
            Event::DocumentStart(..) | Event::DocumentEnd => {}
            Event::StreamEnd => break,
            Event::MappingStart(style, anchor, tag) => {
                if anchor != 0 || tag.is_some() {
                    return Err(BadText::at(&span, "an anchor or tag on the whole frontmatter"));
                }
                mapping.is_block_style = style == StructureStyle::Block;
                reader.read_mapping(&mut mapping, &span)?;
            }
            _ => return Err(BadText::NotMapping),
        }
    }
    find_entry_lines(raw, &mut mapping);
    Ok(mapping)
}

/// Finds the lines of each entry of a mapping in block style.
fn find_entry_lines(raw: &str, mapping: &mut Mapping) {
    if !mapping.is_block_style {
        return;
    }
    let line_start = |at: usize| raw[..at].rfind('\n').map_or(0, |n| n + 1);
    let starts: Vec<usize> = mapping.entries.iter().map(|e| line_start(e.key_at.start)).collect();
    for (n, entry) in mapping.entries.iter_mut().enumerate() {
        let before = &raw[starts[n]..entry.key_at.start];
        mapping.is_block_style &= before.bytes().all(|b| b == b' ');
        if n == 0 {
            mapping.indent = before.len();
        }
        let next = starts.get(n + 1).copied().unwrap_or(raw.len());
        mapping.is_block_style &= next > starts[n];
        // Blank lines and comments in the first column stay when the key is removed.
        let mut end = next.max(starts[n]);
        while end > entry.end {
            let start = line_start(end - 1);
            let line = &raw[start..end];
            if start < entry.end || !(line.trim().is_empty() || line.starts_with('#')) {
                break;
            }
            end = start;
        }
        entry.block = starts[n]..end;
    }
}

impl TopLevelKey {
    /// Returns a key whose lines are not known.
    pub(super) fn without_lines(key: &str, value: Value, is_complete: bool) -> Self {
        Self { key: key.to_owned(), value, is_complete, key_at: 0..0, end: 0, block: 0..0 }
    }
}

impl Mapping {
    /// Returns the mapping with every key on a line of its own, for one that is not in lines. Loses
    /// comments outside of values.
    pub(super) fn to_lines(&self, raw: &str) -> String {
        let mut out = String::with_capacity(raw.len() + 16);
        for entry in &self.entries {
            let value = raw[entry.key_at.end..entry.end.max(entry.key_at.end)].trim_start();
            let value = value.strip_prefix(':').unwrap_or(value).trim();
            out.push_str(&scalar(&entry.key));
            out.push(':');
            if !value.is_empty() {
                out.push(' ');
                out.push_str(&value.replace('\n', "\n  "));
            }
            out.push('\n');
        }
        out
    }
}

/// Reads a mapping from the parser's events.
struct YamlReader<'a> {
    raw: &'a str,
    events: Parser<'a, serde_saphyr::granit_parser::StrInput<'a>>,
}

/// A node, as far as it is needed.
enum Node {
    Null,
    Text(String),
    List(Vec<Node>),
    Other,
}

impl<'a> YamlReader<'a> {
    fn next(&mut self) -> Result<(Event<'a>, Span), BadText> {
        match self.events.next_event() {
            Some(next) => Ok(next?),
            None => Ok((Event::StreamEnd, Span::empty(Default::default()))),
        }
    }

    fn read_mapping(&mut self, mapping: &mut Mapping, start: &Span) -> Result<(), BadText> {
        let mut keys = HashSet::new();
        loop {
            let (event, span) = self.next()?;
            let key = match event {
                Event::MappingEnd => return Ok(()),
                Event::Scalar(key, _, 0, None) => key.into_owned(),
                Event::Scalar(..) => return Err(BadText::at(&span, "an anchor or tag on a key")),
                Event::Alias(_) => return Err(alias(&span)),
                _ => return Err(BadText::at(&span, "a key that is no plain text")),
            };
            if !keys.insert(key.clone()) {
                return Err(duplicate(&span, &key));
            }
            // Lines can be edited one by one only where each key begins a line, in one column.
            let key_at = range(&span)?;
            let before = self.raw[..key_at.start].bytes().rev();
            let is_alone =
                before.take_while(|&b| b != b'\n').all(|b| b == b' ') && !key_at.is_empty();
            if mapping.is_block_style && (!is_alone || span.start.col() != start.start.col()) {
                return Err(BadText::at(
                    &span,
                    "a key that does not begin its line: write `key: value`",
                ));
            }
            let (event, span) = self.next()?;
            let mut end = key_at.end;
            let node = self.read_node(event, &span, 1, &mut end)?;
            let is_complete = match &node {
                Node::Null | Node::Text(_) => true,
                Node::List(nodes) => nodes.iter().all(|node| matches!(node, Node::Text(_))),
                Node::Other => false,
            };
            let value = match node {
                Node::Null => Value::Null,
                Node::Text(text) => Value::Text(text),
                Node::List(nodes) => {
                    Value::List(nodes.into_iter().filter_map(Node::text).collect())
                }
                Node::Other => Value::Other,
            };
            mapping.entries.push(TopLevelKey { key, value, is_complete, key_at, end, block: 0..0 });
        }
    }

    /// Reads the node that `event` begins. Moves `end` to the end of its last visible part.
    fn read_node(
        &mut self,
        event: Event<'a>,
        span: &Span,
        depth: usize,
        end: &mut usize,
    ) -> Result<Node, BadText> {
        let at = range(span)?;
        if depth > MAX_DEPTH {
            return Err(BadText::at(span, format!("more than {MAX_DEPTH} levels")));
        }
        *end = (*end).max(at.start + self.raw[at.clone()].trim_end().len());
        match event {
            Event::Scalar(text, style, _, tag) => {
                let is_plain = style == ScalarStyle::Plain && tag.is_none();
                let is_null = is_plain && matches!(&*text, "" | "~" | "null" | "Null" | "NULL");
                Ok(if is_null { Node::Null } else { Node::Text(text.into_owned()) })
            }
            Event::SequenceStart(style, ..) => {
                let mut nodes = Vec::new();
                loop {
                    let (event, span) = self.next()?;
                    if matches!(event, Event::SequenceEnd) {
                        let close = range(&span)?.end;
                        if style == StructureStyle::Flow {
                            *end = (*end).max(close);
                            // YAML parses an unquoted `[[name]]`, which is a wiki link, as a list
                            // of lists.
                            let whole = &self.raw[at.start..close];
                            let inner = whole.strip_prefix("[[").and_then(|w| w.strip_suffix("]]"));
                            if inner.is_some_and(|i| !i.contains(['[', ']', '\n'])) {
                                return Ok(Node::Text(whole.to_owned()));
                            }
                        }
                        return Ok(Node::List(nodes));
                    }
                    nodes.push(self.read_node(event, &span, depth + 1, end)?);
                }
            }
            Event::MappingStart(style, ..) => {
                let mut keys = HashSet::new();
                loop {
                    let (event, span) = self.next()?;
                    if matches!(event, Event::MappingEnd) {
                        if style == StructureStyle::Flow {
                            *end = (*end).max(range(&span)?.end);
                        }
                        return Ok(Node::Other);
                    }
                    if let Node::Text(key) = self.read_node(event, &span, depth + 1, end)?
                        && !keys.insert(key.clone())
                    {
                        return Err(duplicate(&span, &key));
                    }
                    let (event, span) = self.next()?;
                    self.read_node(event, &span, depth + 1, end)?;
                }
            }
            Event::Alias(_) => Err(alias(span)),
            _ => Err(BadText::at(span, "the frontmatter ends too early")),
        }
    }
}

impl Node {
    fn text(self) -> Option<String> {
        match self {
            Self::Text(text) => Some(text),
            _ => None,
        }
    }
}

fn range(span: &Span) -> Result<Range<usize>, BadText> {
    span.byte_range()
        .ok_or_else(|| BadText::at(span, "a position that the YAML parser does not report"))
}

fn duplicate(span: &Span, key: &str) -> BadText {
    BadText::at(span, format!("the key \"{}\" is there twice", key.escape_debug()))
}

fn alias(span: &Span) -> BadText {
    BadText::at(span, "an alias (*name), which frontmatter may not have: write the value out")
}

/// Returns `text` as a YAML scalar on one line that every parser reads as this text: plain if that
/// is safe, else in double quotes. Dates stay plain.
pub(super) fn scalar(text: &str) -> String {
    if is_plain(text) {
        return text.to_owned();
    }
    let mut out = String::with_capacity(text.len() + 2);
    out.push('"');
    for c in text.chars() {
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            c if is_hidden(c) && u32::from(c) > 0xFFFF => {
                out.push_str(&format!("\\U{:08X}", u32::from(c)));
            }
            c if is_hidden(c) => out.push_str(&format!("\\u{:04X}", u32::from(c))),
            c => out.push(c),
        }
    }
    out.push('"');
    out
}

/// Returns whether `c` is not printable in YAML, or is a line break there.
fn is_hidden(c: char) -> bool {
    c.is_control()
        || matches!(c, '\u{2028}' | '\u{2029}' | '\u{FEFF}')
        || u32::from(c) & 0xFFFE == 0xFFFE
}

fn is_plain(text: &str) -> bool {
    const INDICATORS: &str = "-?:,[]{}#&*!|>'\"%@`";
    const WORDS: [&str; 11] =
        ["null", "true", "false", "yes", "no", "on", "off", "y", "n", "<<", "="];
    let is_number = || {
        let digits: String = text.chars().filter(|&c| c != '_').collect();
        digits.parse::<f64>().is_ok()
            || (text.starts_with(|c: char| c.is_ascii_digit() || c == '+' || c == '.')
                && (text.bytes().all(|b| b.is_ascii_digit() || matches!(b, b':' | b'.' | b'+'))
                    || text
                        .as_bytes()
                        .get(1)
                        .is_some_and(|b| matches!(b, b'x' | b'o' | b'b' | b'X'))
                    || [".inf", ".nan"].iter().any(|w| text.to_ascii_lowercase().ends_with(w))))
    };
    !text.starts_with(|c: char| INDICATORS.contains(c) || c.is_whitespace())
        && !text.is_empty()
        && text != "~"
        && !text.starts_with("...")
        && !text.ends_with(|c: char| c == ':' || c.is_whitespace())
        && !text.contains(": ")
        && !text.contains(" #")
        && !text.contains(is_hidden)
        && !WORDS.iter().any(|w| text.eq_ignore_ascii_case(w))
        && !is_number()
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::expect_used)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn bad(raw: &str) -> (usize, usize) {
        match read(raw) {
            Err(BadText::Bad { line, column, .. }) => (line, column),
            other => panic!("{raw:?}: {other:?}"),
        }
    }

    fn blocks(raw: &str) -> Vec<&str> {
        read(raw).unwrap().entries.into_iter().map(|e| &raw[e.block]).collect()
    }

    #[test]
    fn blocks_are_the_lines_of_their_key() {
        assert_eq!(
            blocks(
                "# top\na: 1\n\n# of b\nb:\n  - x # y\n  # z\nc: |\n  # text\n\n  more\n\n# end\n"
            ),
            ["a: 1\n", "b:\n  - x # y\n  # z\n", "c: |\n  # text\n\n  more\n",]
        );
        assert_eq!(blocks("a:\nb:\n-\n-\n\n"), ["a:\n", "b:\n-\n-\n"]);
        assert_eq!(blocks("  a: 1\n  b: \"x\n    y\"\n"), ["  a: 1\n", "  b: \"x\n    y\"\n"]);
        assert_eq!(blocks("a: 1\nb: [\n# c\n]\n"), ["a: 1\n", "b: [\n# c\n]\n"]);
    }

    #[test]
    fn other_yaml_is_not_a_mapping() {
        assert_eq!(read("just prose").unwrap_err(), BadText::NotMapping);
        assert_eq!(read("- a\n- b").unwrap_err(), BadText::NotMapping);
        assert!(read("").unwrap().entries.is_empty());
        assert!(read("# only\n\n# comments").unwrap().entries.is_empty());
        assert_eq!(bad("a: 1\na: 2"), (2, 1));
        assert_eq!(bad("x: 1\na: {b: 1, b: 2}"), (2, 11));
        assert_eq!(read("a: why?\nb: x").unwrap().entries.len(), 2);
        assert_eq!(bad("?\n  a\n: 1").0, 2);
        assert_eq!(bad("? a\n: 1"), (1, 3));
        assert_eq!(bad("a: &x 1\nb: *x"), (2, 4));
        assert!(bad("a: 1\nb: \"x\nc: 1").0 >= 2);
        assert_eq!(bad(&"[".repeat(30_000)).0, 1);
        assert_eq!(bad(&format!("a: {}", "[".repeat(30_000))).0, 1);
        assert!(
            read(&(0..200).map(|n| format!("{}k:\n", " ".repeat(n))).collect::<String>()).is_err()
        );
    }

    #[test]
    fn alias_bombs_are_refused() {
        let mut bomb = String::from("a0: &a0 [x,x,x,x,x,x,x,x,x]\n");
        for n in 1..30 {
            let m = n - 1;
            bomb.push_str(&format!(
                "a{n}: &a{n} [*a{m},*a{m},*a{m},*a{m},*a{m},*a{m},*a{m},*a{m}]\n"
            ));
        }
        assert_eq!(bad(&bomb), (2, 10));
    }

    #[test]
    fn a_scalar_is_plain_only_if_safe() {
        for plain in [
            "note",
            "2024-01-02",
            "2024-01-02T03:04:05.678Z",
            "a b",
            "a:b",
            "a#b",
            "日本",
            "v1.10",
            "it's",
        ] {
            assert_eq!(scalar(plain), plain);
        }
        for quoted in [
            "", "no", "True", "1.10", "2024", "0x1F", "12:30", "a: b", "a #b", "- a", "#a", "~",
            "null", " a", "a:", "[[x]]", "*a", "&a", "!a", "%a", "@a", "`a", "...", "---", "1_000",
            "-.inf", ".nan", "<<",
        ] {
            assert_eq!(scalar(quoted), format!("\"{quoted}\""));
        }
        assert_eq!(scalar("a\n\"\u{85}\\"), "\"a\\n\\\"\\u0085\\\\\"");
    }

    proptest! {
        #[test]
        fn a_scalar_parses_to_its_text(text in "\\PC{0,12}|[-?:,\\[\\]{}#&*!|>'\"%@` \
            a0\\\\.~=<]{0,8}|(?s:.{0,8})") {
            for raw in [format!("k: {}\n", scalar(&text)), format!("k:\n  - {}\n", scalar(&text))] {
                let mapping = read(&raw).unwrap();
                match &mapping.entries[0].value {
                    Value::Text(got) => prop_assert_eq!(got, &text),
                    Value::List(got) => prop_assert_eq!(got, std::slice::from_ref(&text)),
                    other => prop_assert!(false, "{:?} from {:?}", other, raw),
                }
            }
            let raw = format!("{}: 1\n", scalar(&text));
            prop_assert_eq!(&read(&raw).unwrap().entries[0].key, &text);
        }

        #[test]
        fn any_text_is_read_without_a_panic(raw in "([a-c?:\\-\\[\\]{}#&*!|>'\" \n0é]|: |\n- \
            ){0,40}") {
            if let Ok(mapping) = read(&raw) {
                for e in &mapping.entries {
                    prop_assert!(raw.get(e.block.clone()).is_some());
                }
            }
        }
    }
}
