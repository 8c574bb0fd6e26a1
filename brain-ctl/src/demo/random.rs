//! A small deterministic random number generator (SplitMix64). Not for secrets.

/// The generator. The same seed gives the same numbers, on every machine.
pub(super) struct Random {
    state: u64,
}

impl Random {
    /// Creates the generator.
    pub(super) fn new(seed: u64) -> Self {
        Self { state: seed }
    }

    fn next(&mut self) -> u64 {
        self.state = self.state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.state;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// Returns a number from 0 to `limit - 1`; 0 if `limit` is 0.
    pub(super) fn below(&mut self, limit: usize) -> usize {
        match limit {
            0 => 0,
            _ => (self.next() % limit as u64) as usize,
        }
    }

    /// Returns one of the values.
    ///
    /// # Panics
    /// If `values` is empty.
    pub(super) fn pick<'a, T>(&mut self, values: &'a [T]) -> &'a T {
        &values[self.below(values.len())]
    }

    /// Returns `count` different values in random order, or all if there are fewer.
    pub(super) fn sample<'a, T>(&mut self, values: &'a [T], count: usize) -> Vec<&'a T> {
        let mut remaining: Vec<&T> = values.iter().collect();
        let mut chosen = Vec::new();
        while chosen.len() < count && !remaining.is_empty() {
            chosen.push(remaining.swap_remove(self.below(remaining.len())));
        }
        chosen
    }

    /// Returns true in `percent` of 100 cases.
    pub(super) fn chance(&mut self, percent: usize) -> bool {
        self.below(100) < percent
    }
}
