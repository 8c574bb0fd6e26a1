//! Compares two texts by lines.

use std::ops::Range;

use diffy::{DiffOptions, HunkRange};

/// Maximum product of the numbers of lines in which two texts differ. The time of a comparison
/// grows with this product, and the store's writer waits for the comparison.
const MAX_LINE_PAIRS: usize = 16_000_000;

/// Lines of one text that took the place of lines of another. Lines are counted from 0.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChangedLines {
    /// The lines of the old text; empty if lines were added.
    pub old: Range<usize>,
    /// The lines of the new text; empty if lines were removed.
    pub new: Range<usize>,
}

impl ChangedLines {
    /// Returns the lines between the equal lines at the start and those at the end.
    pub(crate) fn between_equal_ends(old: &[&str], new: &[&str]) -> Self {
        let start = old.iter().zip(new).take_while(|(a, b)| a == b).count();
        let (old, new) = (&old[start..], &new[start..]);
        let same_end = old.iter().rev().zip(new.iter().rev()).take_while(|(a, b)| a == b).count();
        Self { old: start..start + old.len() - same_end, new: start..start + new.len() - same_end }
    }

    /// Returns the product of the numbers of lines.
    pub(crate) fn line_pairs(&self) -> usize {
        self.old.len().saturating_mul(self.new.len())
    }
}

/// Returns the differences between two texts, in order. All other lines are equal; line endings
/// are ignored. Texts that differ in too many lines have one difference: all lines from the
/// first one that differs to the last.
#[must_use]
pub fn changed_lines(old: &str, new: &str) -> Vec<ChangedLines> {
    let (old, new): (Vec<&str>, Vec<&str>) = (old.lines().collect(), new.lines().collect());
    let differing = ChangedLines::between_equal_ends(&old, &new);
    if differing.line_pairs() > MAX_LINE_PAIRS {
        return vec![differing];
    }
    let text = |lines: &[&str]| lines.iter().flat_map(|line| [*line, "\n"]).collect::<String>();
    let (old, new) = (text(&old), text(&new));
    let mut options = DiffOptions::new();
    options.set_context_len(0);
    // The first line of a range is counted from 1, unless the range is empty.
    let range = |lines: HunkRange| {
        let start = lines.start() - usize::from(!lines.is_empty());
        start..start + lines.len()
    };
    let patch = options.create_patch(&old, &new);
    let hunks = patch.hunks().iter();
    hunks
        .map(|hunk| ChangedLines { old: range(hunk.old_range()), new: range(hunk.new_range()) })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn changes(old: &str, new: &str) -> Vec<(Range<usize>, Range<usize>)> {
        changed_lines(old, new).into_iter().map(|change| (change.old, change.new)).collect()
    }

    #[test]
    fn added_removed_and_replaced_lines_are_found() {
        assert_eq!(changes("a\nb\n", "a\nb\n"), []);
        assert_eq!(changes("a\r\nb", "a\nb\n"), [], "line ends do not count");
        assert_eq!(changes("a\nc\n", "a\nb\nc\n"), [(1..1, 1..2)]);
        assert_eq!(changes("a\nb\nc\n", "a\nc\n"), [(1..2, 1..1)]);
        assert_eq!(changes("a\nb\nc\n", "a\nB\nc\nd"), [(1..2, 1..2), (3..3, 3..4)]);
        assert_eq!(changes("", "a\n"), [(0..0, 0..1)]);
        assert_eq!(changes("a\n", ""), [(0..1, 0..0)]);
        assert_eq!(changes("a\n", "x\na\ny\n"), [(0..0, 0..1), (1..1, 2..3)]);
    }

    #[test]
    fn distant_changes_of_a_long_text_are_one() {
        let text = |lines: usize, last: &str| {
            let middle: String = (2..lines).map(|n| format!("{n}\n")).collect();
            format!("{last}\n{middle}{last}\n")
        };
        let apart = [(0..1, 0..1), (2999..3000, 2999..3000)];
        assert_eq!(changes(&text(3000, "a"), &text(3000, "b")), apart);
        assert_eq!(changes(&text(5000, "a"), &text(5000, "b")), [(0..5000, 0..5000)]);
    }

    proptest! {
        #[test]
        fn lines_between_changes_are_equal(old in "[abc\n]{0,60}", new in "[abc\n]{0,60}") {
            let (before, after): (Vec<_>, Vec<_>) = (old.lines().collect(), new.lines().collect());
            let (mut at_old, mut at_new) = (0, 0);
            let end = ChangedLines {
                old: before.len()..before.len(),
                new: after.len()..after.len(),
            };
            for change in changed_lines(&old, &new).into_iter().chain([end]) {
                prop_assert_eq!(
                    &before[at_old..change.old.start],
                    &after[at_new..change.new.start]
                );
                (at_old, at_new) = (change.old.end, change.new.end);
            }
        }
    }
}
