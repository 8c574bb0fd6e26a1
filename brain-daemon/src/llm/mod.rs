//! Language models: one question, one answer, over whichever shape of API is configured. Knows prompts as little as pages: whoever asks
//! brings the words. Text of strangers goes to a model as data between marks, never as instructions.
//!
//! `openai` and `anthropic` are the two shapes, pure; `fault` says what went wrong, and whose fault it is.
//!
//! The key goes into a field of the request's head and nowhere else. What a service says is repeated in errors only after it was looked
//! through: some repeat the key that they refuse.

mod anthropic;
mod fault;
mod openai;
#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests;

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use brain_protocol::Secret;
use serde_json::Value;
use url::Url;

use crate::net::{Answer, Call, Link, Outgoing, Part};

pub use fault::{ModelFault, Why};

/// How long nothing may come: a model on a small machine takes its time before the first byte of an answer.
const SILENCE: Duration = Duration::from_secs(180);
/// The longest answer, in bytes of JSON.
const MOST: usize = 1024 * 1024;
/// What a question may be asked without, one after the other.
const TRIES: usize = 4;

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
}

impl Settings {
    /// Whether the service is reached without TLS: it is on the owner's own machine or network then, and fetches nothing by itself.
    #[must_use]
    pub fn is_near(&self) -> bool {
        self.base.as_ref().is_some_and(|base| base.scheme() == "http")
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
}

/// One model, and the way to it.
pub struct Model {
    provider: Provider,
    url: Url,
    name: String,
    link: Box<dyn Link>,
    key: Option<Secret>,
    /// Learnt from its refusals.
    without: Mutex<Without>,
}

impl Model {
    /// The model `name` of what is configured. Sends nothing yet.
    ///
    /// # Errors
    /// [`Why::NoKey`] when the provider's own service is asked without one; an address that cannot be called.
    pub fn open(
        settings: &Settings,
        name: &str,
        key: Option<Secret>,
        net: &dyn Outgoing,
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
        let url =
            Url::parse(&format!("{base}/{path}")).map_err(|e| ModelFault::address(base, &e.to_string()))?;
        let link = net.link(&url).map_err(|trouble| ModelFault::address(base, &trouble.to_string()))?;
        let key = key.map(|key| match settings.provider {
            Provider::OpenAi => Secret::new(format!("Bearer {}", key.expose())),
            Provider::Anthropic => key,
        });
        Ok(Self { provider: settings.provider, url, name: name.into(), link, key, without: Mutex::default() })
    }

    /// Its name.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Asks. `goes_on` is looked at each second; `false` ends the call. Blocks, for minutes at the worst.
    ///
    /// # Errors
    /// Why there is no answer.
    pub fn ask(&self, question: &Question<'_>, goes_on: &dyn Fn() -> bool) -> Result<Reply, ModelFault> {
        for _ in 1..TRIES {
            let without = *self.without();
            let answer = self.send(question, without, goes_on)?;
            match fault::declined(&answer, without, question) {
                Some(more) => *self.without() = more,
                None => return self.read(&answer),
            }
        }
        let without = *self.without();
        self.read(&self.send(question, without, goes_on)?)
    }

    fn without(&self) -> MutexGuard<'_, Without> {
        self.without.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn send(
        &self,
        question: &Question<'_>,
        without: Without,
        goes_on: &dyn Fn() -> bool,
    ) -> Result<Answer, ModelFault> {
        let body = match self.provider {
            Provider::OpenAi => openai::body(&self.name, question, without),
            Provider::Anthropic => anthropic::body(&self.name, question, without),
        };
        let body = body.to_string();
        let mut headers = vec![("content-type", "application/json"), ("accept", "application/json")];
        if self.provider == Provider::Anthropic {
            headers.push(("anthropic-version", anthropic::VERSION));
            headers.extend(self.key.as_ref().map(|key| ("x-api-key", key.expose())));
        }
        let call = Call {
            url: &self.url,
            body: Some(body.as_bytes()),
            headers: &headers,
            authorization: self.key.as_ref().filter(|_| self.provider == Provider::OpenAi),
            public: false,
            enough: |_| false,
        };
        let (mut come, mut stopped) = (Vec::new(), false);
        let answer = self.link.follow(&call, SILENCE, &mut |part| {
            if let Part::Bytes(bytes) = part {
                come.extend_from_slice(bytes);
            }
            stopped = !goes_on();
            !stopped && come.len() <= MOST
        });
        let mut answer = answer.map_err(|trouble| ModelFault::trouble(&self.url, &trouble))?;
        if stopped {
            return Err(ModelFault::stopped());
        }
        if answer.status == 200 {
            answer.body = come;
        }
        Ok(answer)
    }

    fn read(&self, answer: &Answer) -> Result<Reply, ModelFault> {
        if answer.status != 200 {
            return Err(ModelFault::refusal(&self.url, &self.name, answer, self.key.as_ref()));
        }
        let value: Option<Value> = serde_json::from_slice(&answer.body).ok();
        let read = value.as_ref().and_then(|value| match self.provider {
            Provider::OpenAi => openai::read(value),
            Provider::Anthropic => anthropic::read(value),
        });
        match read {
            Some(Said::Text(reply)) => Ok(Reply { text: said(&reply.text).to_owned(), ..reply }),
            Some(Said::Refused) => Err(ModelFault::refused(&self.name)),
            None => Err(ModelFault::unreadable(&self.url)),
        }
    }
}

/// What an answer is.
enum Said {
    /// Text.
    Text(Reply),
    /// The model, or who watches over it, does not want to.
    Refused,
}

/// What a model says without what it thinks aloud before.
fn said(text: &str) -> &str {
    let text = text.trim();
    let thought = text.strip_prefix("<think>").and_then(|rest| rest.split_once("</think>"));
    thought.map_or(text, |(_, said)| said.trim())
}
