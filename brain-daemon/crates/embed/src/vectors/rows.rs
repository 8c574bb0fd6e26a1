//! Vectors in memory: one row per window, all rows in one block, and the rows of each page.
//!
//! The numbers of a row are int8; multiplied by the row's scale, they are the vector. Each page has
//! a slot, a small number, so that a search keeps its state of pages in a plain array.

use std::collections::HashMap;

use super::sketch::Sketch;
use super::{Key, WindowVector};

/// Memory grows by the current size divided by this. Doubling would leave up to half of it empty.
const GROWTH_DIVISOR: usize = 8;
/// Minimum capacity in rows.
const MIN_CAPACITY: usize = 64;

/// A quantised vector.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct VectorRow {
    /// Start of the window in the body, in bytes.
    pub(super) start: u32,
    /// End of the window in the body, in bytes.
    pub(super) end: u32,
    /// Factor by which the numbers are multiplied.
    pub(super) scale: f32,
    /// The quantised numbers.
    pub(super) numbers: Vec<i8>,
}

impl VectorRow {
    /// Quantises a window's vector; NaN counts as 0.
    pub(super) fn of(window: &WindowVector) -> Self {
        let (numbers, scale) = quantised(&window.vector);
        Self { start: window.start, end: window.end, scale, numbers }
    }
}

/// Quantises `vector` to int8; returns the numbers and their factor.
pub(super) fn quantised(vector: &[f32]) -> (Vec<i8>, f32) {
    let largest =
        vector.iter().filter(|x| x.is_finite()).fold(0.0_f32, |largest, x| largest.max(x.abs()));
    if largest == 0.0 {
        return (vec![0; vector.len()], 0.0);
    }
    let scale = largest / 127.0;
    // `as` saturates, and converts NaN to 0.
    (vector.iter().map(|x| (x / scale).round() as i8).collect(), scale)
}

/// The page and window of a row.
#[derive(Debug, Clone, Copy)]
pub(super) struct RowOwner {
    /// The page's slot.
    pub(super) slot: u32,
    /// Index of the window in the page.
    nth: u32,
    /// Start of the window in the body, in bytes.
    pub(super) start: u32,
    /// End of the window in the body, in bytes.
    pub(super) end: u32,
}

/// A page and its rows.
#[derive(Debug, Default)]
struct PageRows {
    page: u64,
    key: Option<Key>,
    rows: Vec<u32>,
    /// The position in the body of the first window without a vector, in bytes; `None` if all
    /// windows have one.
    next: Option<u32>,
}

/// All vectors in memory.
#[derive(Debug)]
pub(super) struct Rows {
    /// Length of a vector, at least 1.
    pub(super) dimensions: usize,
    /// All numbers, row by row.
    pub(super) numbers: Vec<i8>,
    /// Each row's scale.
    pub(super) scales: Vec<f32>,
    /// Each row's page and window.
    pub(super) owners: Vec<RowOwner>,
    /// Bit sketches for a fast preselection, if there are many rows.
    pub(super) sketch: Option<Sketch>,
    /// Number of rows from which there is a sketch; `usize::MAX` for none.
    pub(super) sketch_from: usize,
    slots: Vec<PageRows>,
    /// Slots without a page.
    free_slots: Vec<u32>,
    /// Each page's slot.
    slot_by_page: HashMap<u64, u32>,
    /// Number of pages of which only some windows have vectors.
    pub(super) incomplete: usize,
}

impl Rows {
    pub(super) fn new(dimensions: usize, sketch_from: usize) -> Self {
        Self {
            dimensions,
            numbers: Vec::new(),
            scales: Vec::new(),
            owners: Vec::new(),
            sketch: None,
            sketch_from,
            slots: Vec::new(),
            free_slots: Vec::new(),
            slot_by_page: HashMap::new(),
            incomplete: 0,
        }
    }

    /// Returns the number of rows.
    pub(super) fn len(&self) -> usize {
        self.owners.len()
    }

    /// Returns the number of slots, used or not.
    pub(super) fn slots(&self) -> usize {
        self.slots.len()
    }

    /// Returns the id of the page in a slot; 0 for an unused slot.
    pub(super) fn page(&self, slot: u32) -> u64 {
        self.slots.get(slot as usize).map_or(0, |slot| slot.page)
    }

    /// Returns the number of pages.
    pub(super) fn pages(&self) -> usize {
        self.slot_by_page.len()
    }

    /// Returns the page ids, in no order.
    pub(super) fn page_ids(&self) -> Vec<u64> {
        self.slot_by_page.keys().copied().collect()
    }

    fn slot_of(&self, page: u64) -> Option<&PageRows> {
        self.slots.get(*self.slot_by_page.get(&page)? as usize)
    }

    /// Returns the key of a page's vectors.
    pub(super) fn key(&self, page: u64) -> Option<Key> {
        self.slot_of(page)?.key
    }

    /// Returns the position of a page's first window without a vector; `None` if there is none.
    pub(super) fn next(&self, page: u64) -> Option<u32> {
        self.slot_of(page)?.next
    }

    /// Returns the indexes of a page's rows.
    pub(super) fn rows_of(&self, page: u64) -> &[u32] {
        self.slot_of(page).map_or(&[], |slot| &slot.rows)
    }

    /// Returns the numbers of a row.
    pub(super) fn numbers(&self, row: usize) -> &[i8] {
        self.numbers.get(row * self.dimensions..(row + 1) * self.dimensions).unwrap_or_default()
    }

    /// Returns a copy of a page's rows, in order.
    pub(super) fn copy(&self, page: u64) -> Option<(Key, Vec<VectorRow>)> {
        let key = self.key(page)?;
        let row = |row: &u32| {
            let row = *row as usize;
            let (owner, scale) = (self.owners.get(row)?, *self.scales.get(row)?);
            Some(VectorRow {
                start: owner.start,
                end: owner.end,
                scale,
                numbers: self.numbers(row).to_vec(),
            })
        };
        Some((key, self.rows_of(page).iter().filter_map(row).collect()))
    }

    /// Replaces a page's rows. Each must have the right length. `next` is the position of the first
    /// window that is not among them.
    pub(super) fn put(&mut self, page: u64, key: Key, rows: &[VectorRow], next: Option<u32>) {
        self.remove(page);
        self.incomplete += usize::from(next.is_some());
        let slot = self.free_slots.pop().unwrap_or_else(|| {
            self.slots.push(PageRows::default());
            (self.slots.len() - 1) as u32
        });
        self.reserve(rows.len());
        let first = self.len() as u32;
        for (nth, row) in (0_u32..).zip(rows) {
            self.numbers.extend_from_slice(&row.numbers);
            self.scales.push(row.scale);
            self.owners.push(RowOwner { slot, nth, start: row.start, end: row.end });
            if let Some(sketch) = &mut self.sketch {
                sketch.push(&row.numbers, row.scale);
            }
        }
        let rows = (first..first + rows.len() as u32).collect();
        if let Some(entry) = self.slots.get_mut(slot as usize) {
            *entry = PageRows { page, key: Some(key), rows, next };
        }
        self.slot_by_page.insert(page, slot);
        self.update_sketch();
    }

    /// Removes a page's rows; the last rows of the block take their places. Returns whether the
    /// page was there.
    pub(super) fn remove(&mut self, page: u64) -> bool {
        let Some(slot) = self.slot_by_page.remove(&page) else { return false };
        let removed = self.slots.get_mut(slot as usize).map(std::mem::take).unwrap_or_default();
        self.free_slots.push(slot);
        self.incomplete -= usize::from(removed.next.is_some());
        // Removed from last to first, so that a moved row is never one that is to be removed.
        let mut rows = removed.rows;
        rows.sort_unstable_by(|a, b| b.cmp(a));
        for row in rows {
            self.swap_remove(row as usize);
        }
        self.shrink();
        self.update_sketch();
        true
    }

    /// Removes a row; the last row takes its place.
    fn swap_remove(&mut self, row: usize) {
        let Some(last) = self.len().checked_sub(1).filter(|last| row <= *last) else { return };
        let dimensions = self.dimensions;
        self.numbers.copy_within(last * dimensions.., row * dimensions);
        self.numbers.truncate(last * dimensions);
        self.scales.swap_remove(row);
        self.owners.swap_remove(row);
        if let Some(sketch) = &mut self.sketch {
            sketch.swap_remove(row);
        }
        if let Some(owner) = self.owners.get(row).copied()
            && let Some(entry) = self
                .slots
                .get_mut(owner.slot as usize)
                .and_then(|slot| slot.rows.get_mut(owner.nth as usize))
        {
            *entry = row as u32;
        }
    }

    /// Reserves memory for `more` rows.
    fn reserve(&mut self, more: usize) {
        if self.owners.capacity() - self.len() >= more {
            return;
        }
        let rows = more.max(self.len() / GROWTH_DIVISOR).max(MIN_CAPACITY);
        self.numbers.reserve_exact(rows * self.dimensions);
        self.scales.reserve_exact(rows);
        self.owners.reserve_exact(rows);
    }

    /// Releases memory if more than half of it is unused.
    fn shrink(&mut self) {
        if self.owners.capacity() > 2 * self.len() + 2 * MIN_CAPACITY {
            let rows = self.len() + self.len() / GROWTH_DIVISOR + MIN_CAPACITY;
            self.numbers.shrink_to(rows * self.dimensions);
            self.scales.shrink_to(rows);
            self.owners.shrink_to(rows);
        }
        // Without pages, the memory of all slots is released.
        if self.slot_by_page.is_empty() {
            (self.slots, self.free_slots, self.slot_by_page) = Default::default();
        }
    }

    /// Creates, rebuilds or drops the sketch, depending on the number of rows.
    fn update_sketch(&mut self) {
        let rows = self.len();
        match &self.sketch {
            None if rows >= self.sketch_from => {}
            // The sketch's average is of half as many rows.
            Some(sketch) if rows >= sketch.averaged_rows().saturating_mul(2) => {}
            Some(_) if rows < self.sketch_from / 2 => return self.sketch = None,
            _ => return,
        }
        self.sketch = None;
        self.sketch = Some(Sketch::of(&self.numbers, &self.scales, self.dimensions));
    }

    /// Returns the approximate memory in bytes.
    pub(super) fn bytes(&self) -> usize {
        let rows = self.numbers.capacity() + 4 * self.scales.capacity();
        let owners = std::mem::size_of::<RowOwner>() * self.owners.capacity();
        let slots = (std::mem::size_of::<PageRows>() + 16) * self.slots.capacity()
            + 4 * self.len()
            + 16 * self.slot_by_page.capacity();
        rows + owners + slots + self.sketch.as_ref().map_or(0, Sketch::bytes)
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn row(n: i8) -> VectorRow {
        VectorRow { start: n as u32, end: n as u32 + 1, scale: 1.0, numbers: vec![n, -n] }
    }

    #[test]
    fn quantisation_errs_by_at_most_half_a_step() {
        let vector = [0.3_f32, -0.9, 0.001, 0.0];
        let (numbers, scale) = quantised(&vector);
        for (x, n) in vector.iter().zip(&numbers) {
            assert!((x - f32::from(*n) * scale).abs() <= scale / 2.0 + 1e-6);
        }
        assert_eq!(quantised(&[0.0, 0.0]), (vec![0, 0], 0.0));
        assert_eq!(quantised(&[f32::NAN, 1.0]).0, [0, 127]);
    }

    #[test]
    fn memory_is_bounded_after_many_changes() {
        let mut rows = Rows::new(2, usize::MAX);
        let fill = |rows: &mut Rows, from: u64| {
            for page in from..from + 500 {
                rows.put(page, Key([1; 16]), &[row(1), row(2), row(3)], None);
            }
        };
        fill(&mut rows, 0);
        let at_first = rows.bytes();
        for turn in 1..40_u64 {
            fill(&mut rows, turn * 500);
            for page in (turn - 1) * 500..turn * 500 {
                assert!(rows.remove(page));
            }
        }
        assert_eq!((rows.pages(), rows.len()), (500, 1500));
        assert!(rows.bytes() < 3 * at_first, "{} of {at_first}", rows.bytes());
        for page in 39 * 500..40 * 500 {
            rows.remove(page);
        }
        assert!(rows.bytes() < 4000, "{}", rows.bytes());
    }

    proptest! {
        #[test]
        fn rows_behave_like_a_map(steps in proptest::collection::vec((0u64..8,
            proptest::option::of(0usize..5)), 0..80)) {
            let mut rows = Rows::new(2, 6);
            let mut model: HashMap<u64, (Key, Vec<VectorRow>)> = HashMap::new();
            let mut positions: HashMap<u64, Option<u32>> = HashMap::new();
            for (step, (page, put)) in steps.into_iter().enumerate() {
                let key = Key([step as u8; 16]);
                let next = (step % 3 == 0).then_some(step as u32);
                match put {
                    Some(count) => {
                        let new: Vec<VectorRow> =
                            (0..count).map(|n| row((step % 20 + n) as i8)).collect();
                        rows.put(page, key, &new, next);
                        model.insert(page, (key, new));
                        positions.insert(page, next);
                    }
                    None => {
                        positions.remove(&page);
                        prop_assert_eq!(rows.remove(page), model.remove(&page).is_some());
                    }
                }
                prop_assert_eq!(rows.incomplete, positions.values().flatten().count());
                prop_assert_eq!(rows.pages(), model.len());
                prop_assert_eq!(rows.len(),
                    model.values().map(|(_, rows)| rows.len()).sum::<usize>());
                prop_assert_eq!(rows.numbers.len(), rows.len() * 2);
                for page in 0..8 {
                    prop_assert_eq!(rows.copy(page), model.get(&page).cloned());
                    prop_assert_eq!(rows.next(page), positions.get(&page).copied().flatten());
                }
                if let Some(sketch) = &rows.sketch {
                    prop_assert_eq!(sketch.len(), rows.len());
                }
            }
        }
    }
}
