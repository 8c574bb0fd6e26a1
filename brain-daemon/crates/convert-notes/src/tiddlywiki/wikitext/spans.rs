//! Finds where a piece of wikitext ends that may contain line ends, bars or quotation marks.

/// Finds ends. Remembers which ends do not occur any more, so that a search is linear.
#[derive(Default)]
pub(super) struct Spans {
    gone: Vec<&'static str>,
}

impl Spans {
    /// Returns the offset behind the next `end` at or after `from`.
    pub(super) fn after(&mut self, text: &str, from: usize, end: &'static str) -> Option<usize> {
        if self.gone.contains(&end) {
            return None;
        }
        let found = text.get(from..).and_then(|rest| rest.find(end));
        if found.is_none() {
            self.gone.push(end);
        }
        found.map(|at| from + at + end.len())
    }

    /// Returns the end of the span that begins at `at` and in which other marks mean nothing.
    pub(super) fn end(&mut self, text: &str, at: usize) -> Option<usize> {
        let rest = text.get(at..)?;
        let after = |spans: &mut Self, skip: usize, end| spans.after(text, at + skip, end);
        match rest.as_bytes() {
            [b'<', b'!', b'-', b'-', ..] => after(self, 4, "-->"),
            [b'<', b'<', c, ..] if *c != b'<' && !c.is_ascii_whitespace() => after(self, 2, ">>"),
            [b'<', b'%', ..] => after(self, 2, "%>"),
            [b'<', b'$', ..] => after(self, 2, ">"),
            [b'{', b'{', b'{', ..] => after(self, 3, "}}}"),
            [b'{', b'{', ..] => after(self, 2, "}}"),
            [b'[', b'[', ..] => after(self, 2, "]]"),
            [b'[', b'i', b'm', b'g', b' ' | b'[', ..] => after(self, 4, "]]"),
            [b'[', b'e', b'x', b't', b'[', ..] => after(self, 5, "]]"),
            [b'`', b'`', ..] => after(self, 2, "``"),
            [b'`', ..] => after(self, 1, "`"),
            _ => None,
        }
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
                // Links and code end in their line.
                None => self.end(text, at).filter(|to| {
                    let is_multiline = rest.starts_with('<') || rest.starts_with("{{");
                    is_multiline || !text.get(at..*to).is_some_and(|span| span.contains('\n'))
                }),
            };
            at = span.unwrap_or_else(|| at + rest.chars().next().map_or(1, char::len_utf8));
        }
        text.len()
    }
}
