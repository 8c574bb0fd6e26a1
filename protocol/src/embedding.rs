//! Wire types of embedding models and vectors.

use serde::{Deserialize, Serialize};

/// `brain embed`: computes missing vectors.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, Default)]
pub struct Embed {
    /// Whether to also compute the existing vectors again.
    pub all: bool,
    /// Whether to compute nothing and count pages without vectors.
    pub dry_run: bool,
}

/// The result of `brain embed`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct EmbedReply {
    /// The provider of vectors.
    pub provider: String,
    /// The model.
    pub model: String,
    /// The number of embedded pages; in a dry run, of pages without vectors.
    pub pages: u64,
    /// The number of their text windows.
    pub windows: u64,
    /// The number of pages still without all their vectors.
    pub missing: u64,
    /// Whether it was a dry run.
    pub dry_run: bool,
    /// In a dry run, the estimated time to embed the pages, in seconds; absent if unknown.
    pub seconds: Option<u64>,
}

/// `brain model install`: installs an embedding model.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ModelInstall {
    /// A known name, an absolute path of a directory or file, or an `https://` address.
    pub from: String,
    /// The expected SHA-256 of the file, in hex, if known.
    pub sha256: Option<String>,
    /// The name to install it under; the model's own name if absent.
    pub name: Option<String>,
}

/// An installed model.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ModelInstallReply {
    /// Its name, the value for `embedding.model`.
    pub name: String,
    /// Its path.
    pub path: String,
    /// Its size in bytes.
    pub bytes: u64,
    /// The length of its vectors.
    pub dimensions: u32,
    /// SHA-256 of its weights, in hex.
    pub sha256: String,
    /// Whether the same bytes were already installed.
    pub already: bool,
    /// When search uses it, for people: now, after a restart of the daemon, or once configured.
    pub message: String,
}

/// `brain model list`: lists the embedding models.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct ModelList;

/// The models, and the state of semantic search.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Models {
    /// The provider of vectors: `none`, `local` or `openai`.
    pub provider: String,
    /// The model in use.
    pub model: Option<String>,
    /// The number of pages with vectors.
    pub pages: u64,
    /// The number of text windows with vectors.
    pub windows: u64,
    /// The number of pages without vectors.
    pub missing: u64,
    /// Why vectors cannot be computed or searched, for people.
    pub problem: Option<String>,
    /// The installed models.
    pub installed: Vec<ModelRow>,
    /// The models that can be installed by name.
    pub known: Vec<KnownModelRow>,
    /// The number of pages of which only some windows have vectors. They are among `pages`.
    pub incomplete: u64,
    /// The estimated time until all vectors are made, in seconds; absent if none is missing, or it
    /// is not known.
    pub seconds_left: Option<u64>,
}

/// A model that can be installed by name.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct KnownModelRow {
    /// Its name.
    pub name: String,
    /// The languages that it supports, for people.
    pub languages: String,
    /// The size of the download in bytes.
    pub bytes: u64,
    /// The estimated time to compute all vectors of this brain, in seconds.
    pub seconds: u64,
}

/// An installed model.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ModelRow {
    /// Its name.
    pub name: String,
    /// Its path.
    pub path: String,
    /// Its size in bytes.
    pub bytes: u64,
    /// The length of its vectors, if the model can be read.
    pub dimensions: Option<u32>,
    /// Whether it is in use.
    pub used: bool,
    /// Why it cannot be used.
    pub problem: Option<String>,
}
