//! Exact forms of words: with their accents (`má` and `mà` are one folded word), with the signs that
//! tell languages apart (`C++`, `C#`, `C`), and names without their apostrophe (`D'Angelo` is found
//! as `dangelo`, `O'Brien` as `brien`).
//!
//! They are in the index's field of words, after [`MARK`], only where they differ from the folded
//! words, or are one letter that a language can have as its name. A page with the exact form of a
//! question's word ranks before pages with the folded one.
//!
//! Words with a hyphen are there as one word (`selfauthored` finds `self-authored`), and beginnings
//! of versions (`1.8` finds `v1.8.3`).

use unicode_normalization::UnicodeNormalization;

use super::token::is_apostrophe;

/// Precedes exact forms among words. No word begins with it, so no prefix finds them.
const MARK: char = '=';

/// Returns the key of the exact form of a question's word, whose folded form is `folded` and which
/// `rest` follows.
pub(super) fn key(source: &str, folded: &str, rest: &str) -> String {
    let mut key = String::with_capacity(source.len() + 3);
    key.push(MARK);
    if is_plain(source, folded) {
        key.push_str(folded);
    } else {
        key.extend(exact(source));
    }
    key.push_str(signs(rest));
    key
}

/// Returns the key under which a page has the beginnings of its numbers.
pub(super) fn key_of_number(number: &str) -> String {
    format!("{MARK}{}", super::numbers::without_v(number))
}

/// Returns the key of a code in any groups; see [`super::numbers::each_code`].
pub(super) fn key_of_code(code: &str) -> String {
    format!("{MARK}#{code}")
}

/// Returns whether a key is that of a number or a code.
pub(super) fn is_number(key: &str) -> bool {
    let rest = key.strip_prefix(MARK).unwrap_or(key);
    rest.starts_with(|c: char| c == '#' || c.is_ascii_digit())
}

/// Returns the key of a beginning of a number.
pub(super) fn key_of_part(text: &str) -> String {
    format!("{MARK}{text}")
}

/// Returns whether a key tells a word apart from others that differ from it in signs alone.
pub(super) fn tells_signs(key: &str) -> bool {
    let word = key.strip_prefix(MARK).unwrap_or(key);
    word.ends_with(['+', '#']) || is_letter(word)
}

/// Calls `add` with the keys of the exact forms of a page's word that differ from its folded form.
/// `rest` is the text after the word.
pub(super) fn each_key(source: &str, folded: &str, rest: &str, add: &mut impl FnMut(String)) {
    let signs = signs(rest);
    if !signs.is_empty() || is_letter(folded) {
        add(key(source, folded, rest));
    }
    if is_plain(source, folded) {
        return;
    }
    let form: String = exact(source).collect();
    if form != folded {
        add(format!("{MARK}{form}"));
    }
    // The part of a name after its apostrophe.
    if let Some((_, name)) = source.split_once(is_apostrophe)
        && name.starts_with(char::is_uppercase)
    {
        let mut part = String::with_capacity(name.len() + 1);
        part.push(MARK);
        name.chars().for_each(|c| super::fold::fold(c, &mut part));
        add(part);
    }
}

/// Returns the key of two words as one, if an apostrophe with a name after it divides them, such as
/// `D'Angelo`, or a hyphen, such as `self-authored`.
///
/// `first` is the first folded word and its end in `text`; `second` is the second one and its range
/// in `text`.
pub(super) fn joined_key(
    text: &str,
    first: (&str, usize),
    second: (&str, std::ops::Range<usize>),
) -> Option<String> {
    let mut between = text.get(first.1..second.1.start)?.chars();
    let sign = between.next().filter(|_| between.as_str().is_empty())?;
    let is_name = || text.get(second.1).is_some_and(|name| name.starts_with(char::is_uppercase));
    let is_letters = |word: &str| word.chars().all(char::is_alphabetic);
    let is_joined = match sign {
        '-' | '\u{2010}' | '\u{2011}' => is_letters(first.0) && is_letters(second.0),
        _ => is_apostrophe(sign) && is_name(),
    };
    is_joined.then(|| format!("{MARK}{}{}", first.0, second.0))
}

/// Returns the signs at the beginning of the text after a word, if they belong to the word.
fn signs(rest: &str) -> &str {
    let signs = match rest.as_bytes() {
        [b'+', b'+', ..] => "++",
        [b'#', ..] => "#",
        _ => return "",
    };
    let is_end = |c: char| !c.is_alphanumeric() && !matches!(c, '+' | '#');
    if rest[signs.len()..].chars().next().is_none_or(is_end) { signs } else { "" }
}

/// Returns whether a word is one letter, and no word of English. Without the exception, half of all
/// pages would have one more term.
fn is_letter(word: &str) -> bool {
    matches!(word.as_bytes(), [b'b'..=b'h' | b'j'..=b'z'])
}

/// Returns whether a word has only its folded form.
fn is_plain(source: &str, folded: &str) -> bool {
    source.len() == folded.len() && source.is_ascii()
}

/// Returns the lower-case characters of a word, without apostrophes.
fn exact(source: &str) -> impl Iterator<Item = char> {
    source.chars().filter(|&c| !is_apostrophe(c)).flat_map(char::to_lowercase).nfc()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn keys(source: &str, folded: &str) -> Vec<String> {
        let mut keys = Vec::new();
        each_key(source, folded, "", &mut |key| keys.push(key));
        keys
    }

    #[test]
    fn signs_tell_languages_apart() {
        let of_page = |source: &str, rest: &str| {
            let mut keys = Vec::new();
            each_key(source, &source.to_lowercase(), rest, &mut |key| keys.push(key));
            keys
        };
        assert_eq!(of_page("C", "++ is"), ["=c++"]);
        assert_eq!(of_page("Notepad", "++"), ["=notepad++"]);
        assert_eq!(of_page("C", "#, F#"), ["=c#"]);
        assert_eq!(of_page("C", " and C++"), ["=c"]);
        assert_eq!(of_page("a", " b"), Vec::<String>::new());
        for rest in ["+ b", "#tag", "+++", "##"] {
            assert_eq!(of_page("word", rest), Vec::<String>::new(), "{rest}");
        }
        assert_eq!(key("C", "c", "++"), "=c++");
        assert!(tells_signs("=c++") && tells_signs("=c") && !tells_signs("=brien"));
    }

    #[test]
    fn words_with_accents_and_apostrophes_have_exact_forms() {
        assert_eq!(keys("Plain", "plain"), Vec::<String>::new());
        assert_eq!(keys("Má", "ma"), ["=má"]);
        assert_eq!(keys("Ma\u{301}", "ma"), ["=má"]);
        assert_eq!(keys("O'Brien", "obrien"), ["=brien"]);
        assert_eq!(keys("Москва", "москва"), Vec::<String>::new());
        assert_eq!(
            (key("MÁ", "ma", ""), key("Brien", "brien", "")),
            ("=má".into(), "=brien".into())
        );
        assert_eq!(joined_key("D’Angelo", ("d", 1), ("angelo", 4..10)), Some("=dangelo".into()));
        assert_eq!(joined_key("l'avion", ("l", 1), ("avion", 2..7)), None);
        let hyphen = joined_key("self-made", ("self", 4), ("made", 5..9));
        assert_eq!(hyphen, Some("=selfmade".into()));
        assert_eq!(joined_key("a - b", ("a", 1), ("b", 4..5)), None);
    }
}
