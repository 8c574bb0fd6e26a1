//! What goes wrong with an endpoint, and what is to be done: ask again, ask for less, or give up. Pure.
//!
//! Of what a service says only what it calls the problem is repeated: its words may have the key in them, or the text of pages.

use serde_json::Value;
use url::Url;

use crate::{EmbedFault, EmbedWhy};
use brain_net::{Answer, Trouble};

/// An account without credit is looked at again after this, in seconds.
const CREDIT: u64 = 3600;
/// Words by which services say that there is too much in a request.
const TOO_LONG: [&str; 10] = [
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

/// What is to be done about a call that did not come to vectors.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Then {
    /// Ask again, after so many seconds where it says so; when that does not help, this.
    Again(Option<u64>, EmbedFault),
    /// Ask for half of it; when it cannot be halved, this.
    Less(EmbedFault),
    /// Give up.
    Fail(EmbedFault),
}

/// Which endpoint, for words.
#[derive(Debug, Clone)]
pub(super) struct Named {
    /// Where it is.
    pub(super) url: Url,
    /// The model.
    pub(super) model: String,
    /// Whether there is a key.
    pub(super) keyed: bool,
}

impl Named {
    fn fault(&self, why: EmbedWhy, what: &str, hint: &str) -> EmbedFault {
        let message = format!("the embedding model \"{}\" at {} {what}", self.model, self.url);
        EmbedFault { why, message, hint: Some(hint.to_owned()) }
    }

    /// No answer came, or not all of it.
    pub(super) fn trouble(&self, trouble: &Trouble) -> Then {
        let hint = "is it running? check embedding.base_url and the network; search goes on with full text";
        let fault = self.fault(EmbedWhy::Later(None), &format!("does not answer: {trouble}"), hint);
        match trouble {
            Trouble::Address(_) | Trouble::Setup(_) => {
                Then::Fail(EmbedFault { why: EmbedWhy::Refused, ..fault })
            }
            _ => Then::Again(None, fault),
        }
    }

    /// What it answers is nonsense.
    pub(super) fn nonsense(&self, what: &str) -> EmbedFault {
        let hint = "check that embedding.base_url is an endpoint of the openai shape, and embedding.model one for vectors";
        self.fault(
            EmbedWhy::Later(None),
            &format!("does not answer with vectors: its answer {what}"),
            hint,
        )
    }

    /// The whole of it took too long.
    pub(super) fn late(&self, seconds: u64) -> EmbedFault {
        let what = format!("has not answered within {seconds} seconds");
        self.fault(EmbedWhy::Later(None), &what, "a smaller or nearer model answers sooner")
    }

    /// It was told to stop.
    pub(super) fn stopped(&self) -> EmbedFault {
        self.fault(EmbedWhy::Stopped, "was not waited for", "it is asked again later")
    }

    /// What a status other than 200 means.
    pub(super) fn refusal(&self, answer: &Answer) -> Then {
        use EmbedWhy::{Later, Refused, Text};
        let (status, wait) = (answer.status, retry_after(answer));
        let said = String::from_utf8_lossy(&answer.body).to_lowercase();
        let problem = problem(&answer.body);
        let told = if problem.is_empty() { String::new() } else { format!(" ({problem})") };
        let what = format!("answers with status {status}{told}");
        let fault = |why, hint: &str| self.fault(why, &what, hint);
        let spent = said.contains("insufficient_quota") || said.contains("credit balance");
        match status {
            401 | 403 if !self.keyed => Then::Fail(fault(
                Refused,
                "put the key into secrets/embedding-api-key in the brain's home (mode 600), or set BRAIN_EMBEDDING_API_KEY or embedding.api_key_file",
            )),
            401 | 403 => Then::Fail(fault(
                Refused,
                "the key is refused, or may not use this model: check embedding-api-key and embedding.model",
            )),
            402 => Then::Fail(fault(Later(Some(CREDIT)), "the account has no credit: add some")),
            400 | 429 if spent => {
                Then::Fail(fault(Later(Some(CREDIT)), "the account has no credit: add some"))
            }
            404 | 405 => Then::Fail(fault(
                Refused,
                "check embedding.base_url, and that it has this model (`ollama pull NAME` for Ollama)",
            )),
            408 => Then::Again(wait, fault(Later(wait), "it is asked again later")),
            429 => Then::Again(
                wait,
                fault(Later(wait), "it limits how often it is asked; it is asked again later"),
            ),
            // Some servers call it their own fault that a text does not fit.
            400 | 413 | 422 | 500
                if status == 413 || TOO_LONG.iter().any(|words| said.contains(words)) =>
            {
                Then::Less(fault(Text, "it takes shorter texts only: another model may do"))
            }
            500.. => Then::Again(
                wait,
                fault(Later(wait), "look at the service's own log; it is asked again later"),
            ),
            _ => Then::Fail(fault(
                Refused,
                "it does not take such a request: check embedding.model and embedding.dimensions",
            )),
        }
    }
}

/// The seconds that a service asks to wait. One that names a date is asked again in our own time.
fn retry_after(answer: &Answer) -> Option<u64> {
    answer.header("retry-after")?.trim().parse().ok()
}

/// What an error's body calls the problem: `type`, `code` and `param` where they are plain names.
fn problem(body: &[u8]) -> String {
    let value: Value = serde_json::from_slice(body).unwrap_or_default();
    let plain = |text: &&str| {
        (1..=40).contains(&text.len()) && text.bytes().all(|b| b.is_ascii_lowercase() || b == b'_')
    };
    let names =
        ["type", "code", "param"].into_iter().filter_map(|name| value["error"][name].as_str());
    names.filter(plain).collect::<Vec<_>>().join(", ")
}
