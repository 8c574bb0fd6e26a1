//! The tables of a DOCX. Of merged cells, all but the first are empty.

use brain_convert_base::count_words;

use super::body::{Reader, alternative, is_left_out};
use super::styles::is_on;
use crate::model::Cell;
use crate::xml::Element;

/// Maximum number of columns that one cell covers.
const MAX_SPAN: usize = 100;

impl Reader<'_> {
    /// Reads the rows of a table, which can lie in wrappers.
    pub(super) fn rows(&mut self, table: Element<'_>) -> Vec<Vec<Cell>> {
        let mut rows = Vec::new();
        self.fill_rows(table, &mut rows);
        rows
    }

    fn fill_rows(&mut self, parent: Element<'_>, rows: &mut Vec<Vec<Cell>>) {
        for element in parent.children() {
            match element.name() {
                "w:tr" => {
                    let properties = element.child("w:trPr");
                    let has = |name: &str| properties.is_some_and(|it| it.child(name).is_some());
                    let is_hidden =
                        properties.and_then(|it| it.child("w:hidden")).is_some_and(is_on);
                    if is_hidden {
                        self.draft.hide(count_words(&element.text()));
                    } else if !has("w:del") {
                        let count = |name: &str| properties.map_or(0, |it| number(it, name));
                        let before = self.draft.cover(count("w:gridBefore"));
                        let mut row = vec![Cell::new(); before];
                        self.fill_row(element, &mut row);
                        rows.push(row);
                    }
                }
                "mc:AlternateContent" => {
                    if let Some(choice) = alternative(element) {
                        self.fill_rows(choice, rows);
                    }
                }
                _ if is_left_out(element) => {}
                _ => self.fill_rows(element, rows),
            }
        }
    }

    fn fill_row(&mut self, parent: Element<'_>, row: &mut Vec<Cell>) {
        for element in parent.children() {
            match element.name() {
                "w:tc" => {
                    let properties = element.child("w:tcPr");
                    let is_deleted = properties.is_some_and(|it| it.child("w:cellDel").is_some());
                    let cell = if is_deleted { Cell::new() } else { self.blocks(element) };
                    row.push(cell);
                    let span = properties.map_or(1, |it| number(it, "w:gridSpan"));
                    let covered = self.draft.cover(span.saturating_sub(1));
                    row.extend((0..covered).map(|_| Cell::new()));
                }
                _ if is_left_out(element) => {}
                _ => self.fill_row(element, row),
            }
        }
    }
}

fn number(properties: Element<'_>, name: &str) -> usize {
    let value = properties.child(name).and_then(|it| it.attribute("w:val")?.parse().ok());
    value.unwrap_or(0).min(MAX_SPAN)
}
