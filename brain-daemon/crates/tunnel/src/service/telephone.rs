//! Keeps the telephone number's webhook at the public address.
//!
//! Checks the number once after the start and whenever the address changes. Retries with growing
//! delays.

use brain_protocol::{Fault, TunnelState};

use super::WatchdogState;
use crate::diagnosis::BACKOFF;
use crate::service::TunnelService;

/// A telephone number whose calls must arrive at the public address.
pub trait TelephoneNumber: Send + Sync {
    /// Returns the URL that the number must call at this public address; `None` without a number.
    fn webhook(&self, address: &str) -> Option<String>;

    /// Makes the number call this URL. Returns a description of the result.
    ///
    /// # Errors
    /// `not_set_up` without a token, `service_failed` if the provider refuses or does not answer,
    /// or the token cannot be read.
    fn set_webhook(&self, url: &str) -> Result<String, Fault>;
}

/// State of the webhook update.
#[derive(Debug, Default)]
pub(super) struct WebhookState {
    /// The number of failures since the last success.
    failures: u32,
    /// The earliest time of the next attempt, in Unix milliseconds.
    due: i64,
    /// The webhook that could not be set, and the reason.
    failure: Option<(String, String)>,
    /// The URL of the webhook that the provider reports.
    reported_url: Option<String>,
}

impl WebhookState {
    /// Returns the text for the status.
    pub(super) fn status_text(&self) -> Option<String> {
        match &self.failure {
            Some((_, why)) => Some(format!("not changed: {why}")),
            None => self.reported_url.clone(),
        }
    }

    /// Records a failure at `now`. Returns the delay until the next attempt, in milliseconds.
    fn record_failure(&mut self, now: i64, webhook: String, why: String) -> i64 {
        let pause = BACKOFF.pause_ms(self.failures);
        self.failures = self.failures.saturating_add(1);
        self.failure = Some((webhook, why));
        self.due = now + pause;
        pause
    }
}

impl TunnelService {
    /// Returns the webhook URL; `None` without a number or an address.
    fn webhook(&self) -> Option<String> {
        self.number.webhook(&self.public_address()?)
    }

    /// Updates the webhook if it differs and the tunnel is up. After a failure, returns the delay
    /// until the next attempt, in milliseconds.
    pub(super) fn update_webhook_if_due(&self, watchdog_state: &mut WatchdogState) -> Option<i64> {
        let webhook = self.webhook()?;
        let up = self.state.status().as_ref().is_some_and(|status| status.state == TunnelState::Up);
        if !up
            || (watchdog_state.webhook_state.failure.is_none()
                && watchdog_state.webhook_state.reported_url.as_ref() == Some(&webhook))
        {
            return None;
        }
        if watchdog_state.webhook_state.failure.as_ref().is_some_and(|(other, _)| *other != webhook)
        {
            // The backoff of another address does not apply to this one.
            watchdog_state.webhook_state = WebhookState::default();
        }
        let now = self.env.clock.now();
        // A longer wait was recorded while the clock was wrong, and does not count.
        let wait = watchdog_state.webhook_state.due - now;
        if (1..=BACKOFF.pause_ms(u32::MAX)).contains(&wait) {
            return Some(wait);
        }
        match self.update_webhook(watchdog_state) {
            Ok(message) => {
                tracing::info!("[watchdog] {message}");
                None
            }
            Err(fault) => {
                let hint = fault.hint.clone().unwrap_or_default();
                tracing::warn!(
                    "[watchdog] the telephone number is not changed: {fault}; {hint}; retrying \
                     later"
                );
                let pause =
                    watchdog_state.webhook_state.record_failure(now, webhook, fault.message);
                self.show_webhook(watchdog_state);
                Some(pause)
            }
        }
    }

    /// Adds the webhook to the tunnel's status.
    fn show_webhook(&self, watchdog_state: &WatchdogState) {
        if let Some(status) = &mut *self.state.status() {
            status.telephone = watchdog_state.webhook_state.status_text();
        }
    }

    /// Updates the webhook now and returns a description of the result.
    ///
    /// # Errors
    /// As [`TelephoneNumber::set_webhook`].
    pub(super) fn update_webhook(
        &self,
        watchdog_state: &mut WatchdogState,
    ) -> Result<String, Fault> {
        let Some(webhook) = self.webhook() else {
            return Ok(
                "no telephone number is configured (voice.account_sid, voice.number_sid)".into()
            );
        };
        let message = self.number.set_webhook(&webhook)?;
        watchdog_state.webhook_state =
            WebhookState { reported_url: Some(webhook), ..WebhookState::default() };
        self.show_webhook(watchdog_state);
        Ok(message)
    }
}
