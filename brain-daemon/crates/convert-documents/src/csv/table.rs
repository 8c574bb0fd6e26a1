//! Writes the rows of CSV as a table, one row at a time, because a table of the whole file would
//! take a hundred times its memory.

use brain_convert_base::literal_line;

/// A table, with the rows that have space. Empty rows are left out.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Table {
    pub(super) markdown: String,
    /// The number of rows, with the header.
    pub(super) rows: usize,
    /// How many rows have no space.
    pub(super) omitted: usize,
}

impl Table {
    /// Writes at most `max` bytes. `records` returns the rows from the beginning.
    pub(super) fn of<I: Iterator<Item = Vec<String>>>(records: impl Fn() -> I, max: usize) -> Self {
        let columns = records().map(|row| width(&row)).max().unwrap_or(0);
        let mut table = Self::default();
        for row in records().filter(|row| width(row) > 0) {
            // The text of a row that is too large is not made.
            let size: usize = row.iter().map(String::len).sum();
            if table.omitted > 0 || size > max {
                table.omitted += 1;
                continue;
            }
            let mut line = line(&row, columns);
            if table.rows == 0 {
                line.push_str(&format!("\n|{}", " --- |".repeat(columns)));
            }
            if table.markdown.len() + line.len() + 1 > max {
                table.omitted = 1;
                continue;
            }
            if table.rows > 0 {
                table.markdown.push('\n');
            }
            table.markdown.push_str(&line);
            table.rows += 1;
        }
        table
    }
}

/// Returns the number of fields up to the last one with text.
fn width(row: &[String]) -> usize {
    row.iter().rposition(|field| !field.is_empty()).map_or(0, |last| last + 1)
}

fn line(row: &[String], columns: usize) -> String {
    let mut line = String::from("|");
    for column in 0..columns {
        line.push(' ');
        let field = row.get(column).map(|field| cell(field));
        line.push_str(&field.unwrap_or_default());
        line.push_str(" |");
    }
    line
}

/// Returns the lines of a field as a cell, with single blanks.
fn cell(field: &str) -> String {
    let lines = field.lines().map(|line| {
        let words: Vec<&str> = line.split_whitespace().collect();
        literal_line(&words.join(" "))
    });
    lines.filter(|line| !line.is_empty()).collect::<Vec<_>>().join("<br>")
}
