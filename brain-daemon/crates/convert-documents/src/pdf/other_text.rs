//! The text of a document that `pdftotext` read: it stands for the one that the library read.
//!
//! The library's text stays where the other one is missing: on a sheet without text, and in a
//! document of which both count the sheets differently.

use super::characters;
use super::sheet::Sheet;

/// What ends a sheet.
const END: char = '\u{c}';

/// Returns the sheets of a text.
pub(super) fn sheets(text: &str) -> Vec<Sheet> {
    text.strip_suffix(END).unwrap_or(text).split(END).map(sheet).collect()
}

fn sheet(text: &str) -> Sheet {
    let mut sheet = Sheet::default();
    for line in text.lines() {
        let (line, unreadable) = characters::clean(line);
        sheet.unreadable += unreadable;
        if !line.is_empty() {
            sheet.lines.push(line);
        }
    }
    sheet
}

/// Puts the text of the other sheets into those that the library read.
pub(super) fn replace(sheets: &mut [Sheet], others: Vec<Sheet>) {
    if sheets.len() != others.len() {
        return;
    }
    for (sheet, other) in sheets.iter_mut().zip(others).filter(|(_, other)| other.has_text()) {
        sheet.lines = other.lines;
        // What the library does not know, the other program often leaves out.
        sheet.unreadable = sheet.unreadable.max(other.unreadable);
    }
}
