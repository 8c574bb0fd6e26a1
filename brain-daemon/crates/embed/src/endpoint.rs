//! Vectors from an endpoint with OpenAI's embedding API: `POST {base}/embeddings`.
//!
//! OpenAI, Voyage, Ollama, llama.cpp, vLLM and others have this API. `response` parses answers, and
//! `error` decides what to do about failures; both do no I/O. The key is sent only in the request's
//! header. Messages repeat only an endpoint's name for a problem.

mod error;
mod response;
#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests;

use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use brain_protocol::{Command, Secret, hint};
use serde_json::{Value, json};
use url::Url;

use super::{EmbedError, EmbedErrorKind, Embedder, VectorPurpose, VectorSpace};
use brain_base::backoff::Backoff;
use brain_costs::{CostError, Ledger, OpenCall, Price};
use brain_net::{Error as NetError, HttpClient, HttpRequest, Reason, RetryingClient, StreamEvent};

use error::{EndpointLabel, FailedCall};
use response::EmbeddingResponse;

/// OpenAI's own address.
const OPENAI: &str = "https://api.openai.com/v1";
/// Host of the service that distinguishes questions and documents.
const VOYAGE: &str = "voyageai.com";
/// Maximum texts in a request.
const MAX_BATCH_TEXTS: usize = 64;
/// Maximum bytes of texts in a request. Some services limit tokens; a byte is at most one.
const MAX_BATCH_BYTES: usize = 96 * 1024;
/// Maximum bytes of a text. Longer texts are truncated; a window of a page is far shorter.
const MAX_TEXT_BYTES: usize = 32 * 1024;
/// A text that is refused for its length is halved if it has at least this many bytes.
const MIN_HALVED_BYTES: usize = 64;
/// Maximum bytes of a response: 64 vectors of 8192 numbers as text.
const MAX_RESPONSE_BYTES: usize = 16 * 1024 * 1024;
/// Text that is sent to learn the length of vectors.
const PROBE: &str = "brain";

/// Maximum pause before a retry, unless the service names a longer one.
const MAX_PAUSE: Duration = Duration::from_secs(30);

/// Timeouts and retries.
#[derive(Debug, Clone, Copy)]
struct RetryPolicy {
    /// Maximum time without data from the endpoint.
    idle_timeout: Duration,
    /// Maximum time of a request, including retries.
    timeout: Duration,
    /// Maximum retries.
    max_retries: u32,
    /// Pauses before retries, unless the service names a longer one.
    backoff: Backoff,
}

impl RetryPolicy {
    /// For questions: a caller waits.
    const QUERY: Self = Self {
        idle_timeout: Duration::from_secs(2),
        timeout: Duration::from_secs(3),
        max_retries: 1,
        backoff: Backoff::new(Duration::from_millis(100), MAX_PAUSE),
    };
    /// For pages: no caller waits. A model on a small machine is slow.
    const DOCUMENT: Self = Self {
        idle_timeout: Duration::from_secs(60),
        timeout: Duration::from_secs(180),
        max_retries: 5,
        backoff: Backoff::new(Duration::from_secs(1), MAX_PAUSE),
    };
}

/// Returns the key. Called before each use, so that a new key needs no restart.
pub type KeyProvider = Box<dyn Fn() -> Result<Option<Secret>, EmbedError> + Send + Sync>;

/// Configuration of an endpoint; see [`super::EmbedSettings::Endpoint`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EndpointSettings {
    /// Base address; `None` for OpenAI's own.
    pub base: Option<Url>,
    /// The model's name at the endpoint.
    pub model: String,
    /// Prefix of a question.
    pub query_prefix: String,
    /// Prefix of a window of a page.
    pub document_prefix: String,
    /// Requested length of vectors; `None` for the model's own.
    pub dimensions: Option<u32>,
}

/// A client of one endpoint.
pub struct EndpointClient {
    settings: EndpointSettings,
    url: Url,
    client: Box<dyn RetryingClient>,
    key: KeyProvider,
    price: Price,
    ledger: Arc<Ledger>,
    /// Set by the configuration or the first response; later responses must agree.
    dimensions: OnceLock<usize>,
    /// The policies for questions and for pages.
    policy: [RetryPolicy; 2],
}

impl EndpointClient {
    /// Creates the client. Sends nothing yet.
    ///
    /// # Errors
    /// [`EmbedErrorKind::Model`] when no model is named, or no client can be made for the address.
    pub fn open(
        settings: EndpointSettings,
        net: &dyn HttpClient,
        key: KeyProvider,
        price: Price,
        ledger: Arc<Ledger>,
    ) -> Result<Self, EmbedError> {
        let model_error = |message: String, hint: &str| EmbedError {
            kind: EmbedErrorKind::Model,
            message,
            hint: Some(hint.into()),
        };
        if settings.model.is_empty() {
            let message = "no embedding model is named".to_owned();
            let hint = "set embedding.model, for example to \"nomic-embed-text\"";
            return Err(model_error(message, hint));
        }
        let base = settings.base.as_ref().map_or(OPENAI, Url::as_str).trim_end_matches('/');
        let address_error = |reason: String| {
            model_error(
                format!("the embedding model at {base} cannot be called: {reason}"),
                "check embedding.base_url",
            )
        };
        let url =
            Url::parse(&format!("{base}/embeddings")).map_err(|e| address_error(e.to_string()))?;
        let client =
            net.retrying_client(&url).map_err(|net_error| address_error(net_error.to_string()))?;
        let dimensions = OnceLock::new();
        if let Some(length) = settings.dimensions {
            // The first response must have a configured length, too.
            let _ = dimensions.set(length as usize);
        }
        let policy = [RetryPolicy::QUERY, RetryPolicy::DOCUMENT];
        Ok(Self { settings, url, client, key, price, ledger, dimensions, policy })
    }

    fn is_voyage(&self) -> bool {
        let host = self.url.host_str().unwrap_or_default();
        host.strip_suffix(VOYAGE).is_some_and(|rest| rest.is_empty() || rest.ends_with('.'))
    }

    /// Returns the body of a request.
    fn body(&self, texts: &[&str], purpose: VectorPurpose) -> Value {
        let mut body = json!({ "model": self.settings.model, "input": texts });
        if self.is_voyage() {
            body["input_type"] = match purpose {
                VectorPurpose::Query => "query".into(),
                VectorPurpose::Document => "document".into(),
            };
            if let Some(length) = self.settings.dimensions {
                body["output_dimension"] = length.into();
            }
        } else {
            body["encoding_format"] = "float".into();
            if let Some(length) = self.settings.dimensions {
                body["dimensions"] = length.into();
            }
        }
        body
    }

    /// Returns the vectors of these texts. Splits a batch that is too large for the endpoint.
    fn batch(
        &self,
        inputs: &[Input<'_>],
        context: &RequestContext<'_>,
    ) -> Result<Vec<Vec<f32>>, EmbedError> {
        match self.request_with_retries(inputs, context) {
            Err(FailedCall::Split(fault)) => match inputs {
                [(text, _)] if text.len() < MIN_HALVED_BYTES => Err(fault),
                [(text, page)] => self.batch(&[(truncate(text, text.len() / 2), *page)], context),
                _ => {
                    let (first, second) = inputs.split_at(inputs.len() / 2);
                    let mut vectors = self.batch(first, context)?;
                    vectors.extend(self.batch(second, context)?);
                    Ok(vectors)
                }
            },
            Err(FailedCall::Retry(_, fault) | FailedCall::Fail(fault)) => Err(fault),
            Ok(vectors) => Ok(vectors),
        }
    }

    /// Sends a request, with retries if they can help.
    fn request_with_retries(
        &self,
        inputs: &[Input<'_>],
        context: &RequestContext<'_>,
    ) -> Result<Vec<Vec<f32>>, FailedCall> {
        let begun = Instant::now();
        let texts: Vec<&str> = inputs.iter().map(|(text, _)| *text).collect();
        let mut pages: Vec<u64> = inputs.iter().filter_map(|(_, page)| *page).collect();
        pages.dedup();
        let reason = Reason::with_pages("embedding", pages);
        for retries in 0..=context.policy.max_retries {
            let deadline = begun + context.policy.timeout;
            let (wait, fault) = match self.request(&texts, context, (&reason, deadline)) {
                Err(FailedCall::Retry(wait, fault)) if retries < context.policy.max_retries => {
                    (wait, fault)
                }
                other => return other,
            };
            let pause = context.policy.backoff.pause(retries);
            let wait = wait.map_or(pause, Duration::from_secs).max(pause);
            if begun.elapsed() + wait >= context.policy.timeout {
                return Err(FailedCall::Fail(fault));
            }
            self.wait(wait, context)?;
        }
        Err(FailedCall::Fail(context.label.timed_out(context.policy.timeout.as_secs())))
    }

    /// Waits, unless the caller stops the work.
    fn wait(&self, wait: Duration, context: &RequestContext<'_>) -> Result<(), FailedCall> {
        let until = Instant::now() + wait;
        loop {
            if !(context.should_continue)() {
                return Err(FailedCall::Fail(context.label.stopped()));
            }
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return Ok(());
            }
            std::thread::sleep(left.min(Duration::from_millis(200)));
        }
    }

    /// Enters the maximum cost of a request in the ledger; `None` if the model is free.
    fn enter(&self, texts: &[&str]) -> Result<Option<OpenCall<'_>>, FailedCall> {
        if self.price.input == 0 {
            return Ok(None);
        }
        // Estimates two bytes for a token, and up to eight special tokens for a text.
        let tokens: usize = texts.iter().map(|text| text.len() / 2 + 8).sum();
        let model = &self.settings.model;
        let entered = self.ledger.enter("embedding", model, self.price, None, tokens as u64, 0);
        entered.map(Some).map_err(|fault| FailedCall::Fail(ledger_error("embedding model", &fault)))
    }

    /// Sends one request.
    fn request(
        &self,
        texts: &[&str],
        context: &RequestContext<'_>,
        (reason, deadline): (&Reason, Instant),
    ) -> Result<Vec<Vec<f32>>, FailedCall> {
        if !(context.should_continue)() {
            return Err(FailedCall::Fail(context.label.stopped()));
        }
        let entry = self.enter(texts)?;
        let body = self.body(texts, context.purpose).to_string();
        let headers = [("content-type", "application/json"), ("accept", "application/json")];
        let call = HttpRequest {
            url: &self.url,
            body: Some(body.as_bytes()),
            headers: &headers,
            authorization: context.bearer.as_ref(),
            must_be_public: false,
            reason,
            is_complete: |_| false,
        };
        let (mut received, mut end) = (Vec::new(), None);
        let answer = self.client.stream(&call, context.policy.idle_timeout, &mut |part| {
            if let StreamEvent::Bytes(bytes) = part {
                received.extend_from_slice(bytes);
            }
            end = context.abort_reason(received.len(), deadline);
            end.is_none()
        });
        match (answer, end) {
            // The service may have done the work: the dropped entry costs its maximum.
            (_, Some(reason)) => Err(FailedCall::Fail(context.abort_error(reason))),
            (Err(net_error), None) => {
                if let Some(entry) = entry.filter(|_| is_unsent(&net_error)) {
                    entry.cancel();
                }
                Err(context.label.unreachable(&net_error))
            }
            (Ok(answer), None) if answer.status != 200 => {
                if let Some(entry) = entry.filter(|_| answer.status < 500) {
                    entry.cancel();
                }
                Err(context.label.refusal(&answer))
            }
            (Ok(_), None) => {
                let read = response::read(&received, texts.len(), self.dimensions.get().copied());
                let EmbeddingResponse { vectors, tokens } = read.map_err(|problem| {
                    FailedCall::Fail(context.label.invalid_response(&problem))
                })?;
                if let Some(entry) = entry {
                    entry.settle(tokens, 0);
                }
                self.check_dimensions(&vectors, context)?;
                Ok(vectors)
            }
        }
    }

    /// Checks that vectors have the known length. The first vectors set it.
    fn check_dimensions(
        &self,
        vectors: &[Vec<f32>],
        context: &RequestContext<'_>,
    ) -> Result<(), FailedCall> {
        let Some(first) = vectors.first() else { return Ok(()) };
        let expected = *self.dimensions.get_or_init(|| first.len());
        if expected == first.len() {
            return Ok(());
        }
        let problem =
            format!("has vectors of {} numbers where {expected} were expected", first.len());
        Err(FailedCall::Fail(context.label.invalid_response(&problem)))
    }
}

/// A text, and the id of the page that it is of.
type Input<'a> = (&'a str, Option<u64>);

/// Why reading a response was aborted.
#[derive(Debug, Clone, Copy)]
enum AbortReason {
    Stopped,
    Timeout,
    TooLarge,
}

/// What the requests of one call of `embed` have in common.
struct RequestContext<'a> {
    label: EndpointLabel,
    purpose: VectorPurpose,
    policy: RetryPolicy,
    bearer: Option<Secret>,
    should_continue: &'a dyn Fn() -> bool,
}

impl RequestContext<'_> {
    /// Returns why a response must be read no further, if there is a reason.
    fn abort_reason(&self, received_bytes: usize, deadline: Instant) -> Option<AbortReason> {
        if !(self.should_continue)() {
            Some(AbortReason::Stopped)
        } else if Instant::now() >= deadline {
            Some(AbortReason::Timeout)
        } else if received_bytes > MAX_RESPONSE_BYTES {
            Some(AbortReason::TooLarge)
        } else {
            None
        }
    }

    fn abort_error(&self, reason: AbortReason) -> EmbedError {
        match reason {
            AbortReason::Stopped => self.label.stopped(),
            AbortReason::Timeout => self.label.timed_out(self.policy.timeout.as_secs()),
            AbortReason::TooLarge => self.label.invalid_response("is too long"),
        }
    }
}

impl Embedder for EndpointClient {
    fn space(&self) -> Result<VectorSpace, EmbedError> {
        let dimensions = match self.dimensions.get() {
            Some(length) => *length,
            None => {
                let probed = self.embed(&[PROBE.to_owned()], VectorPurpose::Document, &|| true)?;
                probed.first().map_or(0, Vec::len)
            }
        };
        let EndpointSettings { model, query_prefix, document_prefix, .. } = &self.settings;
        let parts = ["openai", self.url.as_str(), model, query_prefix, document_prefix];
        let identity = format!("{}\n{dimensions}", parts.join("\n"));
        Ok(VectorSpace { model: model.clone(), identity, dimensions })
    }

    fn embed(
        &self,
        texts: &[String],
        purpose: VectorPurpose,
        should_continue: &dyn Fn() -> bool,
    ) -> Result<Vec<Vec<f32>>, EmbedError> {
        self.embed_pages(texts, purpose, &[], should_continue)
    }

    fn embed_pages(
        &self,
        texts: &[String],
        purpose: VectorPurpose,
        pages: &[u64],
        should_continue: &dyn Fn() -> bool,
    ) -> Result<Vec<Vec<f32>>, EmbedError> {
        let (prefix, policy) = match purpose {
            VectorPurpose::Query => (&self.settings.query_prefix, self.policy[0]),
            VectorPurpose::Document => (&self.settings.document_prefix, self.policy[1]),
        };
        let key = (self.key)()?;
        let label = EndpointLabel {
            url: self.url.clone(),
            model: self.settings.model.clone(),
            has_key: key.is_some(),
        };
        let bearer = key.map(|key| Secret::new(format!("Bearer {}", key.expose())));
        let context = RequestContext { label, purpose, policy, bearer, should_continue };
        let prefixed: Vec<String> = texts.iter().map(|text| format!("{prefix}{text}")).collect();
        // Some endpoints refuse an empty text, so a hyphen is sent instead.
        let texts = prefixed
            .iter()
            .map(|text| if text.trim().is_empty() { "-" } else { truncate(text, MAX_TEXT_BYTES) });
        let pages = pages.iter().copied().map(Some).chain(std::iter::repeat(None));
        let inputs: Vec<Input<'_>> = texts.zip(pages).collect();
        let mut vectors = Vec::with_capacity(inputs.len());
        let mut rest = inputs.as_slice();
        while !rest.is_empty() {
            let (batch, after) = rest.split_at(batch_len(rest));
            vectors.extend(self.batch(batch, &context)?);
            rest = after;
        }
        Ok(vectors)
    }

    fn unload_if_idle(&self, _idle: Duration) {
        // The client closes idle connections itself.
    }
}

/// Returns how many of these texts fit in one request: at least one.
fn batch_len(texts: &[Input<'_>]) -> usize {
    let mut bytes = 0;
    let fitting = texts.iter().take(MAX_BATCH_TEXTS).take_while(|(text, _)| {
        bytes += text.len();
        bytes <= MAX_BATCH_BYTES
    });
    fitting.count().max(1)
}

/// Returns the beginning of a text, at most `max_bytes` bytes, at a character boundary.
fn truncate(text: &str, max_bytes: usize) -> &str {
    &text[..text.floor_char_boundary(max_bytes)]
}

/// Returns whether the error proves that the service has not got the request.
pub(crate) fn is_unsent(net_error: &NetError) -> bool {
    use NetError::{
        ConnectTimeout, ConnectionRefused, InvalidAddress, NameNotFound, NotPublic, Setup, Tls,
        Unreachable,
    };
    matches!(
        net_error,
        InvalidAddress(_)
            | NameNotFound(_)
            | NotPublic
            | ConnectionRefused
            | Unreachable(_)
            | ConnectTimeout
            | Tls(_)
            | Setup(_)
    )
}

/// Returns the error for a call that could not be entered into the ledger. `name` is the called
/// service.
pub(crate) fn ledger_error(name: &str, fault: &CostError) -> EmbedError {
    EmbedError {
        kind: EmbedErrorKind::Budget,
        message: format!("the {name} was not called: {fault}"),
        hint: Some(hint!("see {}; the ledger needs free disk space", Command::Costs)),
    }
}
