//! The pages that a question asks for: their kind, and the words that describe the relation. No
//! I/O.

use std::collections::HashSet;

use brain_search::{QuestionTerms, QuestionWord, Subject, each_word};
use brain_store::PageEntry;

use brain_questions::forms::{QuestionForm, other_forms, role_root};
use brain_questions::kinds::{is_person, names_kind};
use brain_questions::relation_words::{names_relation, relation_of};

/// The factor for another form of a word of the question.
const OTHER_FORM_FACTOR: f32 = 0.8;
/// The factor for another word for the same relation.
const SAME_RELATION_FACTOR: f32 = 0.7;

/// How many of the content words a link has.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct WordShare {
    /// The mean of their similarities, 0 to 1.
    pub(super) mean: f32,
    /// Whether it has each of them, in some form.
    pub(super) has_all: bool,
}

/// The kind of pages that a question asks for, and the words that describe their relation.
pub(super) struct TargetPages<'a> {
    /// Whether the question asks for persons.
    pub(super) asks_for_persons: bool,
    /// The word of the question for the kind of the pages.
    pub(super) noun: Option<&'a QuestionWord>,
    /// The content words: the other words that describe the relation.
    pub(super) content: Vec<&'a QuestionWord>,
    /// Other forms of each word: see [`other_forms`].
    pub(super) forms: Vec<Vec<QuestionWord>>,
    /// Other words for the relation that each word names: see [`relation_of`].
    pub(super) relations: Vec<Option<&'static [&'static str]>>,
}

impl TargetPages<'_> {
    /// Returns whether a page of these kinds is a target.
    pub(super) fn matches_kind(&self, kinds: &[String]) -> bool {
        kinds.iter().any(|kind| {
            (self.asks_for_persons && is_person(kind))
                || self.noun.is_some_and(|noun| names_kind(noun, kind))
        })
    }

    /// Returns how similar `word` is to the content word at `index`, or to one of its other forms,
    /// 0 to 1.
    pub(super) fn similarity(&self, index: usize, word: &str) -> f32 {
        let own = self.content.get(index).map_or(0.0, |own| own.similarity(word));
        if own >= OTHER_FORM_FACTOR {
            return own;
        }
        let root = role_root(word);
        let is_root = |form: &QuestionWord| root.is_some_and(|root| form.similarity(root) >= 1.0);
        let is_form = |form: &QuestionWord| form.similarity(word) > 0.0 || is_root(form);
        let forms = self.forms.get(index);
        if forms.is_some_and(|forms| forms.iter().any(is_form))
            || self.content.get(index).copied().is_some_and(is_root)
        {
            return OTHER_FORM_FACTOR;
        }
        own
    }

    /// Returns whether a word is similar to one of the content words.
    pub(super) fn has_content(&self, word: &str) -> bool {
        (0..self.content.len()).any(|index| self.similarity(index, word) > 0.0)
    }

    /// Returns how similar a word of a label is to the content word at `index`, 0 to 1.
    fn label_similarity(&self, index: usize, word: &str) -> f32 {
        let own = self.similarity(index, word);
        match self.relations.get(index) {
            Some(Some(words)) if names_relation(word, words) => own.max(SAME_RELATION_FACTOR),
            _ => own,
        }
    }

    /// Returns the share of the content words that the texts have, 0 to 1. Labels are
    /// titles of lists and keys: another word for the relation counts there. It does not count in
    /// the sentence, whose names may contain it (`Calyx Works`).
    pub(super) fn content_share(&self, sentence: &str, labels: &[&str]) -> WordShare {
        if self.content.is_empty() {
            return WordShare { mean: 0.0, has_all: true };
        }
        let mut best = vec![0.0_f32; self.content.len()];
        let mut compare = |text: &str, similarity: fn(&Self, usize, &str) -> f32| {
            each_word(text, &mut |word| {
                for (n, best) in best.iter_mut().enumerate() {
                    if *best < 1.0 {
                        *best = best.max(similarity(self, n, word));
                    }
                }
            });
        };
        compare(sentence, Self::similarity);
        labels.iter().for_each(|label| compare(label, Self::label_similarity));
        WordShare {
            mean: best.iter().sum::<f32>() / best.len() as f32,
            has_all: best.iter().all(|best| *best > 0.0),
        }
    }
}

/// Determines the target pages from the question's words and the `kinds` of the neighbours.
pub(super) fn target_pages<'a>(
    terms: &'a QuestionTerms,
    form: &QuestionForm,
    kinds: &HashSet<&str>,
) -> TargetPages<'a> {
    let words: Vec<&QuestionWord> =
        form.content.iter().filter_map(|&at| terms.words.get(at)).collect();
    let is_kind = |word: &&QuestionWord| kinds.iter().any(|kind| names_kind(word, kind));
    let noun = if form.asks_for_persons { None } else { words.iter().copied().find(is_kind) };
    let content: Vec<&QuestionWord> =
        words.into_iter().filter(|word| noun.is_none_or(|noun| noun.text != word.text)).collect();
    let forms = content.iter().map(|word: &&QuestionWord| other_forms(&word.text)).collect();
    let relations = content.iter().map(|word| relation_of(&word.text)).collect();
    let asks_for_persons = form.asks_for_persons;
    TargetPages { asks_for_persons, noun, content, forms, relations }
}

/// Returns the kinds of a page: its type and its folders.
pub(super) fn kinds((_, slug, record): &PageEntry) -> Vec<String> {
    let folders = slug.as_str().rsplit_once('/').map_or("", |(folders, _)| folders);
    std::iter::once(record.page_type.to_lowercase())
        .chain(folders.split('/').filter(|f| !f.is_empty()).map(str::to_owned))
        .map(|kind| match kind.is_ascii() {
            true => kind,
            false => folded(&kind),
        })
        .collect()
}

/// Returns the words of `text` without spaces, folded as the words of a question are.
pub(super) fn folded(text: &str) -> String {
    let mut out = String::new();
    each_word(text, &mut |word| out.push_str(word));
    out
}

/// The links to a named page that answer a question.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum AnsweringLinks {
    /// All: the question clearly asks for neighbours.
    All,
    /// Those with a content word of the question, because it may ask for neighbours in a role: in
    /// the sentence for `investors of Acme`, in a list title or key for `cast of Dune`.
    WithContent,
}

/// Returns the links to the named `pages` that answer the question; `None` if it asks for no
/// neighbours.
pub(super) fn answering_links(
    form: &QuestionForm,
    targets: &TargetPages<'_>,
    subject: &Subject,
    pages: &[PageEntry],
    terms: &QuestionTerms,
) -> Option<AnsweringLinks> {
    let has_few_words = targets.content.len() <= 2;
    // `people at Acme`, `Acme's meetings`, but not `how people work at Acme with little sleep`, and
    // not `company Acme`.
    let names_kind = targets.noun.is_some_and(|noun| {
        let start = terms.words.get(subject.words.start).map_or(0, |word| word.range.start);
        let after = terms.words.get(subject.words.end).map_or(0, |word| word.range.start);
        (noun.range.start < start || noun.range.start == after)
            && !pages.iter().any(|page| targets.matches_kind(&kinds(page)))
    });
    let is_clear = (form.asks_for_first_or_last_day
        && !(targets.noun.is_none() && targets.content.is_empty()))
        || (form.asks_for_persons && (!targets.content.is_empty() || form.is_attached_to_name))
        || (targets.noun.is_some() && form.asks_for_kind)
        || (form.is_attached_to_name && has_few_words && names_kind);
    let names_role = form.is_attached_to_name && has_few_words && !targets.content.is_empty();
    match (is_clear, names_role) {
        (true, _) => Some(AnsweringLinks::All),
        (false, true) => Some(AnsweringLinks::WithContent),
        (false, false) => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn similarity(question_word: &str, page_word: &str) -> f32 {
        let word = QuestionWord::new(question_word);
        let targets = TargetPages {
            asks_for_persons: false,
            noun: None,
            content: vec![&word],
            forms: vec![other_forms(question_word)],
            relations: vec![relation_of(question_word)],
        };
        targets.label_similarity(0, page_word)
    }

    #[test]
    fn a_participle_and_the_noun_of_its_verb_are_similar() {
        for (question_word, page_word) in
            [("fondee", "fondateurs"), ("fondees", "fondatrice"), ("gegrundet", "grunder")]
        {
            assert!(
                similarity(question_word, page_word) >= OTHER_FORM_FACTOR,
                "{question_word} {page_word}"
            );
        }
        assert!(similarity("travaille", "employes") >= SAME_RELATION_FACTOR);
        for (question_word, page_word) in
            [("fondee", "investisseurs"), ("travaille", "conseillers")]
        {
            assert!(similarity(question_word, page_word) < 0.1, "{question_word} {page_word}");
        }
    }
}
