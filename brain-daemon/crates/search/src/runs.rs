//! Runs: words of a question that are adjacent in a page, in the question's order. One word may be
//! left out, added or exchanged: people remember phrases like that.
//!
//! The first pass ranks by single words and pairs, without stop words. To find a phrase that was
//! typed without quotes, the second pass compares the positions of all its words, with stop words.
//! It reads only the best candidates whose pairs allow a long run. Most questions have none.

use std::{collections::HashMap, ops::Range, sync::Arc};

use tantivy::{
    postings::{Postings, SegmentPostings},
    schema::IndexRecordOption,
};

use super::{
    bm25::Stats,
    document::PageToIndex,
    encoding::HashedTerm,
    match_table::{MatchTable, PlanMatches},
    phrase_postings::reach,
    plan::{Plan, Sequence, SequenceWord},
    terms::Segment,
};

/// Minimum words of a run that is not the whole question.
const MIN_WORDS: usize = 4;
/// Minimum share of the question's weight that a run of a part of the question must have.
const MIN_SHARE: f32 = 0.5;
/// Maximum candidates whose positions are read.
const MAX_CHECKED: usize = 50;
/// Weight of a stop word, where that of another word is its inverse document frequency.
const STOP_WEIGHT: f32 = 0.3;
/// Factor for the value of a run that is only a part of the question.
const PARTIAL_RUN_FACTOR: f32 = 0.4;
/// Factor for the value of a run with one difference: a word of the page that the question leaves
/// out, or a word of the question that the page has not or otherwise.
const SLIP_FACTOR: f32 = 0.7;

/// The best run of a candidate.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct WordRun {
    /// Its value, 0 to 1: 1 for a whole question or quoted phrase of at least [`MIN_WORDS`] words.
    pub(super) share: f32,
    /// Index of its sequence.
    pub(super) sequence: usize,
    /// Indexes of its words in the sequence.
    pub(super) words: Range<usize>,
    /// Whether it is the whole question.
    pub(super) is_whole: bool,
}

/// Finds the best run of each candidate that has one. `ranked` has the indexes of the candidates,
/// best first. `has_pair` takes a candidate and a pair of the plan, both by index.
pub(super) fn runs(
    found: &PlanMatches<'_>,
    plan: &Plan,
    ranked: &[usize],
    has_pair: impl Fn(usize, usize) -> bool,
    overlay_entry: &dyn Fn(u64) -> Option<Arc<PageToIndex>>,
) -> tantivy::Result<HashMap<usize, WordRun>> {
    let mut runs: HashMap<usize, WordRun> = HashMap::new();
    let total: f32 = plan.sequences.iter().flat_map(|s| weights(s, &found.stats)).sum();
    for (number, sequence) in plan.sequences.iter().enumerate() {
        if sequence.words.len() < 2 {
            continue;
        }
        let weights = weights(sequence, &found.stats);
        let is_whole = plan.sequences.len() == 1 || sequence.is_quoted;
        let total = if sequence.is_quoted { weights.iter().sum() } else { total };
        let content_words = ContentWords::of(sequence, plan);
        let accepted_length = |words: Range<usize>| {
            let weight: f32 = weights[words.clone()].iter().sum();
            let is_all = is_whole && words.len() == sequence.words.len();
            (is_all || (is_long(sequence, false, words.len()) && weight >= MIN_SHARE * total))
                .then_some(words.len())
        };
        let mut checked: Vec<(usize, usize)> = ranked
            .iter()
            .filter_map(|&candidate| {
                let pairs = |pair| has_pair(candidate, pair);
                Some((content_words.longest(sequence, pairs, &accepted_length)?, candidate))
            })
            .collect();
        // The sort is stable: equally long runs keep the order of the ranking.
        checked.sort_by_key(|(words, _)| std::cmp::Reverse(*words));
        checked.truncate(MAX_CHECKED);
        let candidates: Vec<usize> = checked.into_iter().map(|(_, candidate)| candidate).collect();
        let positions = Positions::read(found, plan, sequence, &candidates, overlay_entry)?;
        for (row, &candidate) in candidates.iter().enumerate() {
            for field in 0..FIELDS {
                let places: Vec<&[u32]> = (0..sequence.words.len())
                    .map(|word| {
                        positions.of(&found.hits, plan, sequence, (row, candidate), word, field)
                    })
                    .collect();
                let is_long_enough = |len| is_long(sequence, is_whole, len);
                let Some(found) = heaviest_run(sequence, &weights, &places, is_long_enough) else {
                    continue;
                };
                let is_all = is_whole && found.words.len() == sequence.words.len();
                let share = value_of_run(&found, total, is_all);
                let words = found.words;
                let run = WordRun { share, sequence: number, words, is_whole: is_all };
                if runs.get(&candidate).is_none_or(|best| best.share < share) {
                    runs.insert(candidate, run);
                }
            }
        }
    }
    Ok(runs)
}

/// Returns the value of a run, 0 to 1. `total` is the weight of the question.
fn value_of_run(run: &HeavyRun, total: f32, is_all: bool) -> f32 {
    let length_factor = ((run.matched - 1) as f32 / (MIN_WORDS - 1) as f32).min(1.0);
    let share = run.weight / total.max(f32::MIN_POSITIVE);
    let of_part = if is_all { share } else { PARTIAL_RUN_FACTOR * share * share };
    length_factor * length_factor * of_part * if run.has_slip { SLIP_FACTOR } else { 1.0 }
}

/// Number of fields: body and title.
const FIELDS: usize = 2;

/// Returns the weight of each word of `sequence`.
fn weights(sequence: &Sequence, stats: &Stats) -> Vec<f32> {
    let weight = |word: &SequenceWord| match word.group {
        None => STOP_WEIGHT,
        // A word that is in no page does not distinguish pages.
        Some(group) if stats.pages_with(group) == 0 => 0.0,
        Some(group) => stats.idf(group),
    };
    sequence.words.iter().map(weight).collect()
}

/// Whether a run of `words` words is long enough to count.
fn is_long(sequence: &Sequence, is_whole: bool, words: usize) -> bool {
    (is_whole && words == sequence.words.len()) || (!sequence.is_quoted && words >= MIN_WORDS)
}

/// The words of a sequence except stop words, and the pairs that they form.
struct ContentWords {
    /// Index of each word in the sequence, and of the pair that it forms with the next one.
    words: Vec<(usize, Option<usize>)>,
}

impl ContentWords {
    fn of(sequence: &Sequence, plan: &Plan) -> Self {
        let content: Vec<usize> = (0..sequence.words.len())
            .filter(|&word| sequence.words[word].group.is_some())
            .collect();
        let pair = |first: usize, second: usize| {
            let (a, b) = (&sequence.words[first], &sequence.words[second]);
            plan.pairs.iter().position(|pair| {
                (Some(pair.first), Some(pair.second)) == (a.group, b.group)
                    && pair.distance == b.position - a.position
            })
        };
        let next = content.iter().skip(1).map(|next| Some(*next)).chain([None]);
        let words = content
            .iter()
            .zip(next)
            .map(|(&word, next)| (word, next.and_then(|next| pair(word, next))))
            .collect();
        Self { words }
    }

    /// Returns the number of words of the longest run that the pairs of a page allow.
    /// `accepted_length` returns the length of a run; `None` if the run does not count.
    fn longest(
        &self,
        sequence: &Sequence,
        has_pair: impl Fn(usize) -> bool,
        accepted_length: &impl Fn(Range<usize>) -> Option<usize>,
    ) -> Option<usize> {
        let mut longest = None;
        // Where a run without a slip begins, and one with a slip.
        let (mut begin, mut begin_with_slip) = (0, 0);
        let mut was_broken = false;
        for (at, &(word, pair)) in self.words.iter().enumerate() {
            let next = self.words.get(at + 1).map_or(sequence.words.len(), |next| next.0);
            let begin_at = if sequence.is_quoted { begin } else { begin_with_slip };
            longest = longest.max(accepted_length(begin_at..next));
            // Words that form no pair, such as a repeated one, are assumed to be adjacent.
            let is_broken = pair.is_some_and(|pair| !has_pair(pair));
            if is_broken {
                // A word that the page has not breaks the pairs on both sides.
                if !was_broken {
                    begin_with_slip = begin;
                }
                begin = word + 1;
            }
            was_broken = is_broken;
        }
        longest
    }
}

/// A run that was found in one field of a page.
#[derive(Debug, Clone, PartialEq)]
struct HeavyRun {
    /// Indexes of its words in the sequence, with a word that the page has not.
    words: Range<usize>,
    /// Number of words that the page has.
    matched: usize,
    /// Sum of their weights.
    weight: f32,
    has_slip: bool,
}

/// The runs that end at a word: each with its last position in the page.
type RunEnds = Vec<(u32, HeavyRun)>;

/// Returns the heaviest run that is long enough. `places` has the positions of each word in one
/// field of a page. A run that is not quoted may have one slip.
fn heaviest_run(
    sequence: &Sequence,
    weights: &[f32],
    places: &[&[u32]],
    is_long_enough: impl Fn(usize) -> bool,
) -> Option<HeavyRun> {
    let mut best: Option<HeavyRun> = None;
    // The runs that end at the previous word, and at the one before it.
    let (mut previous, mut earlier): (RunEnds, RunEnds) = (Vec::new(), Vec::new());
    let position = |word: usize| sequence.words[word].position;
    for (word, places) in places.iter().enumerate() {
        let mut ends: RunEnds = Vec::with_capacity(places.len());
        for &place in *places {
            let new = HeavyRun {
                words: word..word + 1,
                matched: 1,
                weight: weights[word],
                has_slip: false,
            };
            let mut run = new;
            let mut extend = |ends: &RunEnds, distance: u32, is_slip: bool| {
                let at = place.checked_sub(distance);
                let former = at.and_then(|at| ends.binary_search_by_key(&at, |(at, _)| *at).ok());
                let Some((_, former)) = former.map(|former| &ends[former]) else { return };
                let weight = former.weight + weights[word];
                if !(is_slip && (former.has_slip || sequence.is_quoted)) && weight > run.weight {
                    run = HeavyRun {
                        words: former.words.start..word + 1,
                        matched: former.matched + 1,
                        weight,
                        has_slip: former.has_slip || is_slip,
                    };
                }
            };
            if word > 0 {
                let distance = position(word) - position(word - 1);
                extend(&previous, distance, false);
                extend(&previous, distance + 1, true);
            }
            if word > 1 {
                let distance = position(word) - position(word - 2);
                extend(&earlier, distance, true);
                extend(&earlier, distance - 1, true);
            }
            let is_long = match run.has_slip {
                true => run.matched >= MIN_WORDS,
                false => is_long_enough(run.matched),
            };
            if is_long && best.as_ref().is_none_or(|best| best.value() < run.value()) {
                best = Some(run.clone());
            }
            ends.push((place, run));
        }
        earlier = std::mem::replace(&mut previous, ends);
    }
    best
}

impl HeavyRun {
    /// Returns the weight that is compared between runs of one page.
    fn value(&self) -> f32 {
        self.weight * if self.has_slip { SLIP_FACTOR } else { 1.0 }
    }
}

/// Returns the forms of a word whose positions are not in the table of matches.
fn forms_to_read<'a>(plan: &'a Plan, word: &'a SequenceWord) -> Option<&'a [HashedTerm]> {
    match word.group {
        None => Some(&word.forms),
        Some(group) if !plan.is_paired(group) => Some(&plan.groups[group].terms),
        Some(_) => None,
    }
}

/// Positions of words that are not in the table of matches.
struct Positions {
    /// Number of words of the sequence.
    words: usize,
    /// Positions by candidate, word and field; see [`Positions::slot`].
    places: Vec<Vec<u32>>,
}

impl Positions {
    /// Reads the positions of the sequence's words in the candidates.
    fn read(
        found: &PlanMatches<'_>,
        plan: &Plan,
        sequence: &Sequence,
        candidates: &[usize],
        overlay_entry: &dyn Fn(u64) -> Option<Arc<PageToIndex>>,
    ) -> tantivy::Result<Self> {
        let words = sequence.words.len();
        let places = vec![Vec::new(); candidates.len() * words * FIELDS];
        let mut positions = Self { words, places };
        let mut rows: Vec<usize> = (0..candidates.len()).collect();
        let place = |row: usize| found.hits.candidates[candidates[row]].doc_address;
        rows.sort_unstable_by_key(|&row| place(row));
        for rows in rows.chunk_by(|a, b| place(*a).0 == place(*b).0) {
            match found.segments.get(place(rows[0]).0 as usize) {
                Some(segment) => {
                    let docs: Vec<(usize, u32)> =
                        rows.iter().map(|&row| (row, place(row).1)).collect();
                    positions.read_segment(segment, plan, sequence, &docs)?;
                }
                None => {
                    for &row in rows {
                        let id = found.hits.candidates[candidates[row]].id;
                        if let Some(entry) = overlay_entry(id) {
                            positions.read_entry(&entry, plan, sequence, row);
                        }
                    }
                }
            }
        }
        Ok(positions)
    }

    fn read_segment(
        &mut self,
        segment: &Segment<'_>,
        plan: &Plan,
        sequence: &Sequence,
        docs: &[(usize, u32)],
    ) -> tantivy::Result<()> {
        for (word, sequence_word) in sequence.words.iter().enumerate() {
            let Some(forms) = forms_to_read(plan, sequence_word) else { continue };
            for (field, infos) in segment.terms_of(forms)?.into_iter().enumerate() {
                let index = [&segment.body, &segment.title][field];
                let open = |info| {
                    let option = IndexRecordOption::WithFreqsAndPositions;
                    index.read_postings_from_terminfo(info, option)
                };
                let mut forms: Vec<SegmentPostings> =
                    infos.iter().map(open).collect::<std::io::Result<_>>()?;
                for &(row, doc) in docs {
                    let slot = self.slot(row, word, field);
                    let places = &mut self.places[slot];
                    for form in &mut forms {
                        if reach(form, doc) {
                            form.append_positions_with_offset(0, places);
                        }
                    }
                    places.sort_unstable();
                }
            }
        }
        Ok(())
    }

    fn read_entry(&mut self, entry: &PageToIndex, plan: &Plan, sequence: &Sequence, row: usize) {
        let Some(document) = entry.analyzed_document() else { return };
        for (field, terms) in [&document.body, &document.title].into_iter().enumerate() {
            for (word, sequence_word) in sequence.words.iter().enumerate() {
                let Some(forms) = forms_to_read(plan, sequence_word) else { continue };
                let slot = self.slot(row, word, field);
                let is_form = |hash: u64| forms.iter().any(|form| form.hash == hash);
                let hashes = (0..).zip(&terms.hashes);
                let places = hashes.filter(|(_, hash)| is_form(**hash)).map(|(place, _)| place);
                self.places[slot].extend(places);
            }
        }
    }

    /// Returns the index in `places`.
    fn slot(&self, row: usize, word: usize, field: usize) -> usize {
        (row * self.words + word) * FIELDS + field
    }

    /// Returns the positions of a word in a field of a candidate, ascending.
    fn of<'a>(
        &'a self,
        hits: &'a MatchTable,
        plan: &Plan,
        sequence: &Sequence,
        (row, candidate): (usize, usize),
        word: usize,
        field: usize,
    ) -> &'a [u32] {
        match sequence.words[word].group {
            Some(group) if plan.is_paired(group) => {
                let cell = &hits.row(candidate)[group];
                hits.places([cell.body, cell.title][field])
            }
            _ => &self.places[self.slot(row, word, field)],
        }
    }
}
