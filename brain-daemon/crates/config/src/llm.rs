//! Which language models there are.

use std::path::PathBuf;

use brain_protocol::Fault;

use super::{Config, invalid};
use brain_base::home::Home;

impl Config {
    /// The file with the key for them; `None` when it is at its usual place.
    #[must_use]
    pub fn llm_key_file(&self, home: &Home) -> Option<PathBuf> {
        self.path("llm", "api_key_file", home)
    }

    /// What is switched on has the model that it needs.
    pub(super) fn check_models(&self) -> Result<(), Fault> {
        let reads_pictures = self.text("llm", "provider") != "none"
            && !self.text("llm", "vision_model").trim().is_empty();
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
