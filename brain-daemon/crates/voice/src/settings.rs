//! Reads the telephone number from the configuration.

use brain_config::Config;

use crate::Number;

impl Number {
    /// Returns the configured number, whose webhook follows the public address; `None` if none is
    /// configured.
    #[must_use]
    pub fn from_config(config: &Config) -> Option<Self> {
        let text = |name| {
            Some(config.text("voice", name).trim().to_owned()).filter(|text| !text.is_empty())
        };
        Some(Self {
            api: config.text("voice", "api").trim_end_matches('/').to_owned(),
            account_sid: text("account_sid")?,
            number_sid: text("number_sid")?,
        })
    }
}
