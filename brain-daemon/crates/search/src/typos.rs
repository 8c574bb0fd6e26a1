//! Corrects mistyped words. If a word of the question occurs in no page or in very few, indexed
//! words at edit distance 1 are also searched. For a long word, the distance can be 2. A name that
//! is being typed is compared with the beginnings of words of names.
//!
//! Only pages that the caller can see count: no suggestion depends on hidden ones.

use std::{cmp::Reverse, collections::HashMap, sync::Arc};

use brain_protocol::EditDistance;
use tantivy::{
    DocSet, InvertedIndexReader, TERMINATED, Term,
    postings::TermInfo,
    query::{DfaWrapper, FuzzyTermQuery},
    schema::{Field, IndexRecordOption},
};

use super::{
    Question,
    bm25::Stats,
    doc_bit_set::DocBitSet,
    document::{Analyzer, PageTerms},
    encoding::{GAP_MARK, TERM_MARK},
    fold::{BuildTermHasher, hash},
    language::{Lang, is_stop_word, stem},
    mistyped_words::{has_digits, is_long_enough, words_that_may_be_mistyped},
    name_query::NameQuery,
    plan::Plan,
    query::Query,
    replaced_word::with_word,
    schema::Fields,
    view::View,
    visible_pages::VisiblePages,
};

type Result<T> = tantivy::Result<T>;

/// Minimum letters of a word in which two may be wrong.
const LONG_LETTERS: usize = 9;
/// A word is rare if at most `1 + pages / RARE_DIVISOR` pages contain it.
const RARE_DIVISOR: u64 = 20_000;
/// A correction of a rare word that occurs in some pages must occur in this many times as many
/// pages.
const MIN_PAGE_RATIO: u64 = 20;
/// Maximum spellings of one word.
const MAX_SPELLINGS: usize = 3;
/// Weights of corrections at edit distance 1 and 2; the typed word has weight 1.
const WEIGHTS: [f32; 2] = [0.6, 0.4];
/// Minimum share of a spelling in the score of the first hit that needs an explanation.
const MIN_EXPLAINING_SHARE: f32 = 0.2;
/// Maximum words that are compared with a stem.
const MAX_COMPARED_WORDS: usize = 200;
/// Maximum text of the overlay that is compared, in bytes. During an import, the overlay's pages
/// can have hundreds of megabytes. Names are compared at once, texts once they are in the index.
const MAX_OVERLAY_BYTES: usize = 1 << 20;
/// Maximum pages of a word that are counted for a caller who can see only some sources.
const MAX_COUNTED: u64 = 1000;

/// The spellings with which mistyped words of a question were also searched.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Spelling {
    /// The question in the most likely spelling.
    pub query: Arc<Query>,
    /// The spellings that were also searched, the most likely of each word first.
    pub spellings: Vec<String>,
    /// Those that explain why the first hit was found, as words of pages rather than stems.
    pub explaining: Vec<String>,
    /// The groups of the plan that were added, each with its spelling.
    pub(super) groups: Vec<(usize, String)>,
}

impl Spelling {
    /// Sets the spellings that explain the first hit, where `shares` has the share of each group in
    /// its score.
    pub(super) fn explain(&mut self, shares: &[f32]) {
        let share = |group: usize| shares.get(group).copied().unwrap_or(0.0);
        let groups = self.groups.iter().filter(|(group, _)| share(*group) >= MIN_EXPLAINING_SHARE);
        self.explaining.extend(groups.map(|(_, word)| word.clone()));
    }
}

/// Adds other spellings of rare words to `plan`. Returns them and that of a half-typed name; `None`
/// if there are none.
pub(super) fn correct(
    plan: &mut Plan,
    question: &Question,
    stats: &Stats,
    (view, visible, fields): (&View, Option<&VisiblePages>, Fields),
    analyzer: &mut Analyzer,
) -> Result<Option<Spelling>> {
    let few = 1 + stats.docs / RARE_DIVISOR;
    let (mut text, mut spellings) = (question.query.text.to_owned(), Vec::new());
    let (mut groups, mut explaining) = (Vec::new(), Vec::new());
    let mut is_certain = true;
    let rare: Vec<(usize, u64)> = (0..plan.groups.len())
        .filter(|&group| {
            !plan.groups[group].terms.is_empty() && plan.groups[group].joined.is_empty()
        })
        .map(|group| (group, stats.pages_with(group)))
        .filter(|&(_, pages)| pages <= few)
        .collect();
    let half_typed = plan.names.as_ref().and_then(NameQuery::half_typed_word).map(str::to_owned);
    if rare.is_empty() && half_typed.is_none() {
        return Ok(None);
    }
    let words = words_that_may_be_mistyped(question);
    for (group, pages) in rare {
        let word = plan.groups[group].label.clone();
        if !words.contains(&word.as_str()) {
            continue;
        }
        let neighbours = corrections(&word, pages, &plan.languages, (view, visible, fields))?;
        let Some(best) = neighbours.first() else { continue };
        text = with_word(&text, &word, &best.text);
        is_certain &= pages == 0;
        for neighbour in neighbours {
            let weight = WEIGHTS[usize::from(neighbour.distance > 1)];
            let index = plan.groups.len();
            plan.add_spelling(group, &neighbour.text, weight, analyzer);
            if plan.groups.len() > index
                && let Some(shown) = displayed(&word, &neighbour, plan, (view, visible), fields)?
            {
                groups.push((index, shown));
            }
            spellings.push(neighbour.text);
        }
    }
    if let Some(word) = half_typed.filter(|word| is_long_enough(word) && !has_digits(word)) {
        let part = ComparedPart::Beginning;
        let names = neighbours(&word, max_distance(&word), part, (view, visible), fields)?;
        if let Some(name) = names.into_iter().next().filter(|name| name.distance > 0) {
            text = with_word(&text, &word, &name.text);
            explaining.push(name.text.clone());
            spellings.push(name.text);
        }
    }
    if spellings.is_empty() {
        return Ok(None);
    }
    let query = Query::parse(text);
    if is_certain && plan.names.is_some() {
        let is_being_typed = question.is_being_typed && query.ends_with_words();
        plan.names = NameQuery::new(&query, is_being_typed);
    }
    Ok(Some(Spelling { query, spellings, explaining, groups }))
}

/// Returns the most likely spellings of a word that `pages` pages have. All have the same distance.
fn corrections(
    word: &str,
    pages: u64,
    languages: &[Lang],
    (view, visible, fields): (&View, Option<&VisiblePages>, Fields),
) -> Result<Vec<SimilarWord>> {
    // A word of some page is right, or has a small error: a distant word is another word.
    let max_distance = if pages > 0 { 1 } else { max_distance(word) };
    let mut found = neighbours(word, max_distance, ComparedPart::Whole, (view, visible), fields)?;
    if pages > 0 {
        found.retain(|it| it.pages() >= pages * MIN_PAGE_RATIO);
    }
    found.retain(|it| !is_stop_word(&it.text, languages));
    let nearest = found.first().map_or(0, |it| it.distance);
    found.retain(|it| it.distance == nearest);
    found.truncate(MAX_SPELLINGS);
    Ok(found)
}

/// Returns a spelling as a word of a page: a stem is replaced by a word near `typed` that has it;
/// `None` if there is none. Callers who can see some sources only get the stem: the word may be
/// that of another page.
fn displayed(
    typed: &str,
    spelling: &SimilarWord,
    plan: &Plan,
    (view, visible): (&View, Option<&VisiblePages>),
    fields: Fields,
) -> Result<Option<String>> {
    let text = &spelling.text;
    if spelling.is_word || visible.is_some() {
        return Ok(Some(text.clone()));
    }
    let near = EditDistance::new(typed, usize::from(max_distance(typed)));
    let mut has_words = false;
    // Stems keep the beginning of a word, except for its last letter.
    let last = text.char_indices().next_back().map_or(0, |(at, _)| at);
    for reader in view.searcher.segment_readers() {
        let index = reader.inverted_index(fields.words)?;
        let mut stream = index.terms().range().ge(&text.as_bytes()[..last]).into_stream()?;
        for _ in 0..MAX_COMPARED_WORDS {
            if !stream.advance() || !stream.key().starts_with(&text.as_bytes()[..last]) {
                break;
            }
            let Ok(word) = std::str::from_utf8(stream.key()) else { continue };
            if plan.languages.iter().any(|lang| stem(word, *lang) == text.as_str()) {
                has_words = true;
                if near.to(word).is_some() {
                    return Ok(Some(word.to_owned()));
                }
            }
        }
    }
    // The stem can be a word itself: only other words than stems are listed.
    Ok((!has_words).then(|| text.clone()))
}

/// A word of the pages that differs little from a word of the question.
#[derive(Debug)]
struct SimilarWord {
    text: String,
    distance: usize,
    /// Number of pages that have it in their names.
    in_names: u64,
    /// Number of pages that have it in their texts.
    in_texts: u64,
    /// Whether it is known to be a word rather than a stem.
    is_word: bool,
}

impl SimilarWord {
    /// Returns the number of pages with the word, counted in names or in texts, whichever is more.
    fn pages(&self) -> u64 {
        self.in_names.max(self.in_texts)
    }
}

/// The compared part of words: all letters, in texts and names; or a beginning, in names only.
#[derive(Debug, Clone, Copy, PartialEq)]
enum ComparedPart {
    Whole,
    Beginning,
}

/// What a field has.
#[derive(Debug, Clone, Copy, PartialEq)]
enum FieldKind {
    Names,
    /// Words that differ from their stems.
    Words,
    Stems,
}

/// Returns how many letters of a word can be wrong.
fn max_distance(word: &str) -> u8 {
    if word.chars().nth(LONG_LETTERS - 1).is_some() { 2 } else { 1 }
}

/// Returns the words of the pages that are near `word`, the most likely first: smaller edit
/// distance, then words in names, then words in more pages.
fn neighbours(
    word: &str,
    max_distance: u8,
    part: ComparedPart,
    (view, visible): (&View, Option<&VisiblePages>),
    fields: Fields,
) -> Result<Vec<SimilarWord>> {
    let near_words = near_words(word, part, max_distance, fields.names)?;
    let word = EditDistance::new(word, usize::from(max_distance));
    let mut found = Neighbours { word, part, all: HashMap::new() };
    for (number, reader) in view.searcher.segment_readers().iter().enumerate() {
        let docs = visible.and_then(|visible| visible.segments.get(number)).map(|docs| &**docs);
        let searched: &[Field] = match part {
            ComparedPart::Whole => &[fields.names, fields.words, fields.body],
            ComparedPart::Beginning => &[fields.names],
        };
        for &field in searched {
            let index = reader.inverted_index(field)?;
            let kind = match field {
                _ if field == fields.names => FieldKind::Names,
                _ if field == fields.words => FieldKind::Words,
                _ => FieldKind::Stems,
            };
            found.add_from_index(&index, &near_words, docs, kind)?;
        }
    }
    match visible {
        Some(visible) => {
            found.add_from_documents(
                visible.overlay_entries.iter().filter_map(|entry| entry.analyzed_document()),
            );
        }
        None => {
            let documents =
                view.overlay.values().filter_map(|slot| slot.entry.as_ref()?.analyzed_document());
            found.add_from_documents(documents);
        }
    }
    let mut all: Vec<SimilarWord> = found.all.into_values().collect();
    all.sort_unstable_by(|a, b| {
        let key = |it: &SimilarWord| (it.distance, it.in_names == 0, Reverse(it.pages()));
        key(a).cmp(&key(b)).then_with(|| a.text.cmp(&b.text))
    });
    Ok(all)
}

/// Returns an automaton for the words near `word`, or with a beginning near it. It has no other
/// words: [`EditDistance`] counts the same errors. The field does not matter.
fn near_words(
    word: &str,
    part: ComparedPart,
    max_distance: u8,
    field: Field,
) -> Result<DfaWrapper> {
    let term = Term::from_field_text(field, word);
    let query = match part {
        ComparedPart::Whole => FuzzyTermQuery::new(term, max_distance, true),
        ComparedPart::Beginning => FuzzyTermQuery::new_prefix(term, max_distance, true),
    };
    query.automaton()
}

/// The near words that were found so far.
struct Neighbours {
    word: EditDistance,
    part: ComparedPart,
    /// Text of a word → the word.
    all: HashMap<String, SimilarWord>,
}

impl Neighbours {
    /// Adds `pages` to the number of pages with a near word, in names or in texts.
    fn add(&mut self, text: &str, distance: usize, pages: u64, field: FieldKind) {
        let new = || SimilarWord {
            text: text.to_owned(),
            distance,
            in_names: 0,
            in_texts: 0,
            is_word: false,
        };
        let neighbour = self.all.entry(text.to_owned()).or_insert_with(new);
        neighbour.is_word |= field != FieldKind::Stems;
        if field == FieldKind::Names {
            neighbour.in_names += pages;
        } else {
            neighbour.in_texts += pages;
        }
    }

    /// Returns the distance of `text`, or of its nearest beginning. `None` for a distant word, and
    /// among whole words for the word itself.
    fn distance(&self, text: &str) -> Option<usize> {
        if !text.chars().all(|c| c.is_alphabetic() || !c.is_ascii()) {
            return None;
        }
        match self.part {
            ComparedPart::Whole => self.word.to(text).filter(|distance| *distance > 0),
            ComparedPart::Beginning => {
                let mut row = self.word.start();
                let rows = text.chars().map(|letter| {
                    row = self.word.read(&row, letter);
                    row
                });
                rows.filter_map(|row| self.word.at_end(&row)).min()
            }
        }
    }

    /// Adds the near words of one field of a segment; with `docs`, only words of these documents.
    fn add_from_index(
        &mut self,
        index: &InvertedIndexReader,
        near_words: &DfaWrapper,
        docs: Option<&DocBitSet>,
        field: FieldKind,
    ) -> Result<()> {
        let mut stream = index.terms().search(near_words).into_stream()?;
        while stream.advance() {
            let Some(text) = std::str::from_utf8(stream.key()).ok() else { continue };
            let Some(distance) = self.distance(text) else { continue };
            let pages = match docs {
                Some(docs) => count_within(index, stream.value(), docs)?,
                None => u64::from(stream.value().doc_freq),
            };
            if pages > 0 {
                self.add(text, distance, pages, field);
            }
        }
        Ok(())
    }

    /// Adds the near words of the overlay's pages: those of all names, and for whole words those of
    /// texts up to [`MAX_OVERLAY_BYTES`], the newest pages first.
    fn add_from_documents<'d>(&mut self, documents: impl Iterator<Item = &'d PageTerms>) {
        let mut documents: Vec<&PageTerms> = documents.collect();
        documents.sort_unstable_by_key(|document| Reverse(document.id));
        let mut left = MAX_OVERLAY_BYTES;
        // The distance of each compared word and, for names and texts, the last page that has it.
        let mut compared: HashMap<u64, (Option<usize>, [usize; 2]), BuildTermHasher> =
            HashMap::default();
        for (number, document) in (1..).zip(documents) {
            let fields = [
                (&document.names, FieldKind::Names),
                (&document.words, FieldKind::Words),
                (&document.body.encoded, FieldKind::Stems),
            ];
            let bytes = document.words.len() + document.body.encoded.len();
            let are_texts_compared = self.part == ComparedPart::Whole && bytes <= left;
            if are_texts_compared {
                left -= bytes;
            }
            let searched = if are_texts_compared { &fields[..] } else { &fields[..1] };
            for &(encoded, field) in searched {
                for text in encoded.split([char::from(TERM_MARK), char::from(GAP_MARK)]) {
                    let (distance, last) = compared
                        .entry(hash(text.as_bytes()))
                        .or_insert_with(|| (self.distance(text), [0; 2]));
                    let last = &mut last[usize::from(field != FieldKind::Names)];
                    if let Some(distance) = *distance
                        && *last != number
                    {
                        *last = number;
                        self.add(text, distance, 1, field);
                    }
                }
            }
        }
    }
}

/// Returns the number of `docs` that have a term, up to [`MAX_COUNTED`].
fn count_within(index: &InvertedIndexReader, info: &TermInfo, docs: &DocBitSet) -> Result<u64> {
    let mut postings = index.read_postings_from_terminfo(info, IndexRecordOption::Basic)?;
    let mut count = 0;
    while postings.doc() != TERMINATED && count < MAX_COUNTED {
        count += u64::from(docs.contains(postings.doc()));
        postings.advance();
    }
    Ok(count)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use proptest::prelude::*;
    use tantivy_fst::Automaton;

    use super::*;
    use crate::schema::schema;

    proptest! {
        #[test]
        fn near_words_are_those_within_the_edit_distance(
            word in "[abж]{1,9}",
            other in "[abж]{0,11}",
            max in 1..=2_u8,
        ) {
            let whole = near_words(&word, ComparedPart::Whole, max, schema().1.names).unwrap();
            let state = other.bytes().fold(whole.start(), |state, byte| whole.accept(&state, byte));
            let distance = EditDistance::new(&word, usize::from(max)).to(&other);
            prop_assert_eq!(whole.is_match(&state), distance.is_some());
        }
    }
}
