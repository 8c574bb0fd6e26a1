//! Quoted phrases beside other words: `What did Ann say about "launch budget"?`
//!
//! If a question is only a phrase, or a few words beside it, the phrase is required. In a sentence,
//! and if no page then matches, it only affects the ranking. A phrase alone that no page has finds
//! pages only if it is long: then it can be a sentence that is remembered with a word left out.

use super::{
    Index, IndexError, Question,
    language::{Lang, stop_words},
    plan::Plan,
    query::{Reach, Unit},
    token::Kind,
};

/// Minimum words of a phrase alone that also finds similar pages.
const MIN_SENTENCE_WORDS: usize = 4;

/// What the quoted phrases of a question mean.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Quotes {
    /// Whether they only affect the ranking; set [`Question::prefer_quotes`] then.
    pub are_preferences: bool,
    /// The phrases, if no page meets the question's conditions with them.
    pub unmet: Vec<String>,
}

impl Index {
    /// Decides whether the quoted phrases of `question` are conditions.
    ///
    /// # Errors
    /// As [`Index::search`].
    pub fn quotes(&self, question: &Question) -> Result<Quotes, IndexError> {
        let query = &question.query;
        let quotes: Vec<String> = query
            .units
            .iter()
            .filter_map(|(unit, _)| match unit {
                Unit::Required(text, Reach::Anywhere) => Some(text.clone()),
                _ => None,
            })
            .collect();
        let is_long = |text: &String| text.split_whitespace().count() >= MIN_SENTENCE_WORDS;
        if quotes.is_empty() || !(query.has_words(true) || quotes.iter().all(is_long)) {
            return Ok(Quotes::default());
        }
        self.with_view(question.view.as_deref(), |view, visible, languages, analyzer| {
            let plan = Plan::conditions(question, languages, analyzer);
            let unmet = match self.has_match(view, &plan, visible)? {
                true => Vec::new(),
                false => quotes.clone(),
            };
            let are_preferences = !unmet.is_empty() || is_sentence(question, languages);
            Ok(Quotes { are_preferences, unmet })
        })
    }
}

/// Returns whether the words beside quoted phrases are those of a sentence: there are stop words
/// among them, and others.
fn is_sentence(question: &Question, languages: &[Lang]) -> bool {
    let units = question.query.units.iter();
    let words: Vec<&str> = units
        .filter(|(unit, _)| matches!(unit, Unit::Words(_)))
        .flat_map(|(_, words)| words)
        .filter(|word| word.kind == Kind::Word)
        .map(|word| word.text.as_str())
        .collect();
    let stop = stop_words(&words, languages);
    !stop.is_empty() && words.iter().any(|word| !stop.contains(word))
}
