//! Converts the text below a heading of Org to markdown: paragraphs, lists, tables, blocks.

use std::collections::HashSet;

use super::document::keyword;
use super::inline::inline;
use super::list::{bullet, indent_of, list};
use super::scope::Scope;
use crate::markdown::{Blocks, LINE_BREAK, comment, fenced, paragraph, prefixed, table};

/// Maximum nesting of lists, quotes and drawers. Deeper ones are paragraphs.
pub(super) const MAX_DEPTH: usize = 20;

/// Returns lines as markdown.
pub(super) fn blocks(lines: &[&str], depth: usize, scope: &mut Scope<'_>) -> String {
    let mut reader = Reader { lines, depth, out: Blocks::default(), without_end: HashSet::new() };
    reader.read(scope);
    reader.out.finish()
}

struct Reader<'l> {
    lines: &'l [&'l str],
    depth: usize,
    out: Blocks,
    /// The ends of blocks and drawers that do not occur any more.
    without_end: HashSet<String>,
}

/// What a line begins.
#[derive(PartialEq)]
enum Start {
    Blank,
    Block,
    Drawer,
    Fixed,
    Table,
    Rule,
    Comment,
    Keyword,
    Item,
    Clock,
    Formula,
    Text,
}

fn start(line: &str) -> Start {
    let text = line.trim();
    let lower = text.get(..8).map(str::to_ascii_lowercase).unwrap_or_default();
    if text.is_empty() {
        Start::Blank
    } else if lower == "#+begin_" || lower == "#+begin:" {
        Start::Block
    } else if drawer(text).is_some() {
        Start::Drawer
    } else if text == ":" || text.starts_with(": ") {
        Start::Fixed
    } else if text.starts_with('|') {
        Start::Table
    } else if text.len() >= 5 && text.bytes().all(|byte| byte == b'-') {
        Start::Rule
    } else if text == "#" || text.starts_with("# ") {
        Start::Comment
    } else if keyword(text).is_some() {
        Start::Keyword
    } else if bullet(line).is_some() {
        Start::Item
    } else if text.starts_with("CLOCK: [") {
        Start::Clock
    } else if text.starts_with("\\begin{") {
        Start::Formula
    } else {
        Start::Text
    }
}

/// Returns the name of the drawer that a line begins: `:NAME:`.
fn drawer(line: &str) -> Option<&str> {
    let name = line.strip_prefix(':')?.strip_suffix(':')?;
    let is_name = |c: char| c.is_alphanumeric() || "-_".contains(c);
    let is_end = name.eq_ignore_ascii_case("end");
    (!name.is_empty() && name.chars().all(is_name) && !is_end).then_some(name)
}

impl<'l> Reader<'l> {
    fn read(&mut self, scope: &mut Scope<'_>) {
        let mut at = 0;
        while let Some(line) = self.lines.get(at) {
            at += match start(line) {
                Start::Blank => 1,
                Start::Block => self.block(at, scope).unwrap_or_else(|| self.text(at, scope)),
                Start::Drawer => self.drawer(at, scope).unwrap_or_else(|| self.text(at, scope)),
                Start::Fixed => self.fixed(at),
                Start::Table => self.table(at, scope),
                Start::Rule => {
                    self.out.push("---");
                    1
                }
                Start::Comment => self.comment(at),
                Start::Keyword => self.keyword(at, scope),
                Start::Item if self.depth < MAX_DEPTH => self.list(at, scope),
                Start::Clock => self.clock(at),
                Start::Formula => self.formula(at).unwrap_or_else(|| self.text(at, scope)),
                Start::Item | Start::Text => self.text(at, scope),
            };
        }
    }

    /// The number of lines from `at` that begin the same.
    fn run(&self, at: usize, kind: &Start) -> usize {
        let lines = self.lines.get(at..).unwrap_or_default();
        lines.iter().take_while(|line| start(line) == *kind).count()
    }

    fn slice(&self, from: usize, to: usize) -> &'l [&'l str] {
        self.lines.get(from..to).unwrap_or_default()
    }

    fn text(&mut self, at: usize, scope: &mut Scope<'_>) -> usize {
        let length = 1 + self.run(at + 1, &Start::Text);
        let text: Vec<&str> = self.slice(at, at + length).iter().map(|line| line.trim()).collect();
        let shown = inline(&text.join("\n"), scope);
        self.out.push(&paragraph(&shown, "\n"));
        length
    }

    fn list(&mut self, at: usize, scope: &mut Scope<'_>) -> usize {
        let (shown, length) = list(self.slice(at, self.lines.len()), self.depth, scope, blocks);
        // In an item, a list follows its paragraph closely.
        match self.depth {
            0 => self.out.push(&shown),
            _ => self.out.push_close(&shown),
        }
        length
    }

    fn fixed(&mut self, at: usize) -> usize {
        let length = self.run(at, &Start::Fixed);
        let lines = self.slice(at, at + length).iter().map(|line| {
            let line = line.trim_start();
            line.strip_prefix(": ").unwrap_or_default()
        });
        let text: Vec<&str> = lines.collect();
        self.out.push(&fenced("", &text.join("\n")));
        length
    }

    fn table(&mut self, at: usize, scope: &mut Scope<'_>) -> usize {
        let length = self.run(at, &Start::Table);
        let mut rows = Vec::new();
        for line in self.slice(at, at + length) {
            let line = line.trim();
            let inner = line.strip_prefix('|').unwrap_or(line);
            let inner = inner.strip_suffix('|').unwrap_or(inner);
            let cells: Vec<&str> = inner.split('|').map(str::trim).collect();
            let is_width = |cell: &&str| {
                cell.is_empty()
                    || cell.strip_prefix('<').and_then(|it| it.strip_suffix('>')).is_some_and(
                        |it| {
                            it.trim_start_matches(['l', 'c', 'r'])
                                .bytes()
                                .all(|b| b.is_ascii_digit())
                        },
                    )
            };
            let is_layout = cells.iter().all(is_width) && !cells.iter().all(|it| it.is_empty());
            if inner.starts_with('-') || is_layout {
                continue;
            }
            rows.push(cells.iter().map(|cell| inline(cell, scope)).collect());
        }
        self.out.push(&table(&rows));
        length
    }

    fn comment(&mut self, at: usize) -> usize {
        let length = self.run(at, &Start::Comment);
        let lines = self
            .slice(at, at + length)
            .iter()
            .map(|line| line.trim_start().strip_prefix('#').unwrap_or_default().trim());
        self.out.push(&comment(&lines.collect::<Vec<_>>().join("\n")));
        length
    }

    /// Captions are text. Others are for the program, and become a comment.
    fn keyword(&mut self, at: usize, scope: &mut Scope<'_>) -> usize {
        let line = self.lines.get(at).copied().unwrap_or_default();
        match keyword(line) {
            Some((key, value)) if key.to_ascii_lowercase().starts_with("caption") => {
                let shown = inline(value, scope);
                self.out.push(&paragraph(&shown, "\n"));
            }
            Some((key, _)) => {
                if key.eq_ignore_ascii_case("include") {
                    scope.lost.insert("a file that it includes stays a file of its own");
                }
                self.out.push(&comment(line.trim()));
            }
            None => {}
        }
        1
    }

    fn clock(&mut self, at: usize) -> usize {
        let length = self.run(at, &Start::Clock);
        let lines = self.slice(at, at + length).iter();
        let items =
            lines.map(|line| format!("- {}", brain_convert_base::literal_line(line.trim())));
        self.out.push(&items.collect::<Vec<_>>().join("\n"));
        length
    }

    /// Returns the index of the line that ends what begins at `at`.
    fn end(&mut self, at: usize, end: &str) -> Option<usize> {
        if self.without_end.contains(end) {
            return None;
        }
        let lines = self.lines.get(at + 1..)?;
        let found = lines.iter().position(|line| line.trim().eq_ignore_ascii_case(end));
        if found.is_none() {
            self.without_end.insert(end.to_owned());
        }
        found.map(|found| at + 1 + found)
    }

    fn drawer(&mut self, at: usize, scope: &mut Scope<'_>) -> Option<usize> {
        let name = drawer(self.lines.get(at)?.trim())?;
        let end = self.end(at, ":end:").filter(|_| self.depth < MAX_DEPTH)?;
        let inner = blocks(self.slice(at + 1, end), self.depth + 1, scope);
        if !inner.is_empty() {
            self.out.push(&format!("{}:", brain_convert_base::literal_line(name)));
            self.out.push(&inner);
        }
        Some(end + 1 - at)
    }

    fn formula(&mut self, at: usize) -> Option<usize> {
        let line = self.lines.get(at)?.trim();
        let name = line.strip_prefix("\\begin{")?.split('}').next()?;
        let end = self.end(at, &format!("\\end{{{name}}}"))?;
        let text: Vec<&str> = self.slice(at, end + 1).iter().map(|line| line.trim()).collect();
        self.out.push(&format!("$$\n{}\n$$", text.join("\n")));
        Some(end + 1 - at)
    }

    fn block(&mut self, at: usize, scope: &mut Scope<'_>) -> Option<usize> {
        let line = self.lines.get(at)?.trim();
        let (begin, rest) = line.split_once(char::is_whitespace).unwrap_or((line, ""));
        let name = begin.get(7..)?.to_ascii_lowercase();
        let (end, name) = match name.strip_prefix('_') {
            Some(name) => (self.end(at, &format!("#+end_{name}"))?, name.to_owned()),
            None => (self.end(at, "#+end:").or_else(|| self.end(at, "#+end"))?, String::new()),
        };
        let rest = rest.trim();
        let lines = self.slice(at + 1, end);
        let inner = |scope: &mut Scope<'_>| match self.depth < MAX_DEPTH {
            true => blocks(lines, self.depth + 1, scope),
            false => fenced("", &lines.join("\n")),
        };
        let shown = match name.as_str() {
            "src" | "example" | "export" => source(&name, rest, lines),
            "comment" => comment(&lines.join("\n")),
            "quote" => prefixed(&inner(scope), "> "),
            "verse" => verse(lines, scope),
            "" => {
                self.out.push(&comment(line));
                inner(scope)
            }
            _ => inner(scope),
        };
        self.out.push(&shown);
        Some(end + 1 - at)
    }
}

/// Returns a block of code. What follows the language stays beside it.
fn source(name: &str, rest: &str, lines: &[&str]) -> String {
    let indent = lines.iter().filter(|line| !line.trim().is_empty()).map(|it| indent_of(it)).min();
    let indent = indent.unwrap_or(0);
    let lines: Vec<String> = lines
        .iter()
        .map(|line| {
            let line = line.get(indent..).unwrap_or(line.trim_start());
            // A comma hides what would be a heading or a keyword.
            let text = line.trim_start();
            let is_hidden = text.trim_start_matches(',').starts_with('*')
                || text.trim_start_matches(',').starts_with("#+");
            match text.strip_prefix(',').filter(|_| is_hidden) {
                Some(text) => format!("{}{text}", " ".repeat(indent_of(line))),
                None => line.to_owned(),
            }
        })
        .collect();
    let (language, options) = match name {
        "example" => ("", rest),
        _ => rest.split_once(char::is_whitespace).unwrap_or((rest, "")),
    };
    let code = fenced(language, &lines.join("\n"));
    match options.trim() {
        "" => code,
        options if options.contains('`') => code,
        options => match code.split_once('\n') {
            Some((fence, rest)) => format!("{fence} {options}\n{rest}"),
            None => code,
        },
    }
}

/// Returns lines of a verse, each on a line of its own.
fn verse(lines: &[&str], scope: &mut Scope<'_>) -> String {
    let mut out = Blocks::default();
    for stanza in lines.split(|line| line.trim().is_empty()) {
        let lines: Vec<String> = stanza.iter().map(|line| inline(line.trim(), scope)).collect();
        out.push(&paragraph(&lines.join("\n"), LINE_BREAK));
    }
    out.finish()
}
