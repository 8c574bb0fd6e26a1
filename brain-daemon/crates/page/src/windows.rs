//! Windows of a page: pieces of text with one vector each. No I/O.
//!
//! A window has about 75 words (in scripts without spaces: 100 characters) and shares 15 with the
//! previous one. It is inside one chunk, and begins with the title and the headings above it.
//! Measurements: search with such windows is better than with longer ones, and much better than
//! with whole pages, of which a model reads only the beginning.

use std::ops::Range;

use unicode_normalization::char::is_combining_mark;

use super::chunk::chunks;
use super::grapheme::cut;
use super::plain::plain;
use super::section::Spot;

/// A window.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Window {
    /// Its start in the body, in bytes.
    pub start: usize,
    /// Its end in the body, in bytes.
    pub end: usize,
    /// The text to embed: `title > heading. text`, without markdown syntax, on one line.
    pub text: String,
}

/// Version of the rule that divides a page into windows. It is part of the key of vectors.
pub const WINDOW_RULE_VERSION: u32 = 2;

/// Maximum number of windows of a page. The text after them is found by its words only.
const MAX_WINDOWS: usize = 2000;
const WORD_COST: usize = 4;
/// Cost of a character of a script without spaces.
const CHARACTER_COST: usize = 3;
/// Maximum cost of a window: 75 words, 100 characters.
const MAX_COST: usize = 75 * WORD_COST;
/// Cost of the text that two windows share: 15 words. A window can be longer by this much to avoid
/// another one.
const SHARED_COST: usize = 15 * WORD_COST;
/// Cost from which a heading begins a new window.
const MIN_HEADING_COST: usize = MAX_COST / 3;
/// A word longer than this, in characters, costs as two; one longer than twice this is split.
const LONG_WORD_CHARS: usize = 16;
/// Maximum length of the title before a window, in characters.
const MAX_TITLE_CHARS: usize = 120;
/// Maximum length of each heading before a window, in characters.
const MAX_HEADING_CHARS: usize = 80;

/// Returns the windows of a page in order; none for a blank page. At most 2,000. Linear in the
/// body's length.
#[must_use]
pub fn windows(title: &str, body: &str) -> Vec<Window> {
    let spots = Spot::all(body);
    let mut headings_above = HeadingPath {
        body,
        title: cut(title.trim(), MAX_TITLE_CHARS),
        open: Vec::new(),
        next: spots.iter().peekable(),
    };
    let mut headings = spots.iter().peekable();
    let mut found = Vec::new();
    for chunk in chunks(body) {
        let mut units = units(body, chunk);
        for unit in &mut units {
            while headings.peek().is_some_and(|heading| heading.range().end <= unit.start) {
                headings.next();
            }
            unit.is_heading =
                headings.next_if(|heading| heading.range().start <= unit.start).is_some();
        }
        let mut from = 0;
        while let (Some(first), true) = (units.get(from), found.len() < MAX_WINDOWS) {
            let to = window_end(&units, from);
            let Some(last) = units.get(to - 1) else { break };
            let text = plain(&body[first.start..last.end]);
            if text.contains(char::is_alphanumeric) {
                let text = format!("{}{text}", headings_above.before(first.start));
                found.push(Window { start: first.start, end: last.end, text });
            }
            from = next_window_start(&units, to);
        }
        if found.len() == MAX_WINDOWS {
            break;
        }
    }
    found
}

/// A word, a part of a long word, or a character of a script without spaces.
#[derive(Debug)]
struct WindowUnit {
    start: usize,
    end: usize,
    cost: usize,
    /// Whether a heading begins with the unit.
    is_heading: bool,
}

fn units(body: &str, part: Range<usize>) -> Vec<WindowUnit> {
    let mut units: Vec<WindowUnit> = Vec::new();
    // Number of characters of the current word.
    let mut word_chars = 0;
    for (at, c) in body[part.clone()].char_indices() {
        let (start, end) = (part.start + at, part.start + at + c.len_utf8());
        let adjoins = units.last().is_some_and(|unit| unit.end == start);
        match units.last_mut() {
            _ if c.is_whitespace() => word_chars = 0,
            Some(unit) if adjoins && is_combining_mark(c) => unit.end = end,
            Some(unit)
                if adjoins && !is_unspaced(c) && (1..2 * LONG_WORD_CHARS).contains(&word_chars) =>
            {
                unit.end = end;
                word_chars += 1;
                unit.cost = if word_chars > LONG_WORD_CHARS { 2 * WORD_COST } else { WORD_COST };
            }
            _ => {
                word_chars = usize::from(!is_unspaced(c));
                let cost = if word_chars == 0 { CHARACTER_COST } else { WORD_COST };
                units.push(WindowUnit { start, end, cost, is_heading: false });
            }
        }
    }
    units
}

/// Returns whether `c` is of a script without spaces between words.
fn is_unspaced(c: char) -> bool {
    matches!(c,
        '\u{0E00}'..='\u{0FFF}' | '\u{1000}'..='\u{109F}' | '\u{1780}'..='\u{17FF}'
        | '\u{2E80}'..='\u{30FF}' | '\u{31F0}'..='\u{31FF}' | '\u{3400}'..='\u{4DBF}'
        | '\u{4E00}'..='\u{9FFF}' | '\u{F900}'..='\u{FAFF}' | '\u{FF00}'..='\u{FF9F}'
        | '\u{20000}'..='\u{3FFFF}')
}

/// Returns the index after the last unit of the window that begins with unit `from`.
fn window_end(units: &[WindowUnit], from: usize) -> usize {
    let mut cost = 0;
    let mut to = from;
    while let Some(unit) = units.get(to) {
        if (cost + unit.cost > MAX_COST || (unit.is_heading && cost >= MIN_HEADING_COST))
            && to > from
        {
            break;
        }
        cost += unit.cost;
        to += 1;
    }
    // A short remainder does not become a window.
    let mut rest = 0;
    for (at, unit) in units.iter().enumerate().skip(to) {
        rest += unit.cost;
        if rest > SHARED_COST || unit.is_heading {
            return to;
        }
        if at + 1 == units.len() {
            return units.len();
        }
    }
    to
}

/// Returns the index of the first unit of the window that follows one with the end `to`.
fn next_window_start(units: &[WindowUnit], to: usize) -> usize {
    if units.get(to).is_none_or(|unit| unit.is_heading) {
        return to;
    }
    let mut cost = 0;
    let mut from = to;
    for unit in units[..to].iter().rev() {
        cost += unit.cost;
        if cost > SHARED_COST {
            break;
        }
        from -= 1;
        if unit.is_heading {
            break;
        }
    }
    from
}

/// The title and the headings above a position.
struct HeadingPath<'a> {
    body: &'a str,
    title: &'a str,
    /// The headings above the position, from the highest level down.
    open: Vec<Spot>,
    /// The headings after the position.
    next: std::iter::Peekable<std::slice::Iter<'a, Spot>>,
}

impl HeadingPath<'_> {
    /// Returns the text before a window that begins at `at`. Positions must ascend.
    fn before(&mut self, at: usize) -> String {
        while let Some(heading) = self.next.next_if(|heading| heading.range().end <= at) {
            self.open.retain(|above| above.level < heading.level);
            self.open.push(*heading);
        }
        // A heading at the start of the window is already in its text. Headings of the same or a
        // deeper level before it no longer apply.
        let first = self.next.peek().filter(|heading| heading.range().start <= at);
        let below = first.map_or(u8::MAX, |heading| heading.level);
        let mut text = plain(self.title);
        for heading in self.open.iter().filter(|heading| heading.level < below) {
            let shown = plain(cut(&heading.text(self.body), MAX_HEADING_CHARS));
            if shown.is_empty() || shown.to_lowercase() == self.title.to_lowercase() {
                continue;
            }
            if !text.is_empty() {
                text.push_str(" > ");
            }
            text.push_str(&shown);
        }
        if !text.is_empty() {
            text.push_str(". ");
        }
        text
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn words(from: usize, to: usize) -> String {
        (from..to).map(|n| format!("w{n}")).collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn windows_have_75_words_and_share_15() {
        let body = words(0, 200);
        let found = windows("T", &body);
        let parts: Vec<&str> = found.iter().map(|w| &body[w.start..w.end]).collect();
        assert_eq!(
            parts,
            [words(0, 75), words(60, 135), words(120, 200)],
            "a remainder of 5 words is not a window"
        );
        assert_eq!(found[0].text, format!("T. {}", words(0, 75)));
        assert_eq!(windows("T", &words(0, 90)).len(), 1);
        assert_eq!(windows("T", &words(0, 91)).len(), 2);
    }

    #[test]
    fn scripts_without_spaces_count_characters() {
        for text in ["字".repeat(250), "คน".repeat(125)] {
            let sizes: Vec<usize> =
                windows("", &text).iter().map(|w| text[w.start..w.end].chars().count()).collect();
            assert_eq!(sizes, [100, 100, 90]);
        }
        let mixed = format!("{} {}", "字".repeat(50), words(0, 37));
        assert_eq!(windows("", &mixed).len(), 1, "half a window of each script is one window");
        let hangul = vec!["데이터베이스"; 75].join(" ");
        assert_eq!(windows("", &hangul).len(), 1, "Korean has spaces");
    }

    #[test]
    fn windows_begin_with_title_and_headings() {
        let long = words(0, 70);
        let body =
            format!("intro\n\n# **Plan**\n\n{long}\n\n## Costs\n\n{long}\n\n# Plan B\n\nend");
        let texts: Vec<String> =
            windows(" My *page* ", &body).into_iter().map(|w| w.text).collect();
        assert!(texts[0].starts_with("My page. intro Plan w0 w1"), "{}", texts[0]);
        let costs = texts.iter().find(|text| text.contains(". Costs w0")).unwrap();
        assert!(costs.starts_with("My page > Plan. Costs w0"), "{costs}");
        assert_eq!(texts.last().unwrap(), "My page. Plan B end");
        assert!(texts.iter().all(|text| !text.contains(['#', '*', '\n'])), "{texts:?}");
        let own = windows("Same", &format!("# same\n\n{}", words(0, 120)));
        assert!(own[1].text.starts_with("Same. w"), "the title occurs once: {}", own[1].text);
    }

    #[test]
    fn fenced_code_is_text_without_headings() {
        let body = format!("# A\n\n```sh\n# no heading\nrun --fast\n```\n\n{}", words(0, 90));
        let found = windows("T", &body);
        assert!(found[0].text.starts_with("T. A sh no heading run --fast w0"), "{}", found[0].text);
        assert!(found[1].text.starts_with("T > A. "), "{}", found[1].text);
    }

    #[test]
    fn text_without_words_has_no_window() {
        for body in ["", " \n\t", "---\n\n***\n", "…!?", "```\n```"] {
            assert_eq!(windows("Title", body), [], "{body:?}");
        }
    }

    #[test]
    fn five_megabytes_give_bounded_windows() {
        for unit in [
            "a", "a ", "\n", "[", "[[", "<", "`", "# a\n", "字", "e\u{301}", "\u{301}", "](",
            "word. ",
        ] {
            let body = unit.repeat(5_000_000 / unit.len());
            let start = std::time::Instant::now();
            let found = windows("t", &body);
            assert!(found.len() <= MAX_WINDOWS);
            // Generous: a debug build on a slow machine. Quadratic would be minutes.
            assert!(start.elapsed().as_secs() < 60, "{unit:?} {:?}", start.elapsed());
            assert!(found.iter().all(|window| window.text.len() < 20_000), "{unit:?}");
        }
    }

    proptest! {
        #[test]
        fn every_word_is_in_a_window(
            parts in proptest::collection::vec(("([a-zA-Z字คé \
                \n#.。`*\\[\\]()\u{301}👍\r-]{0,20}|\\PC{0,10}|[a-z ]{0,30})", 1usize..60), 0..12),
            title in "\\PC{0,30}",
        ) {
            let body: String = parts.iter().map(|(part, times)| part.repeat(*times)).collect();
            let found = windows(&title, &body);
            let mut at = (0, 0);
            for window in &found {
                prop_assert!(window.start < window.end && window.end <= body.len());
                prop_assert!(body.is_char_boundary(window.start)
                    && body.is_char_boundary(window.end));
                prop_assert!(window.start > at.0 || at == (0, 0));
                prop_assert!(window.end > at.1, "each window has new text");
                prop_assert!(!window.text.contains('\n'));
                at = (window.start, window.end);
            }
            for chunk in chunks(&body) {
                for unit in units(&body, chunk) {
                    let shown = plain(&body[unit.start..unit.end]);
                    let covered = found.iter().any(|w| w.start <= unit.start && unit.end <= w.end);
                    // Windows with markup alone are omitted. Every other word is in a window.
                    let is_exempt = !shown.contains(char::is_alphanumeric)
                        || body[unit.start..unit.end].contains(['[', '(', '<', '`']);
                    prop_assert!(covered || is_exempt || body.contains(['(', '<']),
                        "{shown:?} of {body:?}");
                }
            }
        }

        #[test]
        fn plain_words_are_all_covered(count in 0usize..600, width in 1usize..40) {
            let body = vec!["x".repeat(width); count].join(" ");
            let found = windows("", &body);
            for (at, word) in body.split(' ')
                .scan(0, |at, word| { let here = *at; *at += word.len() + 1; Some((here, word)) }) {
                for byte in [at, at + word.len().saturating_sub(1)] {
                    prop_assert!(word.is_empty() || found.iter()
                        .any(|w| w.start <= byte && byte < w.end));
                }
            }
            let chunked = chunks(&body).len();
            let cost = width.div_ceil(LONG_WORD_CHARS) * WORD_COST;
            let max_count = chunked + count * cost / (MAX_COST - SHARED_COST - 2 * WORD_COST) + 1;
            prop_assert!(found.len() <= max_count, "{}", found.len());
        }
    }
}
