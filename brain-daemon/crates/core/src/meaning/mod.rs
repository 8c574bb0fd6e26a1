//! Search by meaning, for pages: which embedder is configured, its vectors kept in step with the store in the background, and pages near a question.
//!
//! The follower hears of every commit through the store's hook, as the full-text index does: a page that is deleted, or whose text changed, loses its vectors before
//! anybody is told that the commit happened; a worker makes the new ones. What is missing after a start is found by comparing keys with the store.

mod follow;
mod gather;
mod install;
mod keeping;
mod known;
mod making;
mod models;
mod near;
mod origin;
mod pace;
mod record;
mod rounds;
mod scale;
mod state;
#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::panic)]
mod tests;
mod unseen;

use std::time::Duration;

use brain_protocol::{Scope, SourceId};

use super::{Brain, Caller, Progress};

pub(crate) use follow::both;
pub(crate) use models::installed;
pub(crate) use state::Meaning;

/// How long a search waits for a question's vector.
pub(super) const QUERY_DEADLINE: Duration = Duration::from_secs(2);

/// The pages of a caller who may see some sources only.
#[derive(Debug)]
pub(super) struct Own {
    /// Those sources.
    pub(super) sources: Vec<SourceId>,
    /// The numbers of their pages, ascending.
    pub(super) pages: Vec<u64>,
}

/// What vectors say about a question.
#[derive(Debug, Default)]
pub(super) struct Meant {
    /// Pages that are near, nearest first.
    pub(super) near: Vec<brain_embed::vectors::Near>,
    /// The cosine of windows that have nothing to do with each other, in this space.
    pub(super) floor: f32,
    /// The cosine of this question with windows taken by chance; more than `floor` where the model can hardly tell texts of its script or language apart.
    pub(super) background: f32,
    /// The cosine of what matches best, as a rule, less `floor`.
    pub(super) span: f32,
    /// How much of the question the model can read, from 0 to 1: [`brain_embed::Embedder::reads`].
    pub(super) read: f32,
    /// Why there are none, or not all: for `degraded`. `None` when no provider is configured: that is no fault.
    pub(super) lacking: Option<Lacking>,
}

/// Why vectors say less than they could.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Lacking {
    /// How many of a hundred pages have vectors, when some can be asked.
    pub(super) share: Option<u64>,
    /// What is wrong, in words. May name directories and addresses of this machine.
    pub(super) why: Option<String>,
}

impl Lacking {
    /// One line; what is wrong only for whoever runs this brain.
    pub(super) fn text(&self, caller: &Caller) -> String {
        let why = self.why.as_deref().filter(|_| caller.scopes().most() >= Scope::Admin);
        match (self.share, why) {
            (Some(share), Some(why)) => {
                format!("search by meaning: {share} % of the pages have their vectors: {why}")
            }
            (Some(share), None) => {
                format!("search by meaning: {share} % of the pages have their vectors")
            }
            (None, why) => {
                format!(
                    "search by meaning: {}",
                    why.unwrap_or("the embedding model cannot be asked now")
                )
            }
        }
    }
}

/// How search by meaning is.
#[derive(Debug, Clone, Default)]
pub(super) struct Standing {
    /// Where vectors come from: `none`, `local` or `openai`.
    pub(super) provider: String,
    /// The model in use.
    pub(super) model: Option<String>,
    /// Pages with vectors.
    pub(super) pages: u64,
    /// Their windows.
    pub(super) windows: u64,
    /// Pages that wait for theirs.
    pub(super) missing: u64,
    /// What keeps vectors from being made or asked, in words, with the way out.
    pub(super) problem: Option<(String, Option<String>)>,
}

/// What a round of work did.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Round {
    /// Pages that got vectors.
    pub(super) pages: u64,
    /// Their windows.
    pub(super) windows: u64,
}
