//! BM25: term saturation, and statistics for tantivy's own scoring.

use tantivy::{Term, fieldnorm::FieldNormReader, query::Bm25StatisticsProvider, schema::Field};

use super::{
    plan::Plan,
    rank::{Stats, damping, saturate},
    schema::Fields,
};

type Result<T> = tantivy::Result<T>;

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

/// Gives tantivy the statistics of the whole corpus.
pub(super) struct CorpusStatistics<'a> {
    /// Statistics of disk index and overlay.
    pub(super) stats: &'a Stats,
    /// The plan whose terms are counted.
    pub(super) plan: &'a Plan,
    /// The index's fields.
    pub(super) fields: Fields,
}

impl Bm25StatisticsProvider for CorpusStatistics<'_> {
    fn total_num_tokens(&self, field: Field) -> Result<u64> {
        Ok(match field {
            _ if field == self.fields.body => self.stats.body_terms,
            _ if field == self.fields.title => self.stats.title_terms,
            _ => self.stats.docs,
        })
    }

    fn total_num_docs(&self) -> Result<u64> {
        Ok(self.stats.docs.max(1))
    }

    fn doc_freq(&self, term: &Term) -> Result<u64> {
        let bytes = term.serialized_value_bytes();
        let is_term = |text: &str| text.as_bytes() == bytes;
        let group = self.plan.groups.iter().position(|g| {
            g.terms.iter().any(|t| is_term(&t.text))
                || is_term(&g.tag.text)
                || is_term(&g.slug.text)
                || g.exact.as_ref().is_some_and(|exact| is_term(&exact.text))
        });
        Ok(group.map_or(0, |g| self.stats.pages_with(g)))
    }
}
