//! Wire types of `brain ask`: a question answered from pages.

use serde::{Deserialize, Serialize};

use crate::{Hint, Hit, Slug, SourceId, Spending};

/// `brain ask`: answers a question from pages, with citations.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Ask {
    /// The question.
    pub question: String,
    /// The number of pages to read, 1 to 50.
    pub limit: u32,
    /// Only this source; all visible ones if absent.
    pub source: Option<SourceId>,
    /// The model; the configured one if absent.
    pub model: Option<String>,
    /// The budget in millionths of a US dollar; the configured one if absent.
    pub max_cost: Option<u64>,
    /// Whether to only estimate the maximum cost: `cost.estimated` of the reply.
    pub estimate: bool,
}

/// The answer to a question.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct AskReply {
    /// The question.
    pub question: String,
    /// The answer with citations like `[1]`; `None` without a language model.
    pub answer: Option<String>,
    /// Whether the answer is incomplete. The reason is in `hint`.
    pub partial: bool,
    /// The cited passages, by number.
    pub citations: Vec<Citation>,
    /// What the pages do not answer, in one line.
    pub unknown: Option<String>,
    /// The passages that the model read, best first.
    pub passages: Vec<Hit>,
    /// Why there is no answer or an incomplete one, and what to do.
    pub hint: Option<Hint>,
    /// The model that answered.
    pub model: Option<String>,
    /// Its cost.
    pub cost: Spending,
    /// Why search results can be missing.
    pub degraded: Option<String>,
}

/// A cited passage.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Citation {
    /// Its number, from 1.
    pub number: u32,
    /// The page.
    pub slug: Slug,
    /// Its source.
    pub source_id: SourceId,
    /// Its title.
    pub title: String,
    /// The line of the page in which the passage begins, from 1.
    pub line: u32,
}
