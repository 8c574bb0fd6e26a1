//! The text of a document that `pdftotext` read: it stands for the one that the library read.
//!
//! The library's text stays where the other one is missing: on a sheet without text, and in a
//! document whose sheets both count differently.

use super::{Sheet, characters};

/// What ends a sheet.
const END: char = '\u{c}';

/// Returns the lines of each sheet.
pub(super) fn sheets(text: &str) -> Vec<Vec<String>> {
    let text = text.strip_suffix(END).unwrap_or(text);
    let lines = |sheet: &str| {
        let lines = sheet.lines().map(|line| characters::clean(line).0);
        lines.filter(|line| !line.is_empty()).collect()
    };
    text.split(END).map(lines).collect()
}

/// Puts the text of the sheets into those that the library read.
pub(super) fn replace(sheets: &mut [Sheet], texts: Vec<Vec<String>>) {
    if sheets.len() == texts.len() {
        let with_text = sheets.iter_mut().zip(texts).filter(|(_, lines)| !lines.is_empty());
        with_text.for_each(|(sheet, lines)| sheet.lines = lines);
    }
}

/// Returns the sheets of a document of which the library reads nothing, if they have text.
pub(super) fn without_library(texts: Vec<Vec<String>>) -> Option<Vec<Sheet>> {
    let has_text = texts.iter().any(|lines| !lines.is_empty());
    let sheet = |lines| Sheet { lines, ..Sheet::default() };
    has_text.then(|| texts.into_iter().map(sheet).collect())
}
