//! Quoted phrases beside other words: `What did Ann say about "launch budget"?`
//!
//! If a question is only a phrase, the phrase is required. Beside other words, it is required if a
//! page then matches. Otherwise it only affects the ranking.

use super::{
    Index, IndexError, Question,
    plan::Plan,
    query::{Reach, Unit},
};

impl Index {
    /// Returns the quoted phrases of `question` if they must not be conditions, because it has
    /// other words and no page meets its conditions. Set [`Question::prefer_quotes`] then.
    ///
    /// # Errors
    /// As [`Index::search`].
    pub fn unmet_quotes(&self, question: &Question) -> Result<Vec<String>, IndexError> {
        let query = &question.query;
        let quotes: Vec<String> = query
            .units
            .iter()
            .filter_map(|(unit, _)| match unit {
                Unit::Required(text, Reach::Anywhere) => Some(text.clone()),
                _ => None,
            })
            .collect();
        if quotes.is_empty() || !query.has_words(true) {
            return Ok(Vec::new());
        }
        self.with_view(question.view.as_deref(), |view, visible, languages, analyzer| {
            let plan = Plan::conditions(question, languages, analyzer);
            let found = self.find(view, &plan, visible, 1)?;
            Ok(if found.hits.candidates.is_empty() { quotes.clone() } else { Vec::new() })
        })
    }
}
