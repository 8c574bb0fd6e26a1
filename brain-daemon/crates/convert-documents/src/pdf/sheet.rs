//! A sheet of a document, as it was read.

use super::paragraphs::Bookmark;

/// A sheet of the document.
#[derive(Default)]
pub(super) struct Sheet {
    pub(super) lines: Vec<String>,
    pub(super) bookmarks: Vec<Bookmark>,
    pub(super) has_image: bool,
    /// The number of characters, or groups of them, that are not known.
    pub(super) unreadable: usize,
    /// Why the sheet, or a part of it, cannot be read.
    pub(super) error: Option<String>,
}

impl Sheet {
    /// Returns whether it has text.
    pub(super) fn has_text(&self) -> bool {
        !self.lines.is_empty()
    }
}
