//! Finds where a piece of wikitext ends that may contain line ends, bars or quotation marks.

use std::collections::HashMap;

/// Finds ends in one text. Remembers where the next one of each is, so that searches from places in
/// order take linear time.
#[derive(Default)]
pub(super) struct Spans {
    found: HashMap<&'static str, Found>,
}

/// The result of a search.
#[derive(Clone, Copy)]
struct Found {
    from: usize,
    at: Option<usize>,
}

impl Spans {
    /// Returns the offset behind the next `end` at or after `from`.
    pub(super) fn after(&mut self, text: &str, from: usize, end: &'static str) -> Option<usize> {
        let known = self.found.get(end).copied();
        let known = known.filter(|it| it.from <= from && it.at.is_none_or(|at| from <= at));
        let found = known.unwrap_or_else(|| {
            let at = text.get(from..).and_then(|rest| rest.find(end)).map(|at| from + at);
            Found { from, at }
        });
        self.found.insert(end, found);
        found.at.map(|at| at + end.len())
    }

    /// Returns the end of the span that begins at `at` and in which other marks mean nothing.
    pub(super) fn end(&mut self, text: &str, at: usize) -> Option<usize> {
        let rest = text.get(at..)?;
        let (skip, end) = match rest.as_bytes() {
            [b'<', b'!', b'-', b'-', ..] => (4, "-->"),
            [b'<', b'<', c, ..] if *c != b'<' && !c.is_ascii_whitespace() => (2, ">>"),
            [b'<', b'%', ..] => (2, "%>"),
            [b'<', b'$', ..] => (2, ">"),
            [b'{', b'{', b'{', ..] => (3, "}}}"),
            [b'{', b'{', ..] => (2, "}}"),
            [b'[', b'[', ..] => (2, "]]"),
            [b'[', b'i', b'm', b'g', b' ' | b'[', ..] => (4, "]]"),
            [b'[', b'e', b'x', b't', b'[', ..] => (5, "]]"),
            [b'`', b'`', ..] => (2, "``"),
            [b'`', ..] => (1, "`"),
            _ => return None,
        };
        // Links and names of tiddlers end in their line.
        let is_in_line = matches!(end, "]]" | "}}");
        let end = self.after(text, at + skip, end)?;
        (!is_in_line || self.is_in_line(text, at, end)).then_some(end)
    }

    /// Returns whether no line ends between two offsets.
    fn is_in_line(&mut self, text: &str, from: usize, to: usize) -> bool {
        self.after(text, from, "\n").is_none_or(|line| line > to)
    }

    /// Returns the end of the text that begins at `from` and ends before `end`, which counts only
    /// outside of spans and of lines between `"""`.
    pub(super) fn run(&mut self, text: &str, from: usize, end: &'static str) -> usize {
        let mut at = from;
        while let Some(rest) = text.get(at..).filter(|rest| !rest.is_empty()) {
            if rest.starts_with(end) {
                return at;
            }
            let span = match rest.strip_prefix("\"\"\"") {
                Some(_) => self.after(text, at + 3, "\"\"\""),
                // Code ends in its line.
                None => self
                    .end(text, at)
                    .filter(|to| !rest.starts_with('`') || self.is_in_line(text, at, *to)),
            };
            at = span.unwrap_or_else(|| at + rest.chars().next().map_or(1, char::len_utf8));
        }
        text.len()
    }
}
