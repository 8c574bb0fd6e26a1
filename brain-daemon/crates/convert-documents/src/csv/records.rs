//! The rows of CSV (RFC 4180), with the separators that programs use.

/// Possible separators. The first one counts when none is clear.
const SEPARATORS: [char; 4] = [',', ';', '\t', '|'];
/// How many rows are looked at to find the separator.
const MAX_LOOKS: usize = 20;
/// Maximum number of columns.
const MAX_COLUMNS: usize = 1000;

/// Returns the separator, and the text without Excel's line `sep=;`.
pub(super) fn separator(text: &str) -> (char, &str) {
    let first = text.lines().next().unwrap_or_default();
    if let Some(stated) = first.strip_prefix("sep=").and_then(|it| it.chars().next()) {
        return (
            stated,
            text.get(first.len()..).unwrap_or_default().trim_start_matches(['\r', '\n']),
        );
    }
    // The right one gives the same number of fields, and more than one, in most rows.
    let score = |separator: char| {
        let rows: Vec<usize> =
            Records::of(text, separator).take(MAX_LOOKS).map(|row| row.len()).collect();
        let first = rows.first().copied().unwrap_or(0);
        let same = rows.iter().filter(|count| **count == first).count();
        (if first > 1 { same } else { 0 }, first)
    };
    let mut best = (',', (0, 0));
    for candidate in SEPARATORS {
        let found = score(candidate);
        if found > best.1 {
            best = (candidate, found);
        }
    }
    (best.0, text)
}

/// The rows of a text. Fields beyond [`MAX_COLUMNS`] are joined to the last one.
pub(super) struct Records<'a> {
    rest: std::iter::Peekable<std::str::Chars<'a>>,
    separator: char,
}

impl<'a> Records<'a> {
    pub(super) fn of(text: &'a str, separator: char) -> Self {
        Self { rest: text.chars().peekable(), separator }
    }

    /// Reads a field. Returns also whether the row goes on.
    fn field(&mut self) -> (String, bool) {
        let mut field = String::new();
        let is_quoted = self.rest.next_if_eq(&'"').is_some();
        let mut in_quotes = is_quoted;
        while let Some(c) = self.rest.next() {
            match c {
                '"' if in_quotes => match self.rest.next_if_eq(&'"') {
                    Some(quote) => field.push(quote),
                    None => in_quotes = false,
                },
                c if in_quotes => field.push(c),
                c if c == self.separator => return (field, true),
                '\r' | '\n' => {
                    if c == '\r' {
                        self.rest.next_if_eq(&'\n');
                    }
                    return (field, false);
                }
                c => field.push(c),
            }
        }
        (field, false)
    }
}

impl Iterator for Records<'_> {
    type Item = Vec<String>;

    fn next(&mut self) -> Option<Vec<String>> {
        self.rest.peek()?;
        let mut row: Vec<String> = Vec::new();
        loop {
            let (field, goes_on) = self.field();
            let is_full = row.len() == MAX_COLUMNS;
            match row.last_mut() {
                Some(last) if is_full => {
                    last.push(' ');
                    last.push_str(&field);
                }
                _ => row.push(field),
            }
            if !goes_on {
                return Some(row);
            }
        }
    }
}
