//! The best documents of a search so far.

use std::{cmp::Reverse, collections::BinaryHeap};

/// The best documents so far.
pub(super) struct TopDocs {
    /// Score, segment and number of each document; the one with the least score is on top.
    heap: BinaryHeap<Reverse<(OrderedScore, u32, u32)>>,
    max_count: usize,
}

/// A score with a total order. It is never NaN, because NaN exceeds no threshold.
#[derive(Debug, Clone, Copy, PartialEq)]
struct OrderedScore(f64);

impl Eq for OrderedScore {}

impl PartialOrd for OrderedScore {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for OrderedScore {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        self.0.total_cmp(&other.0)
    }
}

impl TopDocs {
    /// Keeps up to `max_count` documents.
    pub(super) fn new(max_count: usize) -> Self {
        Self { heap: BinaryHeap::with_capacity(max_count + 1), max_count }
    }

    /// Returns the score that a document must exceed to be added.
    pub(super) fn threshold(&self) -> f64 {
        match self.heap.peek() {
            Some(Reverse((least, ..))) if self.heap.len() >= self.max_count => least.0,
            _ => f64::MIN,
        }
    }

    /// Adds a document if its score is among the best.
    pub(super) fn add(&mut self, score: f64, segment: usize, doc: u32) {
        if score > self.threshold() {
            if self.heap.len() >= self.max_count {
                self.heap.pop();
            }
            self.heap.push(Reverse((OrderedScore(score), segment as u32, doc)));
        }
    }

    /// Returns the scores, in no order.
    #[cfg(test)]
    pub(super) fn scores(&self) -> impl Iterator<Item = f64> {
        self.heap.iter().map(|Reverse((score, ..))| score.0)
    }

    /// Returns segment and number of the documents, in no order.
    pub(super) fn into_docs(self) -> impl Iterator<Item = (u32, u32)> {
        self.heap.into_iter().map(|Reverse((_, segment, doc))| (segment, doc))
    }
}
