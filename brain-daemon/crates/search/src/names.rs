//! Pages that a question names: by a whole name, by its words in another order, or, while the
//! question is being typed, by the beginning of a name.

use std::ops::ControlFlow;

use tantivy::{
    DocSet, InvertedIndexReader, TERMINATED, postings::TermInfo, schema::IndexRecordOption,
};

use super::{
    doc_bit_set::DocBitSet,
    document::PageTerms,
    encoding::TERM_MARK,
    name_query::{NameQuery, PartialName},
    terms::Segment,
};

type Result<T> = tantivy::Result<T>;

/// Number of documents of a segment after which no further name is looked up by its beginning, for
/// callers who can see all sources. If a short beginning has more, the first names in alphabetical
/// order are found.
pub(super) const MAX_PARTIAL_MATCHES: usize = 2048;
/// Weight of the typed share of a name, in units of word scores.
const TYPED_SHARE_WEIGHT: f32 = 10.0;

/// How a question names a page.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(super) struct NameMatch {
    /// Whether the whole question is the page's title, an alias, its slug, and a name with its
    /// words in any order.
    pub(super) whole: [bool; 4],
    /// The share of a name that was typed, 0 to 1; more than 0 if a name begins with the question.
    pub(super) typed_share: f32,
    /// Whether the page's names have the typed words; the last one may be incomplete.
    pub(super) has_words: bool,
}

impl NameMatch {
    /// Returns the match of the name at `index` in [`NameQuery::whole`].
    pub(super) fn whole(index: usize) -> Self {
        let mut found = Self::default();
        found.whole[index] = true;
        found
    }

    /// Whether the question does not name the page.
    pub(super) fn is_none(&self) -> bool {
        *self == Self::default()
    }

    /// Adds the match of the same page in another list.
    pub(super) fn add(&mut self, other: Self) {
        self.whole.iter_mut().zip(other.whole).for_each(|(a, b)| *a |= b);
        self.typed_share = self.typed_share.max(other.typed_share);
        self.has_words |= other.has_words;
    }

    /// Returns the tier; higher tiers rank first.
    pub(super) fn tier(&self) -> u8 {
        match self.whole {
            [true, ..] => 6,
            [_, true, ..] => 5,
            [_, _, true, _] => 4,
            [.., true] => 3,
            _ if self.typed_share > 0.0 => 2,
            _ if self.has_words => 1,
            _ => 0,
        }
    }

    /// Returns the meaning of the tier, for explanations.
    pub(super) fn reason(&self) -> &'static str {
        match self.tier() {
            6 => "exact title",
            5 => "exact alias",
            4 => "exact slug",
            3 => "name in another order",
            2 => "beginning of a name",
            1 => "beginnings of words of a name",
            _ => "",
        }
    }

    /// Returns the score of the typed share, which ranks pages of one tier.
    pub(super) fn score(&self) -> f32 {
        TYPED_SHARE_WEIGHT * self.typed_share
    }
}

/// Returns how the question names a page of the overlay.
pub(super) fn of_document(query: &NameQuery, document: &PageTerms) -> NameMatch {
    let mut found = NameMatch {
        whole: query.whole.each_ref().map(|name| document.has_key(name.hash)),
        ..NameMatch::default()
    };
    if let Some(partial) = &query.partial {
        let keys = document.keys.split(char::from(TERM_MARK));
        found.typed_share =
            keys.filter_map(|key| partial.share(key.as_bytes())).fold(found.typed_share, f32::max);
        let mut words = document.names.split(char::from(TERM_MARK));
        let has_word =
            |word: &String| document.names.split(char::from(TERM_MARK)).any(|w| w == word);
        found.has_words =
            words.any(|word| word.starts_with(&partial.last)) && partial.words.iter().all(has_word);
    }
    found
}

/// Returns the visible documents of `segment` that `partial` can name, ascending: about `max_count`
/// by the beginning of a name, and if there are fewer, all by the words of their names.
pub(super) fn partial_matches(
    segment: &Segment<'_>,
    partial: &PartialName,
    max_count: usize,
    is_visible: &impl Fn(u32) -> bool,
) -> Result<Vec<(u32, NameMatch)>> {
    let mut found: Vec<(u32, NameMatch)> = Vec::new();
    each_term_with_prefix(&segment.keys, &partial.key, &mut |key, info| {
        let Some(share) = partial.share(key) else { return Ok(ControlFlow::Continue(())) };
        each_doc(&segment.keys, info, &mut |doc| {
            if is_visible(doc) {
                found.push((doc, NameMatch { typed_share: share, ..NameMatch::default() }));
            }
        })?;
        Ok(match found.len() < max_count {
            true => ControlFlow::Continue(()),
            false => ControlFlow::Break(()),
        })
    })?;
    // The pages above rank before those that only have the words.
    if found.len() < max_count {
        found.extend(docs_with_name_words(segment, partial, is_visible)?);
    }
    found.sort_unstable_by_key(|(doc, _)| *doc);
    found.dedup_by(|b, a| {
        let is_same_doc = a.0 == b.0;
        if is_same_doc {
            a.1.add(b.1);
        }
        is_same_doc
    });
    Ok(found)
}

/// Returns the visible documents whose names have the typed words, the last one as a beginning.
fn docs_with_name_words(
    segment: &Segment<'_>,
    partial: &PartialName,
    is_visible: &impl Fn(u32) -> bool,
) -> Result<Vec<(u32, NameMatch)>> {
    // One letter begins too many words.
    if partial.words.is_empty() && partial.last.chars().nth(1).is_none() {
        return Ok(Vec::new());
    }
    let mut words = Vec::with_capacity(partial.words.len());
    for word in &partial.words {
        let Some(info) = segment.name_word(word)? else { return Ok(Vec::new()) };
        words.push(info);
    }
    let mut docs = DocBitSet::empty(segment.reader.max_doc());
    each_term_with_prefix(&segment.names, &partial.last, &mut |_, info| {
        each_doc(&segment.names, info, &mut |doc| docs.insert(doc))?;
        Ok(ControlFlow::Continue(()))
    })?;
    for info in &words {
        let mut with_word = DocBitSet::empty(segment.reader.max_doc());
        each_doc(&segment.names, info, &mut |doc| with_word.insert(doc))?;
        docs.intersect(&with_word);
    }
    let found = NameMatch { has_words: true, ..NameMatch::default() };
    Ok(docs.iter().filter(|doc| is_visible(*doc)).map(|doc| (doc, found)).collect())
}

/// Keeps the `max_count` best of `found`, in ascending order of documents; 0 keeps all.
pub(super) fn keep_best(found: &mut Vec<(u32, NameMatch)>, max_count: usize) {
    if found.len() > max_count && max_count > 0 {
        let rank = |it: &(u32, NameMatch)| (it.1.tier(), it.1.typed_share);
        found.select_nth_unstable_by(max_count - 1, |a, b| {
            let ((tier_a, share_a), (tier_b, share_b)) = (rank(a), rank(b));
            tier_b.cmp(&tier_a).then(share_b.total_cmp(&share_a)).then(a.0.cmp(&b.0))
        });
        found.truncate(max_count);
        found.sort_unstable_by_key(|(doc, _)| *doc);
    }
}

/// Takes a term of the index and its postings; returns whether to continue.
type EachTerm<'a> = dyn FnMut(&[u8], &TermInfo) -> Result<ControlFlow<()>> + 'a;

/// Calls `each` with the terms that begin with `prefix`, in order, until it returns `Break`.
fn each_term_with_prefix(
    index: &InvertedIndexReader,
    prefix: &str,
    each: &mut EachTerm<'_>,
) -> Result<()> {
    let mut stream = index.terms().range().ge(prefix.as_bytes()).into_stream()?;
    while stream.advance() && stream.key().starts_with(prefix.as_bytes()) {
        if each(stream.key(), stream.value())?.is_break() {
            break;
        }
    }
    Ok(())
}

/// Calls `each` with the documents of a term.
fn each_doc(index: &InvertedIndexReader, info: &TermInfo, each: &mut dyn FnMut(u32)) -> Result<()> {
    let mut postings = index.read_postings_from_terminfo(info, IndexRecordOption::Basic)?;
    while postings.doc() != TERMINATED {
        each(postings.doc());
        postings.advance();
    }
    Ok(())
}
