//! Reads the models and their price from the configuration.

use brain_config::{LlmConfig, LlmProvider};
use brain_costs::Price;

use crate::{ModelSettings, Provider};

impl ModelSettings {
    /// Returns the configured models; `None` if there is no provider.
    #[must_use]
    pub fn from_config(config: &LlmConfig) -> Option<Self> {
        Some(Self {
            provider: match config.provider? {
                LlmProvider::OpenAi => Provider::OpenAi,
                LlmProvider::Anthropic => Provider::Anthropic,
            },
            base: config.base_url.clone(),
            model: config.model.clone(),
            vision_model: config.vision_model.clone(),
            idle_timeout: config.silence,
        })
    }
}

/// Returns the configured price of the models.
#[must_use]
pub fn price(config: &LlmConfig) -> Price {
    Price { input: config.price_in.millionths(), output: config.price_out.millionths() }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use std::path::Path;

    use brain_config::Config;

    use super::*;

    #[test]
    fn a_provider_is_needed_for_a_model() {
        let load = |values: &[(&str, &str)]| {
            let env = |name: &str| {
                values.iter().find(|(key, _)| *key == name).map(|(_, value)| (*value).to_owned())
            };
            let config = Config::load(Path::new("/nowhere/config.toml"), env);
            ModelSettings::from_config(&config.unwrap().llm)
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
