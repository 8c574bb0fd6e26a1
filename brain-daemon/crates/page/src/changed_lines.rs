//! Compares two texts by lines.

use std::ops::Range;

use imara_diff::{Algorithm, Diff, InternedInput, Interner};

/// Lines of one text that took the place of lines of another. Lines are counted from 0.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChangedLines {
    /// The lines of the old text; empty if lines were added.
    pub old: Range<usize>,
    /// The lines of the new text; empty if lines were removed.
    pub new: Range<usize>,
}

/// Returns the differences between two texts, in order. All other lines are equal, apart from the
/// kind of their ends.
#[must_use]
pub fn changed_lines(old: &str, new: &str) -> Vec<ChangedLines> {
    let mut input = InternedInput {
        before: Vec::new(),
        after: Vec::new(),
        interner: Interner::new(old.len() / 32),
    };
    input.update_before(old.lines());
    input.update_after(new.lines());
    let mut diff = Diff::compute(Algorithm::Histogram, &input);
    diff.postprocess_no_heuristic(&input);
    let range = |lines: Range<u32>| lines.start as usize..lines.end as usize;
    diff.hunks()
        .map(|hunk| ChangedLines { old: range(hunk.before), new: range(hunk.after) })
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
