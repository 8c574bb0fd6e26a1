//! Models that turn text into vectors: `local` in this process, or an endpoint of the `openai` shape. Knows neither pages nor the store:
//! texts come in, vectors of length one go out.
//!
//! Nothing is loaded and nobody is asked before the first text. The local model is let go of after a while without texts.

mod endpoint;
mod local;
pub mod vectors;

use std::path::PathBuf;
use std::time::Duration;

use url::Url;

pub use endpoint::{Endpoint, EndpointSettings, FindKey};
pub use local::{Local, ModelFacts, inspect, inspect_while, probe};

/// What a vector is for: some models want to be told.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Purpose {
    /// A question.
    Query,
    /// A window of a page.
    Document,
}

/// What vectors can be compared with one another: those of one model, asked in one way.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Space {
    /// Its name for people: the model's.
    pub model: String,
    /// Everything that makes a vector what it is, as one text: provider, model, SHA-256 of its weights or address, pooling, prefixes.
    pub identity: String,
    /// Length of its vectors.
    pub dimensions: usize,
}

/// Makes vectors.
pub trait Embedder: Send + Sync {
    /// What its vectors can be compared with. May load what it needs for that, or ask the endpoint once.
    ///
    /// # Errors
    /// Why there will be no vectors.
    fn space(&self) -> Result<Space, EmbedFault>;

    /// One vector of length one a text, in the order of the texts. `goes_on` is looked at between batches and each second; `false` ends it. Blocks.
    ///
    /// # Errors
    /// Why there are none; never some of them.
    fn embed(
        &self,
        texts: &[String],
        purpose: Purpose,
        goes_on: &dyn Fn() -> bool,
    ) -> Result<Vec<Vec<f32>>, EmbedFault>;

    /// How much of `text` the model has learnt to read, from 0 to 1: of its letters, those that it does not have to spell one by one. 1 where
    /// nobody can tell. Cheap after [`Embedder::embed`].
    fn reads(&self, _text: &str) -> f32 {
        1.0
    }

    /// Lets go of what it has not needed since `idle`. Called now and then.
    fn rest(&self, idle: Duration);
}

/// Which provider, by the configuration.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Settings {
    /// A model on this machine: its directory, which need not exist yet.
    Local {
        /// Where it is.
        directory: PathBuf,
        /// Threads that it may use, at least 1.
        threads: usize,
    },
    /// An endpoint of the `openai` shape.
    Endpoint {
        /// Where it is: `…/v1`; `None`: the provider's own address.
        base: Option<Url>,
        /// The model's name there.
        model: String,
        /// What goes before a question.
        query_prefix: String,
        /// What goes before a window of a page.
        document_prefix: String,
        /// How long its vectors are to be; `None`: the model's own length.
        dimensions: Option<u32>,
    },
}

/// Why there are no vectors.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct EmbedFault {
    /// What kind of reason.
    pub why: EmbedWhy,
    /// In words; no secrets, no text of pages.
    pub message: String,
    /// What to do.
    pub hint: Option<String>,
}

/// What kind of reason.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EmbedWhy {
    /// The model is not there, or cannot be used. Trying again does not help.
    Model,
    /// The endpoint is not reached, limits, or fails; after so many seconds at the earliest, if it says.
    Later(Option<u64>),
    /// The endpoint refuses: key, name, address. Trying again does not help.
    Refused,
    /// The text is one that it does not take.
    Text,
    /// It was told to stop.
    Stopped,
    /// The budget does not allow it.
    Budget,
    /// The model is another than when [`Embedder::space`] was asked: its vectors cannot be compared with those from before. Ask again.
    Changed,
}
