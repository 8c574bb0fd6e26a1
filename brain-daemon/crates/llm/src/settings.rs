//! Reads the models and their price from the configuration.

use std::time::Duration;

use brain_config::{Config, endpoint, span};
use brain_costs::Price;

use crate::{Provider, Settings};

impl Settings {
    /// Returns the configured models; `None` if there is no provider.
    #[must_use]
    pub fn from_config(config: &Config) -> Option<Self> {
        let text = |name| config.text("llm", name);
        let provider = match text("provider") {
            "openai" => Provider::OpenAi,
            "anthropic" => Provider::Anthropic,
            _ => return None,
        };
        let model = |name| Some(text(name).trim().to_owned()).filter(|name| !name.is_empty());
        Some(Self {
            provider,
            base: endpoint(text("base_url")),
            model: model("model"),
            vision_model: model("vision_model"),
            silence: Duration::from_secs(span(text("silence")).unwrap_or_default()),
        })
    }
}

/// Returns the configured price of the models.
#[must_use]
pub fn price(config: &Config) -> Price {
    let (input, output) = config.llm_price();
    Price { input, output }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use std::path::Path;

    use super::*;

    #[test]
    fn a_provider_is_needed_for_a_model() {
        let load = |values: &[(&str, &str)]| {
            let env = |name: &str| {
                values.iter().find(|(key, _)| *key == name).map(|(_, value)| (*value).to_owned())
            };
            let config = Config::load(Path::new("/nowhere/config.toml"), env);
            Settings::from_config(&config.unwrap())
        };
        assert_eq!(load(&[("BRAIN_LLM_MODEL", "m")]), None);
        let models =
            load(&[("BRAIN_LLM_PROVIDER", "anthropic"), ("BRAIN_LLM_MODEL", " m ")]).unwrap();
        assert_eq!(
            (models.provider, models.base, models.vision_model),
            (Provider::Anthropic, None, None)
        );
        assert_eq!(models.model.as_deref(), Some("m"));
    }
}
