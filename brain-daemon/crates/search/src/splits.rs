//! Words of a question that pages write as several words: `data base` for `database`, `cached
//! metadata` for `cachedMetadata`.
//!
//! If pages have the parts next to each other, a second search finds these pages.

use std::{collections::HashSet, sync::Arc};

use tantivy::{InvertedIndexReader, Term, schema::Field};

use super::{
    Question, RankedPage,
    bm25::Stats,
    document::Analyzer,
    encoding::HashedTerm,
    fold::BuildTermHasher,
    language::Lang,
    plan::{PageCondition, Phrase, Plan, WordGroup},
    query::{Reach, Unit},
    schema::Fields,
    token::Kind,
    view::View,
};

type Result<T> = tantivy::Result<T>;

/// Minimum letters of a word that may be several.
const MIN_LETTERS: usize = 6;
/// Minimum letters of each of its parts.
const MIN_PART_LETTERS: usize = 2;
/// A word may be several if at most `1 + pages / RARE_DIVISOR` pages have it.
const RARE_DIVISOR: u64 = 100;
/// Maximum words of a question that are divided.
const MAX_WORDS: usize = 2;
/// Weight of a page that has the parts; a page that has the word has 1.
const SPLIT_WEIGHT: f32 = 0.8;

/// A word of the question, and the parts that pages have in its place.
#[derive(Debug)]
pub(super) struct Split {
    word: String,
    parts: Vec<String>,
    /// The parts as a condition of pages.
    condition: Option<PageCondition>,
}

/// Returns words of the question that pages have as a phrase of several words. `has_pages` says
/// whether a visible page meets the conditions of a plan.
pub(super) fn divided_words(
    (question, plan, stats): (&Question, &Plan, &Stats),
    (view, fields): (&View, Fields),
    languages: &[Lang],
    analyzer: &mut Analyzer,
    has_pages: &dyn Fn(&Plan) -> Result<bool>,
) -> Result<Vec<Split>> {
    let mut divided = Vec::new();
    let splits = splits(question, plan, stats);
    if splits.is_empty() {
        return Ok(divided);
    }
    let mut forms_of =
        |split: &Split| split.parts.iter().map(|part| analyzer.forms(part, languages)).collect();
    let forms: Vec<Vec<Vec<HashedTerm>>> = splits.iter().map(&mut forms_of).collect();
    let known = KnownTerms::new(view, fields, forms.iter().flatten().flatten())?;
    for (mut split, parts) in splits.into_iter().zip(forms) {
        if !known.have_each(&parts)? {
            continue;
        }
        let phrase = Phrase { words: (0..).zip(parts).collect(), scope: Reach::Anywhere };
        let condition = PageCondition::Phrase(phrase);
        if has_pages(&Plan { required: vec![condition.clone()], ..Plan::default() })? {
            split.condition = Some(condition);
            divided.push(split);
        }
        if divided.len() == MAX_WORDS {
            break;
        }
    }
    Ok(divided)
}

/// The terms that pages have.
struct KnownTerms {
    indexes: Vec<(Field, Arc<InvertedIndexReader>)>,
    /// Terms of pages that no segment has yet.
    recent: HashSet<u64, BuildTermHasher>,
}

impl KnownTerms {
    fn new<'t>(
        view: &View,
        fields: Fields,
        asked: impl Iterator<Item = &'t HashedTerm>,
    ) -> Result<KnownTerms> {
        let mut indexes = Vec::new();
        for reader in view.searcher.segment_readers() {
            for field in [fields.body, fields.title] {
                indexes.push((field, reader.inverted_index(field)?));
            }
        }
        let asked: HashSet<u64, BuildTermHasher> = asked.map(|term| term.hash).collect();
        let mut recent: HashSet<u64, BuildTermHasher> = HashSet::default();
        let entries = view.overlay.values().filter_map(|slot| slot.entry.as_ref());
        for document in entries.filter_map(|entry| entry.analyzed_document()) {
            let hashes = document.body.hashes.iter().chain(&document.title.hashes);
            recent.extend(hashes.filter(|hash| asked.contains(hash)));
        }
        Ok(KnownTerms { indexes, recent })
    }

    /// Returns whether pages have a form of each part.
    fn have_each(&self, parts: &[Vec<HashedTerm>]) -> Result<bool> {
        for forms in parts {
            if !self.have_any(forms)? {
                return Ok(false);
            }
        }
        Ok(true)
    }

    fn have_any(&self, forms: &[HashedTerm]) -> Result<bool> {
        if forms.iter().any(|form| self.recent.contains(&form.hash)) {
            return Ok(true);
        }
        for form in forms {
            for (field, index) in &self.indexes {
                let term = Term::from_field_text(*field, &form.text);
                if index.get_term_info(&term)?.is_some() {
                    return Ok(true);
                }
            }
        }
        Ok(false)
    }
}

impl Split {
    /// Returns the plan for pages that have the parts in place of the word.
    pub(super) fn plan(
        &self,
        question: &Question,
        languages: &[Lang],
        analyzer: &mut Analyzer,
    ) -> Plan {
        let query = question.query.with_parts(&self.word, &self.parts.join(" "));
        let question = Question { query, day_words: None, ..question.clone() };
        let mut plan = Plan::new(&question, languages, analyzer);
        plan.required.extend(self.condition.clone());
        plan.names = None;
        plan.sequences.clear();
        plan
    }

    /// Makes the parts together count a little less than the word.
    pub(super) fn weigh(&self, plan: &mut Plan, stats: &Stats, word_idf: f32) {
        let is_part = |group: &WordGroup| self.parts.contains(&group.label);
        let groups = (0..plan.groups.len()).filter(|&group| is_part(&plan.groups[group]));
        let parts: Vec<usize> = groups.collect();
        let sum: f32 = parts.iter().map(|&group| stats.idf(group)).sum();
        for &group in &parts {
            plan.groups[group].multiplier = SPLIT_WEIGHT * word_idf / sum.max(f32::MIN_POSITIVE);
        }
        plan.pairs.retain(|pair| !(parts.contains(&pair.first) && parts.contains(&pair.second)));
    }

    /// Returns the inverse document frequency of the word in the question's plan.
    pub(super) fn word_idf(&self, plan: &Plan, stats: &Stats) -> f32 {
        let group = plan.groups.iter().position(|group| group.label == self.word);
        group.map_or(0.0, |group| stats.idf(group))
    }
}

/// Adds pages that were found by the parts of a word, and keeps the best `limit`.
pub(super) fn merge_divided(hits: &mut Vec<RankedPage>, divided: Vec<RankedPage>, limit: usize) {
    for page in divided {
        match hits.iter().position(|hit| hit.id == page.id) {
            Some(at) if hits[at].score >= page.score => {}
            Some(at) => hits[at] = page,
            None => hits.push(page),
        }
    }
    hits.sort_by(|a, b| b.score.total_cmp(&a.score));
    hits.truncate(limit);
}

/// Returns the ways in which rare words of the question can be divided. A word with capitals within
/// it is divided there, even if it is not rare.
fn splits(question: &Question, plan: &Plan, stats: &Stats) -> Vec<Split> {
    let few = 1 + stats.docs / RARE_DIVISOR;
    let mut all = Vec::new();
    for (unit, words) in &question.query.units {
        let Unit::Words(text) = unit else { continue };
        for word in words.iter().filter(|word| word.kind == Kind::Word && !word.is_number_part) {
            let split = |parts| Split { word: word.text.clone(), parts, condition: None };
            let source = text.get(word.range.clone()).unwrap_or_default();
            let parts = camel_parts(source);
            if parts.len() > 1 {
                all.push(split(parts));
                continue;
            }
            let group = plan.groups.iter().position(|group| group.label == word.text);
            let is_rare = group.is_some_and(|group| stats.pages_with(group) <= few);
            if is_rare && word.text.chars().all(char::is_alphabetic) {
                all.extend(halves(&word.text).map(split));
            }
        }
    }
    all
}

/// Returns the two parts of each division of a word.
fn halves(word: &str) -> impl Iterator<Item = Vec<String>> {
    let letters = word.chars().count();
    let ends = word.char_indices().map(|(at, _)| at).zip(0..);
    let is_division = move |count: &usize| {
        letters >= MIN_LETTERS && (MIN_PART_LETTERS..=letters - MIN_PART_LETTERS).contains(count)
    };
    let ends = ends.filter(move |(_, count)| is_division(count));
    ends.map(|(at, _)| vec![word[..at].to_owned(), word[at..].to_owned()])
}

/// Returns the folded parts of a word that begin with a capital after a small letter.
fn camel_parts(word: &str) -> Vec<String> {
    let mut parts: Vec<String> = Vec::new();
    let mut was_small = true;
    for c in word.chars() {
        if parts.is_empty() || (was_small && c.is_uppercase()) {
            parts.push(String::new());
        }
        was_small = c.is_lowercase();
        if let Some(part) = parts.last_mut() {
            super::fold::fold(c, part);
        }
    }
    parts
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_divided_at_each_letter_or_at_capitals() {
        let of = |word: &str| halves(word).map(|parts| parts.join(" ")).collect::<Vec<_>>();
        assert_eq!(of("backup"), ["ba ckup", "bac kup", "back up"]);
        assert_eq!(of("über"), Vec::<String>::new());
        assert_eq!(camel_parts("cachedMetadata"), ["cached", "metadata"]);
        assert_eq!(camel_parts("getUserID"), ["get", "user", "id"]);
        assert_eq!(camel_parts("GitHub"), ["git", "hub"]);
        assert_eq!(camel_parts("NASA"), ["nasa"]);
        assert_eq!(camel_parts("plain"), ["plain"]);
    }
}
