//! Embedding models: turn text into vectors, locally or through an HTTP endpoint. Rerankers score
//! how well a text answers a question.
//!
//! Vectors have length one. The crate knows neither the text of pages nor the store. A model is
//! loaded, or an endpoint called, when it is first used. [`Embedder::unload_if_idle`] unloads a
//! local model.

mod endpoint;
#[cfg(feature = "local-models")]
mod local;
#[cfg(not(feature = "local-models"))]
#[path = "without_local_models.rs"]
mod local;
pub mod models;
mod rerank;
mod settings;
pub mod vectors;

use brain_protocol::Hint;
use std::path::PathBuf;
use std::time::Duration;

use url::Url;

pub use endpoint::{EndpointClient, EndpointSettings, KeyProvider};
pub use local::{LocalModel, check_built, inspect, inspect_while, is_reranker, probe};
pub use rerank::{RerankEndpoint, Reranker};
pub use settings::{price, rerank_price};

/// Purpose of a vector; some models treat questions and documents differently.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum VectorPurpose {
    /// A search question.
    Query,
    /// A window of a page.
    Document,
}

/// A vector space: vectors of one model and one configuration, which can be compared.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct VectorSpace {
    /// The model's name, for display.
    pub model: String,
    /// Identifies the space. Contains what changes vectors: SHA-256 of the weights or address of
    /// the endpoint, settings of the model, prefixes.
    pub identity: String,
    /// Length of the vectors.
    pub dimensions: usize,
}

/// An embedding model.
pub trait Embedder: Send + Sync {
    /// Returns the vector space. May load the model or call the endpoint once.
    ///
    /// # Errors
    /// [`EmbedError`] when the model cannot be read or the endpoint gives no vectors.
    fn space(&self) -> Result<VectorSpace, EmbedError>;

    /// Returns a vector of length one for each text, in their order. Calls `should_continue`
    /// between batches and about every second, and stops when it returns `false`. Blocks.
    ///
    /// # Errors
    /// [`EmbedError`] when there is no vector for one of the texts. The others are not returned.
    fn embed(
        &self,
        texts: &[String],
        purpose: VectorPurpose,
        should_continue: &dyn Fn() -> bool,
    ) -> Result<Vec<Vec<f32>>, EmbedError>;

    /// As [`Embedder::embed`], for texts of pages. `pages` has the id of the page of each text, for
    /// the log of outgoing requests.
    ///
    /// # Errors
    /// As [`Embedder::embed`].
    fn embed_pages(
        &self,
        texts: &[String],
        purpose: VectorPurpose,
        _pages: &[u64],
        should_continue: &dyn Fn() -> bool,
    ) -> Result<Vec<Vec<f32>>, EmbedError> {
        self.embed(texts, purpose, should_continue)
    }

    /// Returns how much of `text` the model's vocabulary covers, from 0 to 1: the share of letters
    /// that are not spelled one by one. 1 if unknown. Cheap after [`Embedder::embed`].
    fn coverage(&self, _text: &str) -> f32 {
        1.0
    }

    /// Loads what the first text needs, so that it need not wait.
    ///
    /// # Errors
    /// [`EmbedError`] when the model cannot be read.
    fn load(&self) -> Result<(), EmbedError> {
        Ok(())
    }

    /// Frees resources that were not used for `idle`. Called from time to time.
    fn unload_if_idle(&self, idle: Duration);
}

/// Facts about an installed local model, known without running it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ModelFacts {
    /// Its name, from its directory.
    pub name: String,
    /// Length of its vectors; 1 for a reranker, which returns one number for a text.
    pub dimensions: u32,
    /// Size of its weights in bytes.
    pub bytes: u64,
    /// SHA-256 of its weights, in hexadecimal digits.
    pub sha256: String,
    /// The file with the weights.
    pub weights: PathBuf,
}

/// Configuration of the provider.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum EmbedSettings {
    /// A model on this machine.
    Local {
        /// Directory of the model, which need not exist yet.
        directory: PathBuf,
        /// Threads that it can use, at least 1.
        threads: usize,
    },
    /// An endpoint with OpenAI's embedding API.
    Endpoint {
        /// Base address `…/v1`; `None` for the provider's own.
        base: Option<Url>,
        /// The model's name at the endpoint.
        model: String,
        /// Prefix of a question.
        query_prefix: String,
        /// Prefix of a window of a page.
        document_prefix: String,
        /// Requested length of vectors; `None` for the model's own.
        dimensions: Option<u32>,
    },
}

/// Why there are no vectors, or no scores of a reranker.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct EmbedError {
    /// The kind of error.
    pub kind: EmbedErrorKind,
    /// Message without secrets or text of pages.
    pub message: String,
    /// What to do.
    pub hint: Option<Hint>,
}

/// Kinds of errors.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EmbedErrorKind {
    /// The model is not configured, missing or unusable. Trying again does not help.
    Model,
    /// The endpoint is unreachable, rate-limited or failing. Try again later: after this many
    /// seconds, if the endpoint names a time.
    Retryable(Option<u64>),
    /// The endpoint refuses: key, name, address. Trying again does not help.
    Refused,
    /// The endpoint or the tokenizer refuses the text.
    Text,
    /// The caller stopped the work.
    Stopped,
    /// The budget does not permit the call, or the call could not be entered into the ledger.
    Budget,
    /// The model has changed since [`Embedder::space`] was called. Its vectors cannot be compared
    /// with earlier ones: call `space` again.
    Changed,
}
