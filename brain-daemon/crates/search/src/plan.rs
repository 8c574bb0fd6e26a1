//! Search plan: groups of terms that rank, and conditions that must hold.
//!
//! A plan is made once per question and runs on the disk index and on the overlay.

use super::{encoding::HashedTerm, exact, language::Lang, name_query::NameQuery, query::Reach};

mod builder;

/// Maximum groups of a plan.
pub(super) const MAX_GROUPS: usize = 64;

/// A word of the question in all forms that pages may have.
#[derive(Debug, Clone)]
pub(super) struct WordGroup {
    /// The word for display.
    pub(super) label: String,
    /// Number of occurrences in the question, times the weight of a correction.
    pub(super) multiplier: f32,
    /// The stemmed terms, one per language; empty for a prefix.
    pub(super) terms: Vec<HashedTerm>,
    /// The prefix, if the word may continue.
    pub(super) prefix: Option<String>,
    /// The fields in which the word counts.
    pub(super) scope: Reach,
    /// The word's key as a word of a tag.
    pub(super) tag: HashedTerm,
    /// The word's key as a word of a slug.
    pub(super) slug: HashedTerm,
    /// The key of its exact form; `None` for prefixes and for tokens of other kinds than words.
    pub(super) exact: Option<HashedTerm>,
    /// The weight of its exact form.
    pub(super) exact_weight: f32,
    /// Whether it is a number of several parts, such as a version.
    pub(super) is_number: bool,
    /// The groups of adjacent words of the question that are one word here; empty for a word of the
    /// question. It counts in texts and titles only.
    pub(super) joined: Vec<usize>,
    /// The group of the word of which it is another spelling.
    pub(super) spelling_of: Option<usize>,
}

impl WordGroup {
    /// Returns whether the exact form tells the word apart from words with other signs after it.
    pub(super) fn tells_signs(&self) -> bool {
        self.exact.as_ref().is_some_and(|exact| exact::tells_signs(&exact.text))
    }
}

/// Two groups of the question by index, and the distance between the positions of their words.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Pair {
    pub(super) first: usize,
    pub(super) second: usize,
    pub(super) distance: u32,
}

/// A sequence of words in all their forms.
#[derive(Debug, Clone)]
pub(super) struct Phrase {
    /// Position and forms of each word; the first position is 0.
    pub(super) words: Vec<(u32, Vec<HashedTerm>)>,
    pub(super) scope: Reach,
}

/// Adjacent words of a question, with stop words.
#[derive(Debug)]
pub(super) struct Sequence {
    pub(super) words: Vec<SequenceWord>,
    /// Whether they were quoted: then only the whole sequence counts.
    pub(super) is_quoted: bool,
}

#[derive(Debug)]
pub(super) struct SequenceWord {
    /// The folded word.
    pub(super) text: String,
    pub(super) position: u32,
    /// Index of its group; `None` for a stop word, and for a word that found no place in the plan.
    pub(super) group: Option<usize>,
    pub(super) forms: Vec<HashedTerm>,
}

/// A condition on a page.
#[derive(Debug, Clone)]
pub(super) enum PageCondition {
    /// Has one of these keys.
    Keys(Vec<HashedTerm>),
    /// Has the words in this order.
    Phrase(Phrase),
    /// Has a word with this prefix.
    Prefix(String, Reach),
}

/// The plan of a question.
#[derive(Debug, Default)]
pub(super) struct Plan {
    pub(super) groups: Vec<WordGroup>,
    pub(super) pairs: Vec<Pair>,
    /// The words of the question with stop words, except required phrases.
    pub(super) sequences: Vec<Sequence>,
    /// Conditions that a page must meet.
    pub(super) required: Vec<PageCondition>,
    /// Conditions that a page must not meet.
    pub(super) excluded: Vec<PageCondition>,
    /// Earliest time of the last change, in Unix milliseconds.
    pub(super) since: Option<i64>,
    /// Latest time of the last change, in Unix milliseconds.
    pub(super) until: Option<i64>,
    /// The whole question as a name.
    pub(super) names: Option<NameQuery>,
    /// Whether only pages that the question names are found.
    pub(super) names_only: bool,
    pub(super) languages: Vec<Lang>,
}

impl Plan {
    /// Whether no page can match because the question is empty.
    pub(super) fn is_empty(&self) -> bool {
        self.groups.is_empty() && !self.has_conditions_alone() && !self.names_only
    }

    /// Whether pages are found by conditions alone, such as `tag:x` or `-draft`.
    fn has_conditions_alone(&self) -> bool {
        self.groups.is_empty() && !(self.required.is_empty() && self.excluded.is_empty())
    }

    /// Whether a group forms a pair, so that its positions matter.
    pub(super) fn is_paired(&self, group: usize) -> bool {
        self.pairs.iter().any(|pair| pair.first == group || pair.second == group)
    }

    /// Whether there are no conditions, only ranking.
    pub(super) fn is_unconditional(&self) -> bool {
        self.required.is_empty() && !self.has_other_conditions()
    }

    /// Whether the only condition is one that pages must meet.
    pub(super) fn is_one_condition(&self) -> bool {
        self.required.len() == 1 && !self.has_other_conditions()
    }

    fn has_other_conditions(&self) -> bool {
        !self.excluded.is_empty() || self.since.is_some() || self.until.is_some()
    }
}
