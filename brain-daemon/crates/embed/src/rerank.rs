//! Rerankers, and the client of an endpoint that reranks: `POST {base}/rerank`.
//!
//! A reranker reads a question and a text together. Jina, Cohere (version 2), vLLM and llama.cpp
//! have the same API: `{model, query, documents, top_n}` is answered with `{results: [{index,
//! relevance_score}]}`. Voyage answers with `data` instead of `results`. The key is sent only in
//! the request's header. Messages repeat only the status of an endpoint's error. There are no
//! retries, because a caller waits.

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests;

use std::sync::Arc;
use std::time::Duration;

use brain_protocol::Secret;
use serde::Deserialize;
use serde_json::json;
use url::Url;

use crate::endpoint::{is_unsent, ledger_error};
use crate::{EmbedError, EmbedErrorKind, KeyProvider};
use brain_costs::{Ledger, OpenCall, Price};
use brain_net::{HttpClient, HttpRequest, Reason, RetryingClient, StreamEvent};

/// Maximum bytes of a response.
const MAX_RESPONSE_BYTES: usize = 1024 * 1024;
/// Maximum time without data from the endpoint; short, because a search waits.
const IDLE_TIMEOUT: Duration = Duration::from_secs(2);
/// The hint of this module's errors: what to do about a wrong address, model or key.
const HINT: &str = "check search.rerank_base_url, search.rerank_model and the key (rerank-api-key)";

/// Scores how well texts answer a question.
pub trait Reranker: Send + Sync {
    /// Returns a score for each text, in their order: higher for a better answer. Scores for
    /// different questions cannot be compared. Calls `should_continue` about every second, and
    /// stops when it returns `false`. Blocks.
    ///
    /// # Errors
    /// [`EmbedError`] when there is no score for one of the texts. The others are not returned.
    fn rerank(
        &self,
        question: &str,
        texts: &[String],
        should_continue: &dyn Fn() -> bool,
    ) -> Result<Vec<f32>, EmbedError>;

    /// As [`Reranker::rerank`], for texts of pages with these ids, for the log of outgoing
    /// requests.
    ///
    /// # Errors
    /// As [`Reranker::rerank`].
    fn rerank_pages(
        &self,
        question: &str,
        texts: &[String],
        _pages: &[u64],
        should_continue: &dyn Fn() -> bool,
    ) -> Result<Vec<f32>, EmbedError> {
        self.rerank(question, texts, should_continue)
    }

    /// Frees resources that were not used for `idle`. Called from time to time.
    fn unload_if_idle(&self, idle: Duration);
}

/// A client of one endpoint.
pub struct RerankEndpoint {
    url: Url,
    model: String,
    client: Box<dyn RetryingClient>,
    key: KeyProvider,
    price: Price,
    ledger: Arc<Ledger>,
}

impl RerankEndpoint {
    /// Creates the client of the endpoint `{base}/rerank`. Sends nothing yet.
    ///
    /// # Errors
    /// [`EmbedErrorKind::Model`] when no model or no address is given, or no client can be made for
    /// the address.
    pub fn open(
        base: Option<&Url>,
        model: String,
        net: &dyn HttpClient,
        key: KeyProvider,
        price: Price,
        ledger: Arc<Ledger>,
    ) -> Result<Self, EmbedError> {
        let model_error = |message: String| error(EmbedErrorKind::Model, message);
        let Some(base) = base.filter(|_| !model.is_empty()) else {
            return Err(model_error("the reranker has no address or no model".into()));
        };
        let base = base.as_str().trim_end_matches('/');
        let address_error = |reason: String| {
            model_error(format!("the reranker at {base} cannot be called: {reason}"))
        };
        let url =
            Url::parse(&format!("{base}/rerank")).map_err(|e| address_error(e.to_string()))?;
        let client = net.retrying_client(&url).map_err(|e| address_error(e.to_string()))?;
        Ok(Self { url, model, client, key, price, ledger })
    }

    /// Enters the maximum cost of a call in the ledger; `None` if the model is free.
    fn enter(&self, question: &str, texts: &[String]) -> Result<Option<OpenCall<'_>>, EmbedError> {
        if self.price.input == 0 {
            return Ok(None);
        }
        // The question is read with each text. Two bytes count as a token, and each pair has up to
        // eight special tokens.
        let tokens: usize = texts.iter().map(|text| (question.len() + text.len()) / 2 + 8).sum();
        let entered = self.ledger.enter("rerank", &self.model, self.price, None, tokens as u64, 0);
        entered.map(Some).map_err(|fault| ledger_error("reranker", &fault))
    }

    /// Returns the error of an answer with this status.
    fn status_error(&self, status: u16) -> EmbedError {
        let kind = match status {
            408 | 429 | 500.. => EmbedErrorKind::Retryable(None),
            _ => EmbedErrorKind::Refused,
        };
        self.call_error(kind, format_args!("answers with status {status}"))
    }

    /// Returns the error of a call, with the message `the reranker … at … {problem}`.
    fn call_error(&self, kind: EmbedErrorKind, problem: impl std::fmt::Display) -> EmbedError {
        error(kind, format!("the reranker \"{}\" at {} {problem}", self.model, self.url))
    }
}

impl Reranker for RerankEndpoint {
    fn rerank(
        &self,
        question: &str,
        texts: &[String],
        should_continue: &dyn Fn() -> bool,
    ) -> Result<Vec<f32>, EmbedError> {
        self.rerank_pages(question, texts, &[], should_continue)
    }

    fn rerank_pages(
        &self,
        question: &str,
        texts: &[String],
        pages: &[u64],
        should_continue: &dyn Fn() -> bool,
    ) -> Result<Vec<f32>, EmbedError> {
        use EmbedErrorKind::{Retryable, Stopped};
        if texts.is_empty() {
            return Ok(Vec::new());
        }
        let bearer = (self.key)()?.map(|key| Secret::new(format!("Bearer {}", key.expose())));
        let entry = self.enter(question, texts)?;
        let body = json!({
            "model": self.model, "query": question, "documents": texts, "top_n": texts.len(),
        })
        .to_string();
        let call = HttpRequest {
            url: &self.url,
            body: Some(body.as_bytes()),
            headers: &[("content-type", "application/json"), ("accept", "application/json")],
            authorization: bearer.as_ref(),
            must_be_public: false,
            reason: &Reason::with_pages("rerank", pages.to_vec()),
            is_complete: |_| false,
        };
        let (mut received, mut is_stopped) = (Vec::new(), false);
        let answer = self.client.stream(&call, IDLE_TIMEOUT, &mut |event| {
            if let StreamEvent::Bytes(bytes) = event {
                received.extend_from_slice(bytes);
            }
            is_stopped = !should_continue();
            !is_stopped && received.len() <= MAX_RESPONSE_BYTES
        });
        match answer {
            // The service may have done the work: the dropped entry costs its maximum.
            _ if is_stopped => Err(self.call_error(Stopped, "was stopped")),
            Err(net_error) => {
                if let Some(entry) = entry.filter(|_| is_unsent(&net_error)) {
                    entry.cancel();
                }
                Err(self.call_error(Retryable(None), format_args!("does not answer: {net_error}")))
            }
            Ok(answer) if answer.status != 200 => {
                if let Some(entry) = entry.filter(|_| answer.status < 500) {
                    entry.cancel();
                }
                Err(self.status_error(answer.status))
            }
            Ok(_) => {
                let (scores, tokens) = parse_response(&received, texts.len()).ok_or_else(|| {
                    let problem = "does not answer with one score for each text";
                    self.call_error(Retryable(None), problem)
                })?;
                // Without a token count, the dropped entry costs its maximum.
                if let (Some(entry), Some(tokens)) = (entry, tokens) {
                    entry.settle(tokens, 0);
                }
                Ok(scores)
            }
        }
    }

    fn unload_if_idle(&self, _: Duration) {
        // The client closes idle connections itself.
    }
}

/// Returns an error with [`HINT`].
fn error(kind: EmbedErrorKind, message: String) -> EmbedError {
    EmbedError { kind, message, hint: Some(HINT.into()) }
}

/// The response of an endpoint.
#[derive(Deserialize)]
struct RerankResponse {
    #[serde(alias = "data")]
    results: Vec<ScoreRow>,
    #[serde(default)]
    usage: RerankUsage,
}

#[derive(Deserialize)]
struct ScoreRow {
    index: usize,
    relevance_score: f32,
}

#[derive(Default, Deserialize)]
struct RerankUsage {
    total_tokens: Option<u64>,
}

/// Returns the scores in the order of the texts, and the paid tokens if the service counts them.
/// `None` unless each of the `count` texts has exactly one finite score.
fn parse_response(body: &[u8], count: usize) -> Option<(Vec<f32>, Option<u64>)> {
    let response: RerankResponse = serde_json::from_slice(body).ok()?;
    let mut scores = vec![None; count];
    for row in response.results {
        match scores.get_mut(row.index) {
            Some(free @ None) if row.relevance_score.is_finite() => {
                *free = Some(row.relevance_score);
            }
            _ => return None,
        }
    }
    let scores: Option<Vec<f32>> = scores.into_iter().collect();
    Some((scores?, response.usage.total_tokens))
}
