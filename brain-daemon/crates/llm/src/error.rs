//! Errors of language models: what failed, what to do, and whether a retry makes sense.

use brain_protocol::{Command, Hint, Secret, hint, is_direction_control};
use serde_json::Value;
use url::Url;

use super::{ModelQuestion, UnsupportedOptions};
use brain_costs::CostError;
use brain_net::{Error as NetError, HttpResponse};

/// Maximum length of a repeated service message, in characters.
const MAX_MESSAGE_CHARS: usize = 200;

/// Why a model gave no answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ModelErrorKind {
    /// The service requires a key, and none is configured.
    NoKey,
    /// 401 or 403: the key is rejected, or lacks a permission.
    Unauthorized,
    /// 402, or a 4xx about an exhausted credit or quota.
    Payment,
    /// 404: the model or the API does not exist at that address.
    NotFound,
    /// 429, with the seconds of `Retry-After` if present.
    RateLimited(Option<u64>),
    /// 503 or 529: the service is overloaded or starting.
    Overloaded,
    /// Another 5xx.
    ServerError,
    /// No answer within the time limit.
    Timeout,
    /// No connection.
    Unreachable,
    /// The response broke off.
    Interrupted,
    /// Another 4xx: the service rejects the request.
    InvalidRequest,
    /// The model refuses to answer.
    Refused,
    /// The answer was cut at its maximum length.
    Truncated,
    /// The answer is not the requested JSON object.
    NotJson,
    /// The response does not follow the configured API.
    InvalidResponse,
    /// The caller cancelled the question, or the daemon stops.
    Stopped,
    /// The call might exceed its budget, and was not sent.
    Budget,
    /// The call cannot be entered into the ledger, and was not sent.
    Ledger,
}

impl ModelErrorKind {
    /// Returns whether other questions would fail now, too, for example because the service, the
    /// budget or the ledger fails.
    #[must_use]
    pub fn is_independent_of_question(self) -> bool {
        !matches!(
            self,
            Self::InvalidRequest
                | Self::Refused
                | Self::Truncated
                | Self::NotJson
                | Self::InvalidResponse
        )
    }

    /// Returns whether the question itself may be the cause of the failure.
    #[must_use]
    pub fn may_be_caused_by_question(self) -> bool {
        !self.is_independent_of_question() || matches!(self, Self::ServerError | Self::Timeout)
    }
}

/// A failed question, with a message and a hint for people.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message}; {hint}")]
pub struct ModelError {
    /// What failed, for programs.
    pub kind: ModelErrorKind,
    /// What failed, for people. Never contains the key.
    pub message: String,
    /// What to do.
    pub hint: Hint,
    /// The text received before the failure, without the model's reasoning.
    pub partial_text: String,
}

impl ModelError {
    fn new(kind: ModelErrorKind, message: impl Into<String>, hint: impl Into<Hint>) -> Self {
        Self { kind, message: message.into(), hint: hint.into(), partial_text: String::new() }
    }

    /// Adds the text received before the failure.
    pub(super) fn with_partial_text(self, partial_text: String) -> Self {
        Self { partial_text, ..self }
    }

    pub(super) fn from_cost(error: &CostError) -> Self {
        let (kind, hint) = match error {
            CostError::OverBudget { .. } => {
                (ModelErrorKind::Budget, "raise the budget, or shorten the input".into())
            }
            CostError::Ledger { .. } => (
                ModelErrorKind::Ledger,
                hint!(
                    "paid calls need a writable ledger: make the file writable; see {}",
                    Command::Doctor
                ),
            ),
        };
        Self::new(kind, error.to_string(), hint)
    }

    pub(super) fn no_key(url: &str) -> Self {
        let message = format!("there is no key for the language model at {url}");
        Self::new(
            ModelErrorKind::NoKey,
            message,
            "write it to secrets/llm-api-key in the brain's home (mode 600), or set \
             BRAIN_LLM_API_KEY or llm.api_key_file",
        )
    }

    /// Returns the error of an address that cannot be used.
    pub(super) fn address(base: &str, reason: &str) -> Self {
        let message = format!("the language model at {base} cannot be called: {reason}");
        Self::new(ModelErrorKind::Unreachable, message, "check llm.base_url")
    }

    pub(super) fn from_net(url: &Url, error: &NetError) -> Self {
        let kind = match error {
            NetError::Timeout(_) => ModelErrorKind::Timeout,
            NetError::TooLarge(_) => ModelErrorKind::InvalidResponse,
            NetError::ConnectionBroken(_) => ModelErrorKind::Interrupted,
            _ => ModelErrorKind::Unreachable,
        };
        let hint = match kind {
            ModelErrorKind::Timeout => {
                "use a smaller model, or a service with a faster connection, or raise llm.silence"
            }
            ModelErrorKind::Interrupted => {
                "retry; if it happens again, check the log of the service"
            }
            _ => "check that it runs, llm.base_url, and the network",
        };
        Self::new(kind, format!("the language model at {url} does not answer: {error}"), hint)
    }

    /// Returns the error of a response with another status than 200.
    pub(super) fn from_status(
        url: &Url,
        model: &str,
        answer: &HttpResponse,
        key: Option<&Secret>,
    ) -> Self {
        let status = answer.status;
        let (message, codes) = error_body(&answer.body);
        let has_no_credit =
            ["insufficient_quota", "billing"].iter().any(|code| codes.contains(code))
                || message.contains("credit balance is too low");
        let kind = match status {
            401 if key.is_none() => ModelErrorKind::NoKey,
            401 | 403 => ModelErrorKind::Unauthorized,
            402 => ModelErrorKind::Payment,
            400 | 429 if has_no_credit => ModelErrorKind::Payment,
            404 => ModelErrorKind::NotFound,
            429 => ModelErrorKind::RateLimited(
                answer.header("retry-after").and_then(|text| text.trim().parse().ok()),
            ),
            503 | 529 => ModelErrorKind::Overloaded,
            500.. => ModelErrorKind::ServerError,
            _ => ModelErrorKind::InvalidRequest,
        };
        if kind == ModelErrorKind::NoKey {
            return Self::no_key(url.as_str());
        }
        // A service that rejects a key may repeat it, or parts of it.
        let message = match kind {
            ModelErrorKind::Unauthorized => String::new(),
            _ => sanitized(&message, key),
        };
        let detail = if message.is_empty() { String::new() } else { format!(": {message}") };
        let hint: Hint = match kind {
            ModelErrorKind::Unauthorized => {
                "check llm-api-key and llm.model: the key is rejected, or may not use this model"
                    .into()
            }
            ModelErrorKind::Payment => "add credit to the account, or choose another model".into(),
            ModelErrorKind::NotFound => {
                format!("check llm.base_url, and that the service has the model \"{model}\"").into()
            }
            ModelErrorKind::RateLimited(_) | ModelErrorKind::Overloaded => {
                "the service is overloaded: retry later".into()
            }
            ModelErrorKind::ServerError => "check the log of the service, and retry later".into(),
            _ => "check llm.provider and llm.model: the service rejects the request".into(),
        };
        Self::new(
            kind,
            format!("the language model at {url} answers with status {status}{detail}"),
            hint,
        )
    }

    pub(super) fn refused(model: &str) -> Self {
        Self::new(
            ModelErrorKind::Refused,
            format!("the model \"{model}\" refuses to answer"),
            "try another model",
        )
    }

    /// Returns the error of an answer cut at its maximum length.
    #[must_use]
    pub fn truncated() -> Self {
        Self::new(
            ModelErrorKind::Truncated,
            "the model's answer was cut at its maximum length",
            "use a model with shorter reasoning",
        )
    }

    /// Returns the error of an empty answer.
    #[must_use]
    pub fn empty(model: &str) -> Self {
        let message = format!("the model \"{model}\" gave an empty answer");
        Self::new(ModelErrorKind::InvalidResponse, message, "try another model")
    }

    pub(super) fn not_json() -> Self {
        Self::new(
            ModelErrorKind::NotJson,
            "the model's answer is not the requested JSON",
            "try a larger model",
        )
    }

    pub(super) fn invalid_response(url: &Url) -> Self {
        let message = format!("the response of {url} is not that of a language model");
        Self::new(ModelErrorKind::InvalidResponse, message, "check llm.provider and llm.base_url")
    }

    pub(super) fn timeout(url: &Url, seconds: u64) -> Self {
        let message =
            format!("the language model at {url} did not finish within {seconds} seconds");
        Self::new(
            ModelErrorKind::Timeout,
            message,
            "use a smaller model, or a service with a faster connection",
        )
    }

    pub(super) fn interrupted(url: &Url) -> Self {
        let message = format!("the answer of the language model at {url} broke off");
        Self::new(
            ModelErrorKind::Interrupted,
            message,
            "retry; if it happens again, check the log of the service",
        )
    }

    /// Returns the error that a service reported within a stream. `code` is the service's name for
    /// the error.
    pub(super) fn from_stream(url: &Url, code: &str, message: &str, key: Option<&Secret>) -> Self {
        let kind = match code {
            "overloaded_error" => ModelErrorKind::Overloaded,
            "rate_limit_error" | "rate_limit_exceeded" => ModelErrorKind::RateLimited(None),
            _ => ModelErrorKind::ServerError,
        };
        let message = sanitized(message, key);
        let detail = if message.is_empty() { String::new() } else { format!(": {message}") };
        let message =
            format!("the language model at {url} stopped in the middle of its answer{detail}");
        Self::new(kind, message, "retry; if it happens again, check the log of the service")
    }

    pub(super) fn cancelled() -> Self {
        Self::new(
            ModelErrorKind::Stopped,
            "the question was cancelled by the caller, or because the daemon stops",
            "retry",
        )
    }
}

/// Returns the `known` unsupported options and those that this error response rejects; `None` when
/// it rejects no further option.
pub(super) fn rejected_options(
    answer: &HttpResponse,
    known: UnsupportedOptions,
    question: &ModelQuestion<'_>,
) -> Option<UnsupportedOptions> {
    if !matches!(answer.status, 400 | 422) {
        return None;
    }
    let text = String::from_utf8_lossy(&answer.body);
    let unsupported = UnsupportedOptions {
        temperature: known.temperature
            || (question.temperature.is_some() && text.contains("temperature")),
        format: known.format || (question.json && text.contains("response_format")),
        max_tokens: known.max_tokens || text.contains("max_completion_tokens"),
        usage: known.usage || text.contains("stream_options"),
    };
    (unsupported != known).then_some(unsupported)
}

/// Returns the message of an error body, and its type and code: `{"error": {"message", "type",
/// "code"}}`, or `{"error": "…"}`.
fn error_body(body: &[u8]) -> (String, String) {
    let value: Value = serde_json::from_slice(body).unwrap_or_default();
    let error = &value["error"];
    let text = |name: &str| error[name].as_str().unwrap_or_default();
    (message(error), format!("{} {}", text("type"), text("code")))
}

/// Returns the message of a service error.
pub(super) fn message(error: &Value) -> String {
    error.as_str().or_else(|| error["message"].as_str()).unwrap_or_default().to_owned()
}

/// Returns a service message on one line, cut to the maximum length, without the key.
fn sanitized(message: &str, key: Option<&Secret>) -> String {
    let bare_key = key.map(|key| key.expose().trim_start_matches("Bearer "));
    let message = bare_key.map_or_else(|| message.to_owned(), |key| message.replace(key, "…"));
    let visible =
        message.chars().map(|c| if c.is_control() || is_layout_control(c) { ' ' } else { c });
    visible
        .collect::<String>()
        .split_whitespace()
        .collect::<Vec<_>>()
        .join(" ")
        .chars()
        .take(MAX_MESSAGE_CHARS)
        .collect()
}

/// Returns whether a character breaks lines or changes the text direction.
fn is_layout_control(c: char) -> bool {
    is_direction_control(c) || matches!(c, '\u{2028}' | '\u{2029}')
}
