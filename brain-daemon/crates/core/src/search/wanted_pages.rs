//! The pages that a question asks for: their kind, and the words that describe the relation. No I/O.

use std::collections::{HashMap, HashSet};

use brain_search::{QuestionTerms, QuestionWord, Subject, each_word};
use brain_store::PageEntry;

use super::neighbours::{Neighbour, kinds};
use super::question::{Form, is_person, names_kind, other_forms, role_root};

/// The factor for another form of a word of the question.
const OTHER_FORM_FACTOR: f32 = 0.8;

/// The kind of pages that a question asks for, and the words that describe their relation.
pub(super) struct WantedPages<'a> {
    pub(super) person: bool,
    pub(super) noun: Option<&'a QuestionWord>,
    pub(super) content: Vec<&'a QuestionWord>,
    /// Other forms of each word: see [`other_forms`].
    pub(super) forms: Vec<Vec<QuestionWord>>,
}

impl WantedPages<'_> {
    pub(super) fn matches_kind(&self, kinds: &[String]) -> bool {
        kinds.iter().any(|kind| {
            (self.person && is_person(kind)) || self.noun.is_some_and(|noun| names_kind(noun, kind))
        })
    }

    /// Returns how similar `word` is to a content word or one of its other forms, 0 to 1.
    pub(super) fn similarity(&self, content: usize, word: &str) -> f32 {
        let own = self.content.get(content).map_or(0.0, |own| own.similarity(word));
        if own >= OTHER_FORM_FACTOR {
            return own;
        }
        let is_root =
            |own: &QuestionWord| role_root(word).is_some_and(|root| own.similarity(root) >= 1.0);
        let forms = self.forms.get(content);
        let is_form = forms.is_some_and(|forms| forms.iter().any(|f| f.similarity(word) > 0.0))
            || self.content.get(content).copied().is_some_and(is_root);
        if is_form { OTHER_FORM_FACTOR } else { own }
    }

    /// Returns how much of the question's content words the texts have, 0 to 1.
    pub(super) fn content_share(&self, texts: &[&str]) -> f32 {
        if self.content.is_empty() {
            return 0.0;
        }
        let mut best = vec![0.0_f32; self.content.len()];
        for text in texts {
            each_word(text, &mut |word| {
                for (n, best) in best.iter_mut().enumerate() {
                    if *best < 1.0 {
                        *best = best.max(self.similarity(n, word));
                    }
                }
            });
        }
        best.iter().sum::<f32>() / best.len() as f32
    }
}

/// Determines the wanted pages from the question's words and the kinds of the neighbours.
pub(super) fn wanted<'a>(
    terms: &'a QuestionTerms,
    form: &Form,
    neighbours: &HashMap<u64, Neighbour>,
) -> WantedPages<'a> {
    let words: Vec<&QuestionWord> =
        form.content.iter().filter_map(|&at| terms.words.get(at)).collect();
    let kinds: HashSet<&String> = neighbours.values().flat_map(|n| &n.kinds).collect();
    let named = |word: &&QuestionWord| kinds.iter().any(|kind| names_kind(word, kind));
    let noun = if form.asks_for_persons { None } else { words.iter().copied().find(named) };
    let content: Vec<&QuestionWord> =
        words.into_iter().filter(|word| noun.is_none_or(|noun| noun.text != word.text)).collect();
    let forms = content.iter().map(|word: &&QuestionWord| other_forms(&word.text)).collect();
    WantedPages { person: form.asks_for_persons, noun, content, forms }
}

/// Returns whether the question clearly asks for neighbours of the named `pages`, and whether it
/// may ask for neighbours in a role. A role must be found: in a sentence for `investors of Acme`,
/// in a list title or key for `cast of Dune`.
pub(super) fn strength(
    form: &Form,
    wanted: &WantedPages<'_>,
    subject: &Subject,
    pages: &[PageEntry],
    terms: &QuestionTerms,
) -> (bool, bool) {
    let has_few_words = wanted.content.len() <= 2;
    // `people at Acme`, `Acme's meetings`, but not `how people work at Acme with little sleep`, and
    // not `company Acme`.
    let names_kind = wanted.noun.is_some_and(|noun| {
        let start = terms.words.get(subject.words.start).map_or(0, |word| word.range.start);
        let after = terms.words.get(subject.words.end).map_or(0, |word| word.range.start);
        (noun.range.start < start || noun.range.start == after)
            && !pages.iter().any(|page| wanted.matches_kind(&kinds(page)))
    });
    let is_strong = (form.asks_for_last_day
        && !(wanted.noun.is_none() && wanted.content.is_empty()))
        || (form.asks_for_persons && (!wanted.content.is_empty() || form.has_possessive))
        || (wanted.noun.is_some() && form.asks_for_kind)
        || (form.has_possessive && has_few_words && names_kind);
    (is_strong, form.has_possessive && has_few_words && !wanted.content.is_empty())
}
