//! Keeps the telephone number's webhook at the public address: asked once after the daemon's start, since the number may be another one or
//! somebody may have changed it, and when the address is another one; tried again with growing pauses.

use brain_protocol::Fault;

use super::super::Brain;
use super::Work;
use brain_voice::number::{Led, lead};

/// Where calls are answered.
const PATH: &str = "/voice";
/// The name of the secret with the telephony account's token.
const TOKEN: &str = "telephony-auth-token";
/// The pause after a failure grows from this, in milliseconds, doubling,
const FIRST_PAUSE_MS: i64 = 5 * 1000;
/// to this.
const LONGEST_PAUSE_MS: i64 = 10 * 60 * 1000;

/// How far leading the number is.
#[derive(Debug, Default)]
pub(super) struct Phone {
    /// Failures in a row.
    failures: u32,
    /// Not before this, Unix milliseconds.
    due: i64,
    /// Which webhook could not be set, and why.
    failed: Option<(String, String)>,
    /// Where the number leads to, by the provider's word.
    leads_to: Option<String>,
}

impl Phone {
    /// What is to be said of it.
    pub(super) fn shown(&self) -> Option<String> {
        match &self.failed {
            Some((_, why)) => Some(format!("not changed: {why}")),
            None => self.leads_to.clone(),
        }
    }

    fn failed(&mut self, now: i64, webhook: String, why: String) -> i64 {
        let pause = (FIRST_PAUSE_MS << self.failures.min(20)).min(LONGEST_PAUSE_MS);
        self.failures = self.failures.saturating_add(1);
        self.failed = Some((webhook, why));
        self.due = now + pause;
        pause
    }
}

impl Brain {
    /// Where calls are to be answered; `None` without a number, or an address.
    fn webhook(&self) -> Option<String> {
        self.config.telephone_number()?;
        Some(format!("{}{PATH}", self.public_address()?))
    }

    /// Leads the number to the public address, when it leads elsewhere as far as is known, and the tunnel is up. Says when to try again, in
    /// milliseconds from now, when it failed.
    pub(super) fn watch_phone(&self, work: &mut Work) -> Option<i64> {
        let webhook = self.webhook()?;
        let up = self.tunnelling.status().as_ref().is_some_and(|status| status.state == "up");
        if !up || (work.phone.failed.is_none() && work.phone.leads_to.as_ref() == Some(&webhook)) {
            return None;
        }
        if work.phone.failed.as_ref().is_some_and(|(other, _)| *other != webhook) {
            // What went wrong with another address says nothing of this one.
            work.phone = Phone::default();
        }
        let now = self.now();
        // A time far ahead was noted by a clock that was wrong.
        let wait = work.phone.due - now;
        if (1..=LONGEST_PAUSE_MS).contains(&wait) {
            return Some(wait);
        }
        match self.lead_phone(work) {
            Ok(said) => {
                tracing::info!("[watchdog] {said}");
                None
            }
            Err(fault) => {
                let hint = fault.hint.as_deref().unwrap_or_default();
                tracing::warn!(
                    "[watchdog] the telephone number is not changed: {fault}; {hint}; it is tried again"
                );
                let pause = work.phone.failed(now, webhook, fault.message);
                self.show_phone(work);
                Some(pause)
            }
        }
    }

    /// Lets the status say how far it is.
    fn show_phone(&self, work: &Work) {
        if let Some(status) = &mut *self.tunnelling.status() {
            status.telephone = work.phone.shown();
        }
    }

    /// Leads the number to the public address now, whatever is known of it; what came of it, in words.
    ///
    /// # Errors
    /// Why not: no token, or what the provider says.
    pub(super) fn lead_phone(&self, work: &mut Work) -> Result<String, Fault> {
        use brain_protocol::FaultCode::{NotSetUp, ServiceFailed};
        let (Some(number), Some(webhook)) = (self.config.telephone_number(), self.webhook()) else {
            return Ok(
                "no telephone number is configured (voice.account_sid, voice.number_sid)".into()
            );
        };
        let found =
            self.secrets.find(TOKEN, self.config.telephony_token_file(&self.home).as_deref())?;
        let token = found.ok_or_else(|| {
            let file = self.home.secrets().join(TOKEN);
            Fault::new(NotSetUp, "there is no token of the telephony account")
                .hint(format!("put the account's auth token into {} with mode 600", file.display()))
        })?;
        let led = lead(&*self.net, &number, &token.secret, &webhook)
            .map_err(|said| Fault::new(ServiceFailed, said.message).hint(said.hint))?;
        work.phone = Phone { leads_to: Some(webhook.clone()), ..Phone::default() };
        self.show_phone(work);
        Ok(match led {
            Led::Already => format!("the telephone number leads to {webhook}"),
            Led::Changed { from } => {
                let before = if from.is_empty() { "nowhere".to_owned() } else { from };
                format!("the telephone number leads to {webhook} now; before it led to {before}")
            }
        })
    }
}
