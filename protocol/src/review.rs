//! Wire types of the review: contradictions, answers that age, the owner's own recall.

use serde::{Deserialize, Serialize};

use crate::words::words;
use crate::{PageRef, Slug, SourceId};

/// `brain contradictions`: lists statements of pages that cannot both be right.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ContradictionList {
    /// The maximum number, 1 to 1000.
    pub limit: u32,
}

/// The reply to [`ContradictionList`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Contradictions {
    /// The contradictions that are not settled, newest and best sourced first.
    pub contradictions: Vec<Contradiction>,
    /// Whether there are more than the limit.
    pub truncated: bool,
    /// The number of settled ones.
    pub settled: u64,
}

/// Two statements about one thing that cannot both be right.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Contradiction {
    /// Its key, for `brain settle`. It stays the same while the statements do.
    pub key: String,
    /// The title or name of the thing.
    pub thing: String,
    /// What both state of it, such as `lead`.
    pub field: String,
    /// The newer or better sourced statement.
    pub a: Statement,
    /// The other one.
    pub b: Statement,
}

/// A line of a page that states a fact.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Statement {
    /// The page.
    pub slug: Slug,
    /// Its source.
    pub source_id: SourceId,
    /// The page's version.
    pub version: u32,
    /// The line as written.
    pub sentence: String,
    /// The day of the line, or of the page's last change, `YYYY-MM-DD`.
    pub day: Option<String>,
    /// Whether the line names a source.
    pub has_source: bool,
}

words! {
    /// Which statement of a contradiction is right.
    Side {
        /// The first one. It replaced the other one.
        A = "a",
        /// The second one.
        B = "b",
        /// Both: it is no contradiction.
        Both = "both",
    }
}

/// `brain settle`: records which statement of a contradiction is right. Changes no page.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Settle {
    /// The contradiction's key.
    pub key: String,
    /// The right statement. `None` opens a settled contradiction again.
    pub keep: Option<Side>,
}

/// The reply to [`Settle`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Settled {
    /// The contradiction's key.
    pub key: String,
    /// The right statement; `None` if the contradiction is open again.
    pub keep: Option<Side>,
    /// The statement that is right.
    pub kept: Option<Statement>,
    /// The statement that it replaced, or that is right as well.
    pub other: Option<Statement>,
}

/// `brain ask --save`: saves an answer as a page, with the text of each page that it cites. The
/// reply is a [`crate::WriteReply`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct AnswerSave {
    /// The question.
    pub question: String,
    /// The answer with citations like `[1]`.
    pub answer: String,
    /// The cited pages, by number.
    pub citations: Vec<CitedPage>,
}

/// A page that an answer cites.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CitedPage {
    /// Its number in the answer.
    pub number: u32,
    /// The page.
    pub page: PageRef,
    /// The line in which the cited passage begins, from 1.
    pub line: u32,
}

/// `brain ask --stale`: lists saved answers and ideas whose cited texts changed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct StaleAnswerList {
    /// Only this answer.
    pub page: Option<PageRef>,
    /// Whether the reply has no texts, only names.
    pub names_only: bool,
}

/// Returns whether pages of this type are answers or ideas that keep the texts that they cite.
#[must_use]
pub fn keeps_citations(page_type: &str) -> bool {
    matches!(page_type, "answer" | "idea")
}

/// The reply to [`StaleAnswerList`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct StaleAnswers {
    /// The stale answers.
    pub answers: Vec<StaleAnswer>,
    /// The number of saved answers that were checked.
    pub checked: u64,
}

/// A saved answer, some of whose cited texts changed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct StaleAnswer {
    /// Its page.
    pub slug: Slug,
    /// Its source.
    pub source_id: SourceId,
    /// Its title.
    pub title: String,
    /// The cited texts that changed.
    pub changes: Vec<StaleCitation>,
}

words! {
    /// What became of a cited text.
    CitationChange {
        /// The page has another text in its place.
        Changed = "changed",
        /// The page is deleted.
        Deleted = "deleted",
        /// The text, or its page, is purged.
        Purged = "purged",
    }
}

/// A cited text that changed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct StaleCitation {
    /// The cited page; `None` if it is purged, or the caller cannot see it.
    pub page: Option<PageRef>,
    /// The cited version.
    pub version: u32,
    /// What became of the text.
    pub change: CitationChange,
    /// The cited text; empty if it is purged, or in a reply without texts.
    pub was: String,
    /// What the page has in its place, as far as it can be told. `None` in a reply without texts.
    pub now: Option<String>,
}

/// `brain recall`: asks the questions of the owner's own test set again.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RecallRun {
    /// Remove all questions instead.
    pub forget: bool,
}

/// The reply to [`RecallRun`].
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RecallReply {
    /// Whether searches are remembered now.
    pub enabled: bool,
    /// This run; `None` without questions.
    pub run: Option<RecallResult>,
    /// The runs before, newest first, at most 20.
    pub former: Vec<RecallResult>,
    /// The questions whose page was not among the first five.
    pub missed: Vec<MissedQuestion>,
    /// Why the result may be worse than before.
    pub warnings: Vec<String>,
}

/// The result of a run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RecallResult {
    /// When, RFC 3339 in UTC.
    pub at: String,
    /// The share of questions whose page was among the first five results, in percent.
    pub recall_at_5: f64,
    /// The number of questions whose page exists.
    pub questions: u32,
    /// The number of questions whose page is gone. They do not count.
    pub gone: u32,
    /// What ranked: version and model.
    pub ranking: String,
}

/// A question whose page was not among the first five.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct MissedQuestion {
    /// The question as typed.
    pub question: String,
    /// The page that was opened for it.
    pub page: PageRef,
}
