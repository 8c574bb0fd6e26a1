//! Ranges of store changes that still need embedding. Bounded size, no I/O.

/// Maximum number of ranges. Beyond it, ranges are merged, and the gap is examined again.
const MOST: usize = 32;

/// Ranges of sequence numbers.
#[derive(Debug, Default)]
pub(super) struct PendingChanges {
    /// Ranges `(after, upto]`, ascending, with gaps between.
    stretches: Vec<(u64, u64)>,
}

impl PendingChanges {
    /// Marks the changes in `(after, upto]` as pending.
    pub(super) fn add(&mut self, after: u64, upto: u64) {
        if after >= upto {
            return;
        }
        let (mut after, mut upto) = (after, upto);
        self.stretches.retain(|(from, to)| {
            let touches = *from <= upto && after <= *to;
            if touches {
                (after, upto) = (after.min(*from), upto.max(*to));
            }
            !touches
        });
        let place = self.stretches.partition_point(|(from, _)| *from < after);
        self.stretches.insert(place, (after, upto));
        if self.stretches.len() > MOST {
            let (_, upto) = self.stretches.remove(1);
            if let Some(first) = self.stretches.first_mut() {
                first.1 = upto;
            }
        }
    }

    /// Removes and returns the newest range.
    pub(super) fn take(&mut self) -> Option<(u64, u64)> {
        self.stretches.pop()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn the_newest_comes_first() {
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
        fn nothing_is_forgotten(adds in proptest::collection::vec((0u64..500, 0u64..9), 0..90)) {
            let mut pending_changes = PendingChanges::default();
            let mut wanted = std::collections::BTreeSet::new();
            for (after, length) in adds {
                pending_changes.add(after, after + length);
                wanted.extend(after + 1..=after + length);
                prop_assert!(pending_changes.stretches.len() <= MOST);
                prop_assert!(pending_changes.stretches.windows(2).all(|two| two[0].1 < two[1].0));
            }
            while let Some((after, upto)) = pending_changes.take() {
                for n in after + 1..=upto {
                    wanted.remove(&n);
                }
            }
            prop_assert!(wanted.is_empty());
        }
    }
}
