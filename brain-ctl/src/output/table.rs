//! Prints tables that fit the terminal by shrinking and dropping columns. Names stay whole.

use super::{
    Text,
    paint::{Paint, clean},
    text::{cut_to_width, width},
};

/// Spaces between columns.
const GAP: usize = 2;

/// The minimum width of a column that is as wide as its content.
const FULL_WIDTH: usize = usize::MAX;

/// A column of a table.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Column {
    head: &'static str,
    /// Minimum width, unless the content is narrower; [`FULL_WIDTH`] for the width of the content.
    min: usize,
    /// Priority of dropping in a narrow terminal: the highest is dropped first, 0 never.
    drop_priority: u8,
    is_right_aligned: bool,
    /// Whether cells are never cut. A cell that is wider than the column takes space from the
    /// columns after it.
    is_whole: bool,
    paint: fn(Paint, &str) -> String,
}

impl Column {
    /// Returns a column as wide as its content. It shrinks only if no column can be dropped.
    pub(crate) const fn fixed(head: &'static str) -> Self {
        Self {
            head,
            min: FULL_WIDTH,
            drop_priority: 0,
            is_right_aligned: false,
            is_whole: false,
            paint: |_, text| text.to_owned(),
        }
    }

    /// Returns a column that can shrink to `min` characters.
    pub(crate) const fn flexible(head: &'static str, min: usize) -> Self {
        Self { min, ..Self::fixed(head) }
    }

    /// Returns a column for names that are never cut.
    pub(crate) const fn uncut(head: &'static str) -> Self {
        Self { min: 16, is_whole: true, ..Self::fixed(head) }
    }

    /// Allows dropping the column; a higher `priority` is dropped first.
    pub(crate) const fn droppable(mut self, priority: u8) -> Self {
        self.drop_priority = priority;
        self
    }

    /// Aligns the column to the right.
    pub(crate) const fn align_right(mut self) -> Self {
        self.is_right_aligned = true;
        self
    }

    /// Adds colour.
    pub(crate) const fn with_paint(mut self, paint: fn(Paint, &str) -> String) -> Self {
        self.paint = paint;
        self
    }
}

/// A table.
pub(crate) struct Table {
    columns: Vec<Column>,
    rows: Vec<TableRow>,
}

/// A row of a table.
#[derive(Default)]
struct TableRow {
    cells: Vec<String>,
    /// The path of the file to which the name of the page links.
    path: Option<String>,
}

impl Table {
    /// Returns a table without rows.
    pub(crate) fn new(columns: &[Column]) -> Self {
        Self { columns: columns.to_vec(), rows: Vec::new() }
    }

    /// Adds a row. Cells can contain text from outside and are cleaned.
    pub(crate) fn row<const N: usize>(&mut self, cells: [&str; N]) {
        self.linked_row(None, cells);
    }

    /// Adds a row. On terminals with hyperlinks, its cells in [`Column::uncut`] columns link to the
    /// file `path`.
    pub(crate) fn linked_row<const N: usize>(&mut self, path: Option<&str>, cells: [&str; N]) {
        let path = path.map(str::to_owned);
        self.rows.push(TableRow { cells: cells.map(clean).to_vec(), path });
    }

    /// Prints the table, or nothing without rows.
    pub(crate) fn write(self, t: &mut Text) {
        if self.rows.is_empty() {
            return;
        }
        let content_widths: Vec<usize> = (0..self.columns.len())
            .map(|i| {
                let cells =
                    self.rows.iter().map(|row| row.cells.get(i).map_or(0, |cell| width(cell)));
                cells.max().unwrap_or(0).max(width(self.columns[i].head))
            })
            .collect();
        let widths = layout(&self.columns, &content_widths, t.width);
        let heads = self.columns.iter().map(|c| c.head.to_owned()).collect();
        let heads = TableRow { cells: heads, path: None };
        let paint = t.paint;
        let head = self.line(&heads, &widths, t.width, |_, text| paint.dim(text));
        t.raw_line(&head);
        for row in &self.rows {
            let line = self.line(row, &widths, t.width, |column, text| {
                let painted = (column.paint)(paint, text);
                match &row.path {
                    Some(path) if column.is_whole => t.hyperlink(path, &painted),
                    _ => painted,
                }
            });
            t.raw_line(&line);
        }
    }

    /// Formats a row. `style` adds colour to the text of a cell.
    fn line(
        &self,
        row: &TableRow,
        widths: &[Option<usize>],
        max_width: Option<usize>,
        style: impl Fn(&Column, &str) -> String,
    ) -> String {
        let mut line = String::new();
        // The offset of this column in the layout, and the length of the line so far.
        let (mut start, mut end) = (0, 0);
        for (i, column) in self.columns.iter().enumerate() {
            let (Some(column_width), Some(cell)) = (widths[i], row.cells.get(i)) else { continue };
            let is_cut = !column.is_whole;
            let mut text = cut_to_width(cell, is_cut.then_some(column_width));
            let fill = match column.is_right_aligned {
                true => column_width.saturating_sub(width(&text)),
                false => 0,
            };
            let planned = start + fill;
            let begin = planned.max(if end == 0 { 0 } else { end + GAP });
            start += column_width + GAP;
            if let Some(max_width) = max_width
                && begin > planned
                && begin + width(&text) > max_width
            {
                // An uncut cell before this one took its space.
                let remaining = max_width.saturating_sub(begin);
                if column.min == FULL_WIDTH || remaining < 2 {
                    continue;
                }
                text = cut_to_width(&text, Some(remaining));
            }
            if !text.is_empty() {
                line.push_str(&" ".repeat(begin - end));
                line.push_str(&style(column, &text));
                end = begin + width(&text);
            }
        }
        line
    }
}

/// Returns the width of each column, or `None` for a dropped one. `content_widths` has the width of
/// the widest cell of each column.
fn layout(
    columns: &[Column],
    content_widths: &[usize],
    max_width: Option<usize>,
) -> Vec<Option<usize>> {
    let mut widths: Vec<Option<usize>> = content_widths.iter().copied().map(Some).collect();
    let Some(max_width) = max_width else { return widths };
    let total_width = |widths: &[Option<usize>]| {
        let count = widths.iter().flatten().count();
        widths.iter().flatten().sum::<usize>() + GAP * count.saturating_sub(1)
    };
    for (width, column) in widths.iter_mut().zip(columns) {
        // Names get up to half of the line before other columns grow.
        let min = if column.is_whole { column.min.max(max_width / 2) } else { column.min };
        *width = width.map(|w| w.min(min));
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
        for (width, &content_width) in widths.iter_mut().zip(content_widths) {
            if let Some(w) = width
                && *w < content_width
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
        Column::flexible("NAME", 12),
        Column::fixed("UPDATED").droppable(1),
        Column::fixed("TYPE").droppable(2),
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
                let line_width = width(line);
                assert!(line_width <= max_width.max(4), "{max_width}: {line:?} has {line_width}");
            }
        }
    }

    #[test]
    fn optional_columns_are_dropped_in_a_narrow_terminal() {
        let narrow = render(Some(40));
        assert!(
            narrow.contains("NAME") && narrow.contains("TITLE") && !narrow.contains("TYPE"),
            "{narrow}"
        );
        assert!(render(Some(100)).contains("person"));
    }

    #[test]
    fn a_slug_is_never_cut_but_its_title_is() {
        const COLUMNS: &[Column] = &[
            Column::uncut("SLUG"),
            Column::fixed("UPDATED").droppable(2),
            Column::flexible("TITLE", 12).droppable(1),
        ];
        let long_slug = "meetings/2026/11/a-rather-long-name-of-a-meeting";
        for max_width in [20, 40, 60, 80] {
            let mut table = Table::new(COLUMNS);
            table.row([long_slug, "2026-11-21", "The title of the meeting"]);
            table.row(["people/ada", "2026-11-20", "Ada Lovelace"]);
            let mut t = Text::plain(Some(max_width));
            table.write(&mut t);
            let text = t.as_str();
            assert!(text.contains(long_slug), "{max_width}: {text}");
            for line in text.lines() {
                assert!(width(line) <= max_width.max(long_slug.len()), "{max_width}: {line:?}");
                assert_eq!(line.trim_end(), line);
            }
            assert!(
                max_width < 40 || text.contains("people/ada") && text.contains("Ada"),
                "{text}"
            );
        }
    }

    #[test]
    fn names_link_to_files_on_terminals_with_hyperlinks() {
        let mut table = Table::new(&[Column::uncut("SLUG"), Column::fixed("TITLE")]);
        table.linked_row(Some("/home/é b/a.md"), ["a", "A"]);
        let mut t = Text::plain(Some(40));
        t.link_host = Some("host".into());
        table.write(&mut t);
        let link = "\u{1b}]8;;file://host/home/%C3%A9%20b/a.md\u{1b}\\a\u{1b}]8;;\u{1b}\\";
        assert!(t.as_str().contains(link), "{:?}", t.as_str());
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
