//! Bit set of the documents of one segment.

/// A set of numbers below a bound.
#[derive(Debug, Clone)]
pub(super) struct DocBitSet(Vec<u64>);

impl DocBitSet {
    /// Creates an empty set for numbers below `bound`.
    pub(super) fn empty(bound: u32) -> Self {
        Self(vec![0; (bound as usize).div_ceil(64)])
    }

    /// Creates the set of all numbers below `bound`.
    pub(super) fn full(bound: u32) -> Self {
        let mut bits = Self(vec![u64::MAX; (bound as usize).div_ceil(64)]);
        if let (Some(last), rest @ 1..) = (bits.0.last_mut(), bound % 64) {
            *last = (1 << rest) - 1;
        }
        bits
    }

    pub(super) fn insert(&mut self, n: u32) {
        if let Some(word) = self.0.get_mut((n / 64) as usize) {
            *word |= 1 << (n % 64);
        }
    }

    pub(super) fn remove(&mut self, n: u32) {
        if let Some(word) = self.0.get_mut((n / 64) as usize) {
            *word &= !(1 << (n % 64));
        }
    }

    pub(super) fn contains(&self, n: u32) -> bool {
        self.0.get((n / 64) as usize).is_some_and(|word| word >> (n % 64) & 1 == 1)
    }

    /// Adds the numbers of `other`.
    pub(super) fn union(&mut self, other: &Self) {
        self.0.iter_mut().zip(&other.0).for_each(|(a, b)| *a |= b);
    }

    /// Keeps only numbers that are in `other` too.
    pub(super) fn intersect(&mut self, other: &Self) {
        self.0.iter_mut().zip(&other.0).for_each(|(a, b)| *a &= b);
    }

    /// Removes the numbers of `other`.
    pub(super) fn subtract(&mut self, other: &Self) {
        self.0.iter_mut().zip(&other.0).for_each(|(a, b)| *a &= !b);
    }

    pub(super) fn count(&self) -> u32 {
        self.0.iter().map(|word| word.count_ones()).sum()
    }

    /// Returns the smallest number that is at least `n`.
    pub(super) fn next_from(&self, n: u32) -> Option<u32> {
        let at = (n / 64) as usize;
        let first = self.0.get(at)? >> (n % 64);
        if first != 0 {
            return Some(n + first.trailing_zeros());
        }
        let (index, word) = self.0.iter().enumerate().skip(at + 1).find(|(_, word)| **word != 0)?;
        Some(index as u32 * 64 + word.trailing_zeros())
    }

    /// Returns the numbers in ascending order.
    pub(super) fn iter(&self) -> impl Iterator<Item = u32> {
        self.0.iter().enumerate().flat_map(|(index, &word)| {
            let mut word = word;
            std::iter::from_fn(move || {
                (word != 0).then(|| {
                    let bit = word.trailing_zeros();
                    word &= word - 1;
                    index as u32 * 64 + bit
                })
            })
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sets_have_the_expected_numbers() {
        let mut bits = DocBitSet::empty(130);
        for n in [0, 63, 64, 129] {
            bits.insert(n);
        }
        bits.insert(1000);
        assert_eq!(
            [0, 1, 63, 65, 130, 999].map(|n| bits.next_from(n)),
            [Some(0), Some(63), Some(63), Some(129), None, None]
        );
        assert_eq!(bits.iter().collect::<Vec<_>>(), [0, 63, 64, 129]);
        assert!(bits.contains(64) && !bits.contains(65) && !bits.contains(9999));
        let mut all = DocBitSet::full(130);
        assert_eq!(all.count(), 130);
        all.subtract(&bits);
        assert_eq!(all.count(), 126);
        all.intersect(&bits);
        assert_eq!(all.count(), 0);
        bits.remove(0);
        assert_eq!(bits.count(), 3);
        assert_eq!(DocBitSet::full(128).count(), 128);
    }
}
