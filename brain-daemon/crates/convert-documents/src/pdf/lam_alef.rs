//! Corrects a word of Arabic that `pdftotext` spells wrongly: "السلام" becomes "السالم".
//!
//! Fonts have one glyph for lam and alef. A file of LibreOffice, Chromium or Word says that it stands
//! for both letters, and `pdftotext` (22.12) turns them with the rest of the line. Where its word
//! differs from one of the library only in this, the library's is right.

use std::collections::{HashMap, HashSet};

const LAM: char = 'ل';
const ALEFS: [char; 4] = ['ا', 'أ', 'إ', 'آ'];

/// Corrects the words of a sheet by those that the library read on it.
pub(super) fn correct(lines: &mut [String], library: &[String]) {
    let words: HashSet<&str> = library.iter().flat_map(|line| words(line)).collect();
    let wrong: HashMap<String, &str> = words
        .iter()
        .map(|word| (exchanged(word), *word))
        .filter(|(wrong, word)| wrong != word && !words.contains(wrong.as_str()))
        .collect();
    if wrong.is_empty() {
        return;
    }
    for line in lines {
        let mut corrected = String::with_capacity(line.len());
        for part in line.split_inclusive(|c: char| !c.is_alphabetic()) {
            let word = part.trim_end_matches(|c: char| !c.is_alphabetic());
            corrected.push_str(wrong.get(word).copied().unwrap_or(word));
            corrected.push_str(&part[word.len()..]);
        }
        *line = corrected;
    }
}

fn words(line: &str) -> impl Iterator<Item = &str> {
    line.split(|c: char| !c.is_alphabetic()).filter(|word| !word.is_empty())
}

/// Returns a word with each lam and alef in the other order.
fn exchanged(word: &str) -> String {
    let mut out = String::with_capacity(word.len());
    let mut letters = word.chars().peekable();
    while let Some(letter) = letters.next() {
        let alef = letters.next_if(|next| letter == LAM && ALEFS.contains(next));
        out.extend(alef);
        out.push(letter);
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_spelled_as_the_library_read_them() {
        let library = ["السلام عليكم لا إله إلا الأولى".to_owned()];
        let mut lines = ["السالم عليكم، ال إله إال (األولى) قال".to_owned()];
        correct(&mut lines, &library);
        assert_eq!(lines, ["السلام عليكم، لا إله إلا (الأولى) قال"]);
    }

    #[test]
    fn a_word_that_the_library_has_as_well_stays() {
        let library = ["قلا قال".to_owned()];
        let mut lines = ["قال قلا".to_owned()];
        correct(&mut lines, &library);
        assert_eq!(lines, ["قال قلا"]);
    }
}
