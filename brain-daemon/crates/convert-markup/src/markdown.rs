//! Writes markdown: text within a paragraph, code, tables, links.

use std::collections::HashMap;

use brain_convert_base::{block_start, literal_part};

/// The text of a paragraph, in markdown.
#[derive(Default)]
pub(crate) struct Inline {
    out: String,
    /// Plain text that is not yet escaped.
    pending: String,
}

impl Inline {
    /// Adds plain text.
    pub(crate) fn text(&mut self, text: &str) {
        self.pending.push_str(text);
    }

    /// Adds a character of plain text.
    pub(crate) fn char(&mut self, c: char) {
        self.pending.push(c);
    }

    /// Adds markdown.
    pub(crate) fn markdown(&mut self, markdown: &str) {
        // `!` before a link would embed its target.
        let is_embed = self.pending.ends_with('!') && markdown.starts_with('[');
        if is_embed {
            self.pending.pop();
        }
        self.flush();
        if is_embed {
            self.out.push_str("\\!");
        }
        self.out.push_str(markdown);
    }

    /// Returns the markdown.
    pub(crate) fn finish(mut self) -> String {
        self.flush();
        self.out
    }

    fn flush(&mut self) {
        for (n, line) in self.pending.split('\n').enumerate() {
            if n > 0 {
                self.out.push('\n');
            }
            let line: String =
                line.chars().map(|c| if c == '\t' { ' ' } else { c }).collect::<String>();
            let line: String = line.chars().filter(|c| !c.is_control()).collect();
            self.out.push_str(&literal_part(&line));
        }
        self.pending.clear();
    }
}

/// Returns markdown as a paragraph: no line begins a block. `line_end` separates lines.
pub(crate) fn paragraph(markdown: &str, line_end: &str) -> String {
    let lines = markdown.split('\n').map(guarded).filter(|line| !line.is_empty());
    lines.collect::<Vec<_>>().join(line_end)
}

/// Returns a line that begins no block.
pub(crate) fn guarded(line: &str) -> String {
    let line = line.trim();
    match block_start(line) {
        Some(at) => format!("{}\\{}", &line[..at], &line[at..]),
        None => line.to_owned(),
    }
}

/// A line break within a paragraph, as [`paragraph`] takes it.
pub(crate) const LINE_BREAK: &str = "  \n";

/// Returns text between marks of markdown. Blanks stay outside.
pub(crate) fn marked(open: &str, inner: &str, close: &str) -> String {
    let text = inner.trim();
    if text.is_empty() {
        return inner.to_owned();
    }
    let start = inner.len() - inner.trim_start().len();
    let end = inner.trim_end().len();
    format!("{}{open}{text}{close}{}", &inner[..start], &inner[end..])
}

/// Returns code within a line.
pub(crate) fn code(text: &str) -> String {
    let text = text.split('\n').map(str::trim).collect::<Vec<_>>().join(" ");
    let text = text.trim();
    let longest = text.split(|c| c != '`').map(str::len).max().unwrap_or(0);
    let fence = "`".repeat(longest + 1);
    match text {
        "" => String::new(),
        text if text.starts_with('`') || text.ends_with('`') => format!("{fence} {text} {fence}"),
        text => format!("{fence}{text}{fence}"),
    }
}

/// Returns a block of code, with a fence longer than any in it.
pub(crate) fn fenced(language: &str, text: &str) -> String {
    let longest = text.split(|c| c != '`').map(str::len).max().unwrap_or(0);
    let fence = "`".repeat(3.max(longest + 1));
    let is_name = |b: u8| b.is_ascii_alphanumeric() || b"-_+".contains(&b);
    let language = if language.bytes().all(is_name) { language } else { "" };
    format!("{fence}{language}\n{}\n{fence}", text.trim_end_matches('\n'))
}

/// Returns a table. The cells are markdown; the first row is the head.
pub(crate) fn table(rows: &[Vec<String>]) -> String {
    let columns = rows.iter().map(Vec::len).max().unwrap_or(0);
    let mut out = String::new();
    for (n, row) in rows.iter().enumerate() {
        out.push('|');
        for cell in row {
            out.push(' ');
            // In a cell, a bar ends the cell, also in code and in a link.
            let cell = cell.split_whitespace().collect::<Vec<_>>().join(" ");
            let mut before = ' ';
            for c in cell.chars() {
                if c == '|' && before != '\\' {
                    out.push('\\');
                }
                out.push(c);
                before = c;
            }
            out.push_str(" |");
        }
        // Markdown adds missing cells at the end of a row. The head must have all.
        let missing = if n == 0 { columns - row.len() } else { 0 };
        out.push_str(&"  |".repeat(missing));
        out.push('\n');
        if n == 0 {
            out.push('|');
            out.push_str(&" --- |".repeat(columns));
            out.push('\n');
        }
    }
    out.trim_end().to_owned()
}

/// Returns a link to an address; the label is markdown. Without a label, it shows the address.
pub(crate) fn web_link(address: &str, label: &str) -> String {
    let address: String = address
        .trim()
        .chars()
        .map(|c| match c {
            ' ' => "%20".to_owned(),
            '<' => "%3C".to_owned(),
            '>' => "%3E".to_owned(),
            '(' => "%28".to_owned(),
            ')' => "%29".to_owned(),
            '\\' => "%5C".to_owned(),
            c if c.is_control() => String::new(),
            c => c.to_string(),
        })
        .collect();
    match label.trim() {
        "" => format!("<{}>", address.replace("%28", "(").replace("%29", ")")),
        label => format!("[{label}]({address})"),
    }
}

/// Returns the length of the address at the beginning, or `None` if there is none. Punctuation at
/// its end is none of it.
pub(crate) fn address_length(text: &str) -> Option<usize> {
    let scheme = ["https://", "http://", "ftp://", "mailto:", "file://"]
        .into_iter()
        .find(|scheme| text.starts_with(scheme))?;
    let end = text.find(|c: char| c.is_whitespace() || "<>\"".contains(c)).unwrap_or(text.len());
    let mut address = text.get(..end)?;
    // A bracket at the end is none of it, unless it is opened in it.
    let mut extra = [('(', ')'), ('[', ']')].map(|(open, close)| {
        (close, address.matches(close).count().saturating_sub(address.matches(open).count()))
    });
    loop {
        let before = address;
        address = address.trim_end_matches(['.', ',', ':', ';', '!', '?', '\'', '*', '_', '~']);
        for (close, extra) in extra.iter_mut().filter(|(_, extra)| *extra > 0) {
            if let Some(shorter) = address.strip_suffix(*close) {
                address = shorter;
                *extra -= 1;
            }
        }
        if address == before {
            break;
        }
    }
    (address.len() > scheme.len()).then_some(address.len())
}

/// Finds patterns in one text from left to right, in linear time over all calls.
#[derive(Default)]
pub(crate) struct Finder {
    /// The next place of a pattern, or `None` if there is none any more.
    next: HashMap<&'static str, Option<usize>>,
}

impl Finder {
    /// Returns the place of a pattern at or after `from`. For one pattern, `from` must not
    /// decrease.
    pub(crate) fn find(&mut self, text: &str, from: usize, pattern: &'static str) -> Option<usize> {
        match self.next.get(pattern) {
            Some(None) => return None,
            Some(Some(at)) if *at >= from => return Some(*at),
            _ => {}
        }
        let found = text.get(from..).and_then(|rest| rest.find(pattern)).map(|at| from + at);
        self.next.insert(pattern, found);
        found
    }
}

/// Joins blocks with a blank line between them.
#[derive(Default)]
pub(crate) struct Blocks {
    out: String,
}

impl Blocks {
    /// Adds a block, if it is not empty.
    pub(crate) fn push(&mut self, block: &str) {
        self.push_after(block, "\n\n");
    }

    /// Adds a block without a blank line before it, such as a list in an item of a list.
    pub(crate) fn push_close(&mut self, block: &str) {
        self.push_after(block, "\n");
    }

    /// Adds a list, or an item to the list at the end.
    pub(crate) fn push_item(&mut self, item: &str) {
        let last = self.out.rsplit('\n').next().unwrap_or_default();
        let separator = if last.starts_with("- ") { "\n" } else { "\n\n" };
        self.push_after(item, separator);
    }

    fn push_after(&mut self, block: &str, separator: &str) {
        let block = block.trim_matches('\n');
        if block.trim().is_empty() {
            return;
        }
        if !self.out.is_empty() {
            self.out.push_str(separator);
        }
        self.out.push_str(block);
    }

    /// Returns all blocks.
    pub(crate) fn finish(self) -> String {
        self.out
    }
}

/// Returns an item of a list: its blocks after the marker, indented below it. The marker can have
/// a box, as in `- [ ]`.
pub(crate) fn item(marker: &str, blocks: &str) -> String {
    let bullet = marker.split(' ').next().unwrap_or(marker);
    let indent = " ".repeat(bullet.len() + 1);
    let mut out = format!("{marker} ");
    for (n, line) in blocks.split('\n').enumerate() {
        if n > 0 {
            out.push('\n');
            if !line.is_empty() {
                out.push_str(&indent);
            }
        }
        out.push_str(line);
    }
    out
}

/// Returns a comment, which readers do not see and editors show.
pub(crate) fn comment(text: &str) -> String {
    let text = text.trim_matches('\n');
    match text {
        _ if text.trim().is_empty() => String::new(),
        _ if text.contains("%%") => fenced("", text),
        _ if text.contains('\n') => format!("%%\n{text}\n%%"),
        _ => format!("%% {} %%", text.trim()),
    }
}

/// Returns blocks with a prefix before each line, such as `> `.
pub(crate) fn prefixed(blocks: &str, prefix: &str) -> String {
    let lines = blocks.split('\n').map(|line| format!("{prefix}{line}").trim_end().to_owned());
    lines.collect::<Vec<_>>().join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_before_a_link_does_not_embed_it() {
        let mut inline = Inline::default();
        inline.text("Look *here*!");
        inline.markdown("[[A]]");
        inline.text("\tand 1_2");
        assert_eq!(inline.finish(), "Look \\*here\\*\\![[A]] and 1_2");
    }

    #[test]
    fn an_address_ends_before_punctuation() {
        for (text, length) in [
            ("https://a.example/b. Next", 19),
            ("https://a.example/(b)), x", 21),
            ("https://a.example/]].", 18),
            ("http://a_b>", 10),
            ("https://", 0),
            ("ahttps://x", 0),
        ] {
            assert_eq!(address_length(text).unwrap_or(0), length, "{text}");
        }
    }

    #[test]
    fn code_has_a_fence_longer_than_its_own() {
        assert_eq!(code("a `b` c"), "``a `b` c``");
        assert_eq!(code("`"), "`` ` ``");
        assert_eq!(fenced("x y", "```\na\n"), "````\n```\na\n````");
    }

    #[test]
    fn a_row_of_a_table_keeps_all_cells() {
        let cells = |row: &[&str]| row.iter().map(|cell| (*cell).to_owned()).collect();
        assert_eq!(
            table(&[cells(&["a"]), cells(&["[[b|c]]", "d \\| e"])]),
            "| a |  |\n| --- | --- |\n| [[b\\|c]] | d \\| e |"
        );
    }
}
