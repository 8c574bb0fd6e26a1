//! Reads the telephone number from the configuration.

use brain_config::VoiceConfig;

use crate::Number;

impl Number {
    /// Returns the configured number, whose webhook follows the public address; `None` unless both
    /// ids are configured.
    #[must_use]
    pub fn from_config(config: &VoiceConfig) -> Option<Self> {
        Some(Self {
            api: config.api.clone(),
            account_sid: config.account_sid.clone()?,
            number_sid: config.number_sid.clone()?,
        })
    }
}
