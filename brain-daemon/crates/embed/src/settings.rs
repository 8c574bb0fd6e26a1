//! Reads the provider and its price from the configuration.

use std::path::Path;

use brain_base::home::Home;
use brain_config::{Config, endpoint};
use brain_costs::Price;

use crate::Settings;

impl Settings {
    /// Returns the configured provider; `None` if there is none. `installed` is the directory of
    /// the model to use when none is named: with it, `auto` means `local`.
    #[must_use]
    pub fn from_config(config: &Config, home: &Home, installed: Option<&Path>) -> Option<Self> {
        let text = |name| config.text("embedding", name);
        let model = text("model").trim();
        let provider = match text("provider") {
            "auto" if installed.is_some() => "local",
            provider => provider,
        };
        match provider {
            "local" => Some(Self::Local {
                directory: match (model, installed) {
                    ("", Some(installed)) => installed.to_owned(),
                    (model, _) => home.models().join(model),
                },
                threads: config.number("embedding", "threads") as usize,
            }),
            "openai" => Some(Self::Endpoint {
                base: endpoint(text("base_url")),
                model: model.to_owned(),
                query_prefix: text("query_prefix").to_owned(),
                document_prefix: text("document_prefix").to_owned(),
                dimensions: Some(config.number("embedding", "dimensions") as u32)
                    .filter(|n| *n > 0),
            }),
            _ => None,
        }
    }
}

/// Returns the configured price of the endpoint.
#[must_use]
pub fn price(config: &Config) -> Price {
    Price { input: config.embedding_price(), output: 0 }
}
