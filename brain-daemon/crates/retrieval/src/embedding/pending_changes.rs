//! Ranges of store changes that still need embedding. Bounded size, no I/O.

/// Maximum number of ranges. Above it, the two oldest ranges are merged, so the changes between
/// them are examined again.
const MAX_RANGES: usize = 32;

/// What a round embeds of the pages in its range.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Pass {
    /// The first window of each page, so that search by meaning helps early.
    Beginnings,
    /// The remaining windows.
    Rest,
}

/// A range `(after, up_to]` of changes that a round examines.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct PendingRange {
    pub(super) pass: Pass,
    pub(super) after: u64,
    pub(super) up_to: u64,
}

/// The pending changes, as ranges of their sequence numbers.
#[derive(Debug, Default)]
pub(super) struct PendingChanges {
    beginnings: Ranges,
    /// Changes whose pages have their first window, at least.
    rest: Ranges,
}

impl PendingChanges {
    /// Marks the changes in `(after, up_to]` as pending.
    pub(super) fn add(&mut self, after: u64, up_to: u64) {
        self.beginnings.add(after, up_to);
    }

    /// Removes and returns the newest range. All beginnings come before the rest.
    pub(super) fn take(&mut self) -> Option<PendingRange> {
        let range = |pass| move |(after, up_to)| PendingRange { pass, after, up_to };
        let beginnings = self.beginnings.take().map(range(Pass::Beginnings));
        beginnings.or_else(|| self.rest.take().map(range(Pass::Rest)))
    }

    /// Marks the changes of a taken range up to `reached` as pending again. With `has_rest`, pages
    /// of the changes after it still need vectors of further windows.
    pub(super) fn put_back(&mut self, range: PendingRange, reached: u64, has_rest: bool) {
        match range.pass {
            Pass::Beginnings => {
                self.beginnings.add(range.after, reached);
                if has_rest {
                    self.rest.add(reached, range.up_to);
                }
            }
            Pass::Rest => self.rest.add(range.after, reached),
        }
    }
}

/// Ranges `(after, up_to]`, ascending, with gaps between.
#[derive(Debug, Default)]
struct Ranges(Vec<(u64, u64)>);

impl Ranges {
    fn add(&mut self, after: u64, up_to: u64) {
        if after >= up_to {
            return;
        }
        let (mut after, mut up_to) = (after, up_to);
        self.0.retain(|(from, to)| {
            let is_adjacent = *from <= up_to && after <= *to;
            if is_adjacent {
                (after, up_to) = (after.min(*from), up_to.max(*to));
            }
            !is_adjacent
        });
        let index = self.0.partition_point(|(from, _)| *from < after);
        self.0.insert(index, (after, up_to));
        if self.0.len() > MAX_RANGES {
            let (_, up_to) = self.0.remove(1);
            if let Some(first) = self.0.first_mut() {
                first.1 = up_to;
            }
        }
    }

    /// Removes and returns the newest range.
    fn take(&mut self) -> Option<(u64, u64)> {
        self.0.pop()
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn beginnings(after: u64, up_to: u64) -> PendingRange {
        PendingRange { pass: Pass::Beginnings, after, up_to }
    }

    #[test]
    fn newest_range_comes_first() {
        let mut pending_changes = PendingChanges::default();
        pending_changes.add(0, 100);
        assert_eq!(pending_changes.take(), Some(beginnings(0, 100)));
        pending_changes.add(100, 103);
        pending_changes.add(0, 90);
        pending_changes.add(103, 104);
        pending_changes.add(5, 5);
        assert_eq!(
            (pending_changes.take(), pending_changes.take(), pending_changes.take()),
            (Some(beginnings(100, 104)), Some(beginnings(0, 90)), None)
        );
    }

    #[test]
    fn all_beginnings_come_before_the_rest() {
        let rest = |after, up_to| PendingRange { pass: Pass::Rest, after, up_to };
        let mut pending_changes = PendingChanges::default();
        pending_changes.add(0, 100);
        let all = pending_changes.take().unwrap();
        pending_changes.put_back(all, 60, true);
        let older = pending_changes.take().unwrap();
        assert_eq!(older, beginnings(0, 60));
        // These pages are complete with their first window.
        pending_changes.put_back(older, 0, false);
        let later = pending_changes.take().unwrap();
        assert_eq!(later, rest(60, 100));
        pending_changes.put_back(later, 80, true);
        pending_changes.add(100, 101);
        assert_eq!(pending_changes.take(), Some(beginnings(100, 101)));
        assert_eq!((pending_changes.take(), pending_changes.take()), (Some(rest(60, 80)), None));
    }

    proptest! {
        #[test]
        fn all_changes_are_taken(adds in proptest::collection::vec((0u64..500, 0u64..9), 0..90)) {
            let mut ranges = Ranges::default();
            let mut pending = std::collections::BTreeSet::new();
            for (after, length) in adds {
                ranges.add(after, after + length);
                pending.extend(after + 1..=after + length);
                prop_assert!(ranges.0.len() <= MAX_RANGES);
                prop_assert!(ranges.0.windows(2).all(|pair| pair[0].1 < pair[1].0));
            }
            while let Some((after, up_to)) = ranges.take() {
                for n in after + 1..=up_to {
                    pending.remove(&n);
                }
            }
            prop_assert!(pending.is_empty());
        }
    }
}
