//! The webhook of the configured telephone number.

use std::path::PathBuf;
use std::sync::Arc;

use brain_protocol::{Fault, FaultCode, Secret};

use brain_base::secrets::Secrets;
use brain_config::VoiceConfig;
use brain_net::HttpClient;

use super::TOKEN_SECRET;
use crate::Number;
use crate::webhook::{WebhookUpdate, update_webhook};

/// The route that answers calls.
const PATH: &str = "/voice";

/// The telephone number of the configuration, if it has one.
#[derive(Clone)]
pub struct ConfiguredNumber {
    pub(super) config: VoiceConfig,
    token_file: Option<PathBuf>,
    secrets: Arc<Secrets>,
    net: Arc<dyn HttpClient>,
}

impl ConfiguredNumber {
    /// Creates the number. The token of the account, also that in `token_file`, is read at each
    /// call.
    #[must_use]
    pub fn new(
        config: VoiceConfig,
        token_file: Option<PathBuf>,
        secrets: Arc<Secrets>,
        net: Arc<dyn HttpClient>,
    ) -> Self {
        Self { config, token_file, secrets, net }
    }

    /// Returns the account's token, if there is one.
    pub(super) fn token(&self) -> Result<Option<Secret>, Fault> {
        let found = self.secrets.find(TOKEN_SECRET, self.token_file.as_deref())?;
        Ok(found.map(|found| found.secret))
    }

    /// Returns the URL that the number must call if this brain is at `address`; `None` without a
    /// number.
    #[must_use]
    pub fn webhook(&self, address: &str) -> Option<String> {
        Number::from_config(&self.config)?;
        Some(format!("{address}{PATH}"))
    }

    /// Makes the number call `url`. Returns a description of the result.
    ///
    /// # Errors
    /// `not_set_up` without a number or a token, `service_failed` if the provider refuses or does
    /// not answer, or the token cannot be read.
    pub fn set_webhook(&self, url: &str) -> Result<String, Fault> {
        let number = Number::from_config(&self.config).ok_or_else(|| {
            Fault::new(FaultCode::NotSetUp, "no telephone number is configured")
                .hint("set voice.account_sid and voice.number_sid in config.toml")
        })?;
        let token = self.token()?.ok_or_else(|| {
            let file = self.secrets.home_path(TOKEN_SECRET);
            Fault::new(FaultCode::NotSetUp, "there is no token of the telephony account")
                .hint(format!("put the account's auth token into {} with mode 600", file.display()))
        })?;
        let update = update_webhook(&*self.net, &number, &token, url).map_err(|error| {
            Fault::new(FaultCode::ServiceFailed, error.message).hint(error.hint)
        })?;
        Ok(match update {
            WebhookUpdate::Unchanged => format!("the telephone number leads to {url}"),
            WebhookUpdate::Changed { from } => {
                let former = if from.is_empty() { "nowhere".to_owned() } else { from };
                format!("the telephone number now leads to {url}; before, it led to {former}")
            }
        })
    }
}
