//! Bit sketches of vectors, for a fast preselection among many rows.
//!
//! A sketch has a bit for each number of a vector: whether it is above the average of all vectors.
//! Near rows differ in few bits, and a sketch is an eighth of a row. So a search finds a thousand
//! candidates quickly and compares only those number by number.

use super::kernel::differences;

/// The average is computed from every row, or from a sample of between one and two times this many.
const SAMPLE: usize = 20_000;

/// Sketches of all rows, in their order.
#[derive(Debug)]
pub(super) struct Sketch {
    /// The average of all vectors, or of a sample.
    average: Vec<f32>,
    /// 64-bit words per row.
    words_per_row: usize,
    /// The bits of all rows. Each row begins with a new word.
    bits: Vec<u64>,
    /// Number of rows when the average was computed.
    averaged_rows: usize,
}

impl Sketch {
    /// Computes the sketches of these rows.
    pub(super) fn of(numbers: &[i8], scales: &[f32], dimensions: usize) -> Self {
        let step = (scales.len() / SAMPLE).max(1);
        let mut average = vec![0.0_f32; dimensions];
        let rows = || numbers.chunks_exact(dimensions.max(1)).zip(scales);
        for (row, scale) in rows().step_by(step) {
            for (sum, number) in average.iter_mut().zip(row) {
                *sum += f32::from(*number) * scale;
            }
        }
        let count = scales.len().div_ceil(step).max(1) as f32;
        average.iter_mut().for_each(|sum| *sum /= count);
        let words_per_row = dimensions.div_ceil(64);
        let mut sketch = Self {
            average,
            words_per_row,
            bits: Vec::with_capacity(scales.len() * words_per_row),
            averaged_rows: scales.len(),
        };
        for (row, scale) in rows() {
            sketch.push(row, *scale);
        }
        sketch
    }

    /// Returns the number of rows when the average was computed.
    pub(super) fn averaged_rows(&self) -> usize {
        self.averaged_rows
    }

    /// Returns the number of rows.
    #[cfg(test)]
    pub(super) fn len(&self) -> usize {
        self.bits.len() / self.words_per_row.max(1)
    }

    /// Adds a row.
    pub(super) fn push(&mut self, numbers: &[i8], scale: f32) {
        if self.bits.capacity() - self.bits.len() < self.words_per_row {
            self.bits.reserve_exact((self.bits.len() / 8).max(self.words_per_row));
        }
        let pairs = numbers.iter().map(|number| f32::from(*number) * scale).zip(&self.average);
        push_bits(pairs.map(|(number, average)| number > *average), &mut self.bits);
    }

    /// Removes a row; the last one takes its place.
    pub(super) fn swap_remove(&mut self, row: usize) {
        let Some(last) = self.bits.len().checked_sub(self.words_per_row) else { return };
        self.bits.copy_within(last.., row * self.words_per_row);
        self.bits.truncate(last);
    }

    /// Returns the number of bits in which each row differs from `query`.
    pub(super) fn differences(&self, query: &[f32]) -> Vec<u16> {
        let mut bits = Vec::with_capacity(self.words_per_row);
        push_bits(
            query.iter().zip(&self.average).map(|(number, average)| number > average),
            &mut bits,
        );
        let mut differing_bits = vec![0; self.bits.len() / self.words_per_row.max(1)];
        differences(&bits, &self.bits, &mut differing_bits);
        differing_bits
    }

    /// Returns the memory in bytes.
    pub(super) fn bytes(&self) -> usize {
        8 * self.bits.capacity() + 4 * self.average.capacity()
    }
}

/// Appends bits to `out`, packed into words. Unused bits of the last word are 0.
fn push_bits(bits: impl Iterator<Item = bool>, out: &mut Vec<u64>) {
    let (mut word, mut count) = (0_u64, 0);
    for bit in bits {
        word |= u64::from(bit) << count;
        count += 1;
        if count == 64 {
            out.push(word);
            (word, count) = (0, 0);
        }
    }
    if count > 0 {
        out.push(word);
    }
}
