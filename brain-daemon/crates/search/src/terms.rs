//! A plan's terms in one segment, and the documents that meet the plan's conditions.

use std::sync::Arc;

use tantivy::{
    DocSet, InvertedIndexReader, SegmentReader, TERMINATED, Term,
    fastfield::Column,
    postings::{SegmentPostings, TermInfo},
    schema::{Field, IndexRecordOption},
};

use super::{
    doc_bit_set::DocBitSet,
    encoding::HashedTerm,
    exact,
    phrase_postings::PhrasePostings,
    plan::{PageCondition, Phrase, Plan},
    query::Reach,
    schema::Fields,
};

/// Maximum terms of a prefix, per field and segment.
const MAX_EXPANSIONS: usize = 256;

/// Maximum bytes of an exact form that is looked up only if no page has its word.
const SHORT_EXACT_BYTES: usize = 6;

type Result<T> = tantivy::Result<T>;

/// A segment opened for a plan.
pub(super) struct Segment<'a> {
    pub(super) reader: &'a SegmentReader,
    pub(super) body: Arc<InvertedIndexReader>,
    pub(super) title: Arc<InvertedIndexReader>,
    pub(super) words: Arc<InvertedIndexReader>,
    pub(super) names: Arc<InvertedIndexReader>,
    pub(super) keys: Arc<InvertedIndexReader>,
    /// Page id of each document.
    pub(super) ids: Column<u64>,
    /// Time of the last change of each document, in Unix milliseconds.
    pub(super) times: Column<i64>,
    fields: Fields,
    /// The terms of each group.
    pub(super) groups: Vec<GroupTerms>,
    /// Maximum terms of a prefix, per field; `usize::MAX` means all.
    max_expansions: usize,
}

/// A group's terms in a segment.
#[derive(Default)]
pub(super) struct GroupTerms {
    pub(super) body: Vec<TermInfo>,
    pub(super) title: Vec<TermInfo>,
    /// Terms of the field of unstemmed words, for a prefix.
    pub(super) words: Vec<TermInfo>,
    pub(super) tag: Option<TermInfo>,
    pub(super) slug: Option<TermInfo>,
    /// The exact form of the word, in the field of words.
    pub(super) exact: Option<TermInfo>,
}

impl GroupTerms {
    /// Returns the number of documents with the group's terms, added up, by field as in
    /// [`super::bm25::Stats::frequency`].
    pub(super) fn frequency(&self) -> [u64; 4] {
        let sum = |infos: &[TermInfo]| infos.iter().map(|i| u64::from(i.doc_freq)).sum::<u64>();
        let one = |info: &Option<TermInfo>| info.as_ref().map_or(0, |i| u64::from(i.doc_freq));
        [sum(&self.body) + sum(&self.words), sum(&self.title), one(&self.tag), one(&self.slug)]
    }
}

impl<'a> Segment<'a> {
    /// Opens a segment. A prefix has up to [`MAX_EXPANSIONS`] terms in each field.
    pub(super) fn open(reader: &'a SegmentReader, fields: Fields, plan: &Plan) -> Result<Self> {
        Self::open_with(reader, fields, plan, MAX_EXPANSIONS)
    }

    /// As [`Self::open`], with all terms of a prefix: terms of hidden pages must not displace
    /// others.
    pub(super) fn open_whole(
        reader: &'a SegmentReader,
        fields: Fields,
        plan: &Plan,
    ) -> Result<Self> {
        Self::open_with(reader, fields, plan, usize::MAX)
    }

    fn open_with(
        reader: &'a SegmentReader,
        fields: Fields,
        plan: &Plan,
        max_expansions: usize,
    ) -> Result<Self> {
        let mut segment = Self {
            reader,
            body: reader.inverted_index(fields.body)?,
            title: reader.inverted_index(fields.title)?,
            words: reader.inverted_index(fields.words)?,
            names: reader.inverted_index(fields.names)?,
            keys: reader.inverted_index(fields.keys)?,
            ids: reader.fast_fields().u64("id")?,
            times: reader.fast_fields().i64("updated_at")?,
            fields,
            groups: Vec::with_capacity(plan.groups.len()),
            max_expansions,
        };
        for group in &plan.groups {
            let mut found = GroupTerms::default();
            let is_anywhere = group.scope == Reach::Anywhere;
            for term in &group.terms {
                if is_anywhere {
                    found.body.extend(segment.find(&segment.body, fields.body, &term.text)?);
                }
                found.title.extend(segment.find(&segment.title, fields.title, &term.text)?);
            }
            if let Some(prefix) = &group.prefix {
                if is_anywhere {
                    found.body = expand(&segment.body, prefix, max_expansions)?;
                    found.words = expand(&segment.words, prefix, max_expansions)?;
                }
                found.title = expand(&segment.title, prefix, max_expansions)?;
            }
            if is_anywhere && group.joined.is_empty() {
                found.tag = segment.find(&segment.keys, fields.keys, &group.tag.text)?;
                found.slug = segment.find(&segment.keys, fields.keys, &group.slug.text)?;
                // Exact ASCII forms find names with an apostrophe and words with a hyphen. For short
                // words they are needed only if no page has the word. `open_whole` always looks
                // them up, so that pages that the caller cannot see have no influence.
                let is_needed = |exact: &&HashedTerm| {
                    !exact.text.is_ascii()
                        || exact.text.len() > SHORT_EXACT_BYTES
                        || exact::is_number(&exact.text)
                        || group.tells_signs()
                        || found.body.is_empty()
                        || max_expansions == usize::MAX
                };
                if let Some(exact) = group.exact.as_ref().filter(is_needed) {
                    found.exact = segment.find(&segment.words, fields.words, &exact.text)?;
                }
            }
            segment.groups.push(found);
        }
        Ok(segment)
    }

    /// Returns the term `text` of a field.
    fn find(
        &self,
        index: &InvertedIndexReader,
        field: Field,
        text: &str,
    ) -> Result<Option<TermInfo>> {
        Ok(index.get_term_info(&Term::from_field_text(field, text))?)
    }

    /// Returns the term of a word of names.
    pub(super) fn name_word(&self, word: &str) -> Result<Option<TermInfo>> {
        self.find(&self.names, self.fields.names, word)
    }

    /// Returns the documents with the key; `None` if the segment does not have the key.
    pub(super) fn with_key(&self, key: &HashedTerm) -> Result<Option<SegmentPostings>> {
        match self.find(&self.keys, self.fields.keys, &key.text)? {
            Some(info) => {
                Ok(Some(self.keys.read_postings_from_terminfo(&info, IndexRecordOption::Basic)?))
            }
            None => Ok(None),
        }
    }

    /// Returns the live documents that meet the plan's conditions.
    pub(super) fn matching_docs(&self, plan: &Plan) -> Result<DocBitSet> {
        let mut allowed = self.allowed_without_phrases(plan)?;
        let mut docs = DocBitSet::clone(&allowed.bits);
        if !allowed.phrases.is_empty() {
            for doc in allowed.bits.iter().collect::<Vec<_>>() {
                if !allowed.phrases_match(doc) {
                    docs.remove(doc);
                }
            }
        }
        Ok(docs)
    }

    /// Returns the live documents that meet the conditions, without checking positions of phrases.
    /// The check of positions takes most of the time, and only the best documents need it.
    pub(super) fn allowed_without_phrases(&self, plan: &Plan) -> Result<AllowedDocs> {
        let bound = self.reader.max_doc();
        let (mut allowed, mut phrases) = (DocBitSet::full(bound), Vec::new());
        for condition in &plan.required {
            allowed.intersect(&self.docs_meeting(condition)?);
            phrases.extend(self.phrase_postings(condition, true)?);
        }
        for condition in &plan.excluded {
            match self.phrase_postings(condition, false)? {
                Some(phrase) => phrases.push(phrase),
                None => allowed.subtract(&self.docs_meeting(condition)?),
            }
        }
        let mut excluded_docs = Vec::new();
        if plan.since.is_some() || plan.until.is_some() || self.reader.has_deletes() {
            let (since, until) = (plan.since.unwrap_or(i64::MIN), plan.until.unwrap_or(i64::MAX));
            let has_times = plan.since.is_some() || plan.until.is_some();
            for doc in allowed.iter() {
                let is_outside = has_times
                    && !self.times.first(doc).is_some_and(|time| (since..=until).contains(&time));
                if is_outside || self.reader.is_deleted(doc) {
                    excluded_docs.push(doc);
                }
            }
        }
        excluded_docs.into_iter().for_each(|doc| allowed.remove(doc));
        Ok(AllowedDocs { bits: Arc::new(allowed), phrases })
    }

    /// Returns whether a document that `is_match` accepts meets the plan's conditions. A phrase
    /// alone, which most pages lack, is looked up without reading the postings of common words.
    pub(super) fn has_match(&self, plan: &Plan, is_match: &dyn Fn(u32) -> bool) -> Result<bool> {
        if let ([condition], true) = (&*plan.required, plan.is_one_condition())
            && let Some(phrase) = self.phrase_postings(condition, true)?
        {
            return Ok(phrase.is_in_any(is_match));
        }
        let mut allowed = self.allowed_without_phrases(plan)?;
        let docs = Arc::clone(&allowed.bits);
        Ok(docs.iter().any(|doc| is_match(doc) && allowed.phrases_match(doc)))
    }

    /// Returns the documents that meet the condition; for a phrase, those with all its words in one
    /// field.
    fn docs_meeting(&self, condition: &PageCondition) -> Result<DocBitSet> {
        let mut bits = DocBitSet::empty(self.reader.max_doc());
        match condition {
            PageCondition::Keys(keys) => {
                for key in keys {
                    if let Some(mut postings) = self.with_key(key)? {
                        each_doc(&mut postings, |doc| bits.insert(doc));
                    }
                }
            }
            PageCondition::Prefix(prefix, scope) => {
                let mut indexes = vec![&self.title];
                if *scope == Reach::Anywhere {
                    indexes.extend([&self.body, &self.words]);
                }
                for index in indexes {
                    add_all(&mut bits, index, &expand(index, prefix, self.max_expansions)?)?;
                }
            }
            PageCondition::Phrase(phrase) => {
                for (index, field) in self.fields_of(phrase) {
                    bits.union(&self.with_all(index, &self.words_of(index, field, phrase)?)?);
                }
            }
        }
        Ok(bits)
    }

    /// Returns the fields in which a phrase may be.
    fn fields_of(&self, phrase: &Phrase) -> impl Iterator<Item = (&InvertedIndexReader, Field)> {
        let body = (phrase.scope == Reach::Anywhere).then_some((&*self.body, self.fields.body));
        std::iter::once((&*self.title, self.fields.title)).chain(body)
    }

    /// Returns the terms of each word of the phrase in all its forms; empty when the field lacks a
    /// word.
    fn words_of(
        &self,
        index: &InvertedIndexReader,
        field: Field,
        phrase: &Phrase,
    ) -> Result<Vec<Vec<TermInfo>>> {
        let mut words = Vec::with_capacity(phrase.words.len());
        for (_, forms) in &phrase.words {
            let mut infos = Vec::with_capacity(forms.len());
            for form in forms {
                infos.extend(self.find(index, field, &form.text)?);
            }
            if infos.is_empty() {
                return Ok(Vec::new());
            }
            words.push(infos);
        }
        Ok(words)
    }

    /// Returns the terms of `forms` in body and title.
    pub(super) fn terms_of(&self, forms: &[HashedTerm]) -> Result<[Vec<TermInfo>; 2]> {
        let mut terms = [Vec::new(), Vec::new()];
        for form in forms {
            terms[0].extend(self.find(&self.body, self.fields.body, &form.text)?);
            terms[1].extend(self.find(&self.title, self.fields.title, &form.text)?);
        }
        Ok(terms)
    }

    /// Returns the documents with any of the given terms. Each field comes with its terms.
    pub(super) fn with_any(
        &self,
        fields: &[(&InvertedIndexReader, &[TermInfo])],
    ) -> Result<DocBitSet> {
        let mut bits = DocBitSet::empty(self.reader.max_doc());
        for (index, infos) in fields {
            add_all(&mut bits, index, infos)?;
        }
        Ok(bits)
    }

    /// Returns the documents that have each word in one of its forms.
    fn with_all(&self, index: &InvertedIndexReader, words: &[Vec<TermInfo>]) -> Result<DocBitSet> {
        let mut all: Option<DocBitSet> = None;
        for infos in words {
            let mut bits = DocBitSet::empty(self.reader.max_doc());
            add_all(&mut bits, index, infos)?;
            match &mut all {
                None => all = Some(bits),
                Some(all) => all.intersect(&bits),
            }
        }
        Ok(all.unwrap_or_else(|| DocBitSet::empty(self.reader.max_doc())))
    }

    /// Returns the postings of a phrase of several words; `None` for any other condition.
    fn phrase_postings(
        &self,
        condition: &PageCondition,
        is_required: bool,
    ) -> Result<Option<PhrasePostings>> {
        let PageCondition::Phrase(phrase) = condition else { return Ok(None) };
        if phrase.words.len() < 2 {
            return Ok(None);
        }
        let mut fields = Vec::new();
        for (index, field) in self.fields_of(phrase) {
            let option = IndexRecordOption::WithFreqsAndPositions;
            let mut words = Vec::with_capacity(phrase.words.len());
            for infos in self.words_of(index, field, phrase)? {
                let open = |info| index.read_postings_from_terminfo(info, option);
                words.push(infos.iter().map(open).collect::<std::io::Result<Vec<_>>>()?);
            }
            if !words.is_empty() {
                fields.push(words);
            }
        }
        let positions = phrase.words.iter().map(|(position, _)| *position).collect();
        Ok(Some(PhrasePostings::new(fields, positions, is_required)))
    }
}

/// Documents that meet the conditions if their phrases match.
#[derive(Clone)]
pub(super) struct AllowedDocs {
    bits: Arc<DocBitSet>,
    phrases: Vec<PhrasePostings>,
}

impl AllowedDocs {
    /// Returns the documents that meet the conditions if their phrases match.
    pub(super) fn docs(&self) -> &Arc<DocBitSet> {
        &self.bits
    }

    /// Whether the document meets the conditions if its phrases match.
    pub(super) fn may_match(&self, doc: u32) -> bool {
        self.bits.contains(doc)
    }

    /// Whether the document has all required phrases and no excluded one. Call it with ascending
    /// documents.
    pub(super) fn phrases_match(&mut self, doc: u32) -> bool {
        self.phrases.iter_mut().all(|phrase| phrase.matches(doc) == phrase.is_required())
    }
}

/// Adds the documents with any of the terms.
fn add_all(bits: &mut DocBitSet, index: &InvertedIndexReader, infos: &[TermInfo]) -> Result<()> {
    for info in infos {
        let mut postings = index.read_postings_from_terminfo(info, IndexRecordOption::Basic)?;
        each_doc(&mut postings, |doc| bits.insert(doc));
    }
    Ok(())
}

/// Calls `f` with every document of `postings`.
fn each_doc(postings: &mut SegmentPostings, mut f: impl FnMut(u32)) {
    let mut doc = postings.doc();
    while doc != TERMINATED {
        f(doc);
        doc = postings.advance();
    }
}

/// Returns up to `max_terms` terms that begin with `prefix`.
fn expand(index: &InvertedIndexReader, prefix: &str, max_terms: usize) -> Result<Vec<TermInfo>> {
    let mut infos = Vec::new();
    let mut stream = index.terms().range().ge(prefix.as_bytes()).into_stream()?;
    while infos.len() < max_terms && stream.advance() && stream.key().starts_with(prefix.as_bytes())
    {
        infos.push(stream.value().clone());
    }
    Ok(infos)
}
