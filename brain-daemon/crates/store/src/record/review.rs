//! What the review keeps: citations of saved answers, settled contradictions, questions of the
//! owner's own test set. Schema 91.

use serde::{Deserialize, Serialize};

/// A passage that a saved answer stands on.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CitationRecord {
    /// Id of the cited page.
    pub page: u64,
    /// Version of the cited page.
    pub version: u32,
    /// The cited text as it was. Empty if it was purged.
    pub span: String,
    /// The words before it, and those after it: they tell it from an equal text elsewhere.
    pub before: String,
    /// As `before`.
    pub after: String,
    /// How often the page had the text.
    pub count: u32,
}

/// A contradiction that the owner has settled. It has no text, so that a purge need not search it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SettledRecord {
    /// The statement that is right: its page, and the version that was read.
    pub kept: (u64, u32),
    /// The statement that it replaced, or that is right as well.
    pub other: (u64, u32),
    /// Whether both are right.
    pub is_none: bool,
    /// When, Unix milliseconds.
    pub at: i64,
}

/// A row of the owner's own test set.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum RecallRecord {
    /// A question, and the page that was opened for it.
    Question {
        /// The question as typed.
        text: String,
        /// Id of the page.
        page: u64,
        /// Whether the search had not found the page.
        was_missed: bool,
        /// When it was asked last, Unix milliseconds.
        at: i64,
    },
    /// A run of all questions.
    Run {
        /// When, Unix milliseconds.
        at: i64,
        /// What ranked: version, model, weights.
        ranking: String,
        /// The number of questions whose page was among the first five.
        found: u32,
        /// The number of questions whose page exists.
        asked: u32,
        /// The number of questions whose page is gone.
        gone: u32,
    },
}
