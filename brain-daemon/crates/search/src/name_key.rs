//! Forms in which names are compared.

use unicode_normalization::UnicodeNormalization as _;

use super::token::{Kind, scan};

/// Articles and other short words that people omit from names.
const LITTLE_WORDS: [&str; 26] = [
    "the", "a", "an", "of", "and", "der", "die", "das", "des", "und", "von", "le", "la", "les",
    "du", "de", "et", "el", "los", "las", "del", "y", "il", "lo", "di", "o",
];

/// Returns the comparison form of a name: its folded words, separated by one space. Empty for a
/// text without words.
pub(super) fn name_key(text: &str) -> String {
    let mut key = String::with_capacity(text.len());
    let mut end = 0;
    scan(text, &mut |t| match t.kind {
        Kind::Whole | Kind::Tail => {}
        Kind::Pair if t.start < end => {
            // Only the second character: the first was added already.
            let skip = t.text.chars().next().map_or(0, char::len_utf8);
            key.push_str(&t.text[skip..]);
            end = t.end;
        }
        Kind::Word | Kind::Pair | Kind::Lone => {
            if !key.is_empty() {
                key.push(' ');
            }
            key.push_str(t.text);
            end = t.end;
        }
    });
    key
}

/// Returns the form in which tags are compared: without `#`, trimmed, NFC, in lower case. Unlike
/// [`name_key`], it keeps signs: `c++` and `c#` are two tags.
pub(super) fn tag_key(text: &str) -> String {
    let tag: String = text.trim().trim_start_matches('#').trim().nfc().collect();
    tag.to_lowercase().nfc().collect()
}

/// Returns the words of a name in alphabetical order. Omits little words if at least two other
/// words are left. `name` has the form of [`name_key`].
pub(super) fn words_in_any_order(name: &str) -> String {
    let mut words: Vec<&str> = name.split(' ').filter(|word| !is_little(word)).collect();
    if words.len() < 2 {
        words = name.split(' ').collect();
    }
    words.sort_unstable();
    words.join(" ")
}

/// Returns whether a name, in the form of [`name_key`], begins or ends with a little word that
/// [`words_in_any_order`] drops.
pub(super) fn has_little_word_at_an_end(name: &str) -> bool {
    let words: Vec<&str> = name.split(' ').collect();
    let is_little_word = |word: Option<&&str>| word.is_some_and(|word| is_little(word));
    (is_little_word(words.first()) || is_little_word(words.last()))
        && words.iter().filter(|word| !is_little(word)).count() > 1
}

fn is_little(word: &str) -> bool {
    LITTLE_WORDS.contains(&word)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn name_keys_ignore_case_and_spacing() {
        assert_eq!(name_key("  Alice   SMITH "), "alice smith");
        assert_eq!(name_key("alice-smith"), "alice smith");
        assert_eq!(name_key("東京都庁"), "東京都庁");
        assert_eq!(name_key("v1.0 東京 x"), "v1 0 東京 x");
        assert_eq!(name_key("?!"), "");
    }
}
