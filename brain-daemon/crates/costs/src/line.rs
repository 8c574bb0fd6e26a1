//! A line of the ledger: one JSON object. No I/O.

use brain_protocol::Spending;
use serde::{Deserialize, Serialize};

/// Maximum length of a line that is read, in bytes. Written lines are far shorter.
pub(super) const MAX_LINE_BYTES: usize = 16 * 1024;
/// Maximum length of a written name in characters.
const MAX_NAME_CHARS: usize = 200;
/// A reported count is implausible above this many times the estimate plus [`MAX_EXTRA_TOKENS`].
/// Bytes of rare symbols are a token each, and a picture may have four times its usual count.
const MAX_TOKEN_FACTOR: u64 = 4;
/// Tokens that a service may add to a prompt.
const MAX_EXTRA_TOKENS: u64 = 4096;

/// What happened to a call when the line was written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum CallStep {
    /// The call is about to be made. Tokens and cost are its maximum.
    Enter,
    /// The call was answered.
    Done,
    /// The call failed.
    Failed,
}

/// A line of the ledger. Each of a call's two lines describes the call, so that it is useful alone.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct LedgerLine {
    /// What happened to the call.
    pub(super) step: CallStep,
    /// The call's number: the byte offset of its first line.
    pub(super) call: u64,
    /// When the call was entered, RFC 3339.
    pub(super) at: String,
    /// The purpose, for example `ask`.
    pub(super) purpose: String,
    /// The model.
    pub(super) model: String,
    /// Input tokens.
    pub(super) tokens_in: u64,
    /// Output tokens.
    pub(super) tokens_out: u64,
    /// Cost in millionths of a US dollar.
    pub(super) micro_usd: u64,
    /// Whether the service reported an implausible count, so that the maximum counts.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub(super) implausible: bool,
}

impl LedgerLine {
    /// Returns the line as JSON with a line end.
    pub(super) fn to_json_line(&self) -> String {
        // Serialising numbers and strings cannot fail.
        let mut text = serde_json::to_string(self).unwrap_or_default();
        text.push('\n');
        text
    }

    /// Parses a line; `None` when it is damaged.
    pub(super) fn parse(bytes: &[u8]) -> Option<Self> {
        serde_json::from_slice(bytes).ok()
    }

    /// Returns the spending in this line. In the first line of a call it is the maximum.
    pub(super) fn spent(&self) -> Spending {
        Spending {
            estimated: self.micro_usd,
            actual: self.micro_usd,
            tokens_in: self.tokens_in,
            tokens_out: self.tokens_out,
            calls: 1,
        }
    }
}

/// Returns the token count to use for a reported count and an estimated maximum.
///
/// The maximum is used when the service reports 0. It is also used, with `true`, when the report
/// far exceeds the maximum.
pub(super) fn plausible_tokens(counted: u64, maximum: u64) -> (u64, bool) {
    match counted {
        0 => (maximum, false),
        _ if counted
            > maximum.saturating_mul(MAX_TOKEN_FACTOR).saturating_add(MAX_EXTRA_TOKENS) =>
        {
            (maximum, true)
        }
        _ => (counted, false),
    }
}

/// Returns the first [`MAX_NAME_CHARS`] characters of a name.
pub(super) fn bounded_name(text: &str) -> String {
    text.chars().take(MAX_NAME_CHARS).collect()
}
