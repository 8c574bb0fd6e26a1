//! Merge policies: when segments of the disk index are merged.

use tantivy::{
    index::{SegmentId, SegmentMeta},
    indexer::{LogMergePolicy, MergeCandidate, MergePolicy},
};

/// Maximum number of unmerged segments during a bulk load.
const MAX_UNMERGED: usize = 100;
/// When idle, a segment is merged with all smaller ones unless it is this many times their total
/// size.
const SIZE_RATIO: u64 = 4;

/// Rate of incoming changes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ChangeRate {
    /// Changes arrive faster than they are indexed. Merging waits: it costs as much as indexing.
    Bulk,
    /// A change arrives from time to time.
    Steady,
    /// A bulk load has ended; segments can be merged.
    Idle,
}

impl ChangeRate {
    /// Returns the merge policy for this rate.
    pub(super) fn policy(self) -> Box<dyn MergePolicy> {
        let mut steady = LogMergePolicy::default();
        steady.set_min_num_segments(6);
        steady.set_min_layer_size(2_000);
        steady.set_del_docs_ratio_before_merge(0.3);
        match self {
            Self::Bulk => Box::new(DeferredMergePolicy(steady)),
            Self::Steady => Box::new(steady),
            Self::Idle => Box::new(FullMergePolicy),
        }
    }
}

/// A merge policy that merges only when it cannot be deferred.
#[derive(Debug)]
struct DeferredMergePolicy(LogMergePolicy);

impl MergePolicy for DeferredMergePolicy {
    fn compute_merge_candidates(&self, segments: &[SegmentMeta]) -> Vec<MergeCandidate> {
        if segments.len() < MAX_UNMERGED {
            Vec::new()
        } else {
            self.0.compute_merge_candidates(segments)
        }
    }
}

/// A merge policy that merges small segments into one, except segments [`SIZE_RATIO`] times as
/// large: large ones are seldom rewritten.
#[derive(Debug)]
struct FullMergePolicy;

impl MergePolicy for FullMergePolicy {
    fn compute_merge_candidates(&self, segments: &[SegmentMeta]) -> Vec<MergeCandidate> {
        let mut smallest: Vec<(u64, SegmentId)> =
            segments.iter().map(|segment| (u64::from(segment.num_docs()), segment.id())).collect();
        smallest.sort_unstable();
        let sizes: Vec<u64> = smallest.iter().map(|(size, _)| *size).collect();
        let small = smallest.into_iter().take(merged_count(&sizes)).map(|(_, id)| id).collect();
        let candidate = MergeCandidate(small);
        if candidate.0.len() < 2 { Vec::new() } else { vec![candidate] }
    }
}

/// Returns how many of the smallest segments are merged. `sizes` are those of all, ascending.
///
/// The last segment that is not much larger than all smaller ones decides: a few changes after a
/// bulk load must not keep its segments apart.
fn merged_count(sizes: &[u64]) -> usize {
    let (mut docs, mut count) = (0, 0);
    for (index, size) in sizes.iter().enumerate() {
        if *size <= docs * SIZE_RATIO {
            count = index + 1;
        }
        docs += size;
    }
    count
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn segments_are_merged_unless_they_are_much_larger() {
        assert_eq!(merged_count(&[]), 0);
        assert_eq!(merged_count(&[4096]), 0);
        assert_eq!(merged_count(&[100, 400]), 2);
        assert_eq!(merged_count(&[100, 401]), 0);
        assert_eq!(merged_count(&[100, 401, 10_000]), 0);
        assert_eq!(merged_count(&[200, 300, 100_000]), 2, "a large one stays");
        let after_bulk_load = [&[200][..], &[4096; 100], &[300_000]].concat();
        assert_eq!(merged_count(&after_bulk_load), 102);
    }
}
