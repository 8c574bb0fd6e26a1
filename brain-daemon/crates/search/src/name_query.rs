//! A question as the name of a page, whole or while it is being typed.

use super::{
    encoding::{HashedTerm, key, key_of},
    name_key::{key_of_words, words_in_any_order},
    query::{Query, Reach, Unit},
};

/// The whole question as a name.
#[derive(Debug, Clone)]
pub(super) struct NameQuery {
    /// Its keys as a title, an alias, a slug, and as a name with its words in any order.
    pub(super) whole: [HashedTerm; 4],
    /// As the beginning of a name, if it is being typed.
    pub(super) partial: Option<PartialName>,
}

/// A name that is being typed.
#[derive(Debug, Clone)]
pub(super) struct PartialName {
    /// Beginning of the keys of matching names.
    pub(super) key: String,
    /// The typed words without the last one.
    pub(super) words: Vec<String>,
    /// The last typed word, which can be incomplete.
    pub(super) last: String,
}

impl NameQuery {
    /// Creates the query of a question; `None` if it has no words, or has prefixes or words that
    /// are required in the title.
    pub(super) fn new(question: &Query, is_being_typed: bool) -> Option<Self> {
        let is_other =
            |unit: &Unit| matches!(unit, Unit::Prefix(..) | Unit::Required(_, Reach::Title));
        if question.units.iter().any(|(unit, _)| is_other(unit)) {
            return None;
        }
        let name = key_of_words(question.plain_words());
        if name.is_empty() {
            return None;
        }
        let any_order = words_in_any_order(&name);
        let keys = [
            key_of(key::TITLE, &name),
            key_of(key::ALIAS, &name),
            key_of(key::SLUG, &name),
            key_of(key::ANY_ORDER, &any_order),
        ];
        let partial = is_being_typed.then(|| PartialName::new(question, &name)).flatten();
        Some(Self { whole: keys.map(HashedTerm::new), partial })
    }

    /// Returns the last word while it is being typed.
    pub(super) fn half_typed_word(&self) -> Option<&str> {
        self.partial.as_ref().map(|partial| partial.last.as_str())
    }
}

impl PartialName {
    fn new(question: &Query, name: &str) -> Option<Self> {
        // With a slash, the text is the beginning of a path.
        let space = if question.plain.contains('/') { key::SLUG } else { key::BEGINNING };
        let mut words: Vec<String> =
            question.plain_words().map(|(word, _)| word.to_owned()).collect();
        let last = words.pop()?;
        Some(Self { key: key_of(space, name), words, last })
    }

    /// Returns the typed share of the name with the key `key`; `None` if the key does not begin
    /// with the typed text.
    pub(super) fn share(&self, key: &[u8]) -> Option<f32> {
        // The first two bytes are the namespace and a colon.
        let begins = key.starts_with(self.key.as_bytes());
        begins.then(|| (self.key.len() - 2) as f32 / (key.len() - 2).max(1) as f32)
    }
}
