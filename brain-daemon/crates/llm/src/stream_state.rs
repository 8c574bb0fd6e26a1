//! What the events of a stream report besides text. No I/O.

use serde_json::Value;

use super::{Finish, error};

/// The state of a stream, besides its text.
#[derive(Debug, Default)]
pub(super) struct ResponseState {
    /// Input and output tokens by the service's count.
    pub(super) tokens: (u64, u64),
    /// Why the answer ended, if reported.
    pub(super) finish: Option<Finish>,
    /// Whether the model refused to answer.
    pub(super) is_refused: bool,
    /// Whether the stream reported its end.
    pub(super) is_over: bool,
    /// The error that the service reported: its code and message.
    pub(super) failure: Option<(String, String)>,
}

impl ResponseState {
    /// Records token counts: of each, the last one above zero counts.
    pub(super) fn count(&mut self, (tokens_in, tokens_out): (u64, u64)) {
        let newer = |old, new| if new > 0 { new } else { old };
        self.tokens = (newer(self.tokens.0, tokens_in), newer(self.tokens.1, tokens_out));
    }

    /// Records an error within a stream.
    pub(super) fn fail(&mut self, error: &Value) {
        let field = |name: &str| error.get(name).and_then(Value::as_str);
        let code = field("type").or_else(|| field("code")).unwrap_or_default();
        self.failure = Some((code.to_owned(), error::message(error)));
    }
}
