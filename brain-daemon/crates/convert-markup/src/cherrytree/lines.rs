//! Writes the lines of a node as headings, lists and paragraphs.

use crate::lists::List;
use crate::markdown::{Blocks, LINE_BREAK, guarded};

/// The characters with which CherryTree begins an item of a list, by depth.
const BULLETS: [&str; 6] = ["•", "◇", "▪", "-", "→", "⇒"];
/// Its boxes of tasks, their markers, and what is said of one that was struck out.
const BOXES: [(&str, &str, &str); 3] =
    [("☐", "- [ ]", ""), ("☑", "- [x]", ""), ("☒", "- [x]", " (not done)")];

/// The beginning of an item of a list.
struct Item {
    /// The number of blanks before it.
    indent: usize,
    marker: String,
    /// What is added at its end.
    remark: &'static str,
    /// The length of the beginning, in bytes.
    length: usize,
}

/// Writes lines.
#[derive(Default)]
pub(super) struct Lines {
    out: Blocks,
    paragraph: Vec<String>,
    list: Option<List>,
}

impl Lines {
    /// Adds a block of its own.
    pub(super) fn block(&mut self, block: &str) {
        self.end_paragraph();
        self.out.push(block);
    }

    /// Adds a line. `plain` is its text, of which `shown` makes markdown from this byte on.
    /// `heading` is the level of a heading, or 0.
    pub(super) fn line(
        &mut self,
        plain: &str,
        heading: usize,
        shown: impl FnOnce(usize) -> String,
    ) {
        if heading > 0 {
            // The title of the page is the first heading.
            let level = (heading + 1).min(6);
            let shown = shown(0);
            return self.block(&format!("{} {}", "#".repeat(level), shown.trim()));
        }
        if let Some(item) = item(plain) {
            self.end_text();
            let text = format!("{}{}", guarded(&shown(item.length)), item.remark);
            let list = self.list.get_or_insert_default();
            return list.item(item.indent, &item.marker, &text);
        }
        let blank = plain.len() - plain.trim_start_matches([' ', '\t']).len();
        let shown = guarded(&shown(blank));
        match &mut self.list {
            _ if shown.is_empty() => self.end_paragraph(),
            Some(list) if blank > 0 => list.line(&shown),
            _ => {
                self.end_list();
                let indent = plain.get(..blank).unwrap_or_default().replace('\t', "    ").len();
                self.paragraph.push(format!("{}{shown}", "\u{a0}".repeat(indent)));
            }
        }
    }

    /// Returns the whole text.
    pub(super) fn finish(mut self) -> String {
        self.end_paragraph();
        self.out.finish()
    }

    fn end_paragraph(&mut self) {
        self.end_text();
        self.end_list();
    }

    fn end_text(&mut self) {
        let lines = std::mem::take(&mut self.paragraph);
        self.out.push(&lines.join(LINE_BREAK));
    }

    fn end_list(&mut self) {
        if let Some(list) = self.list.take() {
            self.out.push(&list.finish());
        }
    }
}

/// Returns the beginning of an item, if the line is one: a bullet, a box, or `1. `, `1) `, `1- `
/// and `1> `, which CherryTree writes by depth.
fn item(line: &str) -> Option<Item> {
    let text = line.trim_start_matches(' ');
    let indent = line.len() - text.len();
    let marked = |start: &str, marker: String, remark| {
        let rest = text.strip_prefix(start)?.strip_prefix([' ', '\u{a0}'])?;
        Some(Item { indent, marker, remark, length: line.len() - rest.len() })
    };
    let boxed = BOXES
        .iter()
        .find_map(|(start, marker, remark)| marked(start, (*marker).to_owned(), remark));
    let bullet = || BULLETS.iter().find_map(|start| marked(start, "-".to_owned(), ""));
    let digits: String = text.chars().take_while(char::is_ascii_digit).take(9).collect();
    let numbered = || {
        let ends = if digits.is_empty() { &[][..] } else { &['.', ')', '-', '>'] };
        let found = |end: &char| marked(&format!("{digits}{end}"), format!("{digits}."), "");
        ends.iter().find_map(found)
    };
    boxed.or_else(bullet).or_else(numbered)
}
