//! Finds the words of a text whose first characters match a word of the question. Skips most
//! others.
//!
//! A snippet needs the few words of a long page that match. Most words begin with other letters, so
//! they are skipped before they are folded, stemmed and compared.

use std::sync::LazyLock;

use super::fold::{Class, class, fold};
use super::numbers::is_group_space;
use super::token::{self, Kind, Token};
use unicode_normalization::char::decompose_canonical;

/// Number of characters of the Basic Multilingual Plane. The filter does not cover words that begin
/// with other characters; they are always read.
const PLANE: usize = 1 << 16;
/// Number of bits of the filter for the first two characters of a word.
const PAIR_BITS: usize = 1 << 13;
/// Maximum bytes between the beginning of a word and its part after an apostrophe.
const MAX_APOSTROPHE_DISTANCE: usize = 64;
/// Maximum number of letters that an Arabic stem lacks at the beginning of its word.
const MAX_ARABIC_PREFIX: usize = 5;

/// Stands for characters that change the character before them, or that fold to several characters.
const ANY: u16 = 0;

/// The folded form of each character of the plane, or [`ANY`].
static FOLDED: LazyLock<Vec<u16>> = LazyLock::new(|| {
    let mut form = String::new();
    let mut folded = |code: u32| {
        let c = char::from_u32(code)?;
        form.clear();
        fold(c, &mut form);
        let mut chars = form.chars();
        let only = chars.next().filter(|_| chars.next().is_none() && !is_joined(c))?;
        u16::try_from(u32::from(only)).ok()
    };
    (0..PLANE as u32).map(|code| folded(code).unwrap_or(ANY)).collect()
});

/// Returns whether a character can change the one before it: marks of kana, parts of Hangul,
/// apostrophes.
fn is_joined(c: char) -> bool {
    matches!(c, '\u{3099}' | '\u{309A}' | '\u{1161}'..='\u{11FF}' | '\'' | '’' | 'ʼ')
}

/// The characters with which a matching word can begin.
#[derive(Debug)]
pub(super) struct Beginnings {
    /// A bit for each character of the plane, folded, that can be first. [`ANY`] always can.
    first: Vec<u64>,
    /// Bits for the hashes of the first two characters.
    pairs: Vec<u64>,
    /// As `first`, for unfolded ASCII characters.
    ascii: [bool; 128],
}

impl Default for Beginnings {
    fn default() -> Self {
        let (mut first, pairs) = (vec![0; PLANE / 64], vec![0; PAIR_BITS / 64]);
        set(&mut first, ANY);
        Self { first, pairs, ascii: [false; 128] }
    }
}

impl Beginnings {
    /// Adds a folded word, a stem, or the beginning of a word.
    pub(super) fn add(&mut self, word: &str) {
        let mut chars = word.chars();
        let Some(first) = chars.next() else { return };
        let second = chars.next();
        self.add_pair(first, second);
        // The stem of "dying" is "die".
        if second == Some('i') {
            self.add_pair(first, Some('y'));
        }
        // In a decomposed text, the character comes before its mark.
        let mut base = None;
        decompose_canonical(first, |part| {
            base.get_or_insert(part);
        });
        base.into_iter().for_each(|base| self.add_pair(base, second));
        if is_arabic(first) {
            // Arabic stems lack the article and other prefixes, and some begin with another letter.
            ('\u{0620}'..='\u{064A}').for_each(|letter| self.add_first(letter));
            if let Some(second) = second {
                self.add_pair(second, chars.next());
            }
        }
    }

    fn add_first(&mut self, c: char) {
        set(&mut self.first, folded(c));
        if c.is_ascii() {
            self.ascii[c as usize] = true;
            self.ascii[c.to_ascii_uppercase() as usize] = true;
        }
    }

    fn add_pair(&mut self, first: char, second: Option<char>) {
        self.add_first(first);
        match second {
            Some(second) => set(&mut self.pairs, hash(folded(first), folded(second))),
            // Any character can follow.
            None => set(&mut self.pairs, hash(folded(first), ANY)),
        }
    }

    /// Returns whether a matching word can begin with `first`, followed by `second`.
    fn has_pair(&self, first: char, second: Option<char>) -> bool {
        let (first, second) = (folded(first), second.map_or(ANY, folded));
        first == ANY
            || second == ANY
            || is_set(&self.pairs, hash(first, second))
            || is_set(&self.pairs, hash(first, ANY))
    }

    /// Calls `sink` with the tokens of `text` that have one of these beginnings, in order. It can
    /// pass a few other tokens.
    pub(super) fn scan(&self, text: &str, sink: &mut impl FnMut(Token<'_>)) {
        let bytes = text.as_bytes();
        let mut at = 0;
        while let Some(&b) = bytes.get(at) {
            if b < 0x80 {
                let is_inside = at > 0 && bytes[at - 1].is_ascii_alphanumeric();
                if is_inside || !self.ascii[usize::from(b)] {
                    at += 1;
                    continue;
                }
            }
            let mut chars = text[at..].chars();
            let Some(c) = chars.next() else { break };
            let next = at + c.len_utf8();
            if b >= 0x80 && !is_set(&self.first, folded(c)) {
                at = next;
                continue;
            }
            if is_arabic(c) {
                at = self.arabic(text, at, sink);
                continue;
            }
            let may_match = self.has_pair(c, chars.next());
            at = match may_match.then(|| class(c)) {
                Some(Class::Word) if before(text, at) != Some(Class::Word) => word(text, at, sink),
                Some(Class::Bigram) => pair(text, at, sink),
                _ => next,
            };
        }
    }

    /// Reads the Arabic word at `at` if a stem can begin within its first letters; returns its end.
    fn arabic(&self, text: &str, at: usize, sink: &mut impl FnMut(Token<'_>)) -> usize {
        let mut may_match = before(text, at) == Some(Class::Word);
        let (mut end, mut last) = (at, None);
        for (count, c) in text[at..].chars().take_while(|c| is_arabic(*c)).enumerate() {
            if let Some(last) = last.replace(c).filter(|_| !may_match && count <= MAX_ARABIC_PREFIX)
            {
                may_match = self.has_pair(last, Some(c));
            }
            end += c.len_utf8();
        }
        // A stem can be one letter.
        let is_letter = end == at + 2;
        if may_match || is_letter { word(text, at, sink).max(end) } else { end }
    }
}

fn folded(c: char) -> u16 {
    FOLDED.get(c as usize).copied().unwrap_or(ANY)
}

fn is_arabic(c: char) -> bool {
    ('\u{0600}'..='\u{06FF}').contains(&c)
}

fn hash(first: u16, second: u16) -> u16 {
    let mixed = u32::from(first).wrapping_mul(0x9E37_79B1) ^ u32::from(second).wrapping_mul(40_503);
    (mixed.wrapping_mul(0x85EB_CA6B) >> 16) as u16 % PAIR_BITS as u16
}

fn set(bits: &mut [u64], at: u16) {
    bits[usize::from(at) / 64] |= 1 << (at % 64);
}

fn is_set(bits: &[u64], at: u16) -> bool {
    bits[usize::from(at) / 64] >> (at % 64) & 1 == 1
}

/// Returns the class of the character before `at`, without marks.
fn before(text: &str, at: usize) -> Option<Class> {
    text[..at].chars().rev().map(class).find(|class| *class != Class::Mark)
}

/// Reads the word, or the compound, at `at`; returns its end.
fn word(text: &str, at: usize, sink: &mut impl FnMut(Token<'_>)) -> usize {
    let belongs =
        |c: &char| matches!(c, '\'' | '’' | 'ʼ') || matches!(class(*c), Class::Word | Class::Mark);
    // A word with an apostrophe is one: O'Brien.
    let back: usize = text[..at].chars().rev().take_while(belongs).map(char::len_utf8).sum();
    let start = if back <= MAX_APOSTROPHE_DISTANCE { at - back } else { at };
    let joins = |c: &char| belongs(c) || c.is_ascii_punctuation() || is_group_space(*c);
    let end = at + text[at..].chars().take_while(joins).map(char::len_utf8).sum::<usize>();
    token::scan(&text[start..end], &mut |token| {
        sink(Token { start: start + token.start, end: start + token.end, ..token });
    });
    end
}

/// Reads the pair of characters at `at`; returns the end of the first one.
fn pair(text: &str, at: usize, sink: &mut impl FnMut(Token<'_>)) -> usize {
    let rest = &text[at..];
    let next = at + rest.chars().next().map_or(1, char::len_utf8);
    if let Some(end) = plain_pair(text, at) {
        let mut bytes = [0; 8];
        let mut len = 0;
        for c in text[at..end].chars().filter_map(|c| char::from_u32(folded(c).into())) {
            len += c.encode_utf8(&mut bytes[len..]).len();
        }
        if let Ok(folded) = std::str::from_utf8(&bytes[..len]) {
            sink(Token { text: folded, start: at, end, kind: Kind::Pair });
            return next;
        }
    }
    // Two characters with a few marks.
    let len: usize = rest.chars().take(6).map(char::len_utf8).sum();
    let mut is_first = true;
    token::scan(&rest[..len], &mut |token| {
        // The last character of a run matches only if it is the only one.
        let is_tail = token.kind == Kind::Lone && before(text, at) == Some(Class::Bigram);
        if std::mem::take(&mut is_first) && !is_tail {
            sink(Token { start: at + token.start, end: at + token.end, ..token });
        }
    });
    next
}

/// Returns the end of the pair of characters at `at` if no other character can change them.
fn plain_pair(text: &str, at: usize) -> Option<usize> {
    let mut chars = text[at..].char_indices();
    let (_, first) = chars.next()?;
    let (_, second) = chars.next()?;
    let (end, third) = chars.next()?;
    let is_plain = folded(first) != ANY
        && folded(second) != ANY
        && class(second) == Class::Bigram
        && (folded(third) != ANY || third.is_ascii());
    is_plain.then_some(at + end)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the tokens of `text` that are in `terms`, as this scan and the full scan find them.
    fn found(terms: &[&str], text: &str) -> [Vec<(String, usize, usize)>; 2] {
        let mut beginnings = Beginnings::default();
        terms.iter().for_each(|term| beginnings.add(term));
        let (mut some, mut all) = (Vec::new(), Vec::new());
        let is_term = |t: &Token<'_>| t.kind != Kind::Tail && terms.contains(&t.text);
        beginnings.scan(text, &mut |t| {
            some.extend(is_term(&t).then(|| (t.text.to_owned(), t.start, t.end)));
        });
        token::scan(text, &mut |t| {
            all.extend(is_term(&t).then(|| (t.text.to_owned(), t.start, t.end)));
        });
        [some, all]
    }

    #[test]
    fn every_word_of_the_question_is_found() {
        let text = concat!(
            "Café at O'Brien's, l'avion; CAFE\u{301} 2026-11-20 v1.0.21 ünder                     ",
            "東京都庁、京都。か\u{3099}き がき ที่นี่มีน้ำ Ёлка и\u{306}од ﬁne ",
            "الكتاب كِتَابٌ 한국어 dying",
        );
        let terms = [
            "cafe",
            "obrien",
            "avion",
            "2026-11-20",
            "20",
            "v1.0.21",
            "under",
            "京都",
            "がき",
            "น้ํา",
            "елка",
            "йод",
            "fine",
            "كتاب",
            "국어",
            "dying",
        ];
        let [some, all] = found(&terms, text);
        assert_eq!(some, all);
        assert!(all.len() >= 15, "{all:?}");
        for term in terms {
            let [some, all] = found(&[term], text);
            assert_eq!(some, all, "{term}");
        }
    }

    #[test]
    fn stems_are_found_behind_arabic_prefixes() {
        let mut beginnings = Beginnings::default();
        beginnings.add("كتاب");
        let mut words = Vec::new();
        beginnings.scan("والكتاب شمس", &mut |t| words.push(t.text.to_owned()));
        assert_eq!(words, ["والكتاب"]);
    }
}
