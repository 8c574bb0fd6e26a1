//! Cells, items of task lists, and unchanged markdown in an HTML flow.

use super::super::parts::{Container, Inline, Leaf};
use super::{Flow, Gap};

/// Where the content of a cell begins.
#[derive(Debug, Clone, Copy)]
pub(in crate::payload) struct CellStart {
    /// The part of the output, and the place in it, in bytes.
    at: (usize, usize),
}

impl Flow {
    /// Returns where the content of the cell begins that was just entered.
    pub(in crate::payload) fn cell_start(&self) -> CellStart {
        CellStart { at: (self.parts, self.out.len()) }
    }

    /// Ends the text of the open cell, and returns what was written since `start`. `None` when the
    /// cell is not in one part.
    pub(in crate::payload) fn cell_content(&mut self, start: CellStart) -> Option<String> {
        let (part, at) = start.at;
        if part != self.parts || !self.in_cell() {
            return None;
        }
        self.end_leaf();
        self.out.get(at..).map(str::to_owned)
    }

    /// Writes a cell with the content of another. Returns whether there was space for it.
    pub(in crate::payload) fn repeat_cell(&mut self, content: &str) -> bool {
        let size = "<td></td>".len() + content.len();
        if self.containers.last() != Some(&Container::Row) || size > self.repeated_bytes {
            return false;
        }
        self.repeated_bytes -= size;
        self.elements += 1 + content.matches('<').count();
        self.out.extend(["<td>", content, "</td>"]);
        true
    }

    /// Writes the box of a task: at the beginning of an item as in a task list, elsewhere as a
    /// sign.
    pub(in crate::payload) fn check_box(&mut self, is_checked: bool) {
        let begins_item = self.containers.last() == Some(&Container::Item)
            && !self.has_content
            && self.leaf.is_none()
            && self.next == Leaf::Paragraph;
        if begins_item {
            self.task = Some(is_checked);
        } else {
            self.gap(Gap::Words);
            self.text(if is_checked { "☑" } else { "☐" });
            self.has_space = true;
        }
    }

    /// Separates a number from the next one, where a correction begins or ends.
    pub(in crate::payload) fn number_gap(&mut self) {
        if self.last.is_some_and(char::is_numeric) {
            self.gap(Gap::Words);
        }
    }

    /// Begins deleted text, unless the element is `<ins>`.
    pub(in crate::payload) fn open_deleted(&mut self, name: &[u8]) {
        if name != b"ins" {
            self.open(Inline::Deleted);
        }
    }

    /// Writes the number of an item whose list does not count by ones.
    pub(in crate::payload) fn item_number(&mut self, number: i64) {
        self.text(&format!("{number}."));
        self.has_space = true;
    }

    pub(super) fn in_heading(&self) -> bool {
        matches!(self.leaf.as_ref().unwrap_or(&self.next), Leaf::Heading(_))
    }

    /// Writes markdown that the converter does not change.
    pub(super) fn write_raw(&mut self, markdown: &str) {
        self.elements += 1;
        self.leaf_elements += 1;
        self.out.push_str("<raw data=\"");
        self.escape(markdown);
        self.out.push_str("\"></raw>");
    }
}
