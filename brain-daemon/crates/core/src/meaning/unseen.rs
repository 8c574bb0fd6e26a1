//! Which changes of the store nobody has looked at yet. Pure; its size does not depend on how many there are.

/// How many stretches are told apart. With more, something in between is looked at twice.
const MOST: usize = 32;

/// Stretches of sequence numbers.
#[derive(Debug, Default)]
pub(super) struct Unseen {
    /// Each behind its first number, up to and with its second; ascending, with gaps between.
    stretches: Vec<(u64, u64)>,
}

impl Unseen {
    /// What is behind `after`, up to and with `upto`, is to be looked at.
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

    /// The newest stretch, which is no longer here then.
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
        let mut unseen = Unseen::default();
        unseen.add(0, 100);
        assert_eq!(unseen.take(), Some((0, 100)));
        unseen.add(100, 103);
        unseen.add(0, 90);
        unseen.add(103, 104);
        unseen.add(5, 5);
        assert_eq!(
            (unseen.take(), unseen.take(), unseen.take()),
            (Some((100, 104)), Some((0, 90)), None)
        );
    }

    proptest! {
        #[test]
        fn nothing_is_forgotten(adds in proptest::collection::vec((0u64..500, 0u64..9), 0..90)) {
            let mut unseen = Unseen::default();
            let mut wanted = std::collections::BTreeSet::new();
            for (after, length) in adds {
                unseen.add(after, after + length);
                wanted.extend(after + 1..=after + length);
                prop_assert!(unseen.stretches.len() <= MOST);
                prop_assert!(unseen.stretches.windows(2).all(|two| two[0].1 < two[1].0));
            }
            while let Some((after, upto)) = unseen.take() {
                for n in after + 1..=upto {
                    wanted.remove(&n);
                }
            }
            prop_assert!(wanted.is_empty());
        }
    }
}
