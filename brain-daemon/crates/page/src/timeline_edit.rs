//! Adds a dated line to a page's timeline, in the order of the existing lines. Reads no clock.

use super::edit::{EditError, insert, line_end};
use super::fence::Fences;
use super::section::{SectionError, headings, section};
use super::timeline::{TimelineEntry, timeline};

/// Heading of the section for dated lines.
const TIMELINE: &str = "Timeline";

/// Why a dated line cannot be added. Nothing was changed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum TimelineError {
    /// The day does not exist in the calendar.
    #[error(
        "\"{}\" is not a day of the calendar; write YYYY-MM-DD",
        .0.escape_debug()
    )]
    NoDay(String),
    /// The text or the source is empty, has several lines, or would be parsed differently.
    #[error(
        "{0} has to be one line of text, with its brackets closed and without a [Source: …] of its \
         own"
    )]
    NoLine(&'static str),
    /// The page has several sections for dated lines. Holds their addresses.
    #[error("the page has several sections \"{TIMELINE}\": {}", .0.join(" · "))]
    Ambiguous(Vec<String>),
    /// The line would be code, because a fence is open.
    #[error(
        "the page opens a code fence that it does not close, so a line at its end is no timeline \
         entry"
    )]
    OpenFence,
}

/// Adds `entry` to the section `## Timeline` of `body`, which is created at the end if missing. The
/// line is sorted by its day into the existing order, or newest first if there is none. Returns
/// `None` when the page has the same day and text already.
///
/// # Errors
/// [`TimelineError::NoDay`] or [`TimelineError::NoLine`] when a part of `entry` is invalid;
/// [`TimelineError::Ambiguous`] when the page has several such sections;
/// [`TimelineError::OpenFence`] when the line would be code.
pub fn add_timeline_entry(
    body: &str,
    entry: &TimelineEntry,
) -> Result<Option<String>, TimelineError> {
    let line = line_of(entry)?;
    // Texts that differ only in white space are the same.
    let is_same = |it: &TimelineEntry| {
        it.date == entry.date && it.text.split_whitespace().eq(entry.text.split_whitespace())
    };
    if timeline(body).iter().any(is_same) {
        return Ok(None);
    }
    let end = line_end(body);
    // A section of level 2 is preferred, so a page can have this title.
    let new = match section(body, &format!("## {TIMELINE}")) {
        Err(SectionError::NotFound) => {
            insert(body, body.len(), &format!("## {TIMELINE}\n\n{line}"))
        }
        Err(SectionError::Ambiguous { addresses, .. }) => {
            return Err(TimelineError::Ambiguous(addresses));
        }
        Ok(part) => match insertion_point(&body[part.clone()], &entry.date) {
            Some(at) => {
                let (before, after) = body.split_at(part.start + at);
                let gap = if before.ends_with('\n') { "" } else { end };
                Ok([before, gap, &line, end, after].concat())
            }
            None => {
                let heading = headings(&body[part.clone()]).into_iter().next();
                let below = heading.map_or(part.end, |heading| part.start + heading.range.end);
                insert(body, below, &line)
            }
        },
    };
    // The line has a text, so it can be inserted.
    let new = new.map_err(|_: EditError| TimelineError::NoLine("the text"))?;
    if timeline(&new).iter().any(is_same) { Ok(Some(new)) } else { Err(TimelineError::OpenFence) }
}

/// Returns the entry as a line that parses to an equal entry.
fn line_of(entry: &TimelineEntry) -> Result<String, TimelineError> {
    let TimelineEntry { date, text, source } = entry;
    let is_break = |c: char| c.is_control() || matches!(c, '\u{2028}' | '\u{2029}');
    let is_line = |text: &str| !text.is_empty() && text.trim() == text && !text.contains(is_break);
    let read = |line: &str| timeline(line).into_iter().next();
    let day = read(&format!("- {date} | x")).filter(|it| it.date == *date && it.text == "x");
    if day.is_none() || !is_line(date) {
        return Err(TimelineError::NoDay(date.chars().take(40).collect()));
    }
    if !is_line(text) || read(&format!("- {date} | {text}")).is_none_or(|it| it.text != *text) {
        return Err(TimelineError::NoLine("the text"));
    }
    let line = match source {
        None => format!("- {date} | {text}"),
        Some(source) => format!("- {date} | {text} [Source: {source}]"),
    };
    let is_valid = source.as_deref().is_none_or(is_line) && read(&line).as_ref() == Some(entry);
    if is_valid { Ok(line) } else { Err(TimelineError::NoLine("the source")) }
}

/// Returns the position at which a line of this day is inserted in a section; `None` when the
/// section has no dated lines.
fn insertion_point(part: &str, date: &str) -> Option<usize> {
    let entries = blocks(part);
    let (first, last) = (entries.first()?, entries.last()?);
    let oldest_first = first.date < last.date;
    let before =
        |it: &&Block| if oldest_first { it.date.as_str() > date } else { it.date.as_str() <= date };
    Some(match entries.iter().position(|it| before(&it)) {
        // After the preceding entry rather than before the following one: text between them belongs
        // to the following entry.
        Some(at) if oldest_first && at > 0 => entries[at - 1].end,
        Some(at) => entries[at].start,
        None => last.end,
    })
}

/// A dated line with the text that belongs to it.
struct Block {
    date: String,
    /// Start of the dated line.
    start: usize,
    /// End of the last line of the block: indented lines, the rest of the paragraph, and code.
    end: usize,
}

/// Returns the blocks of a section.
fn blocks(part: &str) -> Vec<Block> {
    let mut fences = Fences::default();
    let mut found: Vec<Block> = Vec::new();
    let (mut start, mut in_block) = (0, false);
    for line in part.split_inclusive('\n') {
        let end = start + line.len();
        let is_code = fences.push_line(line);
        let entry = if is_code { None } else { timeline(line).pop() };
        let ends_block = line.trim().is_empty() || line.starts_with(['#', '-', '*', '+']);
        if let Some(entry) = entry {
            found.push(Block { date: entry.date, start, end });
            in_block = true;
        } else if in_block && (is_code || !ends_block) {
            if let Some(block) = found.last_mut() {
                block.end = end;
            }
        } else {
            in_block = false;
        }
        start = end;
    }
    found
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn entry(date: &str, text: &str) -> TimelineEntry {
        TimelineEntry { date: date.into(), text: text.into(), source: None }
    }

    fn add(body: &str, date: &str) -> String {
        add_timeline_entry(body, &entry(date, "new")).unwrap().unwrap()
    }

    #[test]
    fn a_missing_section_is_created() {
        assert_eq!(add("", "2024-02-29"), "## Timeline\n\n- 2024-02-29 | new\n");
        assert_eq!(add("text", "2024-02-29"), "text\n\n## Timeline\n\n- 2024-02-29 | new\n");
        assert_eq!(
            add("## Timeline\n\n# B\r\n", "2024-02-29"),
            "## Timeline\n\n- 2024-02-29 | new\n\n# B\r\n"
        );
        assert_eq!(
            add("a\r\n", "2024-02-29"),
            "a\r\n\r\n## Timeline\r\n\r\n- 2024-02-29 | new\r\n"
        );
    }

    #[test]
    fn a_line_is_inserted_in_order() {
        let newest_first =
            "## timeline\n- **2024-03-01** | c\n  more\n- 2024-02-01 | b\n\n# Next\n";
        assert_eq!(
            add(newest_first, "2024-02-15"),
            "## timeline\n- **2024-03-01** | c\n  more\n- 2024-02-15 | new\n- 2024-02-01 | b\n\n# \
                Next\n"
        );
        assert_eq!(
            add(newest_first, "2024-01-01"),
            "## timeline\n- **2024-03-01** | c\n  more\n- 2024-02-01 | b\n- 2024-01-01 | new\n\n# \
                Next\n"
        );
        let oldest_first = "## Timeline\n\n- 2024-01-01 | a\n```\ncode\n\n- 2024-01-09 | \
            no\n```\n- 2024-02-01 | b";
        assert_eq!(
            add(oldest_first, "2024-01-15"),
            "## Timeline\n\n- 2024-01-01 | a\n```\ncode\n\n- 2024-01-09 | no\n```\n- 2024-01-15 | \
                new\n- 2024-02-01 | b"
        );
        assert_eq!(
            add(oldest_first, "2024-02-01"),
            format!("{oldest_first}\n- 2024-02-01 | new\n")
        );
        assert_eq!(
            add(oldest_first, "2023-01-01"),
            oldest_first.replacen("- 2024-01-01", "- 2023-01-01 | new\n- 2024-01-01", 1)
        );
        // One line has no order, so the newest comes first.
        assert_eq!(
            add("## Timeline\n- 2024-01-01 | a\n", "2025-01-01"),
            "## Timeline\n- 2025-01-01 | new\n- 2024-01-01 | a\n"
        );
    }

    #[test]
    fn an_existing_entry_is_not_added_again() {
        let body = "- **2024-01-01** | new [Source: mail]\n- 2024-01-02 | two  words\n";
        assert_eq!(add_timeline_entry(body, &entry("2024-01-02", "two words")), Ok(None));
        assert_eq!(add_timeline_entry(body, &entry("2024-01-01", "new")), Ok(None));
        assert!(add_timeline_entry(body, &entry("2024-01-01", "other")).unwrap().is_some());
    }

    #[test]
    fn unparsable_entries_are_refused() {
        let sourced = TimelineEntry {
            source: Some("[mail](x), p. 3".into()),
            ..entry("2024-01-01", "Met Ann")
        };
        let new = add_timeline_entry("", &sourced).unwrap().unwrap();
        assert_eq!(timeline(&new), [sourced]);
        for date in ["2024-02-30", "24-1-1", "", "2024-01-01 | x", "2024-01-01\n", "yesterday"] {
            assert!(
                matches!(add_timeline_entry("", &entry(date, "a")), Err(TimelineError::NoDay(_))),
                "{date}"
            );
        }
        for text in ["", " a", "a\nb", "a\u{2028}b", "a\u{7}", "a [Source: x] b", "[source: x]"] {
            let refused = add_timeline_entry("", &entry("2024-01-01", text));
            assert_eq!(refused, Err(TimelineError::NoLine("the text")), "{text:?}");
        }
        for source in ["", "]", "[", "a\nb"] {
            let with = TimelineEntry { source: Some(source.into()), ..entry("2024-01-01", "a") };
            assert_eq!(
                add_timeline_entry("", &with),
                Err(TimelineError::NoLine("the source")),
                "{source:?}"
            );
        }
        assert_eq!(
            add_timeline_entry("```\nopen", &entry("2024-01-01", "a")),
            Err(TimelineError::OpenFence)
        );
    }

    proptest! {
        #[test]
        fn an_inserted_line_leaves_all_others_unchanged(
            body in "(- 202[0-9]-0[1-3]-1[0-9] \\| [a-c]\n|## Timeline\n|# B\n|  \
                more\n|text\n|\n|```\n|a\r\n){0,14}",
            day in 10_u32..20,
            text in "[a-c]",
        ) {
            let entry = entry(&format!("2024-02-{day}"), &text);
            let Ok(Some(new)) = add_timeline_entry(&body, &entry) else { return Ok(()) };
            prop_assert_eq!(add_timeline_entry(&new, &entry), Ok(None));
            let without: Vec<TimelineEntry> = timeline(&new).into_iter().filter(|it| *it != entry)
                .collect();
            prop_assert_eq!(without, timeline(&body));
            let mut rest = new.lines();
            let has_all_lines = body.lines().all(|line| rest.any(|it| it == line));
            prop_assert!(has_all_lines, "{:?} {:?}", body, new);
        }

        #[test]
        fn any_entry_is_inserted_or_refused(body in "\\PC{0,20}", date in "\\PC{0,12}",
            text in "\\PC{0,20}") {
            let _ = add_timeline_entry(&body,
                &TimelineEntry { source: Some(text.clone()), ..entry(&date, &text) });
            let _ = add_timeline_entry(&body, &entry("2024-01-01", &text));
        }
    }
}
