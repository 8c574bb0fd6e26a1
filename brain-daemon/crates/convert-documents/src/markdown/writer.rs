//! Writes paragraphs, headings, lists, quotes and notes.

use std::collections::HashMap;

use super::line::Lines;
use crate::model::{Block, Inline, List};

/// Maximum nesting of lists and quotes. What is deeper loses its frame.
const MAX_DEPTH: usize = 12;
/// Maximum length of a table in a list or quote, in bytes: that of a page.
const MAX_INNER_TABLE: usize = brain_protocol::MAX_CONTENT;

/// Writes the blocks of one document.
#[derive(Debug, Default)]
pub(crate) struct Writer {
    /// The headings by the ids of places, for links within the document.
    pub(crate) headings: HashMap<String, String>,
}

/// The markdown of a document.
pub(crate) struct Written {
    pub(crate) markdown: String,
    /// How many blocks of the top level did not fit.
    pub(crate) blocks_omitted: usize,
    /// How many rows of tables did not fit.
    pub(crate) rows_omitted: usize,
}

impl Writer {
    /// Writes blocks, and then the notes by their number. Blocks beyond `max` bytes are left out.
    pub(crate) fn document(&self, blocks: &[Block], notes: &[Vec<Block>], max: usize) -> Written {
        let notes = self.notes(notes, max / 2);
        let max = max.saturating_sub(notes.len());
        let mut written = Written { markdown: String::new(), blocks_omitted: 0, rows_omitted: 0 };
        let mut before = None;
        for (n, block) in blocks.iter().enumerate() {
            let text = match block {
                Block::Table(rows) => {
                    let rest = max.saturating_sub(written.markdown.len() + 2);
                    let (text, omitted) = self.table(rows, rest);
                    written.rows_omitted += omitted;
                    text
                }
                block => self.block(block, before, 0),
            };
            before = Some(block);
            if written.markdown.len() + text.len() + 2 > max {
                written.blocks_omitted = blocks.len() - n;
                break;
            }
            add_block(&mut written.markdown, &text);
        }
        add_block(&mut written.markdown, &notes);
        written
    }

    fn notes(&self, notes: &[Vec<Block>], max: usize) -> String {
        let mut out = String::new();
        for (n, note) in notes.iter().enumerate() {
            let text = indented(&self.blocks(note, 0), "    ");
            let line = format!("[^{}]: {}", n + 1, text.trim_start());
            if out.len() + line.len() > max {
                break;
            }
            add_block(&mut out, line.trim_end());
        }
        out
    }

    pub(super) fn blocks(&self, blocks: &[Block], depth: usize) -> String {
        let mut out = String::new();
        let mut before = None;
        for block in blocks {
            add_block(&mut out, &self.block(block, before, depth));
            before = Some(block);
        }
        out
    }

    /// Writes a block that stands after `before`.
    fn block(&self, block: &Block, before: Option<&Block>, depth: usize) -> String {
        match block {
            Block::Heading(level, content) => {
                let line = self.lines(content).one_line();
                let marks = "#".repeat(usize::from(*level).clamp(1, 6));
                if line.is_empty() { line } else { format!("{marks} {line}") }
            }
            Block::Paragraph(content) => self.lines(content).paragraph(),
            Block::List(list) if depth < MAX_DEPTH => self.list(list, before, depth),
            Block::List(list) => {
                let items = list.items.iter().map(|item| self.blocks(item, depth));
                items.collect::<Vec<_>>().join("\n\n")
            }
            Block::Quote(blocks) if depth < MAX_DEPTH => {
                let text = self.blocks(blocks, depth + 1);
                let line = |line: &str| match line {
                    "" => ">".to_owned(),
                    line => format!("> {line}"),
                };
                text.lines().map(line).collect::<Vec<_>>().join("\n")
            }
            Block::Quote(blocks) => self.blocks(blocks, depth),
            Block::Code(code) => fenced(code),
            Block::Table(rows) => self.table(rows, MAX_INNER_TABLE).0,
            Block::Rule => "---".to_owned(),
            Block::Markdown(text) => text.trim_matches('\n').to_owned(),
        }
    }

    pub(super) fn lines<'a>(&'a self, content: &'a [Inline]) -> Lines {
        Lines::of(content, &self.headings)
    }

    fn list(&self, list: &List, before: Option<&Block>, depth: usize) -> String {
        // Lists of one kind after each other would be one list.
        let is_second = match (before, list.first) {
            (Some(Block::List(before)), first) => before.first.is_some() == first.is_some(),
            _ => false,
        };
        let mut out = String::new();
        let mut was_loose = false;
        for (n, item) in list.items.iter().enumerate() {
            let number = |first: u32| first.saturating_add(u32::try_from(n).unwrap_or(u32::MAX));
            let marker = match (list.first, is_second) {
                (Some(first), false) => format!("{}. ", number(first)),
                (Some(first), true) => format!("{}) ", number(first)),
                (None, false) => "- ".to_owned(),
                (None, true) => "* ".to_owned(),
            };
            let (text, is_loose) = self.item(item, depth);
            let text = indented(&text, &" ".repeat(marker.len()));
            if n > 0 {
                out.push_str(if is_loose || was_loose { "\n\n" } else { "\n" });
            }
            was_loose = is_loose;
            out.push_str(&marker);
            out.push_str(text.trim_start_matches(' '));
        }
        out
    }

    /// Writes an item. Returns also whether blank lines separate its blocks.
    fn item(&self, item: &[Block], depth: usize) -> (String, bool) {
        let mut out = String::new();
        let mut is_loose = false;
        let mut before = None;
        for block in item {
            let text = self.block(block, before, depth + 1);
            if text.is_empty() {
                continue;
            }
            if !out.is_empty() {
                let is_tight = matches!(block, Block::List(_)) && !is_loose;
                is_loose |= !is_tight;
                out.push_str(if is_tight { "\n" } else { "\n\n" });
            }
            out.push_str(&text);
            before = Some(block);
        }
        (out, is_loose)
    }
}

/// Adds a block after a blank line.
fn add_block(out: &mut String, block: &str) {
    if block.is_empty() {
        return;
    }
    if !out.is_empty() {
        out.push_str("\n\n");
    }
    out.push_str(block);
}

fn indented(text: &str, indent: &str) -> String {
    let mut out = String::with_capacity(text.len() + indent.len());
    for (n, line) in text.lines().enumerate() {
        if n > 0 {
            out.push('\n');
        }
        if !line.is_empty() {
            out.push_str(indent);
            out.push_str(line);
        }
    }
    out
}

/// Writes code with a fence that is longer than any in it.
fn fenced(code: &str) -> String {
    let longest = code.split(|c| c != '`').map(str::len).max().unwrap_or(0);
    let fence = "`".repeat(3.max(longest + 1));
    let code = code.trim_end();
    format!("{fence}\n{code}\n{fence}")
}
