//! Prints passages of pages without markup, cut so that the first match is visible.

use unicode_width::UnicodeWidthChar;

use super::{
    Text,
    markup::{Char, without_markup},
    paint::clean_char,
    text::width,
};

impl Text {
    /// Adds a passage without its markup, on one line after `indent` columns. `matches` are the
    /// byte ranges of `passage` to colour. A long passage is cut to the part around the first
    /// match.
    pub(crate) fn passage(&mut self, indent: usize, passage: &str, matches: &[(u32, u32)]) {
        let max_width = self.width.map(|w| w.saturating_sub(indent));
        let mut line = " ".repeat(indent);
        for (part, is_match) in cut_around_match(passage, matches, max_width) {
            line.push_str(&if is_match { self.paint.yellow(&part) } else { part });
        }
        self.raw_line(&line);
    }
}

/// Removes the markup of `passage`, and cuts it to `max_width` columns around its first match.
///
/// Returns pairs: a text, and whether it is part of a match.
fn cut_around_match(
    passage: &str,
    matches: &[(u32, u32)],
    max_width: Option<usize>,
) -> Vec<(String, bool)> {
    let is_in_match =
        |at: usize| matches.iter().any(|&(from, to)| (from as usize..to as usize).contains(&at));
    let chars: Vec<Char> =
        passage.char_indices().map(|(at, c)| (clean_char(c), is_in_match(at))).collect();
    let chars = without_markup(&chars);
    let columns = |part: &[Char]| width(&part.iter().map(|&(c, _)| c).collect::<String>());

    let Some(max_width) = max_width else { return join_parts(&chars) };
    if columns(&chars) <= max_width {
        return join_parts(&chars);
    }
    let first = chars.iter().position(|&(_, m)| m).unwrap_or(0);
    let length = chars[first..].iter().take_while(|&&(_, m)| m).count();
    let mut start = 0;
    if columns(&chars[..first + length]) + 1 > max_width {
        // Text before the match gets a third of the width.
        start = first;
        while start > 0 && columns(&chars[start - 1..first]) <= max_width / 3 {
            start -= 1;
        }
    }
    // Columns of the `…` before and after the part.
    let before = usize::from(start > 0);
    let mut end = chars.len();
    let mut after = 0;
    if columns(&chars[start..]) + before > max_width {
        after = 1;
        end = start;
        let mut used = 0;
        while end < chars.len() {
            used += chars[end].0.width().unwrap_or(0);
            if used + before + after > max_width {
                break;
            }
            end += 1;
        }
        while end > start && columns(&chars[start..end]) + before + after > max_width {
            end -= 1;
        }
    }
    let mut parts = join_parts(&chars[start..end]);
    if before == 1 {
        parts.insert(0, ("…".into(), false));
    }
    if after == 1 && max_width > before {
        parts.push(("…".into(), false));
    }
    parts
}

/// Joins neighbouring characters that are all inside or all outside a match.
fn join_parts(chars: &[Char]) -> Vec<(String, bool)> {
    let mut parts: Vec<(String, bool)> = Vec::new();
    for &(c, is_match) in chars {
        match parts.last_mut() {
            Some((part, m)) if *m == is_match => part.push(c),
            _ => parts.push((c.to_string(), is_match)),
        }
    }
    parts
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::output::Paint;

    #[test]
    fn a_short_passage_is_whole_and_its_matches_are_coloured() {
        let mut t = Text::plain(Some(40));
        t.paint = Paint::forced(true);
        t.passage(2, "low latency wins", &[(4, 11)]);
        assert_eq!(t.as_str(), "  low \u{1b}[1;33mlatency\u{1b}[0m wins\n");
        let mut t = Text::plain(Some(40));
        t.passage(2, "low latency\u{1b}[2J wins", &[(4, 11)]);
        assert_eq!(t.as_str(), "  low latency\u{FFFD}[2J wins\n");
    }

    #[test]
    fn a_long_passage_shows_its_first_match() {
        let text = format!("{}needle{}", "word ".repeat(30), " tail".repeat(30));
        for max_width in [12, 20, 40, 80] {
            let mut t = Text::plain(Some(max_width));
            t.passage(2, &text, &[(150, 156)]);
            let line = t.as_str().trim_end_matches('\n');
            assert!(line.contains("needle") || max_width < 14, "{max_width}: {line}");
            assert!(width(line) <= max_width, "{max_width}: {line}");
        }
    }

    #[test]
    fn invalid_match_ranges_still_fit_the_width() {
        for ranges in [vec![(5, 2)], vec![(0, 9999)], vec![(1, 2)], vec![(u32::MAX, u32::MAX)]] {
            let mut t = Text::plain(Some(10));
            t.passage(0, "日本語の本です", &ranges);
            assert!(width(t.as_str().trim_end()) <= 10);
        }
    }
}
