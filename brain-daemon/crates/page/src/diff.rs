//! The difference of two texts in the unified format.

use diffy::{DiffOptions, Line};

use crate::ChangedLines;

/// Maximum product of the numbers of lines in which two texts differ. The time of a comparison
/// grows with this product.
const MAX_LINE_PAIRS: usize = 100_000_000;

/// A difference in the unified format.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct UnifiedDiff {
    /// Header and hunks; empty if the texts are equal.
    pub text: String,
    /// The number of lines that only the newer text has.
    pub added: u64,
    /// The number of lines that only the older text has.
    pub removed: u64,
}

/// Compares two texts line by line. The header contains `names`: of the older and the newer text.
/// Returns `None` if too many lines differ to compare them in a second.
#[must_use]
pub fn unified_diff(old: &str, new: &str, names: (&str, &str)) -> Option<UnifiedDiff> {
    if old == new {
        return Some(UnifiedDiff::default());
    }
    let (old_lines, new_lines): (Vec<&str>, Vec<&str>) =
        (old.lines().collect(), new.lines().collect());
    if ChangedLines::between_equal_ends(&old_lines, &new_lines).line_pairs() > MAX_LINE_PAIRS {
        return None;
    }
    let patch = DiffOptions::new().create_patch(old, new);
    let (mut added, mut removed) = (0, 0);
    for line in patch.hunks().iter().flat_map(diffy::Hunk::lines) {
        match line {
            Line::Insert(_) => added += 1,
            Line::Delete(_) => removed += 1,
            Line::Context(_) => {}
        }
    }
    // The library would quote the names, so its header is replaced.
    let patch = patch.to_string();
    let hunks = patch.splitn(3, '\n').nth(2).unwrap_or_default();
    let text = format!("--- {}\n+++ {}\n{hunks}", names.0, names.1);
    Some(UnifiedDiff { text, added, removed })
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn changed_lines_have_signs_and_are_counted() {
        let diff = unified_diff("a\nb\nc\n", "a\nB\nc\nd\n", ("x@1", "日@2")).unwrap();
        assert_eq!(diff.text, "--- x@1\n+++ 日@2\n@@ -1,3 +1,4 @@\n a\n-b\n+B\n c\n+d\n");
        assert_eq!((diff.added, diff.removed), (2, 1));
        assert_eq!(unified_diff("a", "a", ("", "")), Some(UnifiedDiff::default()));
    }

    #[test]
    fn only_texts_with_many_changed_lines_are_refused() {
        let long = |word: &str| (0..20_000).map(|n| format!("{word} {n}\n")).collect::<String>();
        assert_eq!(unified_diff(&long("a"), &long("b"), ("", "")), None);
        let changed = long("a").replace("a 7000\n", "b\n");
        assert_eq!(unified_diff(&long("a"), &changed, ("", "")).unwrap().added, 1);
    }
}
