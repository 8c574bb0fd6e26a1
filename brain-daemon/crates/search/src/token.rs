//! Splits a text into tokens: folded words (see [`super::fold`]) with their place in the text.
//!
//! * A plain word is one token, without apostrophes and English endings such as `'s` (`don't` is
//!   `dont`, `Alice's` is `alice`).
//! * A compound (`1.0.21`, `2026-11-20`, `alice@example.com`, `snake_case`) comes whole and then in
//!   parts.
//! * A raised or lowered number after a digit is a part of a compound, as with `^` and `_` (`10³` is
//!   `10^3`, not `103`). After a letter it belongs to the word (`H₂O` is `h2o`, `x²` and `x^2` are
//!   `x2`).
//! * A run of Han, kana, Hangul, Thai, Lao, Khmer or Burmese characters comes as overlapping pairs.
//!   Its last character comes alone, too, so that every character begins a token.

use super::fold::{Class, class, fold};
use super::numbers;

/// Maximum bytes of a folded word; enough for a SHA-256 in hex.
pub(super) const MAX_WORD_BYTES: usize = 80;
/// Maximum parts of a compound; longer chains yield only their parts.
const MAX_PARTS: usize = 8;

/// Kind of a token.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// A word, or a part of a compound.
    Word,
    /// A whole compound; its parts follow.
    Whole,
    /// Two neighbouring characters of a run without spaces.
    Pair,
    /// The only character of such a run.
    Lone,
    /// The last character of a longer run.
    Tail,
}

/// A token of a text.
#[derive(Debug, Clone, Copy)]
pub(super) struct Token<'a> {
    /// The folded text: lower-case letters, digits, marks, and `.-_@/:,^` inside compounds.
    pub(super) text: &'a str,
    /// Start in the source, in bytes.
    pub(super) start: usize,
    /// End in the source, in bytes.
    pub(super) end: usize,
    pub(super) kind: Kind,
}

/// Returns the longest beginning of `text` with at most `max_bytes` bytes.
pub(super) fn head(text: &str, max_bytes: usize) -> &str {
    if text.len() <= max_bytes {
        return text;
    }
    let mut end = max_bytes;
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    &text[..end]
}

/// A part of a text, before and after folding. All places are in bytes.
#[derive(Clone, Copy, Default)]
struct Span {
    /// Start in the folded buffer.
    from: usize,
    /// End in the folded buffer.
    to: usize,
    /// Start in the source.
    start: usize,
    /// End in the source.
    end: usize,
}

/// A word of at most so many characters before `^` is a variable or a unit (`x^2`, `km^2`).
const MAX_SYMBOL_CHARS: usize = 2;

/// Where a digit stands that is above or below the line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Height {
    Raised,
    Lowered,
}

impl Height {
    fn of(c: char) -> Option<Self> {
        match c {
            '²' | '³' | '¹' | '⁰' | '⁴'..='⁹' => Some(Self::Raised),
            '₀'..='₉' => Some(Self::Lowered),
            _ => None,
        }
    }
}

fn is_digit(c: char) -> bool {
    c.is_ascii_digit()
}

/// Calls `sink` with every token of `text`, in order.
pub(super) fn scan(text: &str, sink: &mut impl FnMut(Token<'_>)) {
    let mut scanner = Scanner {
        text,
        bytes: text.as_bytes(),
        buffer: String::with_capacity(96),
        parts: Vec::new(),
    };
    let mut at = 0;
    while at < scanner.bytes.len() {
        let b = scanner.bytes[at];
        if b < 0x80 {
            if b.is_ascii_alphanumeric() {
                at = scanner.compound(at, sink);
            } else {
                at += 1;
            }
            continue;
        }
        let Some(c) = scanner.char_at(at) else { break };
        at = match class(c) {
            Class::Word => scanner.compound(at, sink),
            Class::Bigram => scanner.run(at, sink),
            Class::Separator | Class::Mark => at + c.len_utf8(),
        };
    }
}

/// Reads the tokens of a text.
struct Scanner<'a> {
    text: &'a str,
    bytes: &'a [u8],
    /// Folded text of the current word or run.
    buffer: String,
    /// Parts of the current compound.
    parts: Vec<Span>,
}

impl Scanner<'_> {
    fn char_at(&self, at: usize) -> Option<char> {
        self.text.get(at..)?.chars().next()
    }

    /// Reads words connected by joiners, starting at `at`; returns their end in the source.
    fn compound(&mut self, at: usize, sink: &mut impl FnMut(Token<'_>)) -> usize {
        self.buffer.clear();
        self.parts.clear();
        let mut at = at;
        let mut is_too_long = false;
        loop {
            let (span, next) = self.word(at);
            self.parts.push(span);
            at = next;
            let joiner = self.joiner(at, span);
            // A chain too long for a compound is emitted in parts at once, to save memory.
            if self.parts.len() > MAX_PARTS {
                is_too_long = true;
                self.emit_parts(sink);
                self.parts.clear();
                self.buffer.clear();
            }
            let Some((joiner, len)) = joiner else { break };
            self.buffer.push(joiner);
            at += len;
        }
        if let (false, [first, .., last]) = (is_too_long, &self.parts[..])
            && self.buffer.len() <= MAX_WORD_BYTES
        {
            sink(Token {
                text: &self.buffer,
                start: first.start,
                end: last.end,
                kind: Kind::Whole,
            });
        }
        self.emit_parts(sink);
        at
    }

    /// Passes each part of the compound to `sink` as a word.
    fn emit_parts(&self, sink: &mut impl FnMut(Token<'_>)) {
        for part in &self.parts {
            let text = head(&self.buffer[part.from..part.to], MAX_WORD_BYTES);
            if !text.is_empty() {
                sink(Token { text, start: part.start, end: part.end, kind: Kind::Word });
            }
        }
    }

    /// Returns what connects the word before `at` with the text after it, and its length in the
    /// source in bytes: 0 before a raised or lowered number, which needs no joiner.
    fn joiner(&self, at: usize, before: Span) -> Option<(char, usize)> {
        let is_after_digit = || self.buffer[before.from..before.to].ends_with(is_digit);
        let next = self.char_at(at)?;
        if let Some(height) = Height::of(next) {
            let joiner = if height == Height::Raised { '^' } else { '_' };
            return is_after_digit().then_some((joiner, 0));
        }
        if numbers::is_group_space(next) {
            let (digits, after) = (&self.buffer[before.from..before.to], at + next.len_utf8());
            let is_number = numbers::is_grouped(digits, self.parts.len(), &self.bytes[after..]);
            return is_number.then_some((',', next.len_utf8()));
        }
        let joiner = *self.bytes.get(at)?;
        let joins = match joiner {
            b'.' | b'_' | b'@' => {
                self.char_at(at + 1).is_some_and(|next| class(next) == Class::Word)
            }
            b'-' | b'/' | b':' | b',' | b'^' => {
                self.bytes.get(at + 1).is_some_and(u8::is_ascii_digit) && is_after_digit()
            }
            _ => false,
        };
        joins.then_some((char::from(joiner), 1))
    }

    /// Reads one word into the buffer; returns its span, and where to read on.
    fn word(&mut self, start: usize) -> (Span, usize) {
        let from = self.buffer.len();
        let mut at = start;
        let mut end = start;
        let mut to = None;
        let mut height = None;
        while let Some(&b) = self.bytes.get(at) {
            if height.is_some() && b.is_ascii_digit() {
                break;
            }
            if b.is_ascii_alphanumeric() {
                height = None;
                // Most words consist of ASCII letters and digits: they are read at once.
                end = self.push_ascii_word(at);
                at = end;
                continue;
            }
            if b == b'^' && self.is_power(at, &self.buffer[from..]) {
                at += 1;
                continue;
            }
            if b < 0x80 && b != b'\'' && b != b'"' {
                break;
            }
            let Some(c) = self.char_at(at) else { break };
            let former = std::mem::replace(&mut height, Height::of(c));
            if height.is_some() && height != former && self.buffer[from..].ends_with(is_digit) {
                break;
            }
            if self.is_within_hebrew(at, c) {
                at += c.len_utf8();
                continue;
            }
            if is_apostrophe(c) {
                let after = at + c.len_utf8();
                if !self.char_at(after).is_some_and(char::is_alphabetic)
                    || is_elided(&self.buffer[from..])
                {
                    break;
                }
                if let Some(clitic) = self.clitic(after) {
                    // The word ends here.
                    to = Some(self.buffer.len());
                    at = clitic;
                    break;
                }
                at = after;
                continue;
            }
            match class(c) {
                Class::Word | Class::Mark => {
                    fold(c, &mut self.buffer);
                    at += c.len_utf8();
                    end = at;
                }
                Class::Bigram | Class::Separator => break,
            }
        }
        let to = to.unwrap_or(self.buffer.len());
        (Span { from, to, start, end }, at.max(start + 1))
    }

    /// Adds the ASCII letters and digits from `at` on to the buffer; returns their end.
    fn push_ascii_word(&mut self, at: usize) -> usize {
        let end = at + self.bytes[at..].iter().take_while(|b| b.is_ascii_alphanumeric()).count();
        let before = self.buffer.len();
        self.buffer.push_str(&self.text[at..end]);
        self.buffer[before..].make_ascii_lowercase();
        end
    }

    /// Whether `^` at `at` raises a number after `symbol`, a variable or a unit.
    fn is_power(&self, at: usize, symbol: &str) -> bool {
        self.bytes.get(at + 1).is_some_and(u8::is_ascii_digit)
            && symbol.chars().count() <= MAX_SYMBOL_CHARS
            && symbol.ends_with(char::is_alphabetic)
    }

    /// Whether the quotation mark `c` at `at` is within a Hebrew word: it marks an abbreviation.
    fn is_within_hebrew(&self, at: usize, c: char) -> bool {
        let is_mark = matches!(c, '"' | '”' | '“' | '„');
        is_mark && divides_hebrew(&self.text[..at], &self.text[at + c.len_utf8()..])
    }

    /// Returns the end of the English ending (`'s`, `'ll`, `'ve`, `'re`, `'d`, `'m`) whose letters
    /// begin at `after`; `None` if other letters are there, or more letters follow.
    fn clitic(&self, after: usize) -> Option<usize> {
        let rest = &self.bytes[after..];
        let len = rest.iter().take(3).take_while(|b| b.is_ascii_alphabetic()).count();
        let word = &rest[..len];
        let known = [&b"s"[..], b"ll", b"ve", b"re", b"d", b"m"]
            .iter()
            .any(|c| word.eq_ignore_ascii_case(c));
        let ends = !self
            .char_at(after + len)
            .is_some_and(|c| matches!(class(c), Class::Word | Class::Mark));
        (known && ends).then_some(after + len)
    }

    /// Reads a run without spaces, starting at `at`; returns its end in the source.
    fn run(&mut self, at: usize, sink: &mut impl FnMut(Token<'_>)) -> usize {
        self.buffer.clear();
        self.parts.clear();
        let mut at = at;
        let mut previous: Option<Span> = None;
        let mut count = 0;
        // One character of look-ahead, because a voicing mark changes the character before it.
        let mut current: Option<Span> = None;
        loop {
            let c = self.char_at(at).filter(|&c| {
                let class = class(c);
                class == Class::Bigram || (class == Class::Mark && current.is_some())
            });
            let mut begun = None;
            if let Some(c) = c {
                let before = self.buffer.len();
                let last = self.buffer.chars().next_back();
                fold(c, &mut self.buffer);
                let end = at + c.len_utf8();
                let grew = self.buffer.len() > before
                    && self.buffer.get(..before).is_some_and(|b| b.chars().next_back() == last);
                match (&mut current, grew) {
                    (Some(current), false) => {
                        current.end = end;
                        current.to = self.buffer.len();
                    }
                    _ => begun = Some(Span { from: before, to: self.buffer.len(), start: at, end }),
                }
                at = end;
                if begun.is_none() {
                    continue;
                }
            }
            // `current` is complete now.
            if let (Some(a), Some(b)) = (previous, current) {
                let text = &self.buffer[a.from..b.to];
                sink(Token { text, start: a.start, end: b.end, kind: Kind::Pair });
            }
            if let Some(current) = current {
                count += 1;
                previous = Some(current);
            }
            current = begun;
            if c.is_none() {
                break;
            }
            // Keep the buffer short in long runs.
            if self.buffer.len() > 4096
                && let (Some(a), Some(b)) = (previous, current)
            {
                self.buffer.drain(..a.from);
                let by = a.from;
                previous = Some(Span { from: 0, to: a.to - by, ..a });
                current = Some(Span { from: b.from - by, to: b.to - by, ..b });
            }
        }
        if let Some(last) = previous {
            self.emit_last(last, count == 1, sink);
        }
        at
    }

    /// Passes the last character of a run to `sink`.
    fn emit_last(&self, last: Span, is_only: bool, sink: &mut impl FnMut(Token<'_>)) {
        let kind = if is_only { Kind::Lone } else { Kind::Tail };
        let text = &self.buffer[last.from..last.to];
        if !text.is_empty() {
            sink(Token { text, start: last.start, end: last.end, kind });
        }
    }
}

/// Whether `c` is an apostrophe.
pub(super) fn is_apostrophe(c: char) -> bool {
    matches!(c, '\'' | '’' | '‘' | 'ʼ')
}

/// Whether a mark between two texts is within a Hebrew word, as in `צה"ל`.
pub(super) fn divides_hebrew(before: &str, after: &str) -> bool {
    let is_letter = |c: char| matches!(c, '\u{05D0}'..='\u{05EA}');
    after.starts_with(is_letter) && before.ends_with(is_letter)
}

/// Whether `word` is a French, Italian or Catalan word before an apostrophe, without its vowel.
fn is_elided(word: &str) -> bool {
    matches!(
        word,
        "l" | "d"
            | "j"
            | "m"
            | "t"
            | "s"
            | "n"
            | "c"
            | "qu"
            | "jusqu"
            | "lorsqu"
            | "puisqu"
            | "quoiqu"
            | "dell"
            | "nell"
            | "all"
            | "sull"
            | "dall"
            | "un"
            | "quest"
            | "quell"
    )
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn words(text: &str) -> Vec<String> {
        let mut out = Vec::new();
        scan(text, &mut |t| out.push(t.text.to_owned()));
        out
    }

    #[test]
    fn plain_words_are_folded_without_apostrophes() {
        assert_eq!(words("Hello, World! 42nd"), ["hello", "world", "42nd"]);
        assert_eq!(
            words("don't we'll Alice's ALICE'S l'avion O'Brien rock 'n' roll it’s"),
            ["dont", "we", "alice", "alice", "l", "avion", "obrien", "rock", "n", "roll", "it"]
        );
        assert_eq!(words("naïve Café"), ["naive", "cafe"]);
        assert_eq!(
            words("Hawaiʻi Hawai'i Hawai‘i Taʿayush"),
            ["hawaii", "hawaii", "hawaii", "taayush"]
        );
        assert_eq!(words("צה\"ל צה״ל צה”ל ג׳ורג׳ ג'ורג'"), ["צהל", "צהל", "צהל", "גורג", "גורג"]);
        assert_eq!(words("\"שלום\" say\"hello"), ["שלום", "say", "hello"]);
        assert_eq!(words("हिन्दी में"), ["हिन्दी", "में"]);
    }

    #[test]
    fn compounds_yield_the_whole_and_its_parts() {
        assert_eq!(words("v1.0.21."), ["v1.0.21", "v1", "0", "21"]);
        assert_eq!(
            words("2026-11-20, 09:30"),
            ["2026-11-20", "2026", "11", "20", "09:30", "09", "30"]
        );
        assert_eq!(words("alice@example.com"), ["alice@example.com", "alice", "example", "com"]);
        assert_eq!(words("well-known a/b"), ["well", "known", "a", "b"]);
        assert_eq!(words("snake_case @handle"), ["snake_case", "snake", "case", "handle"]);
        assert_eq!(words("a.b.c.d.e.f.g.h.i.j").len(), 10);
    }

    #[test]
    fn raised_and_lowered_numbers_do_not_join_the_digits_before() {
        assert_eq!(words("10³ litres"), ["10^3", "10", "3", "litres"]);
        assert_eq!(words("10³"), words("10^3"));
        assert_eq!(words("6.02×10²³"), words("6.02×10^23"));
        assert_eq!(words("101₂ 10³5"), ["101_2", "101", "2", "10^3", "10", "3", "5"]);
        assert_eq!(words("H₂O C₆H₁₂O₆ ¹⁴C m²"), ["h2o", "c6h12o6", "14c", "m2"]);
        assert_eq!(words("x² x^2 X^2y"), ["x2", "x2", "x2y"]);
        assert_eq!(words("x₁² SO₄²⁻"), ["x1^2", "x1", "2", "so4^2", "so4", "2"]);
        assert_eq!(words("word[^1] 2^n ^5"), ["word", "1", "2", "n", "5"]);
    }

    #[test]
    fn runs_without_spaces_yield_pairs() {
        assert_eq!(words("東京都庁"), ["東京", "京都", "都庁", "庁"]);
        assert_eq!(words("東 x 京都"), ["東", "x", "京都", "都"]);
        assert_eq!(words("GPT4を使う"), ["gpt4", "を使", "使う", "う"]);
        assert_eq!(words("ｶﾞｷ"), words("ガキ"));
        assert_eq!(words("か\u{3099}き"), words("がき"));
        assert_eq!(words("ไทย"), ["ไท", "ทย", "ย"]);
        assert_eq!(words(&"東".repeat(5000)).len(), 5000);
    }

    proptest! {
        #[test]
        fn token_ranges_are_in_the_text(
            text in "\\PC{0,60}|[a-zA-Z0-9 .'’@_東京かﾞ²₂^\u{3099}ไที่é\u{301}\u{200b}-]{0,60}",
        ) {
            scan(&text, &mut |t| {
                assert!(!t.text.is_empty() && t.text.len() <= MAX_WORD_BYTES);
                assert!(t.start < t.end && text.get(t.start..t.end).is_some(), "{t:?}");
            });
        }
    }
}
