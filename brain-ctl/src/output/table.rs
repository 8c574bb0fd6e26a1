//! Prints tables that fit the terminal by shrinking and dropping columns.

use super::{
    Text,
    paint::{Paint, clean},
    text::{fit, width},
};

/// Spaces between columns.
const GAP: usize = 2;

/// A column of a table.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Column {
    head: &'static str,
    /// Minimum width, unless the content is narrower.
    min: usize,
    /// Order of dropping in a narrow terminal: the highest is dropped first, 0 never.
    drop_priority: u8,
    right: bool,
    paint: fn(Paint, &str) -> String,
}

impl Column {
    /// Returns a column of fixed width.
    pub(crate) const fn fixed(head: &'static str) -> Self {
        Self {
            head,
            min: usize::MAX,
            drop_priority: 0,
            right: false,
            paint: |_, text| text.to_owned(),
        }
    }

    /// Returns a column that can shrink to `min`.
    pub(crate) const fn flexible(head: &'static str, min: usize) -> Self {
        Self { min, ..Self::fixed(head) }
    }

    /// Allows dropping the column; a higher `priority` is dropped first.
    pub(crate) const fn optional(mut self, priority: u8) -> Self {
        self.drop_priority = priority;
        self
    }

    /// Aligns the column to the right.
    pub(crate) const fn right(mut self) -> Self {
        self.right = true;
        self
    }

    /// Adds colour.
    pub(crate) const fn painted(mut self, paint: fn(Paint, &str) -> String) -> Self {
        self.paint = paint;
        self
    }
}

/// A table.
pub(crate) struct Table {
    columns: Vec<Column>,
    rows: Vec<Vec<String>>,
}

impl Table {
    /// Returns a table without rows.
    pub(crate) fn new(columns: &[Column]) -> Self {
        Self { columns: columns.to_vec(), rows: Vec::new() }
    }

    /// Adds a row. Cells can contain text from outside and are cleaned.
    pub(crate) fn row<const N: usize>(&mut self, cells: [&str; N]) {
        self.rows.push(cells.map(clean).to_vec());
    }

    /// Prints the table, or nothing without rows.
    pub(crate) fn write(self, t: &mut Text) {
        if self.rows.is_empty() {
            return;
        }
        let natural: Vec<usize> = (0..self.columns.len())
            .map(|i| {
                let cells = self.rows.iter().map(|row| row.get(i).map_or(0, |cell| width(cell)));
                cells.max().unwrap_or(0).max(width(self.columns[i].head))
            })
            .collect();
        let widths = layout(&self.columns, &natural, t.width);
        let heads: Vec<String> = self.columns.iter().map(|c| c.head.to_owned()).collect();
        let paint = t.paint;
        let head = self.line(&heads, &widths, |_, text| paint.dim(text));
        t.raw(&head);
        for row in &self.rows {
            let line = self.line(row, &widths, |column, text| (column.paint)(paint, text));
            t.raw(&line);
        }
    }

    fn line(
        &self,
        cells: &[String],
        widths: &[Option<usize>],
        style: impl Fn(&Column, &str) -> String,
    ) -> String {
        let last = widths.iter().rposition(Option::is_some);
        let mut line = String::new();
        for (i, column) in self.columns.iter().enumerate() {
            let (Some(column_width), Some(cell)) = (widths[i], cells.get(i)) else { continue };
            let cell = fit(cell, Some(column_width));
            let fill = " ".repeat(column_width - width(&cell));
            if !line.is_empty() {
                line.push_str(&" ".repeat(GAP));
            }
            if column.right {
                line.push_str(&fill);
            }
            line.push_str(&style(column, &cell));
            if !column.right && Some(i) != last {
                line.push_str(&fill);
            }
        }
        line.truncate(line.trim_end().len());
        line
    }
}

/// Returns the width of each column, or `None` for a dropped one.
fn layout(columns: &[Column], natural: &[usize], max_width: Option<usize>) -> Vec<Option<usize>> {
    let mut widths: Vec<Option<usize>> = natural.iter().copied().map(Some).collect();
    let Some(max_width) = max_width else { return widths };
    let total_width = |widths: &[Option<usize>]| {
        let count = widths.iter().flatten().count();
        widths.iter().flatten().sum::<usize>() + GAP * count.saturating_sub(1)
    };
    for (width, column) in widths.iter_mut().zip(columns) {
        *width = width.map(|w| w.min(column.min));
    }
    while total_width(&widths) > max_width {
        let droppable =
            (0..columns.len()).filter(|&i| widths[i].is_some() && columns[i].drop_priority > 0);
        match droppable.max_by_key(|&i| columns[i].drop_priority) {
            Some(i) => widths[i] = None,
            // No column can be dropped any more, so the widest shrinks below its minimum.
            None => match widths.iter_mut().flatten().max() {
                Some(widest) if *widest > 1 => *widest -= 1,
                _ => break,
            },
        }
    }
    let mut spare = max_width.saturating_sub(total_width(&widths));
    while spare > 0 {
        let mut grew = false;
        for (width, &natural) in widths.iter_mut().zip(natural) {
            if let Some(w) = width
                && *w < natural
                && spare > 0
            {
                *w += 1;
                spare -= 1;
                grew = true;
            }
        }
        if !grew {
            break;
        }
    }
    widths
}

#[cfg(test)]
mod tests {
    use super::*;

    const COLUMNS: &[Column] = &[
        Column::flexible("SLUG", 12),
        Column::fixed("UPDATED").optional(1),
        Column::fixed("TYPE").optional(2),
        Column::flexible("TITLE", 8),
    ];

    fn render(max_width: Option<usize>) -> String {
        let mut table = Table::new(COLUMNS);
        table.row([
            "people/ada-lovelace",
            "2026-11-21",
            "person",
            "Ada Lovelace 👩‍🔬 and the Analytical Engine",
        ]);
        table.row(["日本語/とても長い名前のページ", "2026-11-20", "note", "題\u{1b}[2J名"]);
        let mut t = Text::plain(max_width);
        table.write(&mut t);
        t.as_str().to_owned()
    }

    #[test]
    fn no_row_is_wider_than_the_terminal() {
        for max_width in 1..140 {
            for line in render(Some(max_width)).lines() {
                // The two columns that cannot be dropped need one character each and a gap.
                let columns = width(line);
                assert!(columns <= max_width.max(4), "{max_width}: {line:?} has {columns}");
            }
        }
    }

    #[test]
    fn optional_columns_are_dropped_before_the_slug() {
        let narrow = render(Some(40));
        assert!(
            narrow.contains("SLUG") && narrow.contains("TITLE") && !narrow.contains("TYPE"),
            "{narrow}"
        );
        assert!(render(Some(100)).contains("person"));
    }

    #[test]
    fn a_pipe_gets_whole_cells_without_control_characters() {
        let all = render(None);
        assert!(all.contains("Ada Lovelace 👩‍🔬 and the Analytical Engine"));
        assert!(!all.contains('\u{1b}') && !all.contains('…'));
        assert!(all.lines().all(|line| line.trim_end() == line));
    }

    #[test]
    fn an_empty_table_prints_nothing() {
        let mut t = Text::plain(Some(40));
        Table::new(COLUMNS).write(&mut t);
        assert_eq!(t.as_str(), "");
    }
}
