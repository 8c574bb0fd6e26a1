//! Dated lines of a page. Reads no clock: a date is what the author wrote, if that day exists.

use super::fence::Fences;
use jiff::civil::Date;
use serde::{Deserialize, Serialize};
use std::collections::HashSet;
use std::hash::{BuildHasher, RandomState};

/// One dated line.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct TimelineEntry {
    /// The day, `YYYY-MM-DD`; it exists in the calendar.
    pub date: String,
    /// The event: markdown as written, on one line, without the source.
    pub text: String,
    /// The text of `[Source: …]`, if there is one.
    pub source: Option<String>,
}

/// Returns the timeline of `body` in the order of the page: lines
/// `- YYYY-MM-DD | text [Source: …]` and `- **YYYY-MM-DD** | text`.
///
/// The bullet is `-`, `*` or `+`. Ignores lines in fenced code, entries without text, and entries
/// with a date that does not exist (2024-02-30). An entry with the date and text of an earlier one
/// is ignored, too.
#[must_use]
pub fn timeline(body: &str) -> Vec<TimelineEntry> {
    // Hashes take a tenth of the memory of the texts.
    let (mut hashes, hasher) = (HashSet::new(), RandomState::new());
    let mut found = Vec::new();
    let mut fences = Fences::default();
    for line in body.split('\n') {
        if !fences.push_line(line)
            && let Some(entry) = entry(line)
            && hashes.insert(hasher.hash_one((&entry.date, &entry.text)))
        {
            found.push(entry);
        }
    }
    found
}

fn entry(line: &str) -> Option<TimelineEntry> {
    let rest = line.trim_start().strip_prefix(['-', '*', '+'])?;
    let rest = rest.strip_prefix([' ', '\t'])?.trim_start();
    let (rest, is_bold) = match rest.strip_prefix("**") {
        Some(rest) => (rest, true),
        None => (rest, false),
    };
    let date = rest.get(..10)?;
    if !is_day(date) {
        return None;
    }
    let mut rest = &rest[10..];
    if is_bold {
        rest = rest.strip_prefix("**")?;
    }
    let rest = rest.trim_start().strip_prefix('|')?.trim();
    let (text, source) = split_source(rest);
    if text.is_empty() {
        return None;
    }
    Some(TimelineEntry { date: date.to_owned(), text, source })
}

fn is_day(text: &str) -> bool {
    let bytes = text.as_bytes();
    let digits = |range: std::ops::Range<usize>| {
        bytes[range]
            .iter()
            .try_fold(0_i16, |n, b| b.is_ascii_digit().then(|| n * 10 + i16::from(b - b'0')))
    };
    if bytes.len() != 10 || bytes[4] != b'-' || bytes[7] != b'-' {
        return false;
    }
    match (digits(0..4), digits(5..7), digits(8..10)) {
        (Some(year), Some(month), Some(day)) => {
            let small = |n: i16| i8::try_from(n).unwrap_or(0);
            year > 0 && Date::new(year, small(month), small(day)).is_ok()
        }
        _ => false,
    }
}

/// Returns the text without its `[Source: …]`, and the source. Brackets within it can be nested.
fn split_source(text: &str) -> (String, Option<String>) {
    const PREFIX: &[u8] = b"[source:";
    let Some(start) =
        text.as_bytes().windows(PREFIX.len()).position(|w| w.eq_ignore_ascii_case(PREFIX))
    else {
        return (text.to_owned(), None);
    };
    let mut depth = 0_usize;
    for (at, b) in text.bytes().enumerate().skip(start) {
        match b {
            b'[' => depth += 1,
            b']' => depth -= 1,
            _ => {}
        }
        if depth == 0 {
            let source = text[start + PREFIX.len()..at].trim();
            let (before, after) = (text[..start].trim_end(), text[at + 1..].trim_start());
            let gap = if before.is_empty() || after.is_empty() { "" } else { " " };
            let source = (!source.is_empty()).then(|| source.to_owned());
            return (format!("{before}{gap}{after}"), source);
        }
    }
    (text.to_owned(), None)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn short(body: &str) -> Vec<(String, String, Option<String>)> {
        timeline(body).into_iter().map(|e| (e.date, e.text, e.source)).collect()
    }

    #[test]
    fn both_forms_and_all_bullets_are_read() {
        let found = short(
            "- 2024-01-02 | Met [Ann](people/ann) [Source: mail]\r\n* **2024-01-03** | B\n+ \
                2024-01-04|C\n  - 2024-01-05 | D\n",
        );
        let expected = [
            ("2024-01-02", "Met [Ann](people/ann)", Some("mail")),
            ("2024-01-03", "B", None),
            ("2024-01-04", "C", None),
            ("2024-01-05", "D", None),
        ];
        let expected: Vec<_> = expected
            .iter()
            .map(|(d, t, s)| (d.to_string(), t.to_string(), s.map(str::to_string)))
            .collect();
        assert_eq!(found, expected);
    }

    #[test]
    fn only_existing_days_outside_of_code_are_read() {
        assert!(
            timeline("- 2024-02-30 | a\n- 2023-02-29 | a\n- 2024-13-01 | a\n- 0000-01-01 | a")
                .is_empty()
        );
        assert_eq!(timeline("- 2024-02-29 | a").len(), 1);
        assert!(timeline("```\n- 2024-01-01 | a\n```\n").is_empty());
        assert!(
            timeline(
                "- 2024-01-01 a\n-2024-01-01 | a\n2024-01-01 | a\n- 2024-01-01 |  \n- \
                **2024-01-01 | a"
            )
            .is_empty()
        );
        assert!(timeline("- 2024-01-0é | a\n- 2024-1-01é| a").is_empty());
    }

    #[test]
    fn repeated_entries_are_ignored() {
        assert_eq!(
            timeline("- 2024-01-01 | a\n- **2024-01-01** | a\n- 2024-01-01 | b\n- 2024-01-02 | a")
                .len(),
            3
        );
    }

    #[test]
    fn sources_can_nest_and_be_anywhere() {
        let e = |body: &str| timeline(body).pop().map(|e| (e.text, e.source.unwrap_or_default()));
        let pair = |a: &str, b: &str| Some((a.to_owned(), b.to_owned()));
        assert_eq!(e("- 2024-01-01 | a [Source: [x](y), z] b"), pair("a b", "[x](y), z"));
        assert_eq!(e("- 2024-01-01 | a [source: open"), pair("a [source: open", ""));
        assert_eq!(e("- 2024-01-01 | a [Source: ]"), pair("a", ""));
        assert_eq!(e("- 2024-01-01 | [Source: x]"), None);
    }

    proptest! {
        #[test]
        fn any_text_is_parsed_without_panic(
            body in "([-*+] (\\*\\*)?20[0-9]{2}-[01][0-9]-[0-3][0-9](\\*\\*)? ?\\| \
                ?\\PC{0,20}(\\[Source:[\\[\\]é ]{0,4})?\n?){0,6}") {
            for entry in timeline(&body) {
                prop_assert!(!entry.text.trim().is_empty());
                prop_assert!(entry.date.parse::<Date>().is_ok());
            }
        }
    }
}
