//! The pattern note: a line that says that an account returned to a topic. No I/O.
//!
//! A page has one note per account, topic and week. A new note replaces one about overlapping days.

use std::collections::HashSet;

use super::super::topics;
use brain_base::clock::parse_day;
use brain_page as page;

/// The section with these notes, in the part of a page above the timeline.
const SECTION: &str = "Patterns";
/// The section before which a new [`SECTION`] is added.
const NEXT_SECTION: &str = "Timeline";
const PREFIX: &str = "- Posts about ";
const MIDDLE: &str = " again and again: ";

/// A pattern note.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Pattern {
    /// The topic, escaped.
    pub(super) topic: String,
    /// Number of posts.
    pub(super) count: usize,
    /// The day of the first post, as `YYYY-MM-DD`.
    pub(super) first: String,
    /// The day of the last post, as `YYYY-MM-DD`.
    pub(super) last: String,
    /// The account, as it follows `X, ` in the source.
    pub(super) account: String,
}

/// The result of adding a note.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum NoteResult {
    /// The page already has it.
    Present,
    /// The owner removed or changed an overlapping note, so this one is not added.
    RemovedByOwner,
    /// The page's text with the note.
    Written(String),
}

impl Pattern {
    /// Formats the note as a line.
    pub(super) fn line(&self) -> String {
        let Self { topic, count, first, last, account } = self;
        format!(
            "{PREFIX}{topic}{MIDDLE}{count} posts from {first} to {last} [Source: X, {account}]"
        )
    }

    /// Parses a line. `None` if it is not a note.
    fn parse(line: &str) -> Option<Self> {
        let (topic, rest) = line.trim_end().strip_prefix(PREFIX)?.rsplit_once(MIDDLE)?;
        let (count, rest) = rest.split_once(" posts from ")?;
        let (days, account) = rest.strip_suffix(']')?.split_once(" [Source: X, ")?;
        let (first, last) = days.split_once(" to ")?;
        parse_day(first)?;
        parse_day(last)?;
        Some(Self {
            topic: topic.into(),
            count: count.parse().ok()?,
            first: first.into(),
            last: last.into(),
            account: account.into(),
        })
    }

    /// Returns the journal key of this note in `page`. The topic is last, because it may have
    /// spaces.
    pub(super) fn key(&self, page: &str) -> String {
        let Self { count, first, last, .. } = self;
        format!("pattern {page} {first} {last} {count} {}", topics::key(&self.topic))
    }

    /// Returns whether `key` is the key of a note in `page` on this topic about overlapping days.
    fn covers_key(&self, key: &str, page: &str) -> bool {
        let parts: Vec<&str> = key.splitn(6, ' ').collect();
        let ["pattern", of, first, last, _, topic] = parts.as_slice() else { return false };
        *of == page && *topic == topics::key(&self.topic) && self.overlaps(first, last)
    }

    fn overlaps(&self, first: &str, last: &str) -> bool {
        first <= self.last.as_str() && self.first.as_str() <= last
    }

    /// Adds the note to `body`, the text of `page`. `done_keys` are the keys in the journal.
    ///
    /// # Errors
    /// A description if the note cannot be added, or an unclosed code fence would contain it.
    pub(super) fn put(
        &self,
        body: &str,
        page: &str,
        done_keys: &HashSet<String>,
    ) -> Result<NoteResult, String> {
        let line = self.line();
        let existing = page::first_section(body, SECTION).and_then(|part| {
            let mut at = part.start;
            body[part].split_inclusive('\n').find_map(|text| {
                let start = at;
                at += text.len();
                let is_same_note = |it: &Self| {
                    topics::key(&it.topic) == topics::key(&self.topic)
                        && it.account == self.account
                        && it.overlaps(&self.first, &self.last)
                };
                Self::parse(text).filter(is_same_note).map(|_| (start, text.trim_end().len()))
            })
        });
        if let Some((start, length)) = existing {
            if body[start..start + length] == line {
                return Ok(NoteResult::Present);
            }
            return Ok(NoteResult::Written(
                [&body[..start], &line, &body[start + length..]].concat(),
            ));
        }
        if done_keys.iter().any(|key| self.covers_key(key, page)) {
            return Ok(NoteResult::RemovedByOwner);
        }
        let new = page::add_note(body, SECTION, NEXT_SECTION, &line)
            .map_err(|error| error.to_string())?;
        // Inside an unclosed code fence, the line would not be a note.
        let is_in_section = page::first_section(&new, SECTION)
            .is_some_and(|part| new[part].lines().any(|it| it == line));
        if is_in_section {
            Ok(NoteResult::Written(new))
        } else {
            Err("the page has an unclosed code fence, and the note would be inside it".into())
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn pattern(first: &str, last: &str, count: usize) -> Pattern {
        let (first, last) = (format!("2026-11-{first}"), format!("2026-11-{last}"));
        Pattern { topic: "Rust \\#1".into(), count, first, last, account: "@ann".into() }
    }

    fn written_body(result: Result<NoteResult, String>) -> String {
        let Ok(NoteResult::Written(body)) = result else { panic!("{result:?}") };
        body
    }

    #[test]
    fn a_formatted_note_is_parsed_back() {
        let note = pattern("01", "07", 3);
        assert_eq!(
            note.line(),
            "- Posts about Rust \\#1 again and again: 3 posts from 2026-11-01 to 2026-11-07 \
                [Source: X, @ann]"
        );
        assert_eq!(Pattern::parse(&note.line()), Some(note));
        for invalid in [
            "",
            "- Posts about x",
            "- Posts about x again and again: many posts from a to b [Source: X, @a]",
        ] {
            assert_eq!(Pattern::parse(invalid), None, "{invalid}");
        }
    }

    #[test]
    fn a_week_has_one_note_and_the_next_week_another() {
        let first = pattern("01", "07", 3);
        let page = "Hi.\n\n## Timeline\n\n- 2026-11-01 | a\n";
        let body = written_body(first.put(page, "p", &HashSet::new()));
        assert_eq!(
            body,
            format!("Hi.\n\n## Patterns\n\n{}\n\n## Timeline\n\n- 2026-11-01 | a\n", first.line())
        );
        assert_eq!(first.put(&body, "p", &HashSet::new()), Ok(NoteResult::Present));
        let grown = pattern("02", "08", 4);
        let body = written_body(grown.put(&body, "p", &HashSet::from([first.key("p")])));
        assert!(body.contains(&grown.line()) && !body.contains(&first.line()));
        let next = pattern("09", "12", 3);
        let both_keys = HashSet::from([first.key("p"), grown.key("p")]);
        let body = written_body(next.put(&body, "p", &both_keys));
        assert!(body.contains(&format!("{}\n{}\n", grown.line(), next.line())));
    }

    #[test]
    fn a_removed_or_changed_note_stays_out() {
        let first = pattern("01", "07", 3);
        let done_keys = HashSet::from([first.key("p")]);
        let grown = pattern("02", "08", 4);
        assert_eq!(grown.put("Hi.\n", "p", &done_keys), Ok(NoteResult::RemovedByOwner));
        let changed = format!("## Patterns\n\n{} or so\n", first.line());
        assert_eq!(grown.put(&changed, "p", &done_keys), Ok(NoteResult::RemovedByOwner));
        // Other days, another page, another topic.
        assert!(matches!(
            pattern("08", "09", 3).put("Hi.\n", "p", &done_keys),
            Ok(NoteResult::Written(_))
        ));
        assert!(matches!(grown.put("Hi.\n", "q", &done_keys), Ok(NoteResult::Written(_))));
        let other = Pattern { topic: "Go".into(), ..grown };
        assert!(matches!(other.put("Hi.\n", "p", &done_keys), Ok(NoteResult::Written(_))));
    }

    #[test]
    fn an_unclosed_code_fence_prevents_a_note() {
        assert!(pattern("01", "07", 3).put("```\nopen", "p", &HashSet::new()).is_err());
    }
}
