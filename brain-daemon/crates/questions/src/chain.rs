//! Questions with two relations: `who invested in the company that Mia founded`, `meetings with the
//! founder of Acme`, `investors of Mia's company`. No I/O.
//!
//! The inner relation connects the named page with intermediate pages. The outer relation connects
//! these with the wanted pages. A relative clause, a participle, a possessive or a preposition
//! marks the inner relation. Some questions can be read in several ways: the links decide.

use super::forms::{COUNT, PREPOSITIONS, QuestionForm, WHICH, WHO, is_possessive};
use brain_search::QuestionTerms;

/// Words that begin a relative clause, with or without a preposition before them.
const RELATIVES: [&str; 34] = [
    "that",
    "which",
    "who",
    "whom",
    "whose",
    "where",
    "dessen",
    "deren",
    "welche",
    "welcher",
    "welches",
    "welchen",
    "welchem",
    "que",
    "qui",
    "dont",
    "ou",
    "lequel",
    "laquelle",
    "lesquels",
    "lesquelles",
    "auquel",
    "quien",
    "quienes",
    "cual",
    "cuyo",
    "cuya",
    "donde",
    "wo",
    "che",
    "cui",
    "quale",
    "onde",
    "quem",
];
/// German relative pronouns; most are also articles. They begin a clause after a comma only.
const ARTICLES: [&str; 6] = ["der", "die", "das", "dem", "den", "denen"];
/// Prepositions before the name of the agent: `founded by Mia`.
const AGENTS: [&str; 8] = ["by", "von", "vom", "par", "por", "da", "durch", "from"];
/// Words between a name and a verb that have no meaning of their own.
const AUXILIARIES: [&str; 66] = [
    "is", "was", "are", "were", "has", "had", "have", "did", "does", "do", "be", "been", "it",
    "hat", "haben", "hatte", "ist", "sind", "war", "wird", "wurde", "wurden", "werden", "a", "ont",
    "est", "sont", "etait", "ete", "avait", "ha", "han", "fue", "es", "son", "era", "esta",
    "estan", "he", "she", "they", "er", "sie", "il", "elle", "the", "se", "y", "en", "eine", "la",
    "le", "les", "l", "el", "los", "las", "un", "une", "una", "ein", "einen", "einem", "einer",
    "lo", "an",
];

/// A question with two relations. Their words are indices of [`QuestionTerms::words`].
#[derive(Debug, PartialEq, Eq)]
pub struct Chain {
    /// The named page, as an index of [`QuestionTerms::subjects`].
    pub subject: usize,
    /// The words of the inner relation: the noun for the intermediate pages, then the verb, if any.
    pub inner: Vec<usize>,
    /// The words of the outer relation.
    pub outer: Vec<usize>,
}

impl Chain {
    /// Returns whether a verb names the inner relation.
    pub fn has_verb(&self) -> bool {
        self.inner.len() > 1
    }
}

/// Returns the ways in which a question can have two relations, the most likely first.
pub fn chains(terms: &QuestionTerms, form: &QuestionForm) -> Vec<Chain> {
    let clause = Clause { terms, form };
    let [subject] = terms.subjects.as_slice() else { return Vec::new() };
    let (start, end) = (subject.words.start, subject.words.end);
    let inner = [
        clause.relative(start, end),
        clause.participle(start, end),
        clause.possessive(&subject.words),
        clause.preposition(start),
        clause.without_pronoun(start, end),
    ];
    let mut chains: Vec<Chain> = Vec::new();
    for inner in inner.into_iter().flatten() {
        let outer: Vec<usize> = clause
            .content()
            .filter(|at| !inner.contains(at) && !clause.is_function_word(*at))
            .collect();
        let chain = Chain { subject: 0, inner, outer };
        if !chain.outer.is_empty() && !chains.contains(&chain) {
            chains.push(chain);
        }
    }
    chains
}

/// Finds the inner relation of a question. Each reading gets the word range of the name, `start` to
/// `end`, and returns the noun for the intermediate pages, then the verb, if any.
struct Clause<'a> {
    terms: &'a QuestionTerms,
    form: &'a QuestionForm,
}

impl Clause<'_> {
    fn word(&self, at: usize) -> &str {
        self.terms.words.get(at).map_or("", |word| word.text.as_str())
    }

    /// Returns whether the word has only a grammatical function. Stop words are known for the
    /// languages of the pages; a question may have another one.
    fn is_function_word(&self, at: usize) -> bool {
        let word = self.word(at);
        [&RELATIVES[..], &ARTICLES, &AUXILIARIES].iter().any(|list| list.contains(&word))
    }

    /// Returns the words that describe a relation.
    fn content(&self) -> impl DoubleEndedIterator<Item = usize> {
        self.form.content.iter().copied()
    }

    /// Returns the words of `range` that describe a relation and have a meaning of their own.
    fn content_in(&self, range: std::ops::Range<usize>) -> Vec<usize> {
        self.content().filter(|at| range.contains(at) && !self.is_function_word(*at)).collect()
    }

    /// Returns whether the question asks for the noun at `at`: `which founders of Acme …`.
    fn is_asked_for(&self, at: usize) -> bool {
        (at.saturating_sub(2)..at)
            .any(|before| WHICH.contains(&self.word(before)) || COUNT.contains(&self.word(before)))
    }

    /// Returns whether a comma is between the words `from` and `to`.
    fn has_comma(&self, from: usize, to: usize) -> bool {
        let (Some(from), Some(to)) = (self.terms.words.get(from), self.terms.words.get(to)) else {
            return false;
        };
        let between = self.terms.text.get(from.range.end..to.range.start);
        between.is_some_and(|text| text.contains(','))
    }

    /// Returns whether the word is written with a capital, as nouns are in German.
    fn is_capitalised(&self, at: usize) -> bool {
        let word =
            self.terms.words.get(at).and_then(|word| self.terms.text.get(word.range.clone()));
        word.and_then(|word| word.chars().next()).is_some_and(char::is_uppercase)
    }

    /// Reads `the company that Mia founded`, `die Firma, in die Mia investiert hat`.
    fn relative(&self, start: usize, end: usize) -> Option<Vec<usize>> {
        let (pronoun, noun) = (1..start).rev().find_map(|at| {
            let before =
                self.content().rfind(|noun| *noun < at && !self.is_function_word(*noun))?;
            let between = before + 1..at;
            let word = self.word(at);
            let begins = RELATIVES.contains(&word)
                || (ARTICLES.contains(&word) && self.has_comma(before, at));
            let is_near = between.len() <= 2
                && between.clone().all(|at| {
                    self.is_function_word(at)
                        || self.terms.words.get(at).is_some_and(|word| word.is_stop_word)
                        || PREPOSITIONS.contains(&self.word(at))
                });
            (begins && is_near).then_some((at, before))
        })?;
        // `Wer hat in die Firma investiert, die Mia …`: a verb is between noun and clause.
        let noun = match ARTICLES.contains(&self.word(pronoun)) && !self.is_capitalised(noun) {
            true => self.content().rfind(|at| *at < noun && self.is_capitalised(*at)),
            false => None,
        }
        .unwrap_or(noun);
        let mut verb = self.content_in(pronoun + 1..start);
        if verb.is_empty() {
            verb.extend(self.content_in(end..usize::MAX).first());
        }
        (!verb.is_empty() && verb.len() <= 2).then(|| [vec![noun], verb].concat())
    }

    /// Reads `the company founded by Mia`, `das von Mia gegründete Unternehmen`.
    fn participle(&self, start: usize, end: usize) -> Option<Vec<usize>> {
        let agent = start.checked_sub(1).filter(|at| AGENTS.contains(&self.word(*at)))?;
        let after = self.content_in(end..end + 2);
        if let [verb, noun] = after.as_slice()
            && *verb == end
        {
            return Some(vec![*noun, *verb]);
        }
        let before = self.content_in(agent.saturating_sub(2)..agent);
        let [noun, verb] = before.as_slice() else { return None };
        Some(vec![*noun, *verb])
    }

    /// Reads `Mia's company`.
    fn possessive(&self, name: &std::ops::Range<usize>) -> Option<Vec<usize>> {
        let noun = self.content_in(name.end..name.end + 1);
        (is_possessive(self.terms, name) && !noun.is_empty()).then_some(noun)
    }

    /// Reads `the founder of Acme`.
    fn preposition(&self, start: usize) -> Option<Vec<usize>> {
        let noun = self.content().rfind(|at| *at < start && !self.is_function_word(*at))?;
        let between = noun + 1..start;
        let has_preposition = between.clone().any(|at| PREPOSITIONS.contains(&self.word(at)));
        (has_preposition && between.len() <= 3 && !self.is_asked_for(noun)).then(|| vec![noun])
    }

    /// Reads `the company Mia founded`.
    fn without_pronoun(&self, start: usize, end: usize) -> Option<Vec<usize>> {
        let noun = start.checked_sub(1).filter(|at| self.form.content.contains(at))?;
        let verb = *self.content_in(end..end + 3).first()?;
        let asks = (0..noun).any(|at| WHO.contains(&self.word(at)) || self.is_asked_for(at + 1));
        (asks && !self.is_asked_for(noun)).then(|| vec![noun, verb])
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::super::forms::question_form;
    use super::super::forms::tests::terms;
    use super::*;

    /// Returns the inner and outer words of the first reading.
    fn first_reading(text: &str) -> Option<(Vec<String>, Vec<String>)> {
        let terms = terms(text);
        let chain = chains(&terms, &question_form(&terms)?).into_iter().next()?;
        let words = |all: &[usize]| all.iter().map(|at| terms.words[*at].text.clone()).collect();
        Some((words(&chain.inner), words(&chain.outer)))
    }

    #[test]
    fn clauses_and_possessives_are_an_inner_relation() {
        for (text, inner, outer) in [
            ("who invested in the company that [Mia] founded?", "company founded", "invested"),
            ("Who advises the firm whose founder is [Mia]?", "firm founder", "advises"),
            ("who invested in a company founded by [Mia]", "company founded", "invested"),
            ("who invested in [Mia]'s company", "company", "invested"),
            ("meetings with the founder of [Acme]", "founder", "meetings"),
            ("who backed the firm [Mia] founded", "firm founded", "backed"),
            (
                "Which meetings did the person who founded [Acme] attend?",
                "person founded",
                "meetings attend",
            ),
            (
                "Wer hat in die Firma investiert, die [Mia] gegruendet hat?",
                "firma gegruendet",
                "investiert",
            ),
            ("Wer beriet die Firma, die [Mia] gegruendet hat?", "firma gegruendet", "beriet"),
            (
                "Wer investierte in das von [Mia] gegruendete Unternehmen?",
                "unternehmen gegruendete",
                "investierte",
            ),
            ("Qui a investi dans la societe que [Mia] a fondee ?", "societe fondee", "investi"),
            ("¿Quien invirtio en la empresa que fundo [Mia]?", "empresa fundo", "invirtio"),
        ] {
            let (found_inner, found_outer) = first_reading(text).unwrap();
            assert_eq!(
                (found_inner.join(" "), found_outer.join(" ")),
                (inner.into(), outer.into())
            );
        }
    }

    #[test]
    fn one_relation_is_no_chain() {
        for text in
            ["who founded [Acme]?", "who are [Acme]'s investors", "which founders of [Acme] left"]
        {
            assert_eq!(first_reading(text), None, "{text}");
        }
    }
}
