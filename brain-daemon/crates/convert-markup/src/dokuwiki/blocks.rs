//! Converts the text of a page of DokuWiki to markdown: headings, lists, tables, code, quotes.

use super::heading::{heading, is_setting};
use super::inline::Scope;
use crate::lists::List;
use crate::markdown::{Blocks, fenced, guarded, prefixed, table};
use crate::wiki::inline;

/// Elements whose content is code: the name, and the language in markdown.
const CODE: [(&str, &str); 6] = [
    ("code", ""),
    ("file", ""),
    ("html", "html"),
    ("HTML", "html"),
    ("php", "php"),
    ("PHP", "php"),
];

/// Returns the text of a page as markdown. A first heading that is its title is left out.
pub(super) fn blocks(text: &str, title: &str, scope: &mut Scope<'_>) -> String {
    let mut reader = Reader { text, out: Blocks::default(), without_end: Vec::new() };
    let mut at = 0;
    let mut is_first = true;
    while let Some(line) = text.get(at..).and_then(|rest| rest.split('\n').next()) {
        if line.trim().is_empty() {
            at += line.len() + 1;
            continue;
        }
        at += match heading(line) {
            Some((_, text)) if is_first && brain_page::single_line(text) == title => line.len() + 1,
            Some((level, text)) => {
                reader.out.push(&format!("{} {}", "#".repeat(level), inline(text, scope, 0)));
                line.len() + 1
            }
            None => reader.block(at, line, scope),
        };
        is_first &= is_setting(line);
    }
    let footnotes = std::mem::take(&mut scope.footnotes);
    for (n, text) in footnotes.iter().enumerate() {
        reader.out.push(&format!("[^{}]: {}", n + 1, guarded(text)));
    }
    reader.out.finish()
}

struct Reader<'t> {
    text: &'t str,
    out: Blocks,
    /// The ends of elements that do not occur any more.
    without_end: Vec<&'static str>,
}

/// Returns the indentation, the marker and the text of an item of a list.
fn item(line: &str) -> Option<(usize, &'static str, &str)> {
    let text = line.trim_start_matches([' ', '\t']);
    let blank = line.get(..line.len() - text.len())?;
    let indent = blank.len() + blank.matches('\t').count();
    let (marker, text) = match text.strip_prefix('*') {
        Some(text) => ("-", text),
        None => ("1.", text.strip_prefix('-')?),
    };
    (indent >= 2).then(|| (indent / 2, marker, text.trim()))
}

fn is_rule(line: &str) -> bool {
    let line = line.trim();
    line.len() >= 4 && line.bytes().all(|byte| byte == b'-')
}

fn is_row(line: &str) -> bool {
    line.starts_with(['^', '|'])
}

/// Returns whether a line ends the paragraph before it.
fn is_block(line: &str) -> bool {
    line.trim().is_empty()
        || heading(line).is_some()
        || is_rule(line)
        || is_row(line)
        || line.starts_with('>')
        || item(line).is_some()
}

impl<'t> Reader<'t> {
    /// Converts the block that begins at `at`. Returns the length of its source.
    fn block(&mut self, at: usize, line: &'t str, scope: &mut Scope<'_>) -> usize {
        if let Some(length) = self.code(at) {
            return length;
        }
        if is_rule(line) {
            self.out.push("---");
            return line.len() + 1;
        }
        if is_row(line) {
            return self.table(at, scope);
        }
        if line.starts_with('>') {
            return self.quote(at, scope);
        }
        if item(line).is_some() {
            return self.list(at, scope);
        }
        if line.starts_with("  ") || line.starts_with('\t') {
            let is_code = |line: &str| {
                (line.starts_with("  ") || line.starts_with('\t')) && item(line).is_none()
            };
            let (lines, length) = self.run(at, is_code);
            let strip = |line: &&'t str| {
                line.strip_prefix("  ").or_else(|| line.strip_prefix('\t')).unwrap_or(line)
            };
            let lines: Vec<&str> = lines.iter().map(strip).collect();
            self.out.push(&fenced("", &lines.join("\n")));
            return length;
        }
        self.paragraph(at, scope)
    }

    /// Returns the lines from `at` on for which `is` holds, and their length.
    fn run(&self, at: usize, is: impl Fn(&str) -> bool) -> (Vec<&'t str>, usize) {
        let rest = self.text.get(at..).unwrap_or_default();
        let lines: Vec<&str> = rest.split('\n').take_while(|line| is(line)).collect();
        let length = lines.iter().map(|line| line.len() + 1).sum();
        (lines, length)
    }

    /// Returns where an element ends that begins at `at`.
    fn end(&mut self, at: usize, close: &'static str) -> Option<usize> {
        if self.without_end.contains(&close) {
            return None;
        }
        let found = self.text.get(at..).and_then(|rest| rest.find(close));
        if found.is_none() {
            self.without_end.push(close);
        }
        found.map(|found| at + found)
    }

    /// `<code python file.py>`, and other elements whose content is code.
    fn code(&mut self, at: usize) -> Option<usize> {
        let rest = self.text.get(at..)?;
        let start = rest.trim_start_matches([' ', '\t']).strip_prefix('<')?;
        for (name, language) in CODE {
            let Some(after) = start.strip_prefix(name) else { continue };
            if !after.starts_with(['>', ' ']) {
                continue;
            }
            let close = match name {
                "code" => "</code>",
                "file" => "</file>",
                "html" => "</html>",
                "HTML" => "</HTML>",
                "php" => "</php>",
                _ => "</PHP>",
            };
            let end = self.end(at, close)?;
            let begin = self.text.len() - after.len();
            let inner = self.text.get(begin..end)?;
            let (options, content) = inner.split_once('>')?;
            let mut options = options.split_whitespace();
            let first = options.next().filter(|language| *language != "-").unwrap_or(language);
            if let Some(file) = options.next() {
                self.out.push(&brain_convert_base::literal_line(file));
            }
            self.out.push(&fenced(first, content.trim_matches('\n')));
            return Some(end + close.len() - at);
        }
        None
    }

    fn list(&mut self, at: usize, scope: &mut Scope<'_>) -> usize {
        let (lines, length) = self.run(at, |line| item(line).is_some());
        let mut list = List::default();
        for (indent, marker, text) in lines.iter().filter_map(|line| item(line)) {
            let shown = inline(text, scope, 0);
            let mut parts = shown.split('\n');
            list.item(indent, marker, guarded(parts.next().unwrap_or_default()).as_str());
            for part in parts {
                list.line(&guarded(part));
            }
        }
        self.out.push(&list.finish());
        length
    }

    fn quote(&mut self, at: usize, scope: &mut Scope<'_>) -> usize {
        let (lines, length) = self.run(at, |line| line.starts_with('>'));
        let mut shown = Vec::new();
        for line in lines {
            let text = line.trim_start_matches('>');
            let depth = (line.len() - text.len()).min(10);
            shown.push(prefixed(&guarded(&inline(text.trim(), scope, 0)), &"> ".repeat(depth)));
        }
        self.out.push(&shown.join("  \n"));
        length
    }

    fn table(&mut self, at: usize, scope: &mut Scope<'_>) -> usize {
        let (lines, length) = self.run(at, is_row);
        let rows: Vec<Vec<String>> = lines
            .iter()
            .map(|line| cells(line).iter().map(|cell| inline(cell.trim(), scope, 0)).collect())
            .collect();
        self.out.push(&table(&rows));
        length
    }

    /// A paragraph. `<code>` within it ends it.
    fn paragraph(&mut self, at: usize, scope: &mut Scope<'_>) -> usize {
        let rest = self.text.get(at..).unwrap_or_default();
        let mut length = 0;
        for (n, line) in rest.split('\n').enumerate() {
            if n > 0 && is_block(line) {
                break;
            }
            let element = ["<code", "<file"].iter().filter_map(|name| element(line, name)).min();
            match element {
                Some(0) if n > 0 => break,
                Some(place) if place > 0 => {
                    length += place;
                    break;
                }
                _ => length += line.len() + 1,
            }
        }
        let source = rest.get(..length.min(rest.len())).unwrap_or_default();
        let lines: Vec<&str> = source.lines().map(str::trim).collect();
        let shown = inline(&lines.join("\n"), scope, 0);
        // A break stays a break; other line ends are blanks.
        let lines = shown.split('\n').map(|line| {
            let is_break = line.ends_with("  ");
            guarded(line) + if is_break { "  " } else { "" }
        });
        let lines: Vec<String> = lines.filter(|line| !line.trim().is_empty()).collect();
        self.out.push(lines.join("\n").trim_end());
        length.max(1)
    }
}

/// Returns where an element begins in a line, if it is not literal text.
fn element(line: &str, name: &str) -> Option<usize> {
    let at = line.find(name)?;
    let after = line.get(at + name.len()..)?;
    let before = line.get(..at)?;
    let is_literal = before.ends_with("%%") || before.ends_with("<nowiki>");
    (!is_literal && after.starts_with(['>', ' '])).then_some(at)
}

/// Returns the cells of a row. Bars in links, pictures and literal text are part of a cell.
fn cells(line: &str) -> Vec<String> {
    let line = line.trim_end();
    let mut cells: Vec<String> = Vec::new();
    let mut cell = String::new();
    let mut rest = line.get(1..).unwrap_or_default();
    while let Some(c) = rest.chars().next() {
        let span = [("[[", "]]"), ("{{", "}}"), ("%%", "%%"), ("<nowiki>", "</nowiki>")]
            .iter()
            .find_map(|(open, close)| {
                let inner = rest.strip_prefix(open)?;
                Some(open.len() + inner.find(close)? + close.len())
            });
        let length = match (span, c) {
            (Some(length), _) => length,
            (None, '|' | '^') => {
                // A cell that is merged with the one above is empty.
                let text = std::mem::take(&mut cell);
                cells.push(if text.trim() == ":::" { String::new() } else { text });
                rest = rest.get(1..).unwrap_or_default();
                continue;
            }
            (None, c) => c.len_utf8(),
        };
        let (piece, after) = rest.split_at_checked(length).unwrap_or((rest, ""));
        cell.push_str(piece);
        rest = after;
    }
    if !cell.trim().is_empty() {
        cells.push(cell);
    }
    cells
}
