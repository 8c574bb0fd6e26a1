//! Keeps the text of an HTML flow from having an effect in the page. The converter escapes the marks
//! of CommonMark, but not all of them, and not those of a page: `#tag`, `%%comment%%`,
//! `$$formula$$`, `==highlight==` and `- 2026-11-30 | entry`.

use super::super::parts::Inline;
use super::Flow;

/// Stands for a backslash until the text is converted, because the converter would escape it. It is
/// no character (Unicode, section 23.7).
pub(super) const MARK: char = '\u{fdd0}';
/// Maximum number of digits of a list number (`CommonMark` 5.2).
const MAX_LIST_DIGITS: usize = 9;
/// Maximum length of an entity after `&`, including `;`.
const MAX_ENTITY: usize = 32;

/// Returns converted text with its backslashes.
pub(in crate::payload) fn with_backslashes(markdown: &str) -> String {
    markdown.replace(MARK, "\\")
}

impl Flow {
    /// Writes a word whose run has begun. `before` is the character directly before it.
    pub(super) fn word(&mut self, word: &str, before: Option<char>) {
        if self.inline.contains(&Inline::Code) {
            return self.escape(word);
        }
        let is_start = self.last.is_none() && !self.in_cell();
        let block = if is_start { block_start(word) } else { None };
        let mut last = before;
        for (at, c) in word.char_indices() {
            let is_escaped = match c {
                '#' => at == 0,
                // Doubled, they have a meaning.
                '%' | '=' | '$' | '~' => last == Some(c),
                '&' => is_entity(&word[at + 1..]),
                // Cells escape it themselves.
                '|' => !self.in_cell(),
                _ => false,
            };
            if is_escaped || block == Some(at) {
                self.out.push(MARK);
            }
            self.escape(c.encode_utf8(&mut [0; 4]));
            last = Some(c);
        }
    }
}

/// Returns where a backslash must be in the first word of a line, so that it begins no list, no rule
/// and no heading. The converter knows the other beginnings.
fn block_start(word: &str) -> Option<usize> {
    let digits = word.bytes().take_while(u8::is_ascii_digit).count();
    match (digits, word.get(digits..)?) {
        (0, rest) => rest.bytes().all(|byte| b"-+:".contains(&byte)).then_some(0),
        (1..=MAX_LIST_DIGITS, ")") => Some(digits),
        _ => None,
    }
}

/// Returns whether the text after `&` makes it an entity of HTML.
#[must_use]
pub fn is_entity(rest: &str) -> bool {
    let mut rest =
        rest.chars().take(MAX_ENTITY).skip_while(|c| c.is_ascii_alphanumeric() || *c == '#');
    rest.next() == Some(';')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entity_has_letters_and_ends_with_a_semicolon() {
        for (rest, is) in [("amp;", true), ("#39; x", true), ("amp", false), ("a b;", false)] {
            assert_eq!(is_entity(rest), is, "{rest}");
        }
    }
}
