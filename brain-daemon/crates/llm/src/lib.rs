//! Language models: one question, one answer, over whichever shape of API is configured. Knows prompts as little as pages: whoever asks
//! brings the words. Text of strangers goes to a model as data between marks, never as instructions.
//!
//! `openai` and `anthropic` are the two shapes, pure; `ask` puts a question, and enters it into the ledger before it goes out; `stream` hears an answer as it comes, of events by `sse`;
//! `aloud` leaves out what a model thinks; `fault` says what went wrong, and whose fault it is.
//!
//! The key goes into a field of the request's head and nowhere else. What a service says is repeated in errors only after it was looked
//! through: some repeat the key that they refuse.

mod aloud;
mod anthropic;
mod ask;
mod fault;
#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod kept_tests;
mod openai;
mod sse;
mod stream;
#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod stream_tests;
#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests;

use std::sync::Mutex;
use std::time::Duration;

use brain_protocol::Secret;
use serde_json::Value;
use url::Url;

use brain_costs::Till;
use brain_net::{Link, Outgoing};

pub use fault::{ModelFault, Why};

/// Hosts where each answer is paid.
const PAID: [&str; 2] = ["api.openai.com", "api.anthropic.com"];

/// The shape of an API.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Provider {
    /// `POST {base}/chat/completions`.
    OpenAi,
    /// `POST {base}/v1/messages`.
    Anthropic,
}

/// Which models are configured.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Settings {
    /// The shape of their API.
    pub provider: Provider,
    /// Where it is; `None`: at the provider's own address.
    pub base: Option<Url>,
    /// The model that reads text.
    pub model: Option<String>,
    /// The model that reads pictures.
    pub vision_model: Option<String>,
    /// How long nothing may come of an answer: a model on a small machine takes its time before the first byte.
    pub silence: Duration,
}

impl Settings {
    /// Whether the service is reached without TLS: it is on the owner's own machine or network then, and fetches nothing by itself.
    #[must_use]
    pub fn is_near(&self) -> bool {
        self.base.as_ref().is_some_and(|base| base.scheme() == "http")
    }

    /// Whether it is a provider's own service, which is paid.
    #[must_use]
    pub fn is_paid(&self) -> bool {
        self.base
            .as_ref()
            .is_none_or(|base| base.host_str().is_some_and(|host| PAID.contains(&host)))
    }
}

/// A picture that belongs to a question.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Image {
    /// It is there; the service fetches it.
    At(String),
    /// It is this.
    Bytes {
        /// Its media type: `image/jpeg`.
        kind: String,
        /// Its bytes.
        bytes: Vec<u8>,
    },
}

/// A question.
#[derive(Debug, Clone, Default)]
pub struct Question<'a> {
    /// What for, as the ledger names it: `ask`, `ratings`.
    pub purpose: &'static str,
    /// What the model is to do. The owner's and our own words only.
    pub system: &'a str,
    /// What it is to do it with.
    pub text: &'a str,
    /// Pictures, which go before the text.
    pub images: &'a [Image],
    /// From 0 to 1; the model's own when absent. Not sent to a model that takes none.
    pub temperature: Option<f32>,
    /// The most tokens of the answer.
    pub max_tokens: u32,
    /// Whether the answer is to be one JSON object. The words must ask for it, too.
    pub json: bool,
    /// How long it may be waited, in all, for a service that has too much to do before it is asked once more; not at all by default.
    pub busy: Duration,
}

/// An answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reply {
    /// What the model said, without what it thought before.
    pub text: String,
    /// Tokens of the question, as the service counts them; 0 when it does not say.
    pub tokens_in: u64,
    /// Tokens of the answer.
    pub tokens_out: u64,
    /// Why it ended.
    pub finish: Finish,
}

/// Why an answer ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Finish {
    /// The model was through.
    Stop,
    /// It came to `max_tokens`, or to the end of what the model can hold.
    Length,
}

impl Reply {
    /// The JSON object that was asked for; a code fence around it is taken off.
    ///
    /// # Errors
    /// [`Why::Cut`] and [`Why::NotJson`].
    pub fn json(&self) -> Result<Value, ModelFault> {
        let text = self.text.trim();
        let inside = text.strip_prefix("```").and_then(|rest| rest.trim_end().strip_suffix("```"));
        let text = inside.map_or(text, |rest| rest.strip_prefix("json").unwrap_or(rest));
        match serde_json::from_str(text) {
            Ok(value @ Value::Object(_)) => Ok(value),
            _ if self.finish == Finish::Length => Err(ModelFault::cut()),
            _ => Err(ModelFault::not_json()),
        }
    }
}

/// What a model does not take.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct Without {
    /// A temperature.
    temperature: bool,
    /// `response_format`.
    format: bool,
    /// `max_tokens` by this name.
    max_tokens: bool,
    /// `stream_options`, which ask for the count of tokens.
    usage: bool,
}

/// One model, and the way to it.
pub struct Model {
    provider: Provider,
    url: Url,
    name: String,
    link: Box<dyn Link>,
    key: Option<Secret>,
    till: Till,
    silence: Duration,
    /// Learnt from its refusals.
    without: Mutex<Without>,
}

impl Model {
    /// The model `name` of what is configured, paid through `till`. Sends nothing yet.
    ///
    /// # Errors
    /// [`Why::NoKey`] when the provider's own service is asked without one; an address that cannot be called.
    pub fn open(
        settings: &Settings,
        name: &str,
        key: Option<Secret>,
        net: &dyn Outgoing,
        till: Till,
    ) -> Result<Self, ModelFault> {
        let (own, path) = match settings.provider {
            Provider::OpenAi => ("https://api.openai.com/v1", "chat/completions"),
            Provider::Anthropic => ("https://api.anthropic.com", "v1/messages"),
        };
        if settings.base.is_none() && key.is_none() {
            return Err(ModelFault::no_key(own));
        }
        let base = settings.base.as_ref().map_or(own, Url::as_str).trim_end_matches('/');
        // Some write the version into the address, as they do for the other shape.
        let base = match settings.provider {
            Provider::Anthropic => base.strip_suffix("/v1").unwrap_or(base),
            Provider::OpenAi => base,
        };
        let url = Url::parse(&format!("{base}/{path}"))
            .map_err(|e| ModelFault::address(base, &e.to_string()))?;
        let link =
            net.link(&url).map_err(|trouble| ModelFault::address(base, &trouble.to_string()))?;
        let key = key.map(|key| match settings.provider {
            Provider::OpenAi => Secret::new(format!("Bearer {}", key.expose())),
            Provider::Anthropic => key,
        });
        Ok(Self {
            provider: settings.provider,
            url,
            name: name.into(),
            link,
            key,
            till,
            silence: settings.silence,
            without: Mutex::default(),
        })
    }

    /// Its name.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Where it is asked.
    #[must_use]
    pub fn place(&self) -> &str {
        self.url.as_str()
    }
}

/// What an answer is.
enum Said {
    /// Text, and why it ended.
    Text(String, Finish),
    /// The model, or who watches over it, does not want to.
    Refused,
}
