//! Writes tables in the form of GitHub. A cell is one line; `<br>` separates its blocks.

use super::writer::Writer;
use crate::model::{Block, Cell};

/// Maximum number of columns. Cells beyond it are joined to the last one.
const MAX_COLUMNS: usize = 1000;

impl Writer {
    /// Writes a table. Rows beyond `max` bytes are left out; returns also their number.
    pub(super) fn table(&self, rows: &[Vec<Cell>], max: usize) -> (String, usize) {
        if let [row] = rows
            && let [cell] = row.as_slice()
        {
            // A frame around text.
            return (self.blocks(cell, 1), 0);
        }
        let width = |row: &Vec<Cell>| row.iter().rposition(|cell| !cell.is_empty());
        let columns = rows.iter().filter_map(width).max().map_or(0, |last| last + 1);
        let columns = columns.min(MAX_COLUMNS);
        let mut out = String::new();
        let rows: Vec<&Vec<Cell>> = rows.iter().filter(|row| width(row).is_some()).collect();
        for (n, row) in rows.iter().enumerate() {
            let line = self.row(row, columns);
            if out.len() + 2 * line.len() > max {
                return (out, rows.len() - n);
            }
            if n > 0 {
                out.push('\n');
            }
            out.push_str(&line);
            if n == 0 {
                out.push_str("\n|");
                out.push_str(&" --- |".repeat(columns));
            }
        }
        (out, 0)
    }

    fn row(&self, row: &[Cell], columns: usize) -> String {
        let mut line = String::from("|");
        for column in 0..columns {
            line.push(' ');
            if let Some(cell) = row.get(column) {
                line.push_str(&self.cell(cell, 0));
            }
            if column + 1 == columns {
                for cell in row.iter().skip(columns) {
                    line.push(' ');
                    line.push_str(&self.cell(cell, 0));
                }
            }
            line.push_str(" |");
        }
        line
    }

    /// Writes the blocks of a cell on one line.
    fn cell(&self, blocks: &[Block], depth: usize) -> String {
        let mut parts = Vec::new();
        for block in blocks {
            self.cell_block(block, depth, &mut parts);
        }
        parts.retain(|part: &String| !part.is_empty());
        parts.join("<br>")
    }

    fn cell_block(&self, block: &Block, depth: usize, parts: &mut Vec<String>) {
        match block {
            Block::Heading(_, content) | Block::Paragraph(content) => {
                parts.push(bare_pipes_escaped(&self.lines(content).cell()));
            }
            Block::List(list) => {
                for (n, item) in list.items.iter().enumerate() {
                    let text = self.cell(item, depth + 1);
                    let indent = "\u{a0}\u{a0}".repeat(depth.min(9));
                    let n = u32::try_from(n).unwrap_or(u32::MAX);
                    parts.push(match list.first {
                        Some(first) => format!("{indent}{}. {text}", first.saturating_add(n)),
                        None => format!("{indent}• {text}"),
                    });
                }
            }
            Block::Quote(blocks) => {
                blocks.iter().for_each(|block| self.cell_block(block, depth, parts));
            }
            Block::Code(code) | Block::Markdown(code) => {
                parts.extend(code.lines().map(brain_convert_base::literal_line));
            }
            Block::Table(rows) => {
                for row in rows {
                    let cells = row.iter().map(|cell| self.cell(cell, depth + 1));
                    let cells: Vec<String> = cells.filter(|cell| !cell.is_empty()).collect();
                    parts.push(cells.join(" – "));
                }
            }
            Block::Rule => {}
        }
    }
}

/// Escapes the `|` that are not: in code, and in links within the document.
fn bare_pipes_escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut before = ' ';
    for c in text.chars() {
        if c == '|' && before != '\\' {
            out.push('\\');
        }
        out.push(c);
        before = c;
    }
    out
}
