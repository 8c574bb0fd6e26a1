//! Clients of language models: one question, one answer.
//!
//! The crate knows neither pages nor prompts; callers bring the text. Untrusted text goes to a
//! model as data between delimiters, never as instructions.
//!
//! `openai` and `anthropic` are the two supported APIs, without I/O. `ask` enters a question into
//! the ledger and sends it. `stream` reads responses, `sse` parses server-sent events, and
//! `stream_state` has what they report. `strip_thinking` removes a model's reasoning. `error`
//! classifies failures. [`LanguageModels`] opens the models of the configuration.
//!
//! The key is sent in one request header and appears nowhere else. Messages of a service are
//! sanitised before they are repeated in errors: some repeat the key that they reject.

mod anthropic;
mod ask;
#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod connection_reuse_tests;
mod error;
mod language_models;
mod openai;
mod settings;
mod sse;
mod stream;
mod stream_state;
#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod stream_tests;
mod strip_thinking;
#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests;

use std::time::Duration;

use brain_protocol::Secret;
use parking_lot::Mutex;
use serde_json::Value;
use url::Url;

use brain_costs::CostMeter;
use brain_net::{HttpClient, RetryingClient};

pub use error::{ModelError, ModelErrorKind};
pub use language_models::{LanguageModels, model_fault};
pub use settings::price;

/// Hosts of services that charge for each call.
const PAID_HOSTS: [&str; 2] = ["api.openai.com", "api.anthropic.com"];

/// A supported API.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Provider {
    /// `POST {base}/chat/completions`.
    OpenAi,
    /// `POST {base}/v1/messages`.
    Anthropic,
}

/// The configured models and their service.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ModelSettings {
    /// The API of the service.
    pub provider: Provider,
    /// The base address; `None` means the provider's own.
    pub base: Option<Url>,
    /// The model that reads text.
    pub model: Option<String>,
    /// The model that reads pictures.
    pub vision_model: Option<String>,
    /// Time limit between two chunks of an answer. A model on a small machine needs long for the
    /// first one.
    pub idle_timeout: Duration,
}

impl ModelSettings {
    /// Returns whether the service is reached without TLS. Such a service is taken for one in the
    /// owner's network that does not fetch images by itself.
    #[must_use]
    pub fn is_local(&self) -> bool {
        self.base.as_ref().is_some_and(|base| base.scheme() == "http")
    }

    /// Returns whether the service is known to charge for calls, by its host.
    #[must_use]
    pub fn is_paid(&self) -> bool {
        self.base
            .as_ref()
            .is_none_or(|base| base.host_str().is_some_and(|host| PAID_HOSTS.contains(&host)))
    }
}

/// An image in a question.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Image {
    /// An address that the service fetches.
    Url(String),
    /// The image itself.
    Bytes {
        /// Its media type: `image/jpeg`.
        kind: String,
        /// Its bytes.
        bytes: Vec<u8>,
    },
}

/// A question.
#[derive(Debug, Clone, Default)]
pub struct ModelQuestion<'a> {
    /// The purpose in the ledger: `ask`, `ratings`.
    pub purpose: &'static str,
    /// The system prompt: instructions. Trusted text only.
    pub system: &'a str,
    /// The user prompt.
    pub text: &'a str,
    /// The ids of the pages whose text is in the question, for the log of outgoing requests.
    pub pages: &'a [u64],
    /// Images, sent before the text.
    pub images: &'a [Image],
    /// From 0 to 1; the model's default when absent. Not sent to a model that rejects it.
    pub temperature: Option<f32>,
    /// Maximum number of output tokens.
    pub max_tokens: u32,
    /// Whether the answer must be one JSON object. The prompt must ask for it, too.
    pub json: bool,
    /// Total time to wait for an overloaded service before retries; none by default.
    pub max_retry_wait: Duration,
}

/// An answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ModelReply {
    /// The text of the answer, without the model's reasoning.
    pub text: String,
    /// Input tokens by the service's count; 0 when it reports none.
    pub tokens_in: u64,
    /// Output tokens.
    pub tokens_out: u64,
    /// Why the answer ended.
    pub finish: Finish,
}

/// Why an answer ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Finish {
    /// The answer is complete.
    Stop,
    /// The answer reached `max_tokens`, or the model's context limit.
    Length,
}

impl ModelReply {
    /// Parses the answer as a JSON object, with or without a code fence around it.
    ///
    /// # Errors
    /// [`ModelErrorKind::Truncated`] when the answer was cut off; else [`ModelErrorKind::NotJson`].
    pub fn json(&self) -> Result<Value, ModelError> {
        let text = self.text.trim();
        let inside = text.strip_prefix("```").and_then(|rest| rest.trim_end().strip_suffix("```"));
        let text = inside.map_or(text, |rest| rest.strip_prefix("json").unwrap_or(rest));
        match serde_json::from_str(text) {
            Ok(value @ Value::Object(_)) => Ok(value),
            _ if self.finish == Finish::Length => Err(ModelError::truncated()),
            _ => Err(ModelError::not_json()),
        }
    }
}

/// Options that a model rejects.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct UnsupportedOptions {
    /// `temperature`.
    temperature: bool,
    /// `response_format`.
    format: bool,
    /// `max_tokens`; the model expects `max_completion_tokens`.
    max_tokens: bool,
    /// `stream_options`, which request token counts.
    usage: bool,
}

/// A client of one model.
pub struct Model {
    provider: Provider,
    url: Url,
    name: String,
    client: Box<dyn RetryingClient>,
    key: Option<Secret>,
    meter: CostMeter,
    idle_timeout: Duration,
    /// Options that error responses rejected.
    unsupported: Mutex<UnsupportedOptions>,
}

impl Model {
    /// Creates a client of the model `name`. Calls are charged to `meter`. Sends nothing.
    ///
    /// # Errors
    /// [`ModelErrorKind::NoKey`] when a provider's own service is used without a key;
    /// [`ModelErrorKind::Unreachable`] when no client can be made for the address.
    pub fn open(
        settings: &ModelSettings,
        name: &str,
        key: Option<Secret>,
        net: &dyn HttpClient,
        meter: CostMeter,
    ) -> Result<Self, ModelError> {
        let (default_base, path) = match settings.provider {
            Provider::OpenAi => ("https://api.openai.com/v1", "chat/completions"),
            Provider::Anthropic => ("https://api.anthropic.com", "v1/messages"),
        };
        if settings.base.is_none() && key.is_none() {
            return Err(ModelError::no_key(default_base));
        }
        let base = settings.base.as_ref().map_or(default_base, Url::as_str).trim_end_matches('/');
        // Accepts a base URL that ends with the version, as OpenAI's does.
        let base = match settings.provider {
            Provider::Anthropic => base.strip_suffix("/v1").unwrap_or(base),
            Provider::OpenAi => base,
        };
        let url = Url::parse(&format!("{base}/{path}"))
            .map_err(|e| ModelError::address(base, &e.to_string()))?;
        let client = net
            .retrying_client(&url)
            .map_err(|error| ModelError::address(base, &error.to_string()))?;
        let key = key.map(|key| match settings.provider {
            Provider::OpenAi => Secret::new(format!("Bearer {}", key.expose())),
            Provider::Anthropic => key,
        });
        Ok(Self {
            provider: settings.provider,
            url,
            name: name.into(),
            client,
            key,
            meter,
            idle_timeout: settings.idle_timeout,
            unsupported: Mutex::default(),
        })
    }

    /// Returns the name of the model.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns the address of the API.
    #[must_use]
    pub fn endpoint(&self) -> &str {
        self.url.as_str()
    }
}

/// The content of a response.
enum Completion {
    /// Text, and why it ended.
    Text(String, Finish),
    /// The model or its content filter refuses to answer.
    Refused,
}
