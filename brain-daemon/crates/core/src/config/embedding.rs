//! What turns text into vectors, and what that costs.

use std::path::{Path, PathBuf};
use std::time::Duration;

use super::Config;
use super::kinds::{dollars, endpoint, span};
use brain_base::home::Home;
use brain_costs::Price;
use brain_embed::Settings;

impl Config {
    /// What turns text into vectors; `None` when nothing does. `installed` is the directory of the model to use when none is named: `auto` becomes `local` with it.
    #[must_use]
    pub fn embedding(&self, home: &Home, installed: Option<&Path>) -> Option<Settings> {
        let text = |name| self.text("embedding", name);
        let named = text("model").trim();
        let provider = match text("provider") {
            "auto" if installed.is_some() => "local",
            provider => provider,
        };
        match provider {
            "local" => Some(Settings::Local {
                directory: match (named, installed) {
                    ("", Some(installed)) => installed.to_owned(),
                    (named, _) => home.models().join(named),
                },
                threads: self.number("embedding", "threads") as usize,
            }),
            "openai" => Some(Settings::Endpoint {
                base: endpoint(text("base_url")),
                model: named.to_owned(),
                query_prefix: text("query_prefix").to_owned(),
                document_prefix: text("document_prefix").to_owned(),
                dimensions: Some(self.number("embedding", "dimensions") as u32).filter(|n| *n > 0),
            }),
            _ => None,
        }
    }

    /// The provider and the model as they are configured: `auto` and an empty name are there as they are.
    #[must_use]
    pub fn embedding_named(&self) -> (&str, &str) {
        (self.text("embedding", "provider"), self.text("embedding", "model").trim())
    }

    /// The file with the endpoint's key; `None` when it is at its usual place.
    #[must_use]
    pub fn embedding_key_file(&self, home: &Home) -> Option<PathBuf> {
        self.path("embedding", "api_key_file", home)
    }

    /// After how long without work the local model is let go of.
    #[must_use]
    pub fn embedding_idle(&self) -> Duration {
        Duration::from_secs(span(self.text("embedding", "idle")).unwrap_or_default())
    }

    /// What the endpoint costs.
    #[must_use]
    pub fn embedding_price(&self) -> Price {
        Price { input: self.dollars("embedding", "price"), output: 0 }
    }

    /// What the language models cost.
    #[must_use]
    pub fn llm_price(&self) -> Price {
        Price { input: self.dollars("llm", "price_in"), output: self.dollars("llm", "price_out") }
    }

    /// The most that one piece of work may cost when it is not told, in millionths of a US dollar.
    #[must_use]
    pub fn llm_max_cost(&self) -> u64 {
        self.dollars("llm", "max_cost")
    }

    /// The model that judges ideas, where it is not the one that has them.
    #[must_use]
    pub fn judge_model(&self) -> Option<String> {
        Some(self.text("llm", "judge_model").trim().to_owned()).filter(|name| !name.is_empty())
    }

    fn dollars(&self, section: &'static str, name: &'static str) -> u64 {
        dollars(self.text(section, name)).unwrap_or_default()
    }
}
