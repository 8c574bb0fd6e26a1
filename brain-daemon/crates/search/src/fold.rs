//! Folding: character classes, and text normalized for search (NFKD, lower case, no accents).
//!
//! Marks that are letters of their script stay.

use std::sync::LazyLock;

use unicode_normalization::char::{compose, decompose_compatible, is_combining_mark};

/// Class of a character in tokenization.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Class {
    /// Ends a word.
    Separator,
    /// Part of a word that is written with spaces around it.
    Word,
    /// A character that is indexed in overlapping pairs (Han, kana, Hangul, Thai, Lao, Khmer,
    /// Burmese).
    Bigram,
    /// Continues the character before it (marks, invisible joiners).
    Mark,
}

/// Returns the class of `c`.
pub(super) fn class(c: char) -> Class {
    if c.is_ascii() {
        return if c.is_ascii_alphanumeric() { Class::Word } else { Class::Separator };
    }
    CLASSES.get(c as usize).copied().unwrap_or_else(|| find_class(c))
}

/// The classes of the characters of the Basic Multilingual Plane. Without this table, looking them
/// up would take a large part of the time of tokenization.
static CLASSES: LazyLock<Vec<Class>> = LazyLock::new(|| {
    let class = |code| char::from_u32(code).map_or(Class::Separator, find_class);
    (0..1 << 16).map(class).collect()
});

fn find_class(c: char) -> Class {
    if is_bigram_char(c) {
        Class::Bigram
    } else if is_dropped(c) || is_combining_mark(c) {
        Class::Mark
    } else if c.is_alphanumeric() {
        Class::Word
    } else {
        Class::Separator
    }
}

/// Returns whether `c` is a Han, kana, Hangul, Thai, Lao, Khmer or Burmese letter, or a mark that
/// belongs to one.
fn is_bigram_char(c: char) -> bool {
    matches!(c,
        '\u{4E00}'..='\u{9FFF}' | '\u{3041}'..='\u{3096}' | '\u{3099}'..='\u{309A}'
        | '\u{309D}'..='\u{309F}' | '\u{30A1}'..='\u{30FA}' | '\u{30FC}'..='\u{30FF}'
        | '\u{AC00}'..='\u{D7A3}' | '\u{0E01}'..='\u{0E3A}' | '\u{0E40}'..='\u{0E4E}'
        | '\u{3005}'..='\u{3007}' | '\u{3400}'..='\u{4DBF}' | '\u{F900}'..='\u{FAFF}'
        | '\u{20000}'..='\u{3347F}' | '\u{31F0}'..='\u{31FF}' | '\u{FF66}'..='\u{FF9F}'
        | '\u{1100}'..='\u{11FF}' | '\u{3131}'..='\u{318E}' | '\u{A960}'..='\u{A97C}'
        | '\u{D7B0}'..='\u{D7FB}' | '\u{FFA1}'..='\u{FFDC}' | '\u{0E81}'..='\u{0ECE}'
        | '\u{0EDC}'..='\u{0EDF}' | '\u{1780}'..='\u{17D3}' | '\u{17DC}'..='\u{17DD}'
        | '\u{1000}'..='\u{103F}' | '\u{1050}'..='\u{108F}' | '\u{109A}'..='\u{109D}')
}

/// Returns whether `c` is invisible, is the tatweel, or is a vowel point or accent of an alphabet.
fn is_dropped(c: char) -> bool {
    matches!(c,
        '\u{0300}'..='\u{036F}' | '\u{1AB0}'..='\u{1AFF}' | '\u{1DC0}'..='\u{1DFF}'
        | '\u{02BB}'..='\u{02BF}' | '\u{05F3}'..='\u{05F4}' | '\u{20D0}'..='\u{20FF}'
        | '\u{0483}'..='\u{0489}' | '\u{0591}'..='\u{05BD}' | '\u{05BF}'
        | '\u{05C1}'..='\u{05C2}' | '\u{05C4}'..='\u{05C5}' | '\u{05C7}' | '\u{0610}'..='\u{061A}'
        | '\u{0640}' | '\u{064B}'..='\u{065F}' | '\u{0670}' | '\u{06D6}'..='\u{06DC}'
        | '\u{06DF}'..='\u{06E8}' | '\u{06EA}'..='\u{06ED}' | '\u{00AD}' | '\u{200B}'..='\u{200F}'
        | '\u{202A}'..='\u{202E}' | '\u{2060}'..='\u{2064}' | '\u{FE00}'..='\u{FE0F}' | '\u{FEFF}'
        | '\u{FE20}'..='\u{FE2F}')
}

/// Appends the folded form of `c` to `out`. `out` must end with the folded start of the same word.
pub(super) fn fold(c: char, out: &mut String) {
    if c.is_ascii() {
        out.push(c.to_ascii_lowercase());
        return;
    }
    match c {
        // Most characters outside Latin and ASCII fold to themselves.
        '\u{4E00}'..='\u{9FFF}'
        | '\u{3041}'..='\u{3096}'
        | '\u{30A1}'..='\u{30FA}'
        | '\u{30FC}'
        | '\u{AC00}'..='\u{D7A3}'
        | '\u{0E01}'..='\u{0E32}'
        | '\u{0E34}'..='\u{0E4E}'
        | '\u{0430}'..='\u{044F}'
        | '\u{03B1}'..='\u{03C1}'
        | '\u{03C3}'..='\u{03C9}' => out.push(c),
        '\u{0410}'..='\u{042F}' => out.extend(c.to_lowercase()),
        'ß' | 'ẞ' => out.push_str("ss"),
        'æ' | 'Æ' => out.push_str("ae"),
        'œ' | 'Œ' => out.push_str("oe"),
        'þ' | 'Þ' => out.push_str("th"),
        'ø' | 'Ø' => out.push('o'),
        'ł' | 'Ł' => out.push('l'),
        'đ' | 'Đ' | 'ð' | 'Ð' => out.push('d'),
        'ħ' | 'Ħ' => out.push('h'),
        'ı' | 'İ' => out.push('i'),
        'ς' => out.push('σ'),
        _ => decompose_compatible(c, |part| fold_part(part, out)),
    }
}

/// Appends the folded form of `c`, a part of a decomposed character.
fn fold_part(c: char, out: &mut String) {
    // The letter й is not an и with an accent.
    if c == '\u{0306}' && out.ends_with('и') {
        out.pop();
        out.push('й');
        return;
    }
    if is_dropped(c) {
        return;
    }
    // Kana with voicing marks and Hangul jamo are composed again.
    if matches!(c, '\u{3099}' | '\u{309A}' | '\u{1161}'..='\u{1175}' | '\u{11A8}'..='\u{11C2}')
        && let Some(joined) = out.chars().next_back().and_then(|last| compose(last, c))
    {
        out.pop();
        out.push(joined);
        return;
    }
    match c {
        'ς' => out.push('σ'),
        'ß' => out.push_str("ss"),
        _ if c.is_ascii() => out.push(c.to_ascii_lowercase()),
        _ => out.extend(c.to_lowercase().filter(|&lower| !is_dropped(lower))),
    }
}

/// Returns a 64-bit hash of a term, the same in every run. Overlay and snippets compare terms by
/// this hash.
pub(super) fn hash(term: &[u8]) -> u64 {
    const K: u64 = 0x9E37_79B9_7F4A_7C15;
    let mut h = (term.len() as u64).wrapping_mul(K);
    let mut chunks = term.chunks_exact(8);
    for chunk in &mut chunks {
        let mut bytes = [0; 8];
        bytes.copy_from_slice(chunk);
        h = mix(h ^ u64::from_le_bytes(bytes));
    }
    let mut bytes = [0; 8];
    let rest = chunks.remainder();
    bytes[..rest.len()].copy_from_slice(rest);
    // 0 means "no term".
    mix(h ^ u64::from_le_bytes(bytes)).max(1)
}

/// The finishing steps of MurmurHash3.
fn mix(mut h: u64) -> u64 {
    h ^= h >> 33;
    h = h.wrapping_mul(0xFF51_AFD7_ED55_8CCD);
    h ^= h >> 33;
    h = h.wrapping_mul(0xC4CE_B9FE_1A85_EC53);
    h ^ (h >> 33)
}

/// A [`std::hash::Hasher`] over [`hash`], for tables whose keys are short texts.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct TermHasher(u64);

impl std::hash::Hasher for TermHasher {
    fn write(&mut self, bytes: &[u8]) {
        // `str` writes a closing 0xFF, which carries no information.
        if bytes != [0xFF] {
            self.0 ^= hash(bytes);
        }
    }

    fn write_u64(&mut self, value: u64) {
        self.0 = mix(self.0 ^ value);
    }

    fn finish(&self) -> u64 {
        self.0
    }
}

/// Builds [`TermHasher`]s.
pub(super) type BuildTermHasher = std::hash::BuildHasherDefault<TermHasher>;

#[cfg(test)]
mod tests {
    use super::*;

    fn folded(text: &str) -> String {
        let mut out = String::new();
        text.chars().for_each(|c| fold(c, &mut out));
        out
    }

    #[test]
    fn spellings_fold_to_one_form() {
        for (a, b) in [
            ("Café", "cafe"),
            ("e\u{301}", "e"),
            ("Straße", "strasse"),
            ("Łódź", "lodz"),
            ("İstanbul", "istanbul"),
            ("ﬁne", "fine"),
            ("ＡＢＣ", "abc"),
            ("ｶﾞ", "ガ"),
            ("か\u{3099}", "が"),
            ("\u{1112}\u{1161}\u{11ab}", "한"),
            ("Ёлка", "елка"),
            ("и\u{306}", "й"),
            ("ΣΊΣΥΦΟΣ", "σισυφοσ"),
            ("كِتَابٌ", "كتاب"),
        ] {
            assert_eq!(folded(a), b, "{a}");
        }
        // Marks that are letters stay.
        assert_eq!(folded("हिन्दी"), "हिन्दी");
        assert_eq!(folded("ที่นี่"), "ที่นี่");
    }

    #[test]
    fn hashes_differ() {
        let all: std::collections::HashSet<u64> =
            (0..100_000_u32).map(|i| hash(format!("term{i}").as_bytes())).collect();
        assert_eq!(all.len(), 100_000);
    }
}
