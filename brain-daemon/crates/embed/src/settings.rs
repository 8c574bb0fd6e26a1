//! Reads the provider of embeddings and the prices from the configuration.

use std::path::Path;

use brain_base::home::Home;
use brain_config::{EmbeddingConfig, EmbeddingProvider, SearchConfig};
use brain_costs::Price;

use crate::EmbedSettings;

impl EmbedSettings {
    /// Returns the configured provider; `None` if there is none. `installed` is the directory of
    /// the model to use when the configuration names none. With it, the provider `auto` means
    /// `local`; without it, none.
    #[must_use]
    pub fn from_config(
        config: &EmbeddingConfig,
        home: &Home,
        installed: Option<&Path>,
    ) -> Option<Self> {
        match config.provider {
            EmbeddingProvider::None => None,
            EmbeddingProvider::Auto if installed.is_none() => None,
            EmbeddingProvider::Auto | EmbeddingProvider::Local => Some(Self::Local {
                directory: match (&config.model, installed) {
                    (None, Some(installed)) => installed.to_owned(),
                    (model, _) => home.models().join(model.as_deref().unwrap_or_default()),
                },
                threads: config.threads,
            }),
            EmbeddingProvider::OpenAi => Some(Self::Endpoint {
                base: config.base_url.clone(),
                model: config.model.clone().unwrap_or_default(),
                query_prefix: config.query_prefix.clone(),
                document_prefix: config.document_prefix.clone(),
                dimensions: config.dimensions,
            }),
        }
    }
}

/// Returns the configured price of the reranker's endpoint.
#[must_use]
pub fn rerank_price(config: &SearchConfig) -> Price {
    Price { input: config.rerank_price.millionths(), output: 0 }
}

/// Returns the configured price of the embedding endpoint.
#[must_use]
pub fn price(config: &EmbeddingConfig) -> Price {
    Price { input: config.price.millionths(), output: 0 }
}
