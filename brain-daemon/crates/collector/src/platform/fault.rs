//! Platform errors: their meaning and what to do. No I/O.

use brain_protocol::{Command, Hint, RunProblem, hint};
use serde_json::{Map, Value};

use crate::deletion::problem_name;
use crate::lines::one_line;
use brain_net::{Error as NetError, HttpResponse};

/// Maximum length of a platform message, in characters.
const MAX_MESSAGE_CHARS: usize = 240;

/// The reason of a failed request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FaultReason {
    /// 401; ends the run.
    Unauthorized,
    /// 402; ends the run.
    PaymentRequired,
    /// 403, or the account is protected or suspended.
    Forbidden,
    /// 404 for anything but a post, or the account does not exist.
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
    /// An answer that is invalid or too large.
    Unreadable,
}

impl FaultReason {
    /// Returns the reason as event lines and replies have it, without the time.
    #[must_use]
    pub fn run_problem(self) -> RunProblem {
        match self {
            Self::Unauthorized => RunProblem::Unauthorized,
            Self::PaymentRequired => RunProblem::PaymentRequired,
            Self::Forbidden => RunProblem::Forbidden,
            Self::NotFound => RunProblem::NotFound,
            Self::InvalidRequest => RunProblem::InvalidRequest,
            Self::RateLimited(_) => RunProblem::RateLimited,
            Self::UsageCapped => RunProblem::UsageCapped,
            Self::TooManyConnections => RunProblem::TooManyConnections,
            Self::ServerError => RunProblem::ServerError,
            Self::Unreachable => RunProblem::Unreachable,
            Self::Unreadable => RunProblem::Unreadable,
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
    pub reason: FaultReason,
    /// The platform's message, or our own, on one line and cut. Never contains the token.
    pub message: String,
    /// What to do about it.
    pub hint: Hint,
    /// The last segment of the problem's `type`, such as `unsupported-authentication`; may be
    /// empty.
    pub problem: String,
}

impl PlatformFault {
    /// Returns whether the requested fields or expansions may have caused the fault.
    #[must_use]
    pub fn may_be_about_fields(&self) -> bool {
        let is_about_object =
            ["resource-not-found", "not-authorized-for-resource"].contains(&self.problem.as_str());
        matches!(self.reason, FaultReason::InvalidRequest | FaultReason::Forbidden)
            && !is_about_object
            && !affects_all_requests(self)
    }

    /// Creates a fault with our own message.
    pub(super) fn new(
        reason: FaultReason,
        message: impl Into<String>,
        hint: impl Into<Hint>,
    ) -> Self {
        Self { reason, message: message.into(), hint: hint.into(), problem: String::new() }
    }

    /// Converts a network error.
    pub(super) fn from_network(host: &str, error: &NetError) -> Self {
        let reason = if matches!(error, NetError::TooLarge(_)) {
            FaultReason::Unreadable
        } else {
            FaultReason::Unreachable
        };
        let message = one_line(&format!("{host}: {error}"), MAX_MESSAGE_CHARS);
        Self::new(
            reason,
            message,
            "check the network and `collector.platform_api`; the next run asks again",
        )
    }

    /// Creates the fault for an endpoint at its reserve until `reset`, in Unix seconds.
    pub(super) fn at_reserve(endpoint: &str, reset: i64) -> Self {
        let message = format!("{endpoint} has only its reserve of requests left");
        Self::new(
            FaultReason::RateLimited(reset),
            message,
            "wait until its reset; `collector.every = \"60m\"` asks less often",
        )
    }

    /// Creates the fault for an invalid answer. `defect` says what is wrong with it.
    pub(super) fn unreadable(defect: &str) -> Self {
        let message = format!("the answer cannot be read: {defect}");
        Self::new(
            FaultReason::Unreadable,
            message,
            "the next run asks again; if this continues, check `collector.platform_api`",
        )
    }

    /// Creates the fault for an invalid answer with the platform's message.
    pub(super) fn unreadable_with_message(
        defect: &str,
        body: &Map<String, Value>,
        secret: &str,
    ) -> Self {
        let body = PlatformErrorBody(body.clone());
        let message =
            body.platform_message(secret).map(|message| format!("; the platform says: {message}"));
        let fault = Self::unreadable(&format!("{defect}{}", message.unwrap_or_default()));
        Self {
            message: one_line(&fault.message, MAX_MESSAGE_CHARS),
            problem: body.problem(),
            ..fault
        }
    }

    /// Interprets an answer with a status other than 200. `reset` is the end of a rate limit;
    /// `secret` is removed from the message.
    pub(super) fn from_response(response: &HttpResponse, reset: i64, secret: &str) -> Self {
        let body = PlatformErrorBody::parse(&response.body);
        let reason = match response.status {
            401 => FaultReason::Unauthorized,
            402 => FaultReason::PaymentRequired,
            403 => FaultReason::Forbidden,
            404 => FaultReason::NotFound,
            429 => body.rate_limit_reason(reset),
            400..=499 => FaultReason::InvalidRequest,
            500..=599 => FaultReason::ServerError,
            _ => FaultReason::Unreadable,
        };
        let hint = body.hint(reason, response.status);
        let message = body.message(response.status, secret);
        Self { reason, message, hint, problem: body.problem() }
    }
}

/// The body of an error response: a problem, a list of `errors`, both, or neither.
pub(super) struct PlatformErrorBody(Map<String, Value>);

impl PlatformErrorBody {
    pub(super) fn parse(body: &[u8]) -> Self {
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
        self.text("type").map(problem_name).unwrap_or_default().to_owned()
    }

    /// Returns whether the last segment of the type is `ending`, or the title is `title`.
    fn is_problem(&self, ending: &str, title: &str) -> bool {
        self.problem() == ending || self.text("title") == Some(title)
    }

    /// Returns the reason of a 429.
    fn rate_limit_reason(&self, reset: i64) -> FaultReason {
        if self.is_problem("usage-capped", "UsageCapExceeded") {
            FaultReason::UsageCapped
        } else if self.is_problem("streaming-connection", "ConnectionException") {
            FaultReason::TooManyConnections
        } else {
            FaultReason::RateLimited(reset)
        }
    }

    /// Returns the message on one line.
    fn message(&self, status: u16, secret: &str) -> String {
        let message = self.platform_message(secret).unwrap_or_else(|| "no reason given".to_owned());
        one_line(&format!("HTTP {status}: {message}"), MAX_MESSAGE_CHARS)
    }

    /// Returns the platform's message without the token, if there is one.
    fn platform_message(&self, secret: &str) -> Option<String> {
        let title = self.text("title");
        let detail = self
            .errors()
            .find_map(|error| error.get("message")?.as_str())
            .or_else(|| self.text("detail"));
        let message = match (title, detail) {
            (Some(title), Some(detail)) if title != detail => format!("{title}: {detail}"),
            (Some(text), _) | (_, Some(text)) => text.to_owned(),
            (None, None) => self.text("error")?.to_owned(),
        };
        Some(if secret.is_empty() { message } else { message.replace(secret, "…") })
    }

    /// Returns the hint.
    fn hint(&self, reason: FaultReason, status: u16) -> Hint {
        let text = match reason {
            FaultReason::Unauthorized => {
                return hint!(
                    "the bearer token is wrong, revoked or expired: {} with a new one (the app's \
                     bearer token, not its key or secret)",
                    Command::CollectorSetup
                );
            }
            FaultReason::PaymentRequired => {
                "the account has no credits left: add credits in the platform's developer console; \
                 the next run continues"
            }
            FaultReason::Forbidden => return self.forbidden_hint().into(),
            FaultReason::NotFound => {
                "check `collector.user_id`, `collector.handle` and `collector.platform_api`"
            }
            FaultReason::InvalidRequest => {
                "check `collector.searches`, `collector.user_id` and `collector.handle`"
            }
            FaultReason::RateLimited(_) => {
                "wait until its reset; `collector.every = \"60m\"` asks less often"
            }
            FaultReason::UsageCapped => {
                let period =
                    self.text("period").map(|period| format!(" ({})", one_line(period, 20)));
                return format!(
                    "the account's usage cap{} is reached: raise it in the platform's developer \
                     console, or wait for the next period",
                    period.unwrap_or_default()
                )
                .into();
            }
            FaultReason::TooManyConnections => {
                "another connection is still open: close it, or wait until the platform closes it"
            }
            FaultReason::ServerError => {
                "the platform has an internal error; the next run asks again"
            }
            FaultReason::Unreachable | FaultReason::Unreadable if (300..400).contains(&status) => {
                "`collector.platform_api` redirects to another address: set it to the platform's \
                    own address"
            }
            FaultReason::Unreachable | FaultReason::Unreadable => {
                "check `collector.platform_api`; the next run asks again"
            }
        };
        text.into()
    }

    /// Returns the hint for a 403.
    fn forbidden_hint(&self) -> String {
        let field = |name: &str, before: &str, after: &str| {
            self.text(name)
                .map(|text| format!("{before}{}{after}", one_line(text, 120)))
                .unwrap_or_default()
        };
        if self.is_problem("unsupported-authentication", "Unsupported Authentication") {
            "this needs another kind of token: for a protected account, a user's access token \
             (OAuth 2.0 user context)"
                .into()
        } else if self.is_problem("client-forbidden", "Client Forbidden") {
            let address = field("registration_url", " at ", "");
            format!("the app may not use this endpoint: attach it to a project that may{address}")
        } else if self.is_problem("credits", "SpendCapReached") {
            let date = field("reset_date", " until ", "");
            format!(
                "the account's spending limit is reached{date}: raise it in the platform's \
                 developer console"
            )
        } else {
            "the app's access level does not cover this: see its level in the platform's developer \
             console, and whether the account's posts are protected"
                .into()
        }
    }
}

/// Returns whether the fault concerns the app's access, so that other requests would fail, too.
pub(super) fn affects_all_requests(fault: &PlatformFault) -> bool {
    matches!(fault.problem.as_str(), "unsupported-authentication" | "client-forbidden" | "credits")
}

/// Returns why an answer with status 200 is not a complete page: `meta` is missing or counts absent
/// posts. Includes the platform's message.
pub(super) fn incompleteness(body: &Map<String, Value>, secret: &str) -> Option<PlatformFault> {
    let meta = body.get("meta").and_then(Value::as_object);
    let count = meta.and_then(|meta| meta.get("result_count")?.as_u64()).unwrap_or(0);
    let has_data = body.get("data").is_some_and(|data| !data.is_null());
    let defect = match meta {
        None => "it has no `meta`",
        Some(_) if count > 0 && !has_data => "it counts posts but contains none",
        Some(_) => return None,
    };
    Some(PlatformFault::unreadable_with_message(defect, body, secret))
}

/// Returns the fault if `errors` say that the account `user` (an id or a handle) is gone, suspended
/// or protected. Valid answers may have `errors` about other objects.
pub(super) fn account_fault(
    body: &Map<String, Value>,
    user: &str,
    secret: &str,
) -> Option<PlatformFault> {
    let body = PlatformErrorBody(body.clone());
    let error = body.errors().find(|error| {
        let text = |name: &str| error.get(name).and_then(Value::as_str);
        let is_about_user =
            ["resource_id", "value"].into_iter().any(|name| text(name) == Some(user));
        is_about_user && text("section").is_none_or(|section| section == "data")
    })?;
    let error = PlatformErrorBody(error.clone());
    let problem = error.problem();
    let is_suspended = error.text("title") == Some("Forbidden");
    let reason = if problem == "resource-not-found" && !is_suspended {
        FaultReason::NotFound
    } else {
        FaultReason::Forbidden
    };
    let hint = match reason {
        FaultReason::NotFound => "check `collector.user_id`: there is no such account".to_owned(),
        _ => {
            "the account is protected or suspended: an app's token cannot read its posts".to_owned()
        }
    };
    Some(PlatformFault { reason, message: error.message(200, secret), hint: hint.into(), problem })
}
