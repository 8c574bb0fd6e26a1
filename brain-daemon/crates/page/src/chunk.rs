//! Cuts a body into chunks, which search shows and embeds. Knows no tokens, indexes or models.

use super::fence::Fences;
use super::grapheme::{is_joined, is_regional_indicator};
use std::ops::Range;

/// Intended length of a chunk, in characters.
const TARGET: usize = 2000;
/// Maximum length of a chunk, in characters. The documented limit is 2,499; this is lower, so that
/// a text of 2,500 characters that lost a line end still gives two chunks.
const MAX_CHARS: usize = 2400;
/// Maximum length of a text that is cut into two chunks, in characters. It is less than two maximum
/// chunks, so that there is a choice of cuts.
const MAX_TWO_CHUNKS: usize = 4200;

/// Quality of a cut; greater is better.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Level {
    Character,
    Clause,
    Sentence,
    Line,
    Paragraph,
    Heading,
}
const LEVELS: usize = 6;

/// A point where a text can be cut.
#[derive(Debug, Clone, Copy)]
struct CutPoint {
    /// The byte offset in the body.
    at: usize,
    /// The number of characters from the start of the chunk.
    chars: usize,
    /// The fences before the point.
    fences: Fences,
}

/// Returns the chunks of `body` as byte ranges: contiguous, in order, covering all of it.
///
/// A chunk has about 2,000 characters and at most 2,400. Cuts are made before headings, else
/// between paragraphs, lines, sentences, words or characters, in this order. A body of up to 2,400
/// characters has one chunk. A body of 2,500 to 4,000 characters has exactly two. A blank body has
/// none. The time is linear in the length of the body.
#[must_use]
pub fn chunks(body: &str) -> Vec<Range<usize>> {
    if body.trim_start().is_empty() {
        return Vec::new();
    }
    // A character has at least one byte, so no count of characters is needed.
    if body.len() <= MAX_CHARS {
        return vec![Range { start: 0, end: body.len() }];
    }
    let mut remaining = body.chars().count();
    let mut found = Vec::with_capacity(remaining / 1500 + 1);
    let mut start = CutPoint { at: 0, chars: 0, fences: Fences::default() };
    while remaining > MAX_CHARS {
        let next = cut(body, start, remaining);
        found.push(start.at..next.at);
        remaining -= next.chars;
        start = next;
    }
    found.push(start.at..body.len());
    found
}

/// Returns the best end of the chunk that begins at `start`, with `remaining` characters from
/// there to the end of the body.
fn cut(body: &str, start: CutPoint, remaining: usize) -> CutPoint {
    // Pieces of equal length leave no short piece at the end.
    let pieces = if remaining <= MAX_TWO_CHUNKS { 2 } else { remaining.div_ceil(TARGET) };
    let target = remaining / pieces;
    let min =
        (target / 2).max(if pieces == 2 { remaining.saturating_sub(MAX_CHARS) } else { 0 }).max(1);
    let max = MAX_CHARS.min(if pieces == 2 { remaining - target / 2 } else { remaining });

    let mut best: [Option<CutPoint>; LEVELS] = [None; LEVELS];
    let mut fences = start.fences;
    let mut last = CutPoint { at: body.len(), chars: 0, fences };
    let mut prev = body[..start.at].chars().next_back().unwrap_or('\n');
    let mut before = TextBefore::default();
    // Whether the previous line was blank, or the end of a fenced block.
    let mut is_after_gap = true;
    // Whether the current line is blank so far.
    let mut is_blank = true;
    for (chars, (at, c)) in body[start.at..].char_indices().enumerate() {
        let at = start.at + at;
        let point = CutPoint { at, chars, fences };
        let mut level = None;
        if prev == '\n' {
            let is_code = fences.is_inside();
            if chars > 0 {
                is_after_gap |= is_blank;
                level = Some(match () {
                    () if is_code => Level::Line,
                    () if is_heading(&body[at..]) => Level::Heading,
                    () if is_after_gap && c != '\n' && c != '\r' => Level::Paragraph,
                    () => Level::Line,
                });
            }
            fences.push_line(&body[at..]);
            // The line after the closing fence begins a paragraph.
            is_after_gap = is_code && !fences.is_inside();
            is_blank = true;
        }
        is_blank &= c.is_whitespace();
        if chars >= min {
            let level = level.or_else(|| before.level(prev, c));
            if let Some(level) = level {
                let slot = &mut best[level as usize];
                if slot.is_none_or(|old: CutPoint| {
                    old.chars.abs_diff(target) >= chars.abs_diff(target)
                }) {
                    *slot = Some(point);
                }
            }
            last = point;
        }
        if chars == max {
            break;
        }
        before.push(c);
        prev = c;
    }
    best.into_iter().rev().flatten().next().unwrap_or(last)
}

/// Returns whether `line` begins with one to six `#` and white space.
fn is_heading(line: &str) -> bool {
    let level = line.bytes().take(7).take_while(|&b| b == b'#').count();
    (1..=6).contains(&level) && line[level..].starts_with([' ', '\t', '\n', '\r'])
}

/// Properties of the characters before a cut.
#[derive(Debug, Clone, Copy, Default)]
struct TextBefore {
    /// Whether a sentence has ended, with only closing marks and white space after it.
    has_sentence_end: bool,
    /// Number of consecutive regional indicators.
    indicators: usize,
}

impl TextBefore {
    /// Adds the next character.
    fn push(&mut self, c: char) {
        self.indicators = if is_regional_indicator(c) { self.indicators + 1 } else { 0 };
        self.has_sentence_end = match c {
            '.' | '!' | '?' | '…' | '。' | '！' | '？' | '．' | '｡' | '।' | '؟' | '۔' => {
                true
            }
            '"' | '\'' | ')' | ']' | '”' | '’' | '»' | '」' | '』' | '）' | '】' | '》' => {
                self.has_sentence_end
            }
            c => self.has_sentence_end && c.is_whitespace(),
        };
    }

    /// Returns the quality of a cut between `prev` and `next`, within a line.
    fn level(self, prev: char, next: char) -> Option<Level> {
        if is_joined(prev, next, self.indicators) {
            return None;
        }
        // Full-width signs need no space after them.
        let is_wide =
            matches!(prev, '。' | '！' | '？' | '．' | '｡' | '」' | '』' | '）' | '】' | '》');
        let is_closing = matches!(
            next,
            '。' | '！' | '？' | '」' | '』' | '）' | '】' | '》' | '”' | '’' | '、' | '，'
        );
        if next.is_whitespace() || is_closing {
            return Some(Level::Character);
        }
        Some(match prev {
            _ if self.has_sentence_end && (prev.is_whitespace() || is_wide) => Level::Sentence,
            '，' | '、' | '；' | '：' => Level::Clause,
            _ if prev.is_whitespace() => Level::Clause,
            _ => Level::Character,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn sizes(body: &str) -> Vec<usize> {
        chunks(body).into_iter().map(|r| body[r].chars().count()).collect()
    }

    fn second(body: &str) -> &str {
        let found = chunks(body);
        assert_eq!(found.len(), 2, "{found:?}");
        &body[found[1].clone()]
    }

    fn prose(chars: usize) -> String {
        let words =
            "Lorem ipsum dolor sit amet, consectetur adipiscing elit. Sed do eiusmod tempor! "
                .chars();
        words.cycle().take(chars).collect()
    }

    #[test]
    fn the_number_of_chunks_is_as_documented() {
        assert!(chunks("").is_empty() && chunks(" \n\t\u{3000}").is_empty());
        assert_eq!(chunks("a"), [Range { start: 0, end: 1 }]);
        assert_eq!(sizes(&"字".repeat(2400)), [2400]);
        for n in [2499, 2500, 2501, 3000, 3999, 4000, 4001] {
            assert_eq!(chunks(&prose(n)).len(), 2, "{n}");
            assert_eq!(chunks(&"a".repeat(n)).len(), 2, "{n}");
            assert_eq!(chunks(&"字".repeat(n)).len(), 2, "{n}");
            assert_eq!(chunks(&"word ".repeat(n / 5 + 1)).len(), 2, "{n}");
            assert_eq!(chunks(prose(n).trim()).len(), 2, "{n}");
        }
        let many = sizes(&prose(100_000));
        assert!((48..=52).contains(&many.len()), "{many:?}");
        assert!(many.iter().all(|&n| (1000..=2400).contains(&n)), "{many:?}");
    }

    #[test]
    fn a_body_is_cut_at_the_best_place() {
        let p = prose(1500);
        assert!(
            second(&format!("{}\n\n{}\n\n# Head\n\ntext {p}", prose(900), prose(900)))
                .starts_with("# Head")
        );
        assert!(second(&format!("{p}\n\nPara {p}\nline")).starts_with("Para"));
        let plain = "word ".repeat(300);
        assert!(second(&format!("{plain}\nLine {plain}. Sentence")).starts_with("Line"));
        assert!(second(&format!("{plain}end.\" Next {plain}")).starts_with("Next"));
        assert!(second(&"word ".repeat(600)).starts_with("word"));
        let han = "字".repeat(1400);
        assert!(second(&format!("{han}好。」下{han}")).starts_with('下'));
    }

    #[test]
    fn fenced_code_is_not_split_at_headings() {
        let code = format!(
            "```\n{}\n# not a heading\n\n{}\n```\nAfter",
            "x = 1\n".repeat(200),
            "y = 2\n".repeat(100)
        );
        let body = format!("{}\n\n{code} {}", prose(700), prose(600));
        assert!(!second(&body).starts_with("# not"), "{}", second(&body));
    }

    #[test]
    fn five_megabytes_are_split_quickly() {
        for unit in
            ["a", "\n", "`", "```\n", "# a\n", " ", "字", "e\u{301}", "\u{301}", "word. ", "🇩🇪"]
        {
            let body = unit.repeat(5_000_000 / unit.len());
            let start = std::time::Instant::now();
            let found = chunks(&body);
            // Generous, for a slow machine and a debug build. Quadratic time would be minutes.
            assert!(start.elapsed().as_secs() < 10, "{unit:?} {:?}", start.elapsed());
            assert!(found.iter().all(|r| body[r.clone()].chars().count() <= MAX_CHARS));
        }
    }

    proptest! {
        #[test]
        fn chunks_cover_the_body(
            parts in proptest::collection::vec(
                ("[a-zA-Z字é \n#.。`\u{301}👍\u{200D}\r]{0,20}|\\PC{0,10}|(?s:.{0,5})", 1usize..300),
                0..12),
        ) {
            let body: String = parts.iter().map(|(part, times)| part.repeat(*times)).collect();
            let found = chunks(&body);
            if body.trim().is_empty() {
                prop_assert!(found.is_empty());
                return Ok(());
            }
            let mut at = 0;
            for range in &found {
                prop_assert_eq!(range.start, at);
                prop_assert!(range.end > at);
                at = range.end;
                let chars = body[range.clone()].chars().count();
                prop_assert!(chars <= MAX_CHARS);
            }
            prop_assert_eq!(at, body.len());
            let total = body.chars().count();
            match total {
                0..=2400 => prop_assert_eq!(found.len(), 1),
                2500..=4000 => prop_assert_eq!(found.len(), 2),
                _ => prop_assert!(found.len() >= total.div_ceil(MAX_CHARS)
                    && found.len() <= total / 900 + 1),
            }
        }

        #[test]
        fn prose_of_2500_to_4000_characters_is_two(n in 2500usize..=4000, width in 1usize..12) {
            let body: String = format!("{}. ", "w".repeat(width)).chars().cycle().take(n).collect();
            prop_assert_eq!(chunks(&body).len(), 2);
        }
    }
}
