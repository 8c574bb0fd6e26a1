//! Platform errors: their meaning and what to do. No I/O.

use serde_json::{Map, Value};

use crate::deletion::problem;
use crate::lines::one_line;
use brain_net::{Error as NetError, HttpResponse};

/// Maximum length of a platform message, in characters.
const MAX_MESSAGE_CHARS: usize = 240;

/// The reason of a failed request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Why {
    /// 401; ends the run.
    Unauthorized,
    /// 402; ends the run.
    PaymentRequired,
    /// 403.
    Forbidden,
    /// 404 for anything but a post.
    NotFound,
    /// 400, or another 4xx.
    InvalidRequest,
    /// 429, or the reserve is reached. Has the reset time in Unix seconds.
    RateLimited(i64),
    /// 429 because the monthly or daily cap is reached.
    UsageCapped,
    /// 429 because another connection is open.
    TooManyConnections,
    /// 5xx.
    ServerError,
    /// No connection, or a timeout.
    Unreachable,
    /// An invalid answer.
    Unreadable,
}

impl Why {
    /// Returns the code for event lines and JSON.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Unauthorized => "unauthorized",
            Self::PaymentRequired => "payment_required",
            Self::Forbidden => "forbidden",
            Self::NotFound => "not_found",
            Self::InvalidRequest => "invalid_request",
            Self::RateLimited(_) => "rate_limited",
            Self::UsageCapped => "usage_capped",
            Self::TooManyConnections => "too_many_connections",
            Self::ServerError => "server_error",
            Self::Unreachable => "unreachable",
            Self::Unreadable => "unreadable",
        }
    }

    /// Returns whether the run must end.
    #[must_use]
    pub fn ends_the_run(self) -> bool {
        matches!(self, Self::Unauthorized | Self::PaymentRequired)
    }
}

/// A failed request, with a message.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct PlatformFault {
    /// The reason.
    pub why: Why,
    /// The platform's message on one line, cut, never with the token.
    pub message: String,
    /// What to do about it.
    pub hint: String,
    /// The last segment of the problem's `type`, such as `unsupported-authentication`; may be
    /// empty.
    pub problem: String,
}

impl PlatformFault {
    /// Returns whether the requested fields or expansions may be the cause.
    #[must_use]
    pub fn may_be_about_fields(&self) -> bool {
        let other =
            ["resource-not-found", "not-authorized-for-resource"].contains(&self.problem.as_str());
        matches!(self.why, Why::InvalidRequest | Why::Forbidden) && !other && !is_for_all(self)
    }

    /// Creates a fault with our own message.
    pub(super) fn new(why: Why, message: impl Into<String>, hint: impl Into<String>) -> Self {
        Self { why, message: message.into(), hint: hint.into(), problem: String::new() }
    }

    /// Converts a network error.
    pub(super) fn of_trouble(host: &str, trouble: &NetError) -> Self {
        let why = if matches!(trouble, NetError::TooLarge(_)) {
            Why::Unreadable
        } else {
            Why::Unreachable
        };
        let said = one_line(&format!("{host}: {trouble}"), MAX_MESSAGE_CHARS);
        Self::new(
            why,
            said,
            "check the network and `collector.platform_api`; the next run asks again",
        )
    }

    /// Creates the fault for an endpoint at its reserve.
    pub(super) fn of_reserve(endpoint: &str, reset: i64) -> Self {
        let said = format!("{endpoint} is at its reserve");
        Self::new(
            Why::RateLimited(reset),
            said,
            "wait until its reset; `collector.every = \"60m\"` asks less often",
        )
    }

    /// Creates the fault for an invalid answer.
    pub(super) fn unreadable(what: &str) -> Self {
        let said = format!("the answer cannot be read: {what}");
        Self::new(
            Why::Unreadable,
            said,
            "the next run asks again; check `collector.platform_api` if it stays so",
        )
    }

    /// Creates the fault for an invalid answer with the platform's message.
    pub(super) fn unreadable_saying(what: &str, body: &Map<String, Value>, secret: &str) -> Self {
        let said = ErrorBody(body.clone());
        let words = said.words(secret).map(|words| format!("; the platform says: {words}"));
        let fault = Self::unreadable(&format!("{what}{}", words.unwrap_or_default()));
        Self {
            message: one_line(&fault.message, MAX_MESSAGE_CHARS),
            problem: said.problem(),
            ..fault
        }
    }

    /// Interprets an answer with a status other than 200. `reset` is the end of a rate limit;
    /// `secret` is removed from the message.
    pub(super) fn of_answer(answer: &HttpResponse, reset: i64, secret: &str) -> Self {
        let said = ErrorBody::of(&answer.body);
        let why = match answer.status {
            401 => Why::Unauthorized,
            402 => Why::PaymentRequired,
            403 => Why::Forbidden,
            404 => Why::NotFound,
            429 => said.too_many(reset),
            400..=499 => Why::InvalidRequest,
            500..=599 => Why::ServerError,
            _ => Why::Unreadable,
        };
        let hint = said.hint(why, answer.status);
        Self { why, message: said.message(answer.status, secret), hint, problem: said.problem() }
    }
}

/// The body of an error: a problem, a list of `errors`, both, or neither.
pub(super) struct ErrorBody(Map<String, Value>);

impl ErrorBody {
    pub(super) fn of(body: &[u8]) -> Self {
        Self(serde_json::from_slice(body).unwrap_or_default())
    }

    fn errors(&self) -> impl Iterator<Item = &Map<String, Value>> {
        self.0
            .get("errors")
            .and_then(Value::as_array)
            .into_iter()
            .flatten()
            .filter_map(Value::as_object)
    }

    /// Returns a text field of the problem, or of the first error that has it.
    fn text(&self, name: &str) -> Option<&str> {
        std::iter::once(&self.0)
            .chain(self.errors())
            .find_map(|at| at.get(name)?.as_str().filter(|text| !text.is_empty()))
    }

    fn problem(&self) -> String {
        self.text("type").map(problem).unwrap_or_default().to_owned()
    }

    fn is(&self, ending: &str, title: &str) -> bool {
        self.problem() == ending || self.text("title") == Some(title)
    }

    /// Returns the reason of a 429.
    fn too_many(&self, reset: i64) -> Why {
        if self.is("usage-capped", "UsageCapExceeded") {
            Why::UsageCapped
        } else if self.is("streaming-connection", "ConnectionException") {
            Why::TooManyConnections
        } else {
            Why::RateLimited(reset)
        }
    }

    /// Returns the message on one line.
    fn message(&self, status: u16, secret: &str) -> String {
        let said = self.words(secret).unwrap_or_else(|| "no reason given".to_owned());
        one_line(&format!("HTTP {status}: {said}"), MAX_MESSAGE_CHARS)
    }

    /// Returns the platform's message without the token, if there is one.
    fn words(&self, secret: &str) -> Option<String> {
        let title = self.text("title");
        let detail = self
            .errors()
            .find_map(|error| error.get("message")?.as_str())
            .or_else(|| self.text("detail"));
        let said = match (title, detail) {
            (Some(title), Some(detail)) if title != detail => format!("{title}: {detail}"),
            (Some(text), _) | (_, Some(text)) => text.to_owned(),
            (None, None) => self.text("error")?.to_owned(),
        };
        Some(if secret.is_empty() { said } else { said.replace(secret, "…") })
    }

    /// Returns the hint.
    fn hint(&self, why: Why, status: u16) -> String {
        let text = match why {
            Why::Unauthorized => {
                "the bearer token is wrong, revoked or expired: `brain collector setup` with a new \
                 one (the app's bearer \
                 token, not its key or secret)"
            }
            Why::PaymentRequired => {
                "the account has no credits left: add credits in the platform's developer console; \
                 the next run goes on"
            }
            Why::Forbidden => return self.forbidden(),
            Why::NotFound => {
                "check `collector.user_id`, `collector.handle` and `collector.platform_api`"
            }
            Why::InvalidRequest => {
                "check `collector.searches`, `collector.user_id` and `collector.handle`"
            }
            Why::RateLimited(_) => {
                "wait until its reset; `collector.every = \"60m\"` asks less often"
            }
            Why::UsageCapped => {
                let period =
                    self.text("period").map(|period| format!(" ({})", one_line(period, 20)));
                return format!(
                    "the account's usage cap{} is reached: raise it in the platform's developer \
                     console, or wait for the next period",
                    period.unwrap_or_default()
                );
            }
            Why::TooManyConnections => {
                "another connection is still open: end it, or wait until the platform gives it up"
            }
            Why::ServerError => "the platform has trouble; the next run asks again",
            Why::Unreachable | Why::Unreadable if (300..400).contains(&status) => {
                "`collector.platform_api` leads elsewhere: set it to the platform's own address"
            }
            Why::Unreachable | Why::Unreadable => {
                "check `collector.platform_api`; the next run asks again"
            }
        };
        text.to_owned()
    }

    fn forbidden(&self) -> String {
        let more = |name: &str, before: &str, after: &str| {
            self.text(name)
                .map(|text| format!("{before}{}{after}", one_line(text, 120)))
                .unwrap_or_default()
        };
        if self.is("unsupported-authentication", "Unsupported Authentication") {
            "this needs a token of another kind: for a protected account a user's own (OAuth 2.0 \
             user context)"
                .into()
        } else if self.is("client-forbidden", "Client Forbidden") {
            let place = more("registration_url", " at ", "");
            format!("the app may not use this endpoint: attach it to a project that may{place}")
        } else if self.is("credits", "SpendCapReached") {
            let date = more("reset_date", " until ", "");
            format!(
                "the account's spending limit is reached{date}: raise it in the platform's \
                 developer console"
            )
        } else {
            "the app's access level does not cover this: see its level in the platform's developer \
             console, and whether \
             the account's posts are protected"
                .into()
        }
    }
}

/// Returns whether the app has no access to the endpoint at all.
pub(super) fn is_for_all(fault: &PlatformFault) -> bool {
    matches!(fault.problem.as_str(), "unsupported-authentication" | "client-forbidden" | "credits")
}

/// Returns why an answer with status 200 is not a complete page: `meta` is missing or counts absent
/// posts. Includes the platform's message.
pub(super) fn incomplete(body: &Map<String, Value>, secret: &str) -> Option<PlatformFault> {
    let meta = body.get("meta").and_then(Value::as_object);
    let count = meta.and_then(|meta| meta.get("result_count")?.as_u64()).unwrap_or(0);
    let has_data = body.get("data").is_some_and(|data| !data.is_null());
    let lacks = match meta {
        None => "it has no `meta`",
        Some(_) if count > 0 && !has_data => "it counts posts and has none",
        Some(_) => return None,
    };
    Some(PlatformFault::unreadable_saying(lacks, body, secret))
}

/// Returns why a timeline without posts is an error: the account is gone, suspended or protected.
/// `errors` about other objects accompany valid answers.
pub(super) fn account_trouble(
    body: &Map<String, Value>,
    user: &str,
    secret: &str,
) -> Option<PlatformFault> {
    let said = ErrorBody(body.clone());
    let error = said.errors().find(|error| {
        let text = |name: &str| error.get(name).and_then(Value::as_str);
        let about = ["resource_id", "value"].into_iter().any(|name| text(name) == Some(user));
        about && text("section").is_none_or(|section| section == "data")
    })?;
    let of_error = ErrorBody(error.clone());
    let problem = of_error.problem();
    let suspended = of_error.text("title") == Some("Forbidden");
    let why =
        if problem == "resource-not-found" && !suspended { Why::NotFound } else { Why::Forbidden };
    let hint = match why {
        Why::NotFound => "check `collector.user_id`: there is no such account".to_owned(),
        _ => {
            "the account is protected or suspended: an app's token cannot read its posts".to_owned()
        }
    };
    Some(PlatformFault { why, message: of_error.message(200, secret), hint, problem })
}
