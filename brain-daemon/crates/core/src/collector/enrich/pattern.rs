//! The pattern note: that somebody comes back to a topic. One line for a page, topic and week; a note about days that are among those of a
//! new one becomes the new one. Knows nothing of posts. Pure.

use std::collections::HashSet;

use super::super::topics;
use brain_base::clock::parse_day;
use brain_page as page;

/// The section of a page's compiled truth that has these notes.
const SECTION: &str = "Patterns";
/// The section that it stands above.
const ABOVE: &str = "Timeline";
const BEGINS: &str = "- Posts about ";
const AGAIN: &str = " again and again: ";

/// What is noted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Pattern {
    /// The topic, escaped.
    pub(super) topic: String,
    /// How many posts.
    pub(super) count: usize,
    /// The days of the first and the last of them.
    pub(super) first: String,
    pub(super) last: String,
    /// Whose posts: what stands behind `X, ` in the source.
    pub(super) whose: String,
}

/// What came of a note.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Came {
    /// The page has it already.
    There,
    /// It was taken out of the page, or changed there, and stays so.
    Unwanted,
    /// The page with it.
    Written(String),
}

impl Pattern {
    /// The line.
    pub(super) fn line(&self) -> String {
        let Self { topic, count, first, last, whose } = self;
        format!("{BEGINS}{topic}{AGAIN}{count} posts from {first} to {last} [Source: X, {whose}]")
    }

    /// The note in a line, if it is one.
    fn read(line: &str) -> Option<Self> {
        let (topic, rest) = line.trim_end().strip_prefix(BEGINS)?.rsplit_once(AGAIN)?;
        let (count, rest) = rest.split_once(" posts from ")?;
        let (days, whose) = rest.strip_suffix(']')?.split_once(" [Source: X, ")?;
        let (first, last) = days.split_once(" to ")?;
        parse_day(first)?;
        parse_day(last)?;
        Some(Self {
            topic: topic.into(),
            count: count.parse().ok()?,
            first: first.into(),
            last: last.into(),
            whose: whose.into(),
        })
    }

    /// What says in the journal that this note was written into `page`. Topics are the last, since they have spaces.
    pub(super) fn key(&self, page: &str) -> String {
        let Self { count, first, last, .. } = self;
        format!("pattern {page} {first} {last} {count} {}", topics::key(&self.topic))
    }

    /// Whether `key` is one of this topic in `page`, about days among which are some of these.
    fn is_of(&self, key: &str, page: &str) -> bool {
        let parts: Vec<&str> = key.splitn(6, ' ').collect();
        let ["pattern", of, first, last, _, topic] = parts.as_slice() else { return false };
        *of == page && *topic == topics::key(&self.topic) && self.overlaps(first, last)
    }

    fn overlaps(&self, first: &str, last: &str) -> bool {
        first <= self.last.as_str() && self.first.as_str() <= last
    }

    /// Puts the note into `body`, the text of `page`. `done` are the journal's keys.
    ///
    /// # Errors
    /// In words, when the page has no place for it.
    pub(super) fn put(
        &self,
        body: &str,
        page: &str,
        done: &HashSet<String>,
    ) -> Result<Came, String> {
        let line = self.line();
        let earlier = page::section(body, SECTION).and_then(|part| {
            let mut at = part.start;
            body[part].split_inclusive('\n').find_map(|text| {
                let start = at;
                at += text.len();
                let same = |it: &Self| {
                    topics::key(&it.topic) == topics::key(&self.topic)
                        && it.whose == self.whose
                        && it.overlaps(&self.first, &self.last)
                };
                Self::read(text).filter(same).map(|_| (start, text.trim_end().len()))
            })
        });
        if let Some((start, long)) = earlier {
            if body[start..start + long] == line {
                return Ok(Came::There);
            }
            return Ok(Came::Written([&body[..start], &line, &body[start + long..]].concat()));
        }
        if done.iter().any(|key| self.is_of(key, page)) {
            return Ok(Came::Unwanted);
        }
        let new = page::add_note(body, SECTION, ABOVE, &line).map_err(|error| error.to_string())?;
        // In code that is never closed it would be no note.
        let there =
            page::section(&new, SECTION).is_some_and(|part| new[part].lines().any(|it| it == line));
        if there {
            Ok(Came::Written(new))
        } else {
            Err("the page opens a code fence that it does not close, so a line there is no note"
                .into())
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn pattern(first: &str, last: &str, count: usize) -> Pattern {
        let (first, last) = (format!("2026-11-{first}"), format!("2026-11-{last}"));
        Pattern { topic: "Rust \\#1".into(), count, first, last, whose: "@ann".into() }
    }

    fn written(came: Result<Came, String>) -> String {
        let Ok(Came::Written(body)) = came else { panic!("{came:?}") };
        body
    }

    #[test]
    fn a_note_reads_back() {
        let note = pattern("01", "07", 3);
        assert_eq!(
            note.line(),
            "- Posts about Rust \\#1 again and again: 3 posts from 2026-11-01 to 2026-11-07 [Source: X, @ann]"
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
        assert_eq!(first.put(&body, "p", &HashSet::new()), Ok(Came::There));
        let grown = pattern("02", "08", 4);
        let body = written(grown.put(&body, "p", &HashSet::from([first.key("p")])));
        assert!(body.contains(&grown.line()) && !body.contains(&first.line()));
        let next = pattern("09", "12", 3);
        let body = written(next.put(&body, "p", &HashSet::from([first.key("p"), grown.key("p")])));
        assert!(body.contains(&format!("{}\n{}\n", grown.line(), next.line())));
    }

    #[test]
    fn a_note_that_was_taken_out_or_changed_stays_so() {
        let first = pattern("01", "07", 3);
        let done = HashSet::from([first.key("p")]);
        let grown = pattern("02", "08", 4);
        assert_eq!(grown.put("Hi.\n", "p", &done), Ok(Came::Unwanted));
        let changed = format!("## Patterns\n\n{} or so\n", first.line());
        assert_eq!(grown.put(&changed, "p", &done), Ok(Came::Unwanted));
        // Other days, another page, another topic.
        assert!(matches!(pattern("08", "09", 3).put("Hi.\n", "p", &done), Ok(Came::Written(_))));
        assert!(matches!(grown.put("Hi.\n", "q", &done), Ok(Came::Written(_))));
        let other = Pattern { topic: "Go".into(), ..grown };
        assert!(matches!(other.put("Hi.\n", "p", &done), Ok(Came::Written(_))));
    }

    #[test]
    fn code_that_is_not_closed_takes_no_note() {
        assert!(pattern("01", "07", 3).put("```\nopen", "p", &HashSet::new()).is_err());
    }
}
