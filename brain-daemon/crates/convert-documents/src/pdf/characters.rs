//! Characters of a PDF that stand for others: ligatures, accents beside their letter, hyphens.

use unicode_normalization::UnicodeNormalization as _;
use unicode_normalization::char::compose;

/// The hyphen that typst writes for each hyphen, and other programs where a word is divided.
pub(super) const SOFT_HYPHEN: char = '\u{ad}';
/// The bullet of the font Symbol, in the private area.
const SYMBOL_BULLET: char = '\u{f0b7}';

/// The accents that TeX draws beside a letter, and what joins them to it.
const ACCENTS: [(char, char); 10] = [
    ('¨', '\u{308}'),
    ('´', '\u{301}'),
    ('ˆ', '\u{302}'),
    ('˜', '\u{303}'),
    ('ˇ', '\u{30c}'),
    ('˘', '\u{306}'),
    ('˙', '\u{307}'),
    ('˚', '\u{30a}'),
    ('˝', '\u{30b}'),
    ('¸', '\u{327}'),
];

/// Returns a line as a person reads it, and how many of its characters are none.
pub(super) fn clean(line: &str) -> (String, usize) {
    let mut out = String::with_capacity(line.len());
    let mut unreadable = 0;
    let mut accent = None;
    for c in line.chars() {
        match (accent.take(), c) {
            (Some(mark), letter) if joined(letter, mark).is_some() => {
                out.pop();
                out.extend(joined(letter, mark));
                continue;
            }
            _ => accent = ACCENTS.iter().find(|it| it.0 == c).map(|it| it.1),
        }
        match c {
            '\t' | '\u{a0}' => out.push(' '),
            c if c.is_control() || c == char::REPLACEMENT_CHARACTER => unreadable += 1,
            // Marks of direction and of width, which a search would not expect in a word.
            '\u{200b}'
            | '\u{200e}'
            | '\u{200f}'
            | '\u{202a}'..='\u{202e}'
            | '\u{2066}'..='\u{2069}'
            | '\u{feff}' => {}
            SYMBOL_BULLET => out.push('•'),
            // Ligatures, and the forms that a letter of Hebrew or Arabic has in a word.
            '\u{fb00}'..='\u{fdff}' | '\u{fe70}'..='\u{fefc}' => out.extend(c.nfkd()),
            c => out.push(c),
        }
    }
    (out.nfc().collect::<String>().trim().to_owned(), unreadable)
}

/// Returns a letter with its accent, if there is such a letter.
fn joined(letter: char, mark: char) -> Option<char> {
    let letter = if letter == 'ı' { 'i' } else { letter };
    compose(letter, mark)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn signs_for_other_characters_are_replaced() {
        for (line, expected) in [
            ("M¨uller in K¨oln, na´ıve", "Müller in Köln, naíve"),
            ("e\u{fb03}cient \u{fb01}sh", "efficient fish"),
            ("\u{f0b7} one\u{a0}two", "• one two"),
            ("a ¨ b", "a ¨ b"),
            ("\u{202b}abc\u{202c}", "abc"),
            ("e\u{301}t\u{e9}", "été"),
        ] {
            assert_eq!(clean(line), (expected.to_owned(), 0));
        }
    }

    #[test]
    fn characters_that_are_none_are_counted() {
        assert_eq!(clean("\u{2}nd \u{fffd}x\u{7f}"), ("nd x".to_owned(), 3));
    }
}
