//! Places where a text can be cut without splitting a letter. A small part of UAX 29: enough for
//! emoji, marks, flags and Hangul, without a table.

use unicode_normalization::char::is_combining_mark;

/// Zero width joiner: joins emoji.
const ZWJ: char = '\u{200D}';

/// Returns whether `next` is drawn together with the preceding `prev`, so that no cut may fall
/// between them.
///
/// `indicators` is the number of consecutive regional indicators up to `prev`: two make one flag.
pub(super) fn is_joined(prev: char, next: char, indicators: usize) -> bool {
    if next.is_ascii() {
        return prev == '\r' && next == '\n';
    }
    is_combining_mark(next)
        || next == ZWJ
        || prev == ZWJ
        || matches!(next, '\u{200C}' | '\u{FE00}'..='\u{FE0F}' | '\u{1F3FB}'..='\u{1F3FF}')
        || matches!(next, '\u{E0020}'..='\u{E007F}')
        || (is_regional_indicator(next) && indicators % 2 == 1)
        || matches!(next, '\u{1160}'..='\u{11FF}')
}

/// Returns whether `c` is a regional indicator, half of a flag.
pub(super) fn is_regional_indicator(c: char) -> bool {
    matches!(c, '\u{1F1E6}'..='\u{1F1FF}')
}

/// Returns the start of `text`, at most `max_chars` characters long. Splits a grapheme only if the
/// first grapheme is longer than that.
pub(super) fn cut(text: &str, max_chars: usize) -> &str {
    let mut last = 0;
    let mut prev: Option<char> = None;
    let mut indicators = 0;
    for (count, (at, c)) in text.char_indices().enumerate() {
        if !prev.is_some_and(|prev| is_joined(prev, c, indicators)) {
            last = at;
        }
        if count == max_chars {
            // A grapheme longer than the limit is cut at the limit.
            return &text[..if last == 0 { at } else { last }];
        }
        indicators = if is_regional_indicator(c) { indicators + 1 } else { 0 };
        prev = Some(c);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cut_splits_only_a_grapheme_longer_than_the_limit() {
        assert_eq!(cut("abc", 3), "abc");
        assert_eq!(cut("abcd", 3), "abc");
        assert_eq!(cut("", 3), "");
        assert_eq!(cut("xx👩‍👩‍👧", 5), "xx");
        assert_eq!(cut("xx👩‍👩‍👧", 7), "xx👩‍👩‍👧");
        assert_eq!(cut("xxe\u{301}", 3), "xx");
        assert_eq!(cut("x👍🏽", 2), "x");
        assert_eq!(cut("🇩🇪🇫🇷", 3), "🇩🇪");
        assert_eq!(cut("a\u{301}\u{301}\u{301}\u{301}", 3), "a\u{301}\u{301}");
    }
}
