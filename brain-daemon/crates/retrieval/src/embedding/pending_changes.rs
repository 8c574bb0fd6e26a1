//! Ranges of store changes that still need embedding. Bounded size, no I/O.

/// Maximum number of ranges. Above it, the two oldest ranges are merged, so the changes between
/// them are examined again.
const MAX_RANGES: usize = 32;

/// The pending changes, as ranges of their sequence numbers.
#[derive(Debug, Default)]
pub(super) struct PendingChanges {
    /// Ranges `(after, up_to]`, ascending, with gaps between.
    ranges: Vec<(u64, u64)>,
}

impl PendingChanges {
    /// Marks the changes in `(after, up_to]` as pending.
    pub(super) fn add(&mut self, after: u64, up_to: u64) {
        if after >= up_to {
            return;
        }
        let (mut after, mut up_to) = (after, up_to);
        self.ranges.retain(|(from, to)| {
            let is_adjacent = *from <= up_to && after <= *to;
            if is_adjacent {
                (after, up_to) = (after.min(*from), up_to.max(*to));
            }
            !is_adjacent
        });
        let index = self.ranges.partition_point(|(from, _)| *from < after);
        self.ranges.insert(index, (after, up_to));
        if self.ranges.len() > MAX_RANGES {
            let (_, up_to) = self.ranges.remove(1);
            if let Some(first) = self.ranges.first_mut() {
                first.1 = up_to;
            }
        }
    }

    /// Removes and returns the newest range, as `(after, up_to]`.
    pub(super) fn take(&mut self) -> Option<(u64, u64)> {
        self.ranges.pop()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn newest_range_comes_first() {
        let mut pending_changes = PendingChanges::default();
        pending_changes.add(0, 100);
        assert_eq!(pending_changes.take(), Some((0, 100)));
        pending_changes.add(100, 103);
        pending_changes.add(0, 90);
        pending_changes.add(103, 104);
        pending_changes.add(5, 5);
        assert_eq!(
            (pending_changes.take(), pending_changes.take(), pending_changes.take()),
            (Some((100, 104)), Some((0, 90)), None)
        );
    }

    proptest! {
        #[test]
        fn all_changes_are_taken(adds in proptest::collection::vec((0u64..500, 0u64..9), 0..90)) {
            let mut pending_changes = PendingChanges::default();
            let mut pending = std::collections::BTreeSet::new();
            for (after, length) in adds {
                pending_changes.add(after, after + length);
                pending.extend(after + 1..=after + length);
                prop_assert!(pending_changes.ranges.len() <= MAX_RANGES);
                prop_assert!(pending_changes.ranges.windows(2).all(|pair| pair[0].1 < pair[1].0));
            }
            while let Some((after, up_to)) = pending_changes.take() {
                for n in after + 1..=up_to {
                    pending.remove(&n);
                }
            }
            prop_assert!(pending.is_empty());
        }
    }
}
