//! Carries the marks of lines from one version of a page to the next.
//!
//! A mark says that somebody other than the page's author wrote these lines. A write by another
//! author removes no mark from a line that stays, and marks every line that it adds, changes or
//! moves.

use std::collections::HashMap;
use std::iter;

use super::new_page::{LineChange, NewPage};
use super::record::{Author, Content, LineMark, PageRecord};
use brain_page::changed_lines;

/// The maximum number of marks of a page. If there are more, one mark covers all lines from the
/// first marked line to the last.
const MAX_MARKS: usize = 200;

/// The marks of a new version.
#[derive(Default)]
pub(super) struct PageMarks {
    pub(super) lines: Vec<LineMark>,
    /// Whether the former title, or the title of the restored version, is from another author than
    /// the page's.
    had_outside_title: bool,
}

impl NewPage {
    /// Returns the marks of this page. `former` is the page that it replaces, with its text unless
    /// that is damaged.
    pub(super) fn marks(
        &self,
        former: Option<(&PageRecord, Option<&Content>)>,
        now: i64,
    ) -> PageMarks {
        let author = match &self.line_change {
            LineChange::ByPageAuthor => return PageMarks::default(),
            LineChange::OfVersion { marks, has_outside_title } => {
                return PageMarks { lines: marks.clone(), had_outside_title: *has_outside_title };
            }
            LineChange::ByOtherAuthor => self.author.as_ref(),
            LineChange::SameMarks => None,
        };
        let Some((old, content)) = former else { return PageMarks::default() };
        if author.is_none() && old.marks.is_empty() {
            return PageMarks { lines: Vec::new(), had_outside_title: old.has_outside_title };
        }
        let before = content.map_or_else(String::new, Content::file_text);
        let after = self.content.file_text();
        // Without the former text, any line may be another author's, so all lines get a mark.
        let last = old.marks.last().filter(|_| content.is_none());
        let last = last.map(|mark| (&mark.author, mark.at));
        let new = author.map(|author| (author, now)).or(last);
        PageMarks {
            lines: carry(&old.marks, &before, &after, new),
            had_outside_title: old.has_outside_title,
        }
    }
}

impl PageMarks {
    /// Returns whether the title of `record`, which replaces `former`, is from another author than
    /// the page's.
    pub(super) fn has_outside_title(
        &self,
        change: &LineChange,
        former: Option<&PageRecord>,
        record: &PageRecord,
    ) -> bool {
        let is_changed = former.is_some_and(|former| former.title != record.title);
        self.had_outside_title || (*change == LineChange::ByOtherAuthor && is_changed)
    }
}

/// Author and time of a mark.
pub(super) type Mark<'a> = (&'a Author, i64);

/// Returns the marks of `after`, given those of `before`. Lines that are new in `after` get `new`;
/// without it, they get the mark of the lines that they replace or were moved from.
pub(super) fn carry(
    marks: &[LineMark],
    before: &str,
    after: &str,
    new: Option<Mark<'_>>,
) -> Vec<LineMark> {
    let mut old: Vec<Option<Mark<'_>>> = vec![None; before.lines().count()];
    for mark in marks {
        let (first, last) = (mark.first.saturating_sub(1) as usize, mark.last as usize);
        for line in old.iter_mut().take(last).skip(first) {
            *line = Some((&mark.author, mark.at));
        }
    }
    let marks_by_text: HashMap<&str, Mark<'_>> =
        before.lines().zip(&old).filter_map(|(line, mark)| Some((line.trim(), (*mark)?))).collect();
    let texts: Vec<&str> = after.lines().collect();
    let mut lines: Vec<Option<Mark<'_>>> = Vec::with_capacity(texts.len());
    let mut copied = 0;
    for change in changed_lines(before, after) {
        lines.extend(old.iter().take(change.old.start).skip(copied));
        let replaced = old.iter().take(change.old.end).skip(change.old.start).flatten().next();
        let mark = new.or(replaced.copied());
        let added = texts.iter().take(change.new.end).skip(change.new.start);
        lines.extend(added.map(|line| mark.or_else(|| marks_by_text.get(line.trim()).copied())));
        copied = change.old.end;
    }
    lines.extend(old.iter().skip(copied));
    group(&texts, &lines)
}

/// Joins neighbouring lines with the same author and time into one mark. Blank lines get a mark
/// only between such lines. If there are more than [`MAX_MARKS`] marks, returns a single one, with
/// the author and time of the last.
fn group(texts: &[&str], lines: &[Option<Mark<'_>>]) -> Vec<LineMark> {
    let mut marks: Vec<LineMark> = Vec::new();
    let mut is_open = false;
    for (number, (text, mark)) in iter::zip(1_u32.., iter::zip(texts, lines)) {
        let Some((author, at)) = mark else {
            is_open &= text.trim().is_empty();
            continue;
        };
        if text.trim().is_empty() {
            continue;
        }
        match marks.last_mut().filter(|last| is_open && last.author == **author && last.at == *at) {
            Some(last) => last.last = number,
            None => marks.push(LineMark {
                first: number,
                last: number,
                author: Author::clone(author),
                at: *at,
            }),
        }
        is_open = true;
    }
    if marks.len() > MAX_MARKS
        && let (Some(first), Some(last)) = (marks.first(), marks.last())
    {
        return vec![LineMark { first: first.first, ..last.clone() }];
    }
    marks
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn agent(name: &str) -> Author {
        Author { kind: "mcp:put_page".into(), uri: format!("mcp:{name}") }
    }

    /// Applies the edits of agents, and returns the marked lines of the last text: `first-last`.
    fn marked(texts: &[&str]) -> Vec<String> {
        let author = agent("a");
        let mut marks = Vec::new();
        for pair in texts.windows(2) {
            marks = carry(&marks, pair[0], pair[1], Some((&author, 5)));
        }
        marks.iter().map(|mark| format!("{}-{}", mark.first, mark.last)).collect()
    }

    #[test]
    fn exactly_the_lines_of_an_edit_are_marked() {
        assert_eq!(marked(&["a\nb\nc\n", "a\nB\nc\n"]), ["2-2"]);
        assert_eq!(marked(&["a\nc\n", "a\n\nb\n\nb2\n\nc\n"]), ["3-5"]);
        assert_eq!(marked(&["a\nb\n", "a\nb\n"]), [""; 0]);
        assert_eq!(marked(&["a\nb\nc\n", "a\nc\n"]), [""; 0]);
        assert_eq!(marked(&["a\nb\n", "x\na\nb\ny"]), ["1-1", "4-4"]);
    }

    #[test]
    fn later_edits_remove_no_mark() {
        // The last edit changes other lines, changes the marked line, moves it, or restores it.
        assert_eq!(marked(&["a\nb\n", "a\nX\nb\n", "0\na\nX\nb\n"]), ["1-1", "3-3"]);
        assert_eq!(marked(&["a\nb\n", "a\nX\nb\n", "a\nX!\nb\n"]), ["2-2"]);
        assert_eq!(marked(&["a\nb\nc\n", "a\nX\nb\nc\n", "a\nb\nc\nX\n"]), ["4-4"]);
        assert_eq!(marked(&["a\nb\n", "a\nX\nb\n", "a\nb\n", "a\nX\nb\n"]), ["2-2"]);
        // Joined with a line of the owner, and split.
        assert_eq!(marked(&["a\nb\n", "a\nX Y\nb\n", "a X Y\nb\n"]), ["1-1"]);
        assert_eq!(marked(&["a\nb\n", "a\nX Y\nb\n", "a\nX\nY\nb\n"]), ["2-3"]);
    }

    #[test]
    fn marks_of_different_authors_are_not_joined() {
        let (one, two) = (agent("one"), agent("two"));
        let first = carry(&[], "a\n", "a\nb\n", Some((&one, 1)));
        let both = carry(&first, "a\nb\n", "a\nb\nc\n", Some((&two, 2)));
        let mark = |line, author: &Author, at| LineMark {
            first: line,
            last: line,
            author: author.clone(),
            at,
        };
        assert_eq!(both, [mark(2, &one, 1), mark(3, &two, 2)]);
    }

    #[test]
    fn kept_marks_stay_on_changed_and_moved_lines() {
        let author = agent("a");
        let marks = carry(&[], "a\nb\n", "a\nX [[old]]\nb\n", Some((&author, 1)));
        let at = |after: &str| {
            let kept = carry(&marks, "a\nX [[old]]\nb\n", after, None);
            kept.iter().map(|mark| (mark.first, mark.last)).collect::<Vec<_>>()
        };
        assert_eq!(at("t\na\nX [[old]]\nb\n"), [(3, 3)]);
        assert_eq!(at("a\nX [[new]]\nb\n"), [(2, 2)]);
        assert_eq!(at("X [[old]]\na\nb\n"), [(1, 1)]);
        assert_eq!(at("a\nb\n"), []);
    }

    #[test]
    fn too_many_marks_become_one() {
        let before = "a\n".repeat(MAX_MARKS + 2);
        let after: String = (0..MAX_MARKS + 2).map(|n| format!("x{n}\na\n")).collect();
        let author = agent("a");
        let marks = carry(&[], &before, &after, Some((&author, 1)));
        assert_eq!((marks.len(), marks[0].first), (1, 1));
        assert!(marks[0].last as usize >= 2 * MAX_MARKS, "{marks:?}");
    }

    proptest! {
        /// Text of an agent has its mark after any further edits by agents.
        #[test]
        fn agents_cannot_remove_their_marks(edits in prop::collection::vec("[abX\n]{0,40}", 1..6)) {
            let author = agent("a");
            let mut before = "a\nb\nab\n".to_owned();
            let mut marks = Vec::new();
            for after in edits {
                marks = carry(&marks, &before, &after, Some((&author, 1)));
                before = after;
            }
            for (number, line) in iter::zip(1_u32.., before.lines()) {
                let is_marked = marks.iter().any(|m| (m.first..=m.last).contains(&number));
                prop_assert!(!line.contains('X') || is_marked, "{number} of {before:?}: {marks:?}");
            }
        }
    }
}
