//! Postings of a phrase: which documents have its words next to each other.

use tantivy::{
    DocSet, HasLen, TERMINATED,
    postings::{Postings, SegmentPostings},
};

/// Postings with positions of a phrase's words.
#[derive(Clone)]
pub(super) struct PhrasePostings {
    /// Postings by field, word and form.
    fields: Vec<Vec<Vec<SegmentPostings>>>,
    /// Position of each word in the phrase.
    positions: Vec<u32>,
    /// Whether the phrase is required rather than excluded.
    is_required: bool,
    /// Buffer: where the phrase can begin in a field.
    starts: Vec<u32>,
    /// Buffer: positions of one word in a field.
    next: Vec<u32>,
}

impl PhrasePostings {
    /// Creates the postings of a phrase. `fields` has the postings by field, word and form,
    /// `positions` the position of each word in the phrase.
    pub(super) fn new(
        fields: Vec<Vec<Vec<SegmentPostings>>>,
        positions: Vec<u32>,
        is_required: bool,
    ) -> Self {
        Self { fields, positions, is_required, starts: Vec::new(), next: Vec::new() }
    }

    /// Returns whether the phrase is required rather than excluded.
    pub(super) fn is_required(&self) -> bool {
        self.is_required
    }

    /// Returns whether one of the documents that `is_match` accepts contains the phrase.
    pub(super) fn is_in_any(&self, is_match: &dyn Fn(u32) -> bool) -> bool {
        self.fields.iter().any(|words| {
            let pages =
                |forms: &&Vec<SegmentPostings>| forms.iter().map(HasLen::len).sum::<usize>();
            let rarest = words.iter().min_by_key(pages);
            rarest.into_iter().flatten().any(|form| {
                let mut docs = form.clone();
                let mut phrase = Self { fields: vec![words.clone()], ..self.clone() };
                while docs.doc() != TERMINATED {
                    if is_match(docs.doc()) && phrase.matches(docs.doc()) {
                        return true;
                    }
                    docs.advance();
                }
                false
            })
        })
    }

    /// Whether a field of the document contains the phrase.
    pub(super) fn matches(&mut self, doc: u32) -> bool {
        let Self { fields, positions, starts, next, .. } = self;
        fields.iter_mut().any(|words| {
            // Most documents lack a word and are skipped.
            if !words.iter_mut().all(|forms| {
                let is_in_doc = forms.iter_mut().map(|form| reach(form, doc));
                is_in_doc.fold(false, |any, one| any | one)
            }) {
                return false;
            }
            for (number, (forms, position)) in words.iter_mut().zip(positions.iter()).enumerate() {
                next.clear();
                for form in forms.iter_mut().filter(|form| form.doc() == doc) {
                    form.append_positions_with_offset(0, next);
                }
                if forms.len() > 1 {
                    next.sort_unstable();
                }
                if number == 0 {
                    std::mem::swap(starts, next);
                } else {
                    starts.retain(|&start| next.binary_search(&(start + position)).is_ok());
                }
                if starts.is_empty() {
                    return false;
                }
            }
            true
        })
    }
}

/// Moves `postings` to `doc`; returns whether `doc` has a posting.
pub(super) fn reach(postings: &mut SegmentPostings, doc: u32) -> bool {
    let at = postings.doc();
    at == doc || (at < doc && postings.seek(doc) == doc)
}
