//! Errors of an endpoint, and what to do: retry, split the batch, or fail. No I/O.
//!
//! Messages repeat only an endpoint's name for the problem, because the rest of its answer may
//! contain the key or text of pages.

use serde_json::Value;
use url::Url;

use crate::{EmbedError, EmbedErrorKind};
use brain_net::{Error as NetError, HttpResponse};

/// Seconds before an account without credit is tried again.
const CREDIT_RETRY_SECONDS: u64 = 3600;
/// Phrases by which services report that a request is too large.
const TOO_LARGE_PHRASES: [&str; 10] = [
    "context length",
    "context_length",
    "context size",
    "maximum context",
    "too long",
    "too large",
    "too many",
    "max_tokens",
    "exceed",
    "batch size",
];

/// What to do after a failed call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum FailedCall {
    /// Retry, after this many seconds if the service names a time. When no retry is left, report
    /// this error.
    Retry(Option<u64>, EmbedError),
    /// Split the batch. If it has one text, report this error.
    Split(EmbedError),
    /// Report this error.
    Fail(EmbedError),
}

/// Address and model of an endpoint, for messages.
#[derive(Debug, Clone)]
pub(super) struct EndpointLabel {
    /// The address.
    pub(super) url: Url,
    /// The model.
    pub(super) model: String,
    /// Whether there is a key.
    pub(super) has_key: bool,
}

impl EndpointLabel {
    /// Returns an error with the message `the embedding model … at … {problem}`.
    fn fault(&self, kind: EmbedErrorKind, problem: &str, hint: &str) -> EmbedError {
        let message = format!("the embedding model \"{}\" at {} {problem}", self.model, self.url);
        EmbedError { kind, message, hint: Some(hint.into()) }
    }

    /// Decides what to do about a request without a complete response.
    pub(super) fn unreachable(&self, net_error: &NetError) -> FailedCall {
        let hint = "is it running? check embedding.base_url and the network; search uses full text \
                    meanwhile";
        let fault = self.fault(
            EmbedErrorKind::Retryable(None),
            &format!("does not answer: {net_error}"),
            hint,
        );
        match net_error {
            NetError::InvalidAddress(_) | NetError::Setup(_) => {
                FailedCall::Fail(EmbedError { kind: EmbedErrorKind::Refused, ..fault })
            }
            _ => FailedCall::Retry(None, fault),
        }
    }

    /// Returns the error for an invalid response; `problem` follows "its answer".
    pub(super) fn invalid_response(&self, problem: &str) -> EmbedError {
        let hint = "check that embedding.base_url is an endpoint with OpenAI's API, and \
                    embedding.model an embedding model";
        self.fault(
            EmbedErrorKind::Retryable(None),
            &format!("does not answer with vectors: its answer {problem}"),
            hint,
        )
    }

    /// Returns the error for a request that exceeded its time limit.
    pub(super) fn timed_out(&self, seconds: u64) -> EmbedError {
        let problem = format!("has not answered within {seconds} seconds");
        self.fault(
            EmbedErrorKind::Retryable(None),
            &problem,
            "use a smaller model, or a service with a faster connection",
        )
    }

    /// Returns the error for work that the caller stopped.
    pub(super) fn stopped(&self) -> EmbedError {
        self.fault(EmbedErrorKind::Stopped, "was stopped", "the request is repeated later")
    }

    /// Decides what to do about a status other than 200.
    pub(super) fn refusal(&self, answer: &HttpResponse) -> FailedCall {
        use EmbedErrorKind::{Refused, Retryable, Text};
        let (status, wait) = (answer.status, retry_after(answer));
        let body = String::from_utf8_lossy(&answer.body).to_lowercase();
        let names = problem_names(&answer.body);
        let suffix = if names.is_empty() { String::new() } else { format!(" ({names})") };
        let problem = format!("answers with status {status}{suffix}");
        let fault = |kind, hint: &str| self.fault(kind, &problem, hint);
        let has_no_credit = body.contains("insufficient_quota") || body.contains("credit balance");
        match status {
            401 | 403 if !self.has_key => FailedCall::Fail(fault(
                Refused,
                "put the key into secrets/embedding-api-key in the brain's home (mode 600), or set \
                 BRAIN_EMBEDDING_API_KEY or embedding.api_key_file",
            )),
            401 | 403 => FailedCall::Fail(fault(
                Refused,
                "the key is refused, or may not use this model: check embedding-api-key and \
                 embedding.model",
            )),
            402 => FailedCall::Fail(fault(
                Retryable(Some(CREDIT_RETRY_SECONDS)),
                "the account has no credit: add some",
            )),
            400 | 429 if has_no_credit => FailedCall::Fail(fault(
                Retryable(Some(CREDIT_RETRY_SECONDS)),
                "the account has no credit: add some",
            )),
            404 | 405 => FailedCall::Fail(fault(
                Refused,
                "check embedding.base_url, and that it has this model (`ollama pull NAME` for \
                 Ollama)",
            )),
            408 => FailedCall::Retry(wait, fault(Retryable(wait), "the request is repeated later")),
            429 => FailedCall::Retry(
                wait,
                fault(
                    Retryable(wait),
                    "it limits the rate of requests; the request is repeated later",
                ),
            ),
            // Some servers answer 500 when a text is too long.
            400 | 413 | 422 | 500
                if status == 413
                    || TOO_LARGE_PHRASES.iter().any(|phrase| body.contains(phrase)) =>
            {
                FailedCall::Split(fault(Text, "it accepts only shorter texts: use another model"))
            }
            500.. => FailedCall::Retry(
                wait,
                fault(
                    Retryable(wait),
                    "check the log of the service; the request is repeated later",
                ),
            ),
            _ => FailedCall::Fail(fault(
                Refused,
                "it refuses the request: check embedding.model and embedding.dimensions",
            )),
        }
    }
}

/// Returns the seconds in a `Retry-After` header; dates are ignored.
fn retry_after(answer: &HttpResponse) -> Option<u64> {
    answer.header("retry-after")?.trim().parse().ok()
}

/// Returns the error's `type`, `code` and `param`, as far as they are plain names.
fn problem_names(body: &[u8]) -> String {
    let value: Value = serde_json::from_slice(body).unwrap_or_default();
    let plain = |text: &&str| {
        (1..=40).contains(&text.len()) && text.bytes().all(|b| b.is_ascii_lowercase() || b == b'_')
    };
    let names =
        ["type", "code", "param"].into_iter().filter_map(|name| value["error"][name].as_str());
    names.filter(plain).collect::<Vec<_>>().join(", ")
}
