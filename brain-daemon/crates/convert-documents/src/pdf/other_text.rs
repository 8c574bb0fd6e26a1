//! The text of a document that `pdftotext` read: it stands for the one that the library read.
//!
//! The library's text stays where the other one is missing: on a sheet without text, and in a
//! document of which both count the sheets differently.

use super::characters;
use super::lam_alef;
use super::sheet::Sheet;

/// What ends a sheet.
const END: char = '\u{c}';
/// What begins and ends a part from left to right, in a line from right to left.
const LEFT_TO_RIGHT: char = '\u{202a}';
const POP: char = '\u{202c}';

/// Returns the sheets of a text.
pub(super) fn sheets(text: &str) -> Vec<Sheet> {
    text.strip_suffix(END).unwrap_or(text).split(END).map(sheet).collect()
}

fn sheet(text: &str) -> Sheet {
    let mut sheet = Sheet::default();
    for line in text.lines() {
        let (line, unreadable) = characters::clean(&with_blanks_after_parts(line));
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
    for (sheet, mut other) in sheets.iter_mut().zip(others).filter(|(_, other)| other.has_text()) {
        lam_alef::correct(&mut other.lines, &sheet.lines);
        sheet.lines = other.lines;
        // What the library does not know, the other program often leaves out.
        sheet.unreadable = sheet.unreadable.max(other.unreadable);
    }
}

/// Moves the blanks and signs at the beginning of each part from left to right to its end.
/// `pdftotext` has them where the eye sees them: at the left of the part, which is its end.
fn with_blanks_after_parts(line: &str) -> String {
    let mut out = String::with_capacity(line.len());
    let mut rest = line;
    while let Some((before, part)) = rest.split_once(LEFT_TO_RIGHT) {
        let Some((part, after)) = part.split_once(POP) else { break };
        let text = part.trim_start_matches(|c: char| c.is_whitespace() || "،؛,.:;)]}".contains(c));
        out.push_str(before);
        out.push_str(text);
        out.extend(part[..part.len() - text.len()].chars().rev());
        rest = after;
    }
    out.push_str(rest);
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blanks_stand_after_a_part_from_left_to_right() {
        for (line, expected) in [
            ("عام\u{202a} 2026\u{202c}للمرة\u{202a} 3\u{202c}", "عام2026 للمرة3 "),
            ("\u{202b}عام \u{202a} 2026\u{202c}للمرة\u{202c}", "\u{202b}عام 2026 للمرة\u{202c}"),
            ("فصل\u{202a} ،\u{202c}بخش", "فصل، بخش"),
            ("(\u{202a})2026\u{202c}", "(2026)"),
            ("weir \u{202a}a", "weir \u{202a}a"),
        ] {
            assert_eq!(with_blanks_after_parts(line), expected);
        }
    }
}
