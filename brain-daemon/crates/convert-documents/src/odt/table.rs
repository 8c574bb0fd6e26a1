//! The tables of an ODT. Covered cells are kept: they are empty, or have text of their own.

use super::body::{Reader, is_left_out};
use crate::model::Cell;
use crate::xml::Element;

/// Maximum number of times that a cell or row is repeated.
const MAX_REPEATED: usize = 200;
/// Maximum size of all copies of cells, in bytes.
const MAX_COPIED: usize = 4 * 1024 * 1024;
/// Size of a cell without text, in bytes.
const CELL: usize = 32;

impl Reader<'_> {
    /// Reads the rows of a table.
    pub(super) fn rows(&mut self, table: Element<'_>) -> Vec<Vec<Cell>> {
        let mut rows = Vec::new();
        self.fill_rows(table, &mut rows);
        rows
    }

    fn fill_rows(&mut self, parent: Element<'_>, rows: &mut Vec<Vec<Cell>>) {
        for element in parent.children() {
            match element.name() {
                "table:table-row" => {
                    let mut row = Vec::new();
                    let size = self.fill_row(element, &mut row);
                    let count = repeated(element, "table:number-rows-repeated");
                    let is_empty = row.iter().all(Vec::is_empty);
                    let count = if is_empty { 1 } else { self.copies(size, count) };
                    rows.extend((0..count).map(|_| row.clone()));
                }
                name if is_left_out(name) => {}
                // Groups of rows.
                _ => self.fill_rows(element, rows),
            }
        }
    }

    /// Reads the cells of a row. Returns about how many bytes they have.
    fn fill_row(&mut self, parent: Element<'_>, row: &mut Vec<Cell>) -> usize {
        let mut size = 0;
        for element in parent.children() {
            if matches!(element.name(), "table:table-cell" | "table:covered-table-cell") {
                let cell = self.blocks(element);
                let own = element.text().len() + CELL;
                let count = repeated(element, "table:number-columns-repeated");
                let count = self.copies(own, count);
                row.extend((0..count).map(|_| cell.clone()));
                size += own * count;
            }
        }
        size
    }

    /// Returns how many copies of a thing are made. A small file could ask for any number.
    fn copies(&mut self, size: usize, count: usize) -> usize {
        let cost = size * count.saturating_sub(1);
        match self.copied.checked_add(cost).filter(|all| *all <= MAX_COPIED) {
            Some(all) => {
                self.copied = all;
                count
            }
            None => {
                self.draft.lost("some cells that a table repeats are there once");
                1
            }
        }
    }
}

fn repeated(element: Element<'_>, name: &str) -> usize {
    let count = element.attribute(name).and_then(|it| it.parse().ok());
    count.unwrap_or(1).min(MAX_REPEATED)
}
