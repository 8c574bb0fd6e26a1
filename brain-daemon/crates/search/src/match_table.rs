//! Matches of a plan: the pages to score, and where the question's words occur in them.

use super::{bm25::Stats, names::NameMatch, plan::Pair, terms::Segment};

/// Occurrences of a group in a field of a page.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Occurrences {
    /// Number of occurrences; a prefix counts once.
    pub(super) count: u32,
    /// Index of its first position in [`MatchTable::positions`].
    pub(super) first_position: u32,
    /// Number of its positions there; 0 if they do not matter.
    pub(super) position_count: u32,
}

/// Occurrences of a group in a page.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Cell {
    pub(super) body: Occurrences,
    pub(super) title: Occurrences,
    /// Whether the group is a word of a tag.
    pub(super) tag: bool,
    /// Whether the group is a word of the slug.
    pub(super) slug: bool,
    /// Whether the page has the group's exact form.
    pub(super) exact: bool,
}

impl Cell {
    /// Returns the cell's counts, without positions.
    pub(super) fn counts(&self) -> CellCounts {
        CellCounts {
            body: self.body.count,
            title: self.title.count,
            tag: self.tag,
            slug: self.slug,
            exact: self.exact,
        }
    }
}

/// A [`Cell`] without positions.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct CellCounts {
    pub(super) body: u32,
    pub(super) title: u32,
    pub(super) tag: bool,
    pub(super) slug: bool,
    pub(super) exact: bool,
}

/// Stands for the overlay in place of a segment.
pub(super) const OVERLAY_SEGMENT: u32 = u32::MAX;

/// A page to score.
#[derive(Debug, Clone, Copy)]
pub(super) struct Candidate {
    pub(super) id: u64,
    /// Its segment, or [`OVERLAY_SEGMENT`], and its document there; 0 in the overlay.
    pub(super) doc_address: (u32, u32),
    /// When the page was last changed, in Unix milliseconds.
    pub(super) updated_at: i64,
    /// Length of the body in terms, rounded as in the disk index.
    pub(super) body_len: u32,
    /// Length of the title in terms, rounded as in the disk index.
    pub(super) title_len: u32,
    /// How the question names the page.
    pub(super) names: NameMatch,
}

/// Candidates with the occurrences of the question's groups.
#[derive(Debug, Default)]
pub(super) struct MatchTable {
    /// Number of groups.
    pub(super) groups: usize,
    pub(super) candidates: Vec<Candidate>,
    /// Cells, one row of `groups` per candidate.
    pub(super) cells: Vec<Cell>,
    /// Positions of all occurrences; see [`Occurrences::first_position`].
    pub(super) positions: Vec<u32>,
}

impl MatchTable {
    pub(super) fn new(groups: usize) -> Self {
        Self { groups, ..Self::default() }
    }

    /// Adds a candidate with an empty row and returns its index.
    pub(super) fn push(&mut self, candidate: Candidate) -> usize {
        self.candidates.push(candidate);
        self.cells.resize(self.candidates.len() * self.groups, Cell::default());
        self.candidates.len() - 1
    }

    pub(super) fn cell(&mut self, candidate: usize, group: usize) -> &mut Cell {
        &mut self.cells[candidate * self.groups + group]
    }

    pub(super) fn row(&self, candidate: usize) -> &[Cell] {
        &self.cells[candidate * self.groups..(candidate + 1) * self.groups]
    }

    /// Returns the positions of `occurrences`, ascending.
    pub(super) fn places(&self, occurrences: Occurrences) -> &[u32] {
        let start = occurrences.first_position as usize;
        self.positions.get(start..start + occurrences.position_count as usize).unwrap_or(&[])
    }

    /// Returns how often the words of a pair have its distance in body and title of a candidate.
    pub(super) fn count_pair(&self, candidate: usize, pair: Pair) -> u32 {
        let row = self.row(candidate);
        let (first, second) = (row[pair.first], row[pair.second]);
        let count = |a, b| count_at_distance(self.places(a), self.places(b), pair.distance);
        count(first.body, second.body) + count(first.title, second.title)
    }
}

/// The matches of a plan in all pages, or in the pages that a caller can see.
pub(super) struct PlanMatches<'a> {
    pub(super) stats: Stats,
    pub(super) hits: MatchTable,
    /// The searched segments.
    pub(super) segments: Vec<Segment<'a>>,
}

/// Returns how often a position of `second` is `distance` after one of `first`; both are sorted.
fn count_at_distance(first: &[u32], second: &[u32], distance: u32) -> u32 {
    let mut count = 0;
    let mut rest = second.iter().copied().peekable();
    for &position in first {
        let expected = position.saturating_add(distance);
        while rest.peek().is_some_and(|&p| p < expected) {
            rest.next();
        }
        if rest.peek() == Some(&expected) {
            count += 1;
        }
    }
    count
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn positions_at_a_distance_are_counted() {
        assert_eq!(count_at_distance(&[0, 5, 9], &[1, 6, 11], 1), 2);
        assert_eq!(count_at_distance(&[], &[1], 1), 0);
        assert_eq!(count_at_distance(&[u32::MAX], &[1], 1), 0);
    }
}
