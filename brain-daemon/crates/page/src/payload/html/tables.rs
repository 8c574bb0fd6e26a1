//! Tables of data in a document: values that span rows or columns are repeated, so that each value
//! stands under its heading.

use super::super::flow::{CellStart, Flow};
use super::super::parts::Container;

/// Maximum number of columns that a value spans.
const MAX_COLUMNS: usize = 100;
/// Maximum number of rows that a value spans, as in HTML.
const MAX_ROWS: usize = 65_534;

/// An open table that is written.
#[derive(Default)]
pub(super) struct WriterTable {
    /// Whether it is a table of data.
    pub(super) is_data: bool,
    /// Whether its first row has the headings.
    has_head: bool,
    /// Whether its first row has begun.
    pub(super) has_begun: bool,
    /// Whether a row is open.
    in_row: bool,
    /// Number of cells of the open row.
    column: usize,
    /// For each column, the value that continues in the next rows, and in how many of them.
    continued: Vec<Option<(usize, String)>>,
    /// The open cell, if it spans rows or columns: its beginning, and its numbers of both.
    cell: Option<(CellStart, usize, usize)>,
    /// Whether a cell is open.
    in_cell: bool,
}

impl WriterTable {
    pub(super) fn new(is_data: bool, has_head: bool) -> Self {
        Self { is_data, has_head, ..Self::default() }
    }

    pub(super) fn begin_row(&mut self, flow: &mut Flow) {
        self.end_row(flow);
        if !self.has_begun {
            self.has_begun = true;
            flow.enter(Container::Table);
            if !self.has_head {
                // Markdown has no table without a head.
                flow.enter(Container::Row);
                flow.repeat_cell("");
                flow.leave(Container::Row);
            }
        }
        flow.enter(Container::Row);
        (self.in_row, self.column) = (true, 0);
    }

    /// Ends the open row. Values that continue at its end are repeated.
    pub(super) fn end_row(&mut self, flow: &mut Flow) {
        if !self.in_row {
            return;
        }
        self.end_cell(flow);
        let end = self.continued.iter().rposition(Option::is_some).map_or(0, |last| last + 1);
        self.continued.truncate(end);
        while self.column < end {
            if !self.repeat(flow) {
                flow.repeat_cell("");
                self.column += 1;
            }
        }
        flow.leave(Container::Row);
        self.in_row = false;
    }

    /// Ends a group of rows, and with it the values that span rows.
    pub(super) fn end_group(&mut self, flow: &mut Flow) {
        self.end_row(flow);
        self.continued.clear();
    }

    /// Begins a cell that spans so many rows and columns; 0 rows are all
    /// of its group.
    pub(super) fn begin_cell(&mut self, flow: &mut Flow, rows: usize, columns: usize) {
        if !self.in_row {
            self.begin_row(flow);
        }
        self.end_cell(flow);
        while self.repeat(flow) {}
        flow.enter(Container::Cell);
        let rows = if rows == 0 { MAX_ROWS } else { rows.min(MAX_ROWS) };
        let columns = columns.clamp(1, MAX_COLUMNS);
        self.cell = (rows > 1 || columns > 1).then(|| (flow.cell_start(), rows, columns));
        self.in_cell = true;
    }

    /// Ends the open cell.
    pub(super) fn end_cell(&mut self, flow: &mut Flow) {
        if !std::mem::take(&mut self.in_cell) {
            return;
        }
        let value = self.cell.take().map(|(start, rows, columns)| {
            (flow.cell_content(start).unwrap_or_default(), rows, columns)
        });
        flow.leave(Container::Cell);
        let Some((value, rows, columns)) = value else {
            self.column += 1;
            return;
        };
        for n in 0..columns {
            if n > 0 && !flow.repeat_cell(&value) {
                break;
            }
            if rows > 1 {
                if self.continued.len() <= self.column {
                    self.continued.resize(self.column + 1, None);
                }
                self.continued[self.column] = Some((rows - 1, value.clone()));
            }
            self.column += 1;
        }
    }

    /// Repeats the value that continues in the current column, if there is one.
    fn repeat(&mut self, flow: &mut Flow) -> bool {
        let Some(slot) = self.continued.get_mut(self.column) else { return false };
        let Some((rows, value)) = slot else { return false };
        let is_written = flow.repeat_cell(value);
        *rows -= 1;
        if *rows == 0 || !is_written {
            *slot = None;
        }
        if is_written {
            self.column += 1;
        }
        is_written
    }
}
