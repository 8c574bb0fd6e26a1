//! Reads CSV (RFC 4180), as Notion writes it.

/// Returns the rows of a text, each with its cells. A quote that is not closed ends with the text.
pub(super) fn rows(text: &str) -> Vec<Vec<String>> {
    let mut rows = Vec::new();
    let (mut row, mut cell) = (Vec::new(), String::new());
    let mut is_quoted = false;
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        match c {
            '"' if is_quoted && chars.peek() == Some(&'"') => {
                chars.next();
                cell.push('"');
            }
            '"' if is_quoted => is_quoted = false,
            '"' if cell.is_empty() => is_quoted = true,
            ',' if !is_quoted => row.push(std::mem::take(&mut cell)),
            '\r' if !is_quoted && chars.peek() == Some(&'\n') => {}
            '\n' if !is_quoted => {
                row.push(std::mem::take(&mut cell));
                rows.push(std::mem::take(&mut row));
            }
            c => cell.push(c),
        }
    }
    if !cell.is_empty() || !row.is_empty() {
        row.push(cell);
        rows.push(row);
    }
    rows.retain(|row| row.iter().any(|cell| !cell.is_empty()));
    rows
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quotes_lines_and_empty_cells_are_read() {
        let text = "Name,Note\r\n\"a, b\",\"x \"\"y\"\"\nz\"\r\n,\r\nlast,\"open";
        let expected: [&[&str]; 3] =
            [&["Name", "Note"], &["a, b", "x \"y\"\nz"], &["last", "open"]];
        assert_eq!(rows(text), expected);
        assert!(rows("").is_empty());
    }
}
