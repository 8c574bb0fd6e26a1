//! BM25: statistics of the corpus and term saturation.

use tantivy::fieldnorm::FieldNormReader;

/// BM25: how slowly repeated words saturate.
const K1: f32 = 1.2;
/// BM25: how much the length of a field damps its words, 0 to 1.
const B: f32 = 0.75;
/// More than the saturated weight of any number of occurrences.
pub(super) const MAX_SATURATION: f32 = K1 + 1.0;

/// Statistics of the corpus: disk and overlay together.
#[derive(Debug, Clone, Default)]
pub(super) struct Stats {
    /// Number of pages.
    pub(super) docs: u64,
    /// Number of terms in all bodies.
    pub(super) body_terms: u64,
    /// Number of terms in all titles.
    pub(super) title_terms: u64,
    /// Number of pages with each group, by field: body, title, tags, slug.
    pub(super) frequency: Vec<[u64; 4]>,
}

impl Stats {
    /// Returns the inverse document frequency of a group.
    pub(super) fn idf(&self, group: usize) -> f32 {
        self.rarity(self.pages_with(group))
    }

    /// Returns the inverse document frequency of a group in titles.
    pub(super) fn title_idf(&self, group: usize) -> f32 {
        self.rarity(self.frequency.get(group).map_or(0, |by_field| by_field[1]))
    }

    /// Returns the inverse document frequency of words that `pages` pages have.
    pub(super) fn rarity(&self, pages: u64) -> f32 {
        let docs = self.docs as f32;
        let with = pages.min(self.docs) as f32;
        (1.0 + (docs - with + 0.5) / (with + 0.5)).ln()
    }

    /// Estimates the number of pages with a group: the greatest number of one field.
    pub(super) fn pages_with(&self, group: usize) -> u64 {
        self.frequency
            .get(group)
            .and_then(|by_field| by_field.iter().max())
            .map_or(0, |&n| n.min(self.docs))
    }

    /// Returns the average of `terms` in a page, at least 1.
    pub(super) fn average(&self, terms: u64) -> f32 {
        (terms as f32 / self.docs.max(1) as f32).max(1.0)
    }
}

/// Returns the saturated weight of `count` occurrences in a field of `len` terms, 0 to 2.2.
pub(super) fn saturation(count: f32, len: f32, average: f32) -> f32 {
    saturate(count, damping(len, average))
}

/// As [`saturation`], for a known [`damping`] of the field.
pub(super) fn saturate(count: f32, damping: f32) -> f32 {
    count * (K1 + 1.0) / (count + damping)
}

/// Returns how much a field's length damps its occurrences.
pub(super) fn damping(len: f32, average: f32) -> f32 {
    K1 * (1.0 - B + B * len / average)
}

/// BM25 term saturation in one field of one segment.
pub(super) struct Saturation<'a> {
    norms: &'a FieldNormReader,
    /// Damping by encoded field length.
    dampings: [f32; 256],
}

impl<'a> Saturation<'a> {
    /// Creates the saturation of a field with these lengths; `average` is the average length.
    pub(super) fn new(norms: &'a FieldNormReader, average: f32) -> Self {
        let length = |norm| FieldNormReader::id_to_fieldnorm(norm as u8) as f32;
        Self { norms, dampings: std::array::from_fn(|norm| damping(length(norm), average)) }
    }

    /// Returns the saturated weight of a term that occurs `count` times in the document `doc`.
    pub(super) fn share(&self, doc: u32, count: u32) -> f32 {
        saturate(count as f32, self.dampings[usize::from(self.norms.fieldnorm_id(doc))])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rare_words_weigh_more() {
        let stats = Stats {
            docs: 100,
            frequency: vec![[1, 0, 0, 0], [50, 3, 0, 0], [200, 0, 0, 0]],
            ..Stats::default()
        };
        assert!(stats.idf(0) > stats.idf(1));
        assert!(stats.idf(2) > 0.0);
        assert!(saturation(1.0, 50.0, 100.0) > saturation(1.0, 200.0, 100.0));
        assert!(saturation(1e9, 50.0, 100.0) <= K1 + 1.0);
    }
}
