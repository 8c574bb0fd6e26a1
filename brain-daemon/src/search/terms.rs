//! A plan's terms in one segment of the disk index: where their postings are, and which documents meet the plan's
//! conditions.

use std::sync::Arc;

use tantivy::{
    DocSet, InvertedIndexReader, SegmentReader, TERMINATED, Term,
    fastfield::Column,
    postings::{Postings, SegmentPostings, TermInfo},
    schema::{Field, IndexRecordOption},
};

use super::{
    bits::Bits,
    plan::{Condition, Hashed, Phrase, Plan},
    query::Scope,
    schema::Fields,
};

/// A prefix stands for at most so many terms of a field and segment.
const MAX_EXPANSIONS: usize = 256;

type Result<T> = tantivy::Result<T>;

/// One segment, opened for a question.
pub(super) struct Segment<'a> {
    pub(super) reader: &'a SegmentReader,
    pub(super) body: Arc<InvertedIndexReader>,
    pub(super) title: Arc<InvertedIndexReader>,
    pub(super) words: Arc<InvertedIndexReader>,
    pub(super) keys: Arc<InvertedIndexReader>,
    pub(super) ids: Column<u64>,
    pub(super) times: Column<i64>,
    fields: Fields,
    /// For each group, where its terms are.
    pub(super) groups: Vec<Found>,
    /// A prefix stands for at most so many terms of a field.
    expansions: usize,
}

/// Where a group's terms are in a segment.
#[derive(Default)]
pub(super) struct Found {
    pub(super) body: Vec<TermInfo>,
    pub(super) title: Vec<TermInfo>,
    /// Terms of the field of unstemmed words, for a prefix.
    pub(super) words: Vec<TermInfo>,
    pub(super) tag: Option<TermInfo>,
    pub(super) slug: Option<TermInfo>,
}

impl Found {
    /// In how many documents the group is, by field as in [`super::rank::Stats::frequency`].
    pub(super) fn frequency(&self) -> [u64; 4] {
        let sum = |infos: &[TermInfo]| infos.iter().map(|i| u64::from(i.doc_freq)).sum::<u64>();
        let one = |info: &Option<TermInfo>| info.as_ref().map_or(0, |i| u64::from(i.doc_freq));
        [sum(&self.body) + sum(&self.words), sum(&self.title), one(&self.tag), one(&self.slug)]
    }
}

impl<'a> Segment<'a> {
    pub(super) fn open(reader: &'a SegmentReader, fields: Fields, plan: &Plan) -> Result<Self> {
        Self::open_with(reader, fields, plan, MAX_EXPANSIONS)
    }

    /// The same, with every term of a prefix: which of them are in pages that a caller may not see
    /// is not known here, and they must take nobody's place.
    pub(super) fn open_whole(reader: &'a SegmentReader, fields: Fields, plan: &Plan) -> Result<Self> {
        Self::open_with(reader, fields, plan, usize::MAX)
    }

    fn open_with(reader: &'a SegmentReader, fields: Fields, plan: &Plan, expansions: usize) -> Result<Self> {
        let mut segment = Self {
            reader,
            body: reader.inverted_index(fields.body)?,
            title: reader.inverted_index(fields.title)?,
            words: reader.inverted_index(fields.words)?,
            keys: reader.inverted_index(fields.keys)?,
            ids: reader.fast_fields().u64("id")?,
            times: reader.fast_fields().i64("updated_at")?,
            fields,
            groups: Vec::with_capacity(plan.groups.len()),
            expansions,
        };
        for group in &plan.groups {
            let mut found = Found::default();
            let anywhere = group.scope == Scope::Anywhere;
            for term in &group.terms {
                if anywhere {
                    found.body.extend(segment.find(&segment.body, fields.body, &term.text)?);
                }
                found.title.extend(segment.find(&segment.title, fields.title, &term.text)?);
            }
            if let Some(prefix) = &group.prefix {
                if anywhere {
                    found.body = expand(&segment.body, prefix, expansions)?;
                    found.words = expand(&segment.words, prefix, expansions)?;
                }
                found.title = expand(&segment.title, prefix, expansions)?;
            }
            if anywhere {
                found.tag = segment.find(&segment.keys, fields.keys, &group.tag.text)?;
                found.slug = segment.find(&segment.keys, fields.keys, &group.slug.text)?;
            }
            segment.groups.push(found);
        }
        Ok(segment)
    }

    fn find(&self, index: &InvertedIndexReader, field: Field, text: &str) -> Result<Option<TermInfo>> {
        Ok(index.get_term_info(&Term::from_field_text(field, text))?)
    }

    /// The documents that have the key.
    pub(super) fn with_key(&self, key: &Hashed) -> Result<Option<SegmentPostings>> {
        match self.find(&self.keys, self.fields.keys, &key.text)? {
            Some(info) => Ok(Some(self.keys.read_postings_from_terminfo(&info, IndexRecordOption::Basic)?)),
            None => Ok(None),
        }
    }

    /// The documents that are there and meet the plan's conditions.
    pub(super) fn allowed(&self, plan: &Plan) -> Result<Bits> {
        let bound = self.reader.max_doc();
        let mut allowed = Bits::full(bound);
        for condition in &plan.required {
            allowed.keep(&self.meeting(condition)?);
        }
        for condition in &plan.excluded {
            allowed.drop(&self.meeting(condition)?);
        }
        let mut gone = Vec::new();
        if plan.since.is_some() || plan.until.is_some() || self.reader.has_deletes() {
            let (since, until) = (plan.since.unwrap_or(i64::MIN), plan.until.unwrap_or(i64::MAX));
            let timed = plan.since.is_some() || plan.until.is_some();
            for doc in allowed.iter() {
                let out = timed && !self.times.first(doc).is_some_and(|time| (since..=until).contains(&time));
                if out || self.reader.is_deleted(doc) {
                    gone.push(doc);
                }
            }
        }
        gone.into_iter().for_each(|doc| allowed.remove(doc));
        Ok(allowed)
    }

    fn meeting(&self, condition: &Condition) -> Result<Bits> {
        let mut bits = Bits::empty(self.reader.max_doc());
        match condition {
            Condition::Keys(keys) => {
                for key in keys {
                    if let Some(mut postings) = self.with_key(key)? {
                        each(&mut postings, |doc| bits.insert(doc));
                    }
                }
            }
            Condition::Prefix(prefix, scope) => {
                let mut indexes = vec![&self.title];
                if *scope == Scope::Anywhere {
                    indexes.extend([&self.body, &self.words]);
                }
                for index in indexes {
                    for info in expand(index, prefix, self.expansions)? {
                        each(
                            &mut index.read_postings_from_terminfo(&info, IndexRecordOption::Basic)?,
                            |doc| {
                                bits.insert(doc);
                            },
                        );
                    }
                }
            }
            Condition::Phrase(phrase) => {
                self.phrase(&self.title, self.fields.title, phrase, &mut bits)?;
                if phrase.scope == Scope::Anywhere {
                    self.phrase(&self.body, self.fields.body, phrase, &mut bits)?;
                }
            }
        }
        Ok(bits)
    }

    /// Adds the documents that have `phrase` in the field of `index`.
    fn phrase(
        &self,
        index: &InvertedIndexReader,
        field: Field,
        phrase: &Phrase,
        out: &mut Bits,
    ) -> Result<()> {
        let mut words: Vec<Vec<TermInfo>> = Vec::with_capacity(phrase.words.len());
        for (_, forms) in &phrase.words {
            let mut infos = Vec::with_capacity(forms.len());
            for form in forms {
                infos.extend(self.find(index, field, &form.text)?);
            }
            if infos.is_empty() {
                return Ok(());
            }
            words.push(infos);
        }
        let mut all: Option<Bits> = None;
        for infos in &words {
            let mut bits = Bits::empty(self.reader.max_doc());
            for info in infos {
                each(&mut index.read_postings_from_terminfo(info, IndexRecordOption::Basic)?, |doc| {
                    bits.insert(doc);
                });
            }
            match &mut all {
                None => all = Some(bits),
                Some(all) => all.keep(&bits),
            }
        }
        let Some(all) = all else { return Ok(()) };
        if words.len() == 1 {
            all.iter().for_each(|doc| out.insert(doc));
            return Ok(());
        }
        let mut postings: Vec<Vec<SegmentPostings>> = Vec::with_capacity(words.len());
        for infos in &words {
            let open =
                |info| index.read_postings_from_terminfo(info, IndexRecordOption::WithFreqsAndPositions);
            postings.push(infos.iter().map(open).collect::<std::io::Result<_>>()?);
        }
        let (mut starts, mut next) = (Vec::new(), Vec::new());
        for doc in all.iter() {
            starts.clear();
            for (number, forms) in postings.iter_mut().enumerate() {
                let place = phrase.words[number].0;
                next.clear();
                for form in forms.iter_mut() {
                    if reach(form, doc) {
                        form.append_positions_with_offset(0, &mut next);
                    }
                }
                next.sort_unstable();
                if number == 0 {
                    starts.extend_from_slice(&next);
                } else {
                    starts.retain(|&start| next.binary_search(&(start + place)).is_ok());
                }
                if starts.is_empty() {
                    break;
                }
            }
            if !starts.is_empty() {
                out.insert(doc);
            }
        }
        Ok(())
    }
}

/// Calls `f` with every document.
fn each(postings: &mut SegmentPostings, mut f: impl FnMut(u32)) {
    let mut doc = postings.doc();
    while doc != TERMINATED {
        f(doc);
        doc = postings.advance();
    }
}

/// Moves `postings` to `doc`; whether it is there.
pub(super) fn reach(postings: &mut SegmentPostings, doc: u32) -> bool {
    let at = postings.doc();
    at == doc || (at < doc && postings.seek(doc) == doc)
}

/// The terms that begin with `prefix`, `most` of them.
fn expand(index: &InvertedIndexReader, prefix: &str, most: usize) -> Result<Vec<TermInfo>> {
    let mut infos = Vec::new();
    let mut stream = index.terms().range().ge(prefix.as_bytes()).into_stream()?;
    while infos.len() < most && stream.advance() && stream.key().starts_with(prefix.as_bytes()) {
        infos.push(stream.value().clone());
    }
    Ok(infos)
}
