//! Which language models there are.

use std::path::PathBuf;
use std::time::Duration;

use brain_protocol::Fault;

use super::kinds::{endpoint, span};
use super::{Config, invalid};
use brain_base::home::Home;
use brain_llm::{Provider, Settings};

impl Config {
    /// The language models; `None` when there is none.
    #[must_use]
    pub fn llm(&self) -> Option<Settings> {
        let provider = match self.text("llm", "provider") {
            "openai" => Provider::OpenAi,
            "anthropic" => Provider::Anthropic,
            _ => return None,
        };
        let name =
            |key| Some(self.text("llm", key).trim().to_owned()).filter(|name| !name.is_empty());
        Some(Settings {
            provider,
            base: endpoint(self.text("llm", "base_url")),
            model: name("model"),
            vision_model: name("vision_model"),
            silence: Duration::from_secs(span(self.text("llm", "silence")).unwrap_or_default()),
        })
    }

    /// The file with the key for them; `None` when it is at its usual place.
    #[must_use]
    pub fn llm_key_file(&self, home: &Home) -> Option<PathBuf> {
        self.path("llm", "api_key_file", home)
    }

    /// What is switched on has the model that it needs.
    pub(super) fn check_models(&self) -> Result<(), Fault> {
        let reads_pictures = self.llm().is_some_and(|models| models.vision_model.is_some());
        if reads_pictures || !self.collector_switches().images {
            return Ok(());
        }
        Err(invalid("collector.images needs a model that reads pictures, and there is none".into())
            .hint("set llm.provider and llm.vision_model, or take collector.images away; see docs/models.md"))
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use std::path::Path;

    use super::*;

    fn load(values: &[(&str, &str)]) -> Result<Config, Fault> {
        let env = |name: &str| {
            values.iter().find(|(key, _)| *key == name).map(|(_, value)| (*value).to_owned())
        };
        Config::load(Path::new("/nowhere/config.toml"), env)
    }

    #[test]
    fn there_is_no_model_until_a_provider_is_named() {
        assert_eq!(load(&[("BRAIN_LLM_MODEL", "m")]).unwrap().llm(), None);
        let config =
            load(&[("BRAIN_LLM_PROVIDER", "anthropic"), ("BRAIN_LLM_MODEL", " m ")]).unwrap();
        let models = config.llm().unwrap();
        assert_eq!(
            (models.provider, models.base, models.vision_model),
            (Provider::Anthropic, None, None)
        );
        assert_eq!(models.model.as_deref(), Some("m"));
    }

    #[test]
    fn its_address_is_one_with_a_path_and_nothing_else() {
        for good in [
            "",
            "http://127.0.0.1:11434/v1",
            "https://gateway.example/a/b/",
            "https://api.openai.com/v1",
        ] {
            assert!(load(&[("BRAIN_LLM_BASE_URL", good)]).is_ok(), "{good}");
        }
        for bad in [
            "127.0.0.1:11434",
            "ftp://host/",
            "https://",
            "https://user@host/v1",
            "https://:sk-key@host/v1",
            "https://host/v1?key=sk-key",
            "https://host/v1#x",
            "https://host/ v1",
            "sk-key",
        ] {
            let fault = load(&[("BRAIN_LLM_BASE_URL", bad)]).unwrap_err();
            assert!(fault.message.contains("BRAIN_LLM_BASE_URL"), "{}", fault.message);
            assert!(!fault.message.contains("sk-key"), "{}", fault.message);
        }
    }

    #[test]
    fn pictures_need_a_model_that_reads_them() {
        let images = ("BRAIN_COLLECTOR_IMAGES", "true");
        let provider = ("BRAIN_LLM_PROVIDER", "openai");
        for lacking in
            [vec![images], vec![images, provider], vec![images, ("BRAIN_LLM_VISION_MODEL", "v")]]
        {
            assert!(load(&lacking).unwrap_err().message.contains("collector.images"));
        }
        assert!(load(&[images, provider, ("BRAIN_LLM_VISION_MODEL", "v")]).is_ok());
    }
}
