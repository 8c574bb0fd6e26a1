//! The pattern note: an account returned to a topic. No I/O.
//!
//! A page has one note per topic and week. A new note replaces one about overlapping days.

use std::collections::HashSet;

use super::super::topics;
use brain_base::clock::parse_day;
use brain_page as page;

/// The section of a page's summary with these notes.
const SECTION: &str = "Patterns";
/// The section that follows it.
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
    /// The days of the first and last post.
    pub(super) first: String,
    pub(super) last: String,
    /// The account, as in the source after `X, `.
    pub(super) account: String,
}

/// The result of adding a note.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum NoteResult {
    /// The page already has it.
    Present,
    /// The owner removed or changed it, so it stays out.
    Unwanted,
    /// The page with the note.
    Written(String),
}

impl Pattern {
    /// Returns the line.
    pub(super) fn line(&self) -> String {
        let Self { topic, count, first, last, account } = self;
        format!(
            "{PREFIX}{topic}{MIDDLE}{count} posts from {first} to {last} [Source: X, {account}]"
        )
    }

    /// Parses a note.
    fn read(line: &str) -> Option<Self> {
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

    /// Adds the note to `body`, the text of `page`. `done` are the journal's keys.
    ///
    /// # Errors
    /// A description if the page has no place for it.
    pub(super) fn put(
        &self,
        body: &str,
        page: &str,
        done: &HashSet<String>,
    ) -> Result<NoteResult, String> {
        let line = self.line();
        let existing = page::section(body, SECTION).and_then(|part| {
            let mut at = part.start;
            body[part].split_inclusive('\n').find_map(|text| {
                let start = at;
                at += text.len();
                let is_same_note = |it: &Self| {
                    topics::key(&it.topic) == topics::key(&self.topic)
                        && it.account == self.account
                        && it.overlaps(&self.first, &self.last)
                };
                Self::read(text).filter(is_same_note).map(|_| (start, text.trim_end().len()))
            })
        });
        if let Some((start, long)) = existing {
            if body[start..start + long] == line {
                return Ok(NoteResult::Present);
            }
            return Ok(NoteResult::Written(
                [&body[..start], &line, &body[start + long..]].concat(),
            ));
        }
        if done.iter().any(|key| self.covers_key(key, page)) {
            return Ok(NoteResult::Unwanted);
        }
        let new = page::add_note(body, SECTION, NEXT_SECTION, &line)
            .map_err(|error| error.to_string())?;
        // Inside an unclosed code block it would not be a note.
        let is_in_section =
            page::section(&new, SECTION).is_some_and(|part| new[part].lines().any(|it| it == line));
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

    fn written(result: Result<NoteResult, String>) -> String {
        let Ok(NoteResult::Written(body)) = result else { panic!("{result:?}") };
        body
    }

    #[test]
    fn a_note_is_parsed() {
        let note = pattern("01", "07", 3);
        assert_eq!(
            note.line(),
            "- Posts about Rust \\#1 again and again: 3 posts from 2026-11-01 to 2026-11-07 \
                [Source: X, @ann]"
        );
        assert_eq!(Pattern::read(&note.line()), Some(note));
        for none in [
            "",
            "- Posts about x",
            "- Posts about x again and again: many posts from a to b [Source: X, @a]",
        ] {
            assert_eq!(Pattern::read(none), None, "{none}");
        }
    }

    #[test]
    fn a_week_has_one_note_and_the_next_week_another() {
        let first = pattern("01", "07", 3);
        let body =
            written(first.put("Hi.\n\n## Timeline\n\n- 2026-11-01 | a\n", "p", &HashSet::new()));
        assert_eq!(
            body,
            format!("Hi.\n\n## Patterns\n\n{}\n\n## Timeline\n\n- 2026-11-01 | a\n", first.line())
        );
        assert_eq!(first.put(&body, "p", &HashSet::new()), Ok(NoteResult::Present));
        let grown = pattern("02", "08", 4);
        let body = written(grown.put(&body, "p", &HashSet::from([first.key("p")])));
        assert!(body.contains(&grown.line()) && !body.contains(&first.line()));
        let next = pattern("09", "12", 3);
        let body = written(next.put(&body, "p", &HashSet::from([first.key("p"), grown.key("p")])));
        assert!(body.contains(&format!("{}\n{}\n", grown.line(), next.line())));
    }

    #[test]
    fn a_removed_or_changed_note_stays_out() {
        let first = pattern("01", "07", 3);
        let done = HashSet::from([first.key("p")]);
        let grown = pattern("02", "08", 4);
        assert_eq!(grown.put("Hi.\n", "p", &done), Ok(NoteResult::Unwanted));
        let changed = format!("## Patterns\n\n{} or so\n", first.line());
        assert_eq!(grown.put(&changed, "p", &done), Ok(NoteResult::Unwanted));
        // Other days, another page, another topic.
        assert!(matches!(
            pattern("08", "09", 3).put("Hi.\n", "p", &done),
            Ok(NoteResult::Written(_))
        ));
        assert!(matches!(grown.put("Hi.\n", "q", &done), Ok(NoteResult::Written(_))));
        let other = Pattern { topic: "Go".into(), ..grown };
        assert!(matches!(other.put("Hi.\n", "p", &done), Ok(NoteResult::Written(_))));
    }

    #[test]
    fn an_unclosed_code_fence_prevents_a_note() {
        assert!(pattern("01", "07", 3).put("```\nopen", "p", &HashSet::new()).is_err());
    }
}
