//! The webhook of the configured telephone number.

use brain_protocol::{Fault, FaultCode};

use brain_service::Environment;

use super::TOKEN_SECRET;
use crate::Number;
use crate::webhook::{WebhookUpdate, update_webhook};

/// The route that answers calls.
const PATH: &str = "/voice";

/// The telephone number of the configuration, if it has one.
pub struct ConfiguredNumber {
    env: Environment,
}

impl ConfiguredNumber {
    /// Reads configuration and secrets from `env`, at each call.
    #[must_use]
    pub fn new(env: Environment) -> Self {
        Self { env }
    }

    /// Returns the URL that the number must call if this brain is at `address`; `None` without a
    /// number.
    #[must_use]
    pub fn webhook(&self, address: &str) -> Option<String> {
        Number::from_config(&self.env.config)?;
        Some(format!("{address}{PATH}"))
    }

    /// Makes the number call `url`. Returns a description of the result.
    ///
    /// # Errors
    /// `not_set_up` without a number or a token, `service_failed` if the provider refuses or does
    /// not answer, or the token cannot be read.
    pub fn set_webhook(&self, url: &str) -> Result<String, Fault> {
        let config = &self.env.config;
        let number = Number::from_config(config).ok_or_else(|| {
            Fault::new(FaultCode::NotSetUp, "no telephone number is configured")
                .hint("set voice.account_sid and voice.number_sid in config.toml")
        })?;
        let found = self
            .env
            .secrets
            .find(TOKEN_SECRET, config.telephony_token_file(&self.env.home).as_deref())?;
        let token = found.ok_or_else(|| {
            let file = self.env.home.secrets().join(TOKEN_SECRET);
            Fault::new(FaultCode::NotSetUp, "there is no token of the telephony account")
                .hint(format!("put the account's auth token into {} with mode 600", file.display()))
        })?;
        let update =
            update_webhook(&*self.env.net, &number, &token.secret, url).map_err(|error| {
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
