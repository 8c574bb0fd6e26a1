//! Reads the settings of a run from the configuration.

use brain_base::home::Home;
use brain_config::{Authors, CollectorConfig, DeletedPosts};

use crate::{RunSettings, UserId};

impl RunSettings {
    /// Returns the configured settings.
    #[must_use]
    pub fn from_config(config: &CollectorConfig, home: &Home) -> Self {
        let default = || home.root().join("collector");
        Self {
            platform_api: config.platform_api.clone(),
            dir: config.dir.as_ref().map_or_else(default, |dir| dir.resolve(home)),
            handle: config.handle.clone(),
            user_id: config.user_id.as_deref().and_then(UserId::parse),
            searches: config.searches.clone(),
            max_pages: config.max_pages,
            request_authors: config.authors == Authors::Ask,
            request_media: config.images || config.videos,
            redact: config.deleted_posts == DeletedPosts::Redact,
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use std::path::Path;

    use brain_config::Config;

    use super::*;

    fn settings(values: &[(&str, &str)]) -> RunSettings {
        let env = |name: &str| {
            values.iter().find(|(key, _)| *key == name).map(|(_, value)| (*value).to_owned())
        };
        let config = Config::load(Path::new("/nonexistent/config.toml"), env).unwrap();
        RunSettings::from_config(&config.collector, &Home::at("/home".into()))
    }

    #[test]
    fn defaults_request_names_and_redact_nothing() {
        let settings = settings(&[]);
        assert_eq!(
            (settings.platform_api.as_str(), settings.dir),
            ("https://api.x.com", "/home/collector".into())
        );
        assert!(
            settings.request_authors
                && !settings.request_media
                && !settings.redact
                && settings.max_pages == 1
        );
        assert!(settings.user_id.is_none() && settings.handle.is_none());
    }

    #[test]
    fn accounts_and_searches_are_parsed() {
        let settings = settings(&[
            ("BRAIN_COLLECTOR_HANDLE", "@Garry_1"),
            ("BRAIN_COLLECTOR_USER_ID", "1234567890123456789"),
            ("BRAIN_COLLECTOR_SEARCHES", r#"["one, two", "ü"]"#),
            ("BRAIN_COLLECTOR_VIDEOS", "true"),
        ]);
        assert_eq!(settings.handle.as_deref(), Some("Garry_1"));
        assert_eq!(settings.user_id.unwrap().as_str(), "1234567890123456789");
        assert_eq!(settings.searches, ["one, two", "ü"]);
        assert!(settings.request_media);
    }
}
