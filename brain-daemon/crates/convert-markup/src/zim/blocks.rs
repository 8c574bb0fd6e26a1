//! Converts the text of a page of Zim to markdown: headings, lists, code, tables, paragraphs.

use super::inline::Scope;
use crate::lists::List;
use crate::markdown::{Blocks, fenced, guarded, table};
use crate::wiki::inline;

/// Returns the text of a page as markdown. `title` is its name: a first heading that repeats it is
/// left out.
pub(super) fn blocks(text: &str, title: &str, scope: &mut Scope<'_>) -> String {
    let lines: Vec<&str> = text.lines().collect();
    let mut reader = Reader { lines, out: Blocks::default(), without_end: Vec::new() };
    reader.read(title, scope);
    reader.out.finish()
}

struct Reader<'t> {
    lines: Vec<&'t str>,
    out: Blocks,
    /// The ends of blocks that do not occur any more.
    without_end: Vec<&'static str>,
}

/// An item of a list.
struct Bullet<'l> {
    indent: usize,
    marker: String,
    text: &'l str,
    /// What the box says besides done or not.
    note: &'static str,
}

/// Returns the number of tabs at the beginning of a line, where four blanks are a tab, and the
/// rest of the line.
fn indented(line: &str) -> (usize, &str) {
    let mut tabs = 0;
    let mut rest = line;
    while let Some(after) = rest.strip_prefix('\t').or_else(|| rest.strip_prefix("    ")) {
        tabs += 1;
        rest = after;
    }
    (tabs, rest)
}

/// Returns the item that a line begins.
fn bullet(line: &str) -> Option<Bullet<'_>> {
    const BOXES: [(&str, &str, &str); 7] = [
        ("[ ]", "- [ ]", ""),
        ("[*]", "- [x]", ""),
        ("[x]", "- [x]", "not done"),
        ("[>]", "- [x]", "moved on"),
        ("[<]", "- [x]", "moved from elsewhere"),
        ("*", "-", ""),
        ("•", "-", ""),
    ];
    let (indent, rest) = indented(line);
    let (mark, after) = rest.split_once([' ', '\t'])?;
    // A box contains a blank.
    let (mark, after) = match rest.strip_prefix("[ ]") {
        Some(after) if after.starts_with([' ', '\t']) => ("[ ]", after),
        _ => (mark, after),
    };
    let text = after.trim();
    if let Some((_, marker, note)) = BOXES.iter().find(|(known, ..)| *known == mark) {
        return Some(Bullet { indent, marker: (*marker).to_owned(), text, note });
    }
    let number = mark.strip_suffix('.')?;
    let is_number = (1..=9).contains(&number.len()) && number.bytes().all(|b| b.is_ascii_digit());
    let is_letter = number.len() == 1 && number.bytes().all(|byte| byte.is_ascii_alphabetic());
    let marker = match () {
        () if is_number => format!("{number}."),
        () if is_letter => {
            let letter = number.to_ascii_lowercase().bytes().next()?;
            format!("{}.", letter - b'a' + 1)
        }
        () => return None,
    };
    Some(Bullet { indent, marker, text, note: "" })
}

fn heading(line: &str) -> Option<(usize, &str)> {
    let marks = line.bytes().take_while(|byte| *byte == b'=').count();
    let rest = line.get(marks..)?;
    let text = rest.trim().trim_end_matches('=').trim_end();
    let is_heading = marks >= 2 && rest.starts_with([' ', '\t']) && !text.is_empty();
    is_heading.then(|| (7 - marks.min(6), text))
}

fn is_rule(line: &str) -> bool {
    line.len() >= 5 && line.bytes().all(|byte| byte == b'-')
}

fn is_row(line: &str) -> bool {
    line.len() >= 2 && line.starts_with('|') && line.trim_end().ends_with('|')
}

impl<'t> Reader<'t> {
    fn read(&mut self, title: &str, scope: &mut Scope<'_>) {
        let mut at = 0;
        let mut is_first = true;
        while let Some(line) = self.lines.get(at).copied() {
            if line.trim().is_empty() {
                at += 1;
                continue;
            }
            at += match heading(line) {
                Some((1, text)) if is_first && text == title => 1,
                Some((level, text)) => {
                    let shown = inline(text, scope, 0);
                    self.out.push(&format!("{} {shown}", "#".repeat(level)));
                    1
                }
                None => self.block(at, line, scope),
            };
            is_first = false;
        }
    }

    /// Converts the block that begins here. Returns the number of its lines.
    fn block(&mut self, at: usize, line: &str, scope: &mut Scope<'_>) -> usize {
        if let Some(length) = self.code(at, line).or_else(|| self.object(at, line)) {
            return length;
        }
        if is_rule(line) {
            self.out.push("---");
            return 1;
        }
        let next = self.lines.get(at + 1).copied().unwrap_or_default();
        if is_row(line) && is_row(next) {
            return self.table(at, scope);
        }
        if bullet(line).is_some() {
            return self.list(at, scope);
        }
        self.paragraph(at, scope)
    }

    /// Returns the index of the line that ends what begins at `at`.
    fn end(&mut self, at: usize, mark: &'static str) -> Option<usize> {
        if self.without_end.contains(&mark) {
            return None;
        }
        let lines = self.lines.get(at + 1..)?;
        let found = lines.iter().position(|line| line.trim() == mark);
        if found.is_none() {
            self.without_end.push(mark);
        }
        found.map(|found| at + 1 + found)
    }

    fn slice(&self, from: usize, to: usize, indent: usize) -> String {
        let lines = self.lines.get(from..to).unwrap_or_default().iter();
        let lines = lines.map(|line| {
            line.get(indent..)
                .filter(|_| line.bytes().take(indent).all(|byte| byte == b'\t'))
                .unwrap_or(line)
        });
        lines.collect::<Vec<_>>().join("\n")
    }

    fn code(&mut self, at: usize, line: &str) -> Option<usize> {
        (line.trim() == "'''").then_some(())?;
        let end = self.end(at, "'''")?;
        let indent = line.bytes().take_while(|byte| *byte == b'\t').count();
        let code = fenced("", &self.slice(at + 1, end, indent));
        self.out.push(&code);
        Some(end + 1 - at)
    }

    /// `{{{code: lang="python3"`, an equation, a diagram, or the object of another plugin.
    fn object(&mut self, at: usize, line: &str) -> Option<usize> {
        let header = line.trim().strip_prefix("{{{")?.trim_start();
        let (name, options) = header.split_once(':')?;
        (!name.is_empty() && !name.contains(' ')).then_some(())?;
        let end = self.end(at, "}}}")?;
        let indent = line.bytes().take_while(|byte| *byte == b'\t').count();
        let text = self.slice(at + 1, end, indent);
        let shown = match name {
            "equation" => format!("$$\n{}\n$$", text.trim()),
            "code" => {
                let language = options.split_once("lang=").map_or("", |(_, value)| value);
                let language = language.trim_start_matches('"').split(['"', ' ']).next();
                fenced(language.unwrap_or_default(), &text)
            }
            name => fenced(name, &text),
        };
        self.out.push(&shown);
        Some(end + 1 - at)
    }

    fn table(&mut self, at: usize, scope: &mut Scope<'_>) -> usize {
        let mut rows = Vec::new();
        let lines = self.lines.get(at..).unwrap_or_default();
        let length = lines.iter().take_while(|line| is_row(line)).count();
        for (n, line) in lines.iter().take(length).enumerate() {
            let inner = line.trim().trim_start_matches('|');
            let inner = inner.strip_suffix('|').unwrap_or(inner);
            let is_layout = n == 1 && inner.chars().all(|c| " |-:".contains(c));
            if !is_layout {
                rows.push(
                    cells(inner)
                        .map(|cell| {
                            // `<` after a heading means that the column is wrapped.
                            let cell =
                                if n == 0 { cell.trim().trim_end_matches('<') } else { &cell };
                            inline(cell.trim(), scope, 0)
                        })
                        .collect(),
                );
            }
        }
        self.out.push(&table(&rows));
        length
    }

    fn list(&mut self, at: usize, scope: &mut Scope<'_>) -> usize {
        let mut list = List::default();
        let mut length = 0;
        while let Some(line) = self.lines.get(at + length).copied() {
            if let Some(bullet) = bullet(line) {
                let shown = guarded(&inline(bullet.text, scope, 0));
                let note = match bullet.note {
                    "" => String::new(),
                    note => format!(" ({note})"),
                };
                list.item(bullet.indent, &bullet.marker, &format!("{shown}{note}"));
            } else if indented(line).0 > 0 && !line.trim().is_empty() {
                // Text that is indented below an item.
                list.line(&guarded(&inline(line.trim(), scope, 0)));
            } else {
                break;
            }
            length += 1;
        }
        self.out.push(&list.finish());
        length.max(1)
    }

    /// Each line is a line for the reader. Tabs indent it.
    fn paragraph(&mut self, at: usize, scope: &mut Scope<'_>) -> usize {
        let mut shown: Vec<String> = Vec::new();
        for (n, line) in self.lines.iter().skip(at).enumerate() {
            let is_other = line.trim().is_empty()
                || heading(line).is_some()
                || is_rule(line)
                || bullet(line).is_some()
                || line.trim() == "'''"
                || line.trim().starts_with("{{{");
            if n > 0 && is_other {
                break;
            }
            let (tabs, text) = indented(line);
            let text = guarded(&inline(text.trim(), scope, 0));
            shown.push(format!("{}{text}", "\u{a0}".repeat(4 * tabs)));
        }
        self.out.push(&shown.join("  \n"));
        shown.len()
    }
}

/// Returns the cells of a row. A bar after a backslash is text.
fn cells(row: &str) -> impl Iterator<Item = String> + '_ {
    let mut rest = Some(row);
    std::iter::from_fn(move || {
        let row = rest?;
        let mut cell = String::new();
        let mut chars = row.char_indices();
        while let Some((at, c)) = chars.next() {
            match c {
                '\\' => match chars.next() {
                    Some((_, 'n')) => cell.push(' '),
                    Some((_, next)) => cell.push(next),
                    None => cell.push('\\'),
                },
                '|' => {
                    rest = row.get(at + 1..);
                    return Some(cell);
                }
                c => cell.push(c),
            }
        }
        rest = None;
        Some(cell)
    })
}
