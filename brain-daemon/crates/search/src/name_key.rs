//! Forms in which names are compared.

use std::ops::Range;

use unicode_normalization::UnicodeNormalization as _;

use super::{
    numbers::without_v,
    token::{Kind, scan},
};

/// Articles and other short words that people omit from names.
const LITTLE_WORDS: [&str; 26] = [
    "the", "a", "an", "of", "and", "der", "die", "das", "des", "und", "von", "le", "la", "les",
    "du", "de", "et", "el", "los", "las", "del", "y", "il", "lo", "di", "o",
];

/// Returns the comparison form of a name: its folded words, separated by one space. Empty for a
/// text without words.
pub(super) fn name_key(text: &str) -> String {
    let (mut key, mut end) = (String::with_capacity(text.len()), 0);
    scan(text, &mut |t| {
        if !matches!(t.kind, Kind::Whole | Kind::Tail) {
            add_word(&mut key, &mut end, t.text, t.start..t.end);
        }
    });
    key
}

/// Returns the [`name_key`] of a text with these folded words, each with its byte range in it.
pub(super) fn key_of_words<'a>(words: impl Iterator<Item = (&'a str, Range<usize>)>) -> String {
    let (mut key, mut end) = (String::new(), 0);
    words.for_each(|(word, range)| add_word(&mut key, &mut end, word, range));
    key
}

/// Adds a word to a key whose last word ends at `end` in the text.
fn add_word(key: &mut String, end: &mut usize, word: &str, range: Range<usize>) {
    if range.start < *end {
        // A pair whose first character was added with the pair before it.
        let skip = word.chars().next().map_or(0, char::len_utf8);
        key.push_str(&word[skip..]);
    } else {
        if !key.is_empty() {
            key.push(' ');
        }
        key.push_str(word);
    }
    *end = range.end;
}

/// Returns the form in which tags are compared: without `#`, trimmed, NFC, in lower case. Unlike
/// [`name_key`], it keeps signs: `c++` and `c#` are two tags.
pub(super) fn tag_key(text: &str) -> String {
    let tag: String = text.trim().trim_start_matches('#').trim().nfc().collect();
    tag.to_lowercase().nfc().collect()
}

/// Returns the words of a name in alphabetical order, and then its numbers in their own order:
/// `1.8.3` is not `1.3.8`. Omits little words if at least two other words are left, and the `v`
/// before a version. `name` has the form of [`name_key`].
pub(super) fn words_in_any_order(name: &str) -> String {
    let mut words: Vec<&str> = name.split(' ').filter(|word| !is_little(word)).collect();
    if words.len() < 2 {
        words = name.split(' ').collect();
    }
    let has_digit = |word: &str| word.bytes().any(|b| b.is_ascii_digit());
    let is_version = words.iter().filter(|word| has_digit(word)).count() > 1;
    let is_number = |word: &&str| has_digit(word);
    let (numbers, mut words): (Vec<&str>, Vec<&str>) = words.into_iter().partition(is_number);
    words.sort_unstable();
    words.extend(numbers.into_iter().map(|it| if is_version { without_v(it) } else { it }));
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
    fn digits_of_a_name_keep_their_order() {
        let in_any_order = |name: &str| words_in_any_order(&name_key(name));
        assert_eq!(in_any_order("Release 1.8.3"), in_any_order("v1.8.3 release"));
        assert_eq!(in_any_order("2021 Oslo trip"), in_any_order("trip Oslo 2021"));
        assert_ne!(in_any_order("1.8.1"), in_any_order("1.1.8"));
        assert_ne!(in_any_order("v2 api"), in_any_order("2 api"));
    }

    #[test]
    fn name_keys_ignore_case_and_spacing() {
        assert_eq!(name_key("  Alice   SMITH "), "alice smith");
        assert_eq!(name_key("alice-smith"), "alice smith");
        assert_eq!(name_key("東京都庁"), "東京都庁");
        assert_eq!(name_key("v1.0 東京 x"), "v1 0 東京 x");
        assert_eq!(name_key("?!"), "");
    }
}
