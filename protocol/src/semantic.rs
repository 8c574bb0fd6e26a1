//! Search by meaning: models that turn text into vectors, answers in prose, and what paid services cost.

use serde::{Deserialize, Serialize};

use crate::{Hit, Slug, SourceId};

/// `brain embed`: make the vectors that are missing now, and wait for them.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, Default)]
pub struct Embed {
    /// Make all vectors anew, not only those that are missing.
    pub all: bool,
    /// Only say how many pages are without.
    pub dry_run: bool,
}

/// What became of it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct EmbedReply {
    /// Where vectors come from.
    pub provider: String,
    /// The model.
    pub model: String,
    /// Pages that got vectors now; for a dry run, that are without.
    pub pages: u64,
    /// Windows of text in them.
    pub windows: u64,
    /// Pages that are still without, each once.
    pub missing: u64,
    /// Whether it was only a look.
    pub dry_run: bool,
}

/// `brain model install`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ModelInstall {
    /// A known name, an absolute directory or file of this machine, or an `https://` address.
    pub from: String,
    /// What the SHA-256 of the file must be, in hex, where it is known.
    pub sha256: Option<String>,
    /// The name that it gets; its own when absent.
    pub name: Option<String>,
}

/// A model that is there now.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ModelInstallReply {
    /// Its name, for `embedding.model`.
    pub name: String,
    /// Where it is.
    pub path: String,
    /// Its size in bytes.
    pub bytes: u64,
    /// Length of its vectors.
    pub dimensions: u32,
    /// SHA-256 of its weights, in hex.
    pub sha256: String,
    /// It was there already, to the byte.
    pub already: bool,
    /// Whether search uses it now, after a restart of the daemon, or only when configured; in words.
    pub message: String,
}

/// `brain model list`, and how search by meaning is.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Models {
    /// Where vectors come from: `none`, `local` or `openai`.
    pub provider: String,
    /// The model in use.
    pub model: Option<String>,
    /// Pages with vectors.
    pub pages: u64,
    /// Windows of text with vectors.
    pub windows: u64,
    /// Pages that wait for theirs.
    pub missing: u64,
    /// What keeps vectors from being made or asked, in words.
    pub problem: Option<String>,
    /// The models that are installed.
    pub installed: Vec<ModelRow>,
}

/// An installed model.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ModelRow {
    /// Its name.
    pub name: String,
    /// Where it is.
    pub path: String,
    /// Its size in bytes.
    pub bytes: u64,
    /// Length of its vectors, when it can be read.
    pub dimensions: Option<u32>,
    /// Whether it is in use.
    pub used: bool,
    /// Why it cannot be used.
    pub problem: Option<String>,
}

/// `brain ask`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Ask {
    /// The question.
    pub question: String,
    /// How many pages to read for it, 1 to 50.
    pub limit: u32,
    /// Only this source; all that the caller sees when absent.
    pub source: Option<SourceId>,
    /// Another model than the configured one.
    pub model: Option<String>,
    /// The most that it may cost, in millionths of a US dollar; what is configured when absent.
    pub max_cost: Option<u64>,
}

/// The answer to a question.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct AskReply {
    /// The question.
    pub question: String,
    /// The answer, with `[1]`-style marks; nothing without a language model.
    pub answer: Option<String>,
    /// The answer broke off, or was cut at its length: `hint` says why.
    pub partial: bool,
    /// What the marks stand for, each once, in the order of their numbers.
    pub citations: Vec<Citation>,
    /// What the brain does not know of it, in one line.
    pub unknown: Option<String>,
    /// The passages that were read, best first.
    pub passages: Vec<Hit>,
    /// Why there is no answer in prose, or a lesser one, with the way out.
    pub hint: Option<String>,
    /// The model that answered.
    pub model: Option<String>,
    /// What it cost.
    pub cost: Spending,
    /// Why search found less than there may be.
    pub degraded: Option<String>,
}

/// What a mark in an answer stands for.
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
    /// The page's line that the passage begins in, from 1.
    pub line: u32,
}

/// What a piece of work cost. All money is in millionths of a US dollar.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, Default)]
pub struct Spending {
    /// What was expected.
    pub estimated: u64,
    /// What it was by the tokens that the service counted and the configured prices.
    pub actual: u64,
    /// Tokens in.
    pub tokens_in: u64,
    /// Tokens out.
    pub tokens_out: u64,
    /// Calls.
    pub calls: u32,
}

/// `brain costs`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, Default)]
pub struct Costs {
    /// Only since this day or instant.
    pub since: Option<String>,
    /// Only until this day or instant.
    pub until: Option<String>,
    /// How many single calls to show, newest first, 0 to 1000.
    pub limit: u32,
}

/// What paid services cost.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CostsReply {
    /// Everything in that time.
    pub total: Spending,
    /// The same by what it was for and by model, dearest first.
    pub sums: Vec<CostSum>,
    /// Single calls, newest first.
    pub calls: Vec<CostCall>,
    /// Lines of the ledger that could not be read.
    pub damaged: u64,
    /// Calls of which the service counted more tokens than they can have had; they count at their
    /// worst.
    pub implausible: u64,
}

/// What one purpose cost with one model.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CostSum {
    /// What for: `ask`, `brainstorm`, `lsd`, `ratings`, `pictures`, `embedding`.
    pub purpose: String,
    /// The model.
    pub model: String,
    /// How much.
    pub spent: Spending,
}

/// One call.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CostCall {
    /// When it was made.
    pub at: String,
    /// What for.
    pub purpose: String,
    /// The model.
    pub model: String,
    /// `open` (entered and not answered yet, or the daemon ended meanwhile), `done` or `failed`.
    pub state: String,
    /// How much.
    pub spent: Spending,
}

/// Millionths of a US dollar as people write them, with two to six digits behind the point: `0.96`, `0.000012`.
#[must_use]
pub fn usd(millionths: u64) -> String {
    let mut text = format!("{}.{:06}", millionths / 1_000_000, millionths % 1_000_000);
    let least = text.len() - 4;
    while text.len() > least && text.ends_with('0') {
        text.pop();
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn money_has_two_to_six_digits() {
        for (millionths, text) in [
            (0, "0.00"),
            (12, "0.000012"),
            (960_000, "0.96"),
            (1_500_000, "1.50"),
            (50_710_001, "50.710001"),
        ] {
            assert_eq!(usd(millionths), text);
        }
    }
}
