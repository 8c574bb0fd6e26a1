//! Tables.

use super::super::links::Links;
use super::inline::{Place, inline};
use super::spans::Spans;

/// Maximum number of columns of the head. Further cells of a table have no heading.
const MAX_COLUMNS: usize = 1000;

struct Cell {
    text: String,
    is_heading: bool,
    align: Option<&'static str>,
}

/// Returns the table at the beginning in markdown, and its length, or `None` if there is none.
pub(super) fn table(text: &str, links: &mut Links<'_>) -> Option<(String, usize)> {
    let mut rows: Vec<(char, Vec<Cell>)> = Vec::new();
    let mut caption = String::new();
    let mut length = 0;
    for line in text.split_inclusive('\n') {
        let Some((content, kind)) = row(line.trim_end_matches(['\n', '\r'])) else { break };
        match kind {
            'k' => {}
            'c' => caption = inline(content.trim(), Place::Line, links),
            kind => rows.push((kind, cells(content, links))),
        }
        length += line.len();
    }
    if length == 0 {
        return None;
    }
    let mut out = String::new();
    if !caption.trim().is_empty() {
        out.push_str(caption.trim());
        out.push_str("\n\n");
    }
    write(&rows, &mut out);
    Some((out, length))
}

/// Returns the cells of a row with the bar after the last one, and its kind: `|…|k`.
fn row(line: &str) -> Option<(&str, char)> {
    let inner = line.strip_prefix('|')?;
    let (content, kind) = match inner.strip_suffix(['f', 'h', 'c', 'k']) {
        Some(content) if content.ends_with('|') => (content, inner.chars().next_back()?),
        _ => (inner, ' '),
    };
    let content = content.strip_suffix('|')?;
    Some((content, kind))
}

fn cells(content: &str, links: &mut Links<'_>) -> Vec<Cell> {
    let mut cells = Vec::new();
    let mut spans = Spans::default();
    let mut at = 0;
    loop {
        let end = spans.run(content, at, "|");
        cells.push(cell(content.get(at..end).unwrap_or_default(), links));
        if end >= content.len() {
            return cells;
        }
        at = end + 1;
    }
}

fn cell(source: &str, links: &mut Links<'_>) -> Cell {
    let empty = Cell { text: String::new(), is_heading: false, align: None };
    // Cells that are merged with the next, the previous or the one above.
    if matches!(source, ">" | "<" | "~") {
        return empty;
    }
    let source = match source.as_bytes() {
        [b'^', b'^', b'^', ..] | [b',', b',', b',', ..] => source.get(1..),
        [b'^', b'^', ..] | [b',', b',', ..] => Some(source),
        [b'^' | b',', _, ..] => source.get(1..),
        _ => Some(source),
    };
    let source = source.unwrap_or_default();
    let align = match (source.starts_with(' '), source.ends_with(' ')) {
        _ if source.trim().is_empty() => None,
        (true, true) => Some(":---:"),
        (true, false) => Some("---:"),
        (false, true) => Some(":---"),
        (false, false) => None,
    };
    let trimmed = source.trim();
    let heading = trimmed.strip_prefix('!');
    let text = inline(heading.unwrap_or(trimmed).trim(), Place::Cell, links);
    Cell { text: text.trim().to_owned(), is_heading: heading.is_some(), align }
}

/// Writes the rows. The first one is the head, if it has headings.
fn write(rows: &[(char, Vec<Cell>)], out: &mut String) {
    let Some((kind, first)) = rows.first() else { return };
    let has_head = *kind == 'h' || first.iter().any(|cell| cell.is_heading);
    let columns = rows.iter().map(|(_, cells)| cells.len()).max().unwrap_or(0).min(MAX_COLUMNS);
    let body = if has_head { rows.get(1..).unwrap_or_default() } else { rows };
    out.push('|');
    for column in 0..columns.max(if has_head { first.len() } else { 0 }) {
        let text = first.get(column).filter(|_| has_head).map_or("", |cell| cell.text.as_str());
        out.extend([" ", text, if text.is_empty() { "|" } else { " |" }]);
    }
    out.push_str("\n|");
    let mut aligns: Vec<Option<&str>> = vec![None; columns];
    for (_, cells) in rows {
        for (align, cell) in aligns.iter_mut().zip(cells) {
            *align = align.or(cell.align);
        }
    }
    for column in 0..columns.max(if has_head { first.len() } else { 0 }) {
        let align = aligns.get(column).copied().flatten().unwrap_or("---");
        out.extend([" ", align, " |"]);
    }
    out.push('\n');
    for (_, cells) in body {
        out.push('|');
        for cell in cells {
            let is_bold = cell.is_heading && !cell.text.is_empty() && !cell.text.contains("**");
            let mark = if is_bold { "**" } else { "" };
            out.extend([
                " ",
                mark,
                &cell.text,
                mark,
                if cell.text.is_empty() { "|" } else { " |" },
            ]);
        }
        out.push('\n');
    }
}
