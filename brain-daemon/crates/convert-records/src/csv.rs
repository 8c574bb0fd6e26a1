//! Reads comma-separated values (RFC 4180).

use std::collections::HashMap;

/// The rows of a table with a header.
pub(crate) struct Table {
    /// The columns by the name in the header, in lower case.
    columns: HashMap<String, usize>,
    rows: Vec<Vec<String>>,
    /// Whether the text ends within quotes.
    pub(crate) is_cut: bool,
}

impl Table {
    /// Reads a text. Blank lines are no rows.
    pub(crate) fn read(text: &str) -> Self {
        let (mut rows, is_cut) = rows(text.strip_prefix('\u{feff}').unwrap_or(text));
        let header = if rows.is_empty() { Vec::new() } else { rows.remove(0) };
        let name = |(at, name): (usize, String)| (name.trim().to_lowercase(), at);
        Self { columns: header.into_iter().enumerate().map(name).collect(), rows, is_cut }
    }

    /// Returns whether there are all these columns.
    pub(crate) fn has(&self, columns: &[&str]) -> bool {
        columns.iter().all(|column| self.columns.contains_key(*column))
    }

    /// The rows, in order. A row can have fewer fields than the header.
    pub(crate) fn rows(&self) -> &[Vec<String>] {
        &self.rows
    }

    /// Returns a field of a row, without white space around it; empty if there is none.
    pub(crate) fn field<'a>(&self, row: &'a [String], column: &str) -> &'a str {
        let field = self.columns.get(column).and_then(|at| row.get(*at));
        field.map_or("", |field| field.trim())
    }
}

fn rows(text: &str) -> (Vec<Vec<String>>, bool) {
    let (mut rows, mut row, mut field) = (Vec::new(), Vec::new(), String::new());
    let mut is_quoted = false;
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        match c {
            '"' if is_quoted && chars.peek() == Some(&'"') => {
                field.push('"');
                chars.next();
            }
            '"' if is_quoted => is_quoted = false,
            '"' if field.is_empty() => is_quoted = true,
            ',' if !is_quoted => row.push(std::mem::take(&mut field)),
            '\r' if !is_quoted && chars.peek() == Some(&'\n') => {}
            '\n' | '\r' if !is_quoted => {
                row.push(std::mem::take(&mut field));
                push(&mut rows, std::mem::take(&mut row));
            }
            c => field.push(c),
        }
    }
    row.push(field);
    push(&mut rows, row);
    (rows, is_quoted)
}

fn push(rows: &mut Vec<Vec<String>>, row: Vec<String>) {
    if row.iter().any(|field| !field.is_empty()) {
        rows.push(row);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quotes_line_ends_and_short_rows_are_read() {
        let table = Table::read("\u{feff}A,b\r\n\"x,\"\"y\"\"\nz\",2\r\n\r\nshort\nla\"st,1");
        assert!(table.has(&["a", "b"]) && !table.has(&["c"]) && !table.is_cut);
        let fields: Vec<_> =
            table.rows().iter().map(|it| (table.field(it, "a"), table.field(it, "b"))).collect();
        assert_eq!(fields, [("x,\"y\"\nz", "2"), ("short", ""), ("la\"st", "1")]);
    }

    #[test]
    fn open_quotes_are_a_cut() {
        assert!(Table::read("a\n\"x").is_cut);
        assert!(Table::read("").rows().is_empty());
    }
}
