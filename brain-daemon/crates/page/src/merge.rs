//! Joins two changes of one text, line by line.

use crate::{ChangedLines, changed_lines};

/// The lines of a text, with their ends.
struct Lines<'a>(Vec<&'a str>);

/// One side of a merge: its lines and its changes of the base, in order.
struct MergeSide<'a> {
    lines: Lines<'a>,
    changes: std::iter::Peekable<std::vec::IntoIter<ChangedLines>>,
    /// The changes of the current group.
    group: Vec<ChangedLines>,
}

/// Returns the text that has the changes of both sides, if they did not change the same lines.
/// `base` is the text that both sides began with. Lines that both sides added at the same place
/// follow each other, those of `theirs` first; equal lines at their beginning are taken once.
/// Unchanged lines are as in `theirs`, with its line ends.
#[must_use]
pub fn merge(base: &str, ours: &str, theirs: &str) -> Option<String> {
    let base_len = base.lines().count();
    let (mut ours, mut theirs) = (MergeSide::new(base, ours), MergeSide::new(base, theirs));
    let mut merged = String::with_capacity(ours.lines.bytes().max(theirs.lines.bytes()));
    // The next line of the base, and of `theirs`.
    let (mut at, mut their_at) = (0, 0);
    loop {
        let next = match (ours.next_start(), theirs.next_start()) {
            (None, None) => break,
            (a, b) => a.unwrap_or(base_len).min(b.unwrap_or(base_len)),
        };
        theirs.lines.push_to(&mut merged, their_at..their_at + (next - at));
        their_at += next - at;
        let end = take_group(&mut ours, &mut theirs);
        let (our_lines, their_lines) = (ours.region(next, end), theirs.region(next, end));
        match (our_lines, their_lines) {
            (Some(only), None) => {
                ours.lines.push_to(&mut merged, only);
                their_at += end - next;
            }
            (None, Some(only)) => {
                theirs.lines.push_to(&mut merged, only.clone());
                their_at = only.end;
            }
            (Some(our_range), Some(their_range)) => {
                let (a, b) = (ours.lines.texts(&our_range), theirs.lines.texts(&their_range));
                theirs.lines.push_to(&mut merged, their_range.clone());
                their_at = their_range.end;
                if a != b {
                    if next != end {
                        return None;
                    }
                    let same = a.iter().zip(&b).take_while(|(a, b)| a == b).count();
                    ours.lines.push_to(&mut merged, our_range.start + same..our_range.end);
                }
            }
            (None, None) => {}
        }
        at = end;
    }
    let their_end = theirs.lines.0.len();
    theirs.lines.push_to(&mut merged, their_at..their_end);
    Some(merged)
}

/// Takes the next change, and all changes of either side that overlap it or each other. Returns the
/// end of these lines in the base.
fn take_group(ours: &mut MergeSide<'_>, theirs: &mut MergeSide<'_>) -> usize {
    ours.group.clear();
    theirs.group.clear();
    // Added lines come before changed ones at the same place, and do not overlap them.
    let order = |side: &mut MergeSide<'_>| {
        side.changes.peek().map(|change| (change.old.start, !change.old.is_empty()))
    };
    let first = match (order(ours), order(theirs)) {
        (Some(a), Some(b)) if b < a => theirs.take_next(),
        (None, _) => theirs.take_next(),
        _ => ours.take_next(),
    };
    let Some(mut range) = first else { return 0 };
    loop {
        let overlaps = |side: &mut MergeSide<'_>| {
            side.changes.peek().is_some_and(|next| match range.is_empty() {
                true => next.old == range,
                false => {
                    next.old.start < range.end
                        && (!next.old.is_empty() || next.old.start > range.start)
                }
            })
        };
        let next = match (overlaps(ours), overlaps(theirs)) {
            (true, _) => ours.take_next(),
            (_, true) => theirs.take_next(),
            _ => return range.end,
        };
        range.end = next.map_or(range.end, |next| range.end.max(next.end));
    }
}

impl<'a> MergeSide<'a> {
    fn new(base: &str, text: &'a str) -> Self {
        let lines = Lines(text.split_inclusive('\n').collect());
        Self { lines, changes: changed_lines(base, text).into_iter().peekable(), group: Vec::new() }
    }

    fn next_start(&mut self) -> Option<usize> {
        self.changes.peek().map(|change| change.old.start)
    }

    /// Moves the next change to the group, and returns its lines in the base.
    fn take_next(&mut self) -> Option<std::ops::Range<usize>> {
        let change = self.changes.next()?;
        let range = change.old.clone();
        self.group.push(change);
        Some(range)
    }

    /// Returns the lines of this side in place of the lines `start..end` of the base. `None` if the
    /// group has no change of this side.
    fn region(&self, start: usize, end: usize) -> Option<std::ops::Range<usize>> {
        let (first, last) = (self.group.first()?, self.group.last()?);
        Some(first.new.start - (first.old.start - start)..last.new.end + (end - last.old.end))
    }
}

impl Lines<'_> {
    fn bytes(&self) -> usize {
        self.0.iter().map(|line| line.len()).sum()
    }

    /// Adds lines to `text`. A last line without an end gets one before them.
    fn push_to(&self, text: &mut String, range: std::ops::Range<usize>) {
        for line in self.0.get(range).unwrap_or_default() {
            if !text.is_empty() && !text.ends_with('\n') {
                text.push('\n');
            }
            text.push_str(line);
        }
    }

    /// Returns lines without their ends.
    fn texts(&self, range: &std::ops::Range<usize>) -> Vec<&str> {
        let lines = self.0.get(range.clone()).unwrap_or_default();
        lines.iter().map(|line| line.trim_end_matches(['\r', '\n'])).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn merged(base: &str, ours: &str, theirs: &str) -> String {
        merge(base, ours, theirs).unwrap_or_else(|| "conflict".into())
    }

    #[test]
    fn changes_of_different_lines_are_joined() {
        assert_eq!(merged("a\nb\nc\n", "A\nb\nc\n", "a\nb\nC\n"), "A\nb\nC\n");
        assert_eq!(merged("a\nb\nc\n", "A\nb\nc\n", "a\nB\nc\n"), "A\nB\nc\n", "neighbours");
        assert_eq!(merged("a\nb\n", "a\nb\nc\n", "a\nB\n"), "a\nB\nc\n", "an added line");
        assert_eq!(merged("a\nb\n", "a\nB\n", "a\nb\nc\n"), "a\nB\nc\n");
        assert_eq!(merged("a\nb\nc\n", "b\nc\n", "a\nb\nc\nd\n"), "b\nc\nd\n", "a removed line");
        assert_eq!(merged("a\n", "x\na\n", "A\n"), "x\nA\n", "a line before a changed one");
        assert_eq!(merged("a\n", "a\n", "b\n"), "b\n");
        assert_eq!(merged("a\n", "b\n", "a\n"), "b\n");
    }

    #[test]
    fn lines_added_at_one_place_follow_each_other() {
        assert_eq!(merged("a\n", "a\nours\n", "a\ntheirs\n"), "a\ntheirs\nours\n");
        assert_eq!(merged("", "ours\n", "theirs\n"), "theirs\nours\n");
        assert_eq!(merged("a\n", "a\n\nours\n", "a\n\ntheirs\n"), "a\n\ntheirs\nours\n");
        assert_eq!(merged("a\n", "a\nb\nc\n", "a\nb\n"), "a\nb\nc\n", "one has the other's");
    }

    #[test]
    fn changes_of_the_same_lines_conflict_unless_they_are_equal() {
        assert_eq!(merge("a\nb\n", "a\nx\n", "a\ny\n"), None);
        assert_eq!(merge("a\nb\nc\n", "a\n", "a\nb\nC\n"), None, "removed here, changed there");
        assert_eq!(merge("a\nb\nc\nd\n", "x\nd\n", "a\nnew\nb\nc\nd\n"), None, "added inside");
        assert_eq!(merged("a\nb\n", "a\nx\n", "a\nx\n"), "a\nx\n");
        assert_eq!(merged("a\nb\nc\n", "a\nx\nc\nd\n", "a\nx\nc\n"), "a\nx\nc\nd\n");
    }

    #[test]
    fn line_ends_are_those_of_the_file() {
        assert_eq!(merged("a\nb\n", "a\nb\nc\n", "A\r\nb\r\n"), "A\r\nb\r\nc\n");
        assert_eq!(merged("a", "a\nb", "A"), "A\nb", "no end after the last line");
    }

    proptest! {
        #[test]
        fn a_change_of_one_side_is_the_result(base in "[abc\n]{0,40}", text in "[abc\n]{0,40}") {
            let lines = |text: &str| text.lines().map(str::to_owned).collect::<Vec<_>>();
            let theirs = merge(&base, &base, &text);
            prop_assert_eq!(theirs.as_deref().map(lines), Some(lines(&text)));
            let ours = merge(&base, &text, &base);
            prop_assert_eq!(ours.as_deref().map(lines), Some(lines(&text)));
            let both = merge(&base, &text, &text);
            prop_assert_eq!(both.as_deref().map(lines), Some(lines(&text)));
        }

        #[test]
        fn no_added_line_is_lost(
            base in proptest::collection::vec("[a-d]", 0..12),
            our_places in proptest::collection::vec(0..12_usize, 0..4),
            their_places in proptest::collection::vec(0..12_usize, 0..4),
        ) {
            let add = |places: &[usize], who: &str| {
                let mut lines = base.clone();
                for (n, place) in places.iter().enumerate() {
                    lines.insert((*place).min(lines.len()), format!("{who} {n}"));
                }
                lines.iter().map(|line| format!("{line}\n")).collect::<String>()
            };
            let (ours, theirs) = (add(&our_places, "ours"), add(&their_places, "theirs"));
            let base: String = base.iter().map(|line| format!("{line}\n")).collect();
            if let Some(merged) = merge(&base, &ours, &theirs) {
                let lines: Vec<&str> = merged.lines().collect();
                for line in ours.lines().chain(theirs.lines()) {
                    prop_assert!(lines.contains(&line), "{} lacks {}", merged, line);
                }
            }
        }
    }
}
