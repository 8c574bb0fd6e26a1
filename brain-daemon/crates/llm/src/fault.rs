//! What goes wrong with a model, told apart for whoever has to mend it, and for whoever decides whether to ask again.

use brain_protocol::Secret;
use serde_json::Value;
use url::Url;

use super::{Question, Without};
use brain_costs::CostFault;
use brain_net::{Answer, Trouble};

/// How much of what a service says is repeated, in characters.
const REPEATED: usize = 200;

/// Why there is no answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Why {
    /// There is no key, and the service wants one.
    NoKey,
    /// 401 or 403: the key is refused, or may not do this.
    Unauthorized,
    /// 402, or a 4xx that says that the credit or the allowance is used up.
    Payment,
    /// 404: no such model, or nothing of this shape at that address.
    NotFound,
    /// 429; the seconds that the service asks to wait, where it says so.
    RateLimited(Option<u64>),
    /// 503 or 529: the service has too much to do, or is starting.
    Overloaded,
    /// Another 5xx.
    ServerError,
    /// No answer in time.
    Slow,
    /// No connection.
    Unreachable,
    /// The answer broke off.
    Broken,
    /// Another 4xx: the question is not one that it takes.
    Invalid,
    /// The model does not want to answer.
    Refused,
    /// The answer is longer than it may be, so it was cut.
    Cut,
    /// The answer is no JSON, although that was asked for.
    NotJson,
    /// The answer is not of the shape that is configured.
    Unreadable,
    /// We are stopping, or nobody waits any more.
    Stopped,
    /// It might cost more than is left of its budget. Nothing was sent.
    Budget,
    /// It cannot be entered into the ledger. Nothing was sent.
    Ledger,
}

impl Why {
    /// Whether the service is the reason, so that no other question need be asked now.
    #[must_use]
    pub fn is_the_services(self) -> bool {
        !matches!(
            self,
            Self::Invalid | Self::Refused | Self::Cut | Self::NotJson | Self::Unreadable
        )
    }

    /// Whether the question may be the reason, so that it counts as tried.
    #[must_use]
    pub fn may_be_the_questions(self) -> bool {
        !self.is_the_services() || matches!(self, Self::ServerError | Self::Slow)
    }
}

/// Why there is no answer, in words too.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message}; {hint}")]
pub struct ModelFault {
    /// Why.
    pub why: Why,
    /// What happened, to what. Never the key.
    pub message: String,
    /// The way out.
    pub hint: String,
    /// What of the answer came before, without what the model thought.
    pub came: String,
}

impl ModelFault {
    fn new(why: Why, message: impl Into<String>, hint: impl Into<String>) -> Self {
        Self { why, message: message.into(), hint: hint.into(), came: String::new() }
    }

    /// The same after a part of the answer.
    pub(super) fn after(self, came: String) -> Self {
        Self { came, ..self }
    }

    pub(super) fn cost(fault: &CostFault) -> Self {
        let (why, hint) = match fault {
            CostFault::OverBudget { .. } => {
                (Why::Budget, "allow it to cost more, or give it less to read")
            }
            CostFault::Ledger { .. } => (
                Why::Ledger,
                "nothing is paid that is not entered there: mend that first; `brain doctor`",
            ),
        };
        Self::new(why, fault.to_string(), hint)
    }

    pub(super) fn no_key(place: &str) -> Self {
        let message = format!("there is no key for the language model at {place}");
        Self::new(
            Why::NoKey,
            message,
            "put it into secrets/llm-api-key in the brain's home (mode 600), or set BRAIN_LLM_API_KEY or llm.api_key_file",
        )
    }

    pub(super) fn address(base: &str, why: &str) -> Self {
        let message = format!("the language model at {base} cannot be called: {why}");
        Self::new(Why::Unreachable, message, "check llm.base_url")
    }

    pub(super) fn trouble(url: &Url, trouble: &Trouble) -> Self {
        let why = match trouble {
            Trouble::Slow(_) => Why::Slow,
            Trouble::Large(_) => Why::Unreadable,
            Trouble::Broken(_) => Why::Broken,
            _ => Why::Unreachable,
        };
        let hint = match why {
            Why::Slow => {
                "a smaller or nearer model answers sooner; llm.silence is how long it is waited for"
            }
            Why::Broken => "ask again; if it goes on, look at the service's own log",
            _ => "is it running? check llm.base_url and the network",
        };
        Self::new(why, format!("the language model at {url} does not answer: {trouble}"), hint)
    }

    pub(super) fn refusal(url: &Url, model: &str, answer: &Answer, key: Option<&Secret>) -> Self {
        let status = answer.status;
        let (words, problem) = problem(&answer.body);
        let is = |names: &[&str]| names.iter().any(|name| problem.contains(name));
        let spent =
            is(&["insufficient_quota", "billing"]) || words.contains("credit balance is too low");
        let why = match status {
            401 if key.is_none() => Why::NoKey,
            401 | 403 => Why::Unauthorized,
            402 => Why::Payment,
            400 | 429 if spent => Why::Payment,
            404 => Why::NotFound,
            429 => Why::RateLimited(
                answer.header("retry-after").and_then(|text| text.trim().parse().ok()),
            ),
            503 | 529 => Why::Overloaded,
            500.. => Why::ServerError,
            _ => Why::Invalid,
        };
        if why == Why::NoKey {
            return Self::no_key(url.as_str());
        }
        // Who refuses a key may repeat it, or parts of it.
        let words = if why == Why::Unauthorized { String::new() } else { repeated(&words, key) };
        let said = if words.is_empty() { String::new() } else { format!(": {words}") };
        let hint = match why {
            Why::Unauthorized => {
                "the key is refused, or may not use this model: check llm-api-key and llm.model".into()
            }
            Why::Payment => "the account has no credit: add some, or choose another model".into(),
            Why::NotFound => {
                format!("check that llm.base_url is right, and that it has the model \"{model}\"")
            }
            Why::RateLimited(_) | Why::Overloaded => "it has too much to do now; later it may answer".into(),
            Why::ServerError => "look at the service's own log; later it may answer".into(),
            _ => "the service or the model does not take such a question: check llm.provider and llm.model"
                .into(),
        };
        Self::new(
            why,
            format!("the language model at {url} answers with status {status}{said}"),
            hint,
        )
    }

    pub(super) fn refused(model: &str) -> Self {
        Self::new(
            Why::Refused,
            format!("the model \"{model}\" does not want to answer"),
            "another model may",
        )
    }

    /// The answer was cut at its length.
    #[must_use]
    pub fn cut() -> Self {
        Self::new(
            Why::Cut,
            "the model's answer was cut at its length",
            "a model that thinks less at length may do",
        )
    }

    /// The model said nothing at all.
    #[must_use]
    pub fn empty(model: &str) -> Self {
        let message = format!("the model \"{model}\" said nothing");
        Self::new(Why::Unreadable, message, "another model may do")
    }

    pub(super) fn not_json() -> Self {
        Self::new(
            Why::NotJson,
            "the model's answer is not the JSON that was asked for",
            "a larger model may do",
        )
    }

    pub(super) fn unreadable(url: &Url) -> Self {
        let message = format!("what {url} answers is not an answer of a language model");
        Self::new(Why::Unreadable, message, "check llm.provider and llm.base_url")
    }

    pub(super) fn late(url: &Url, seconds: u64) -> Self {
        let message = format!("the language model at {url} is not through after {seconds} seconds");
        Self::new(Why::Slow, message, "a smaller or nearer model answers sooner")
    }

    pub(super) fn broken(url: &Url) -> Self {
        let message = format!("the answer of the language model at {url} broke off");
        Self::new(Why::Broken, message, "ask again; if it goes on, look at the service's own log")
    }

    /// The service said in the middle of its answer that it goes on no more. `kind` is what it calls that.
    pub(super) fn told(url: &Url, kind: &str, words: &str, key: Option<&Secret>) -> Self {
        let why = match kind {
            "overloaded_error" => Why::Overloaded,
            "rate_limit_error" | "rate_limit_exceeded" => Why::RateLimited(None),
            _ => Why::ServerError,
        };
        let words = repeated(words, key);
        let said = if words.is_empty() { String::new() } else { format!(": {words}") };
        let message =
            format!("the language model at {url} gave up in the middle of its answer{said}");
        Self::new(why, message, "ask again; if it goes on, look at the service's own log")
    }

    pub(super) fn stopped() -> Self {
        Self::new(
            Why::Stopped,
            "the question was given up: brain is stopping, or nobody waits any more",
            "ask again",
        )
    }
}

/// What the question may be asked without after this answer: the service says that it does not take what was sent. `None` when it
/// says nothing of the kind.
pub(super) fn declined(
    answer: &Answer,
    without: Without,
    question: &Question<'_>,
) -> Option<Without> {
    if !matches!(answer.status, 400 | 422) {
        return None;
    }
    let text = String::from_utf8_lossy(&answer.body);
    let more = Without {
        temperature: without.temperature
            || (question.temperature.is_some() && text.contains("temperature")),
        format: without.format || (question.json && text.contains("response_format")),
        max_tokens: without.max_tokens || text.contains("max_completion_tokens"),
        usage: without.usage || text.contains("stream_options"),
    };
    (more != without).then_some(more)
}

/// What an error's body says, and what it calls that: `{"error": {"message", "type", "code"}}`, or `{"error": "…"}`.
fn problem(body: &[u8]) -> (String, String) {
    let value: Value = serde_json::from_slice(body).unwrap_or_default();
    let error = &value["error"];
    let text = |name: &str| error[name].as_str().unwrap_or_default();
    (words(error), format!("{} {}", text("type"), text("code")))
}

/// What an error of a service says.
pub(super) fn words(error: &Value) -> String {
    error.as_str().or_else(|| error["message"].as_str()).unwrap_or_default().to_owned()
}

/// A service's words on one line, bounded, without the key.
fn repeated(words: &str, key: Option<&Secret>) -> String {
    let bare = key.map(|key| key.expose().trim_start_matches("Bearer "));
    let words = bare.map_or_else(|| words.to_owned(), |key| words.replace(key, "…"));
    let seen = words.chars().map(|c| if c.is_control() || steers(c) { ' ' } else { c });
    seen.collect::<String>()
        .split_whitespace()
        .collect::<Vec<_>>()
        .join(" ")
        .chars()
        .take(REPEATED)
        .collect()
}

/// Characters that end a line or turn the direction of a text.
fn steers(c: char) -> bool {
    matches!(c, '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}
