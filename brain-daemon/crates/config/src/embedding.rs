//! What turns text into vectors, and what that costs.

use std::path::PathBuf;
use std::time::Duration;

use super::Config;
use super::kinds::{dollars, span};
use brain_base::home::Home;

impl Config {
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

    /// What a million tokens cost at the endpoint, in millionths of a US dollar.
    #[must_use]
    pub fn embedding_price(&self) -> u64 {
        self.dollars("embedding", "price")
    }

    /// What a million tokens of questions and of answers cost, in millionths of a US dollar.
    #[must_use]
    pub fn llm_price(&self) -> (u64, u64) {
        (self.dollars("llm", "price_in"), self.dollars("llm", "price_out"))
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
