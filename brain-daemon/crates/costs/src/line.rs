//! A line of the ledger: one JSON object. Pure.

use brain_protocol::Spent;
use serde::{Deserialize, Serialize};

/// The longest line that is read, in bytes. None that is written comes near it.
pub(super) const LONGEST: usize = 16 * 1024;
/// The longest name that is written, in characters.
const NAME: usize = 200;
/// A call has at most this many times the tokens that were entered: bytes of rare symbols are a
/// token each, and a picture may have four times its usual count.
const TIMES: u64 = 4;
/// And this many more, which a service puts before a question.
const MORE: u64 = 4096;

/// What a line says of its call.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum Step {
    /// It is about to be made. Tokens and cost are the worst that may come.
    Enter,
    /// It was answered.
    Done,
    /// It failed.
    Failed,
}

/// A line. Both lines of a call say what it was, so that either is of use without the other.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Line {
    /// What happened.
    pub(super) step: Step,
    /// The call's number: where in the file its first line begins, in bytes.
    pub(super) call: u64,
    /// When the call was entered, RFC 3339.
    pub(super) at: String,
    /// What for.
    pub(super) purpose: String,
    /// The model.
    pub(super) model: String,
    /// Tokens in.
    pub(super) tokens_in: u64,
    /// Tokens out.
    pub(super) tokens_out: u64,
    /// Cost in millionths of a US dollar.
    pub(super) micro_usd: u64,
    /// The service counted more tokens than the call can have had, so the worst counts.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub(super) implausible: bool,
}

impl Line {
    /// The line with its end.
    pub(super) fn written(&self) -> String {
        // Numbers and texts are always JSON.
        let mut text = serde_json::to_string(self).unwrap_or_default();
        text.push('\n');
        text
    }

    /// The line that `bytes` are; `None` when they are none.
    pub(super) fn read(bytes: &[u8]) -> Option<Self> {
        serde_json::from_slice(bytes).ok()
    }

    /// What it says that the call cost; of a first line the worst.
    pub(super) fn spent(&self) -> Spent {
        Spent {
            estimated: self.micro_usd,
            actual: self.micro_usd,
            tokens_in: self.tokens_in,
            tokens_out: self.tokens_out,
            calls: 1,
        }
    }
}

/// Returns the tokens that count when a service says `counted` and `worst` was entered. Where it
/// says nothing (0) the worst counts. It also counts, with `true`, where the service says more than
/// the call can have had.
pub(super) fn believed(counted: u64, worst: u64) -> (u64, bool) {
    match counted {
        0 => (worst, false),
        _ if counted > worst.saturating_mul(TIMES).saturating_add(MORE) => (worst, true),
        _ => (counted, false),
    }
}

/// A name as it is written: bounded.
pub(super) fn name(text: &str) -> String {
    text.chars().take(NAME).collect()
}
