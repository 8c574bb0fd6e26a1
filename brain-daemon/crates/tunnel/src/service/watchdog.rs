//! Runs the tunnel's watchdog and logs its results with the prefix `[watchdog]`.

use std::sync::atomic::Ordering;
use std::thread::sleep;
use std::time::{Duration, Instant};

use brain_base::clock::rfc3339;
use brain_base::{leases, random};
use brain_protocol::{ClientList, Fault, TunnelState, TunnelStatusReply};

use super::WatchdogState;
use crate::diagnosis::CHECK_INTERVAL_MS;
use crate::service::TunnelService;
use crate::{AgentProvider, Proof, Settings, TunnelCheck, WatchdogEnvironment};

/// How long `brain tunnel start` waits for the tunnel.
pub(super) const START_TIMEOUT: Duration = Duration::from_secs(10);
/// How long `brain tunnel setup` waits for the tunnel.
pub(super) const SETUP_TIMEOUT: Duration = Duration::from_secs(30);
/// Interval of checks in milliseconds while another machine keeps the address.
const LEASE_CHECK_MS: u64 = 10_000;
/// Interval of checks while waiting.
const POLL_INTERVAL: Duration = Duration::from_millis(500);

impl TunnelService {
    /// Checks the tunnel once and acts. Returns the delay until the next check in milliseconds, or
    /// `None` without a configured tunnel. Blocks.
    pub fn check_tunnel(&self) -> Option<u64> {
        let settings = self.env.settings.as_ref()?;
        let mut watchdog_state = self.state.lock_watchdog();
        if self.env.stop.is_cancelled() || self.env.home.has_moved() {
            return Some(CHECK_INTERVAL_MS.unsigned_abs());
        }
        if !self.env.leases.holds(leases::TUNNEL) {
            // While it is unknown who keeps the address, an agent that runs here goes on.
            if self.env.leases.is_elsewhere(leases::TUNNEL)
                && watchdog_state.watchdog(settings).stop()
            {
                tracing::info!("[watchdog] ended the agent: another machine keeps the address");
            }
            return Some(LEASE_CHECK_MS);
        }
        let next_ms = match self.run_tunnel_check(&mut watchdog_state, settings) {
            Ok(report) => report.next_ms,
            Err(fault) => {
                let last_logged = Some((fault.code.as_str().to_owned(), fault.message.clone()));
                if watchdog_state.last_logged != last_logged {
                    let hint = fault.hint.clone().unwrap_or_default();
                    tracing::warn!("[watchdog] {fault}; {hint}");
                    watchdog_state.last_logged = last_logged;
                }
                CHECK_INTERVAL_MS
            }
        };
        let webhook_state = self.update_webhook_if_due(&mut watchdog_state);
        Some(webhook_state.map_or(next_ms, |ms| ms.min(next_ms)).max(0).unsigned_abs())
    }

    /// Runs one check, logs its result, and updates the status.
    ///
    /// # Errors
    /// If the token exists and cannot be read; nothing is started without it.
    pub(super) fn run_tunnel_check(
        &self,
        watchdog_state: &mut WatchdogState,
        settings: &Settings,
    ) -> Result<TunnelCheck, Fault> {
        let should_run = !watchdog_state.persistent_state(&self.env.home).stopped;
        let token = self.tunnel_token()?;
        let starter = self.starter();
        let prove = |url: &str| self.prove_address(settings, url);
        let environment = WatchdogEnvironment {
            net: &*self.env.net,
            starter: &*starter,
            prove: &prove,
            token: token.as_ref().map(|found| &found.secret),
            now: self.env.clock.now(),
        };
        let watchdog = watchdog_state.watchdog(settings);
        // A stopping daemon starts nothing.
        let report = watchdog.check(environment, should_run && !self.env.stop.is_cancelled());
        let (name, starts) = (watchdog.name(), watchdog.starts());
        if report.has_started_agent {
            tracing::info!(
                "[watchdog] {}: {}; started {name} (start {starts})",
                report.diagnosis.state,
                report.diagnosis.message
            );
        }
        if let Some(warning) = &report.warning {
            tracing::warn!("[watchdog] {warning}");
        }
        self.log_diagnosis(watchdog_state, &report);
        // Requests to a saved address are accepted, so only a proved address is saved: the agent's
        // own report is not enough.
        if let Some(url) =
            report.diagnosis.url.as_ref().filter(|_| report.diagnosis.state == TunnelState::Up)
        {
            self.save_address(watchdog_state, settings, url);
        }
        let telephone = watchdog_state.webhook_state.status_text();
        let now = self.env.clock.now();
        *self.state.status() = Some(TunnelStatusReply {
            provider: name.into(),
            state: report.diagnosis.state,
            message: report.diagnosis.message.clone(),
            hint: report.diagnosis.hint.clone(),
            url: report.diagnosis.url.clone(),
            up_since: report.up_since.map(rfc3339),
            checked_at: Some(rfc3339(now)),
            next_at: Some(rfc3339(now + report.next_ms)),
            starts,
            adopted: report.is_foreign,
            forward: settings.local_port,
            telephone,
        });
        Ok(report)
    }

    /// Proves that a public address leads to this brain.
    ///
    /// # Errors
    /// The reason why it is not proved.
    fn prove_address(&self, settings: &Settings, url: &str) -> Result<(), String> {
        let random_text =
            || random::text::<32>(&*self.env.random).map_err(|error| error.to_string());
        let proof = Proof::new(url, random_text()?, random_text()?)?;
        *self.state.proof() = Some(proof.clone());
        // A configured domain or a tailnet may have a private address.
        let must_be_public =
            settings.domain.is_none() && settings.provider != AgentProvider::Tailscale;
        let result = proof.ask(&*self.env.net, must_be_public);
        *self.state.proof() = None;
        result
    }

    /// Checks until the tunnel is up, has failed, should stop, or `timeout` has passed.
    ///
    /// # Errors
    /// As [`TunnelService::run_tunnel_check`].
    pub(super) fn wait_for_tunnel(
        &self,
        watchdog_state: &mut WatchdogState,
        settings: &Settings,
        timeout: Duration,
    ) -> Result<TunnelCheck, Fault> {
        let began = Instant::now();
        loop {
            let report = self.run_tunnel_check(watchdog_state, settings)?;
            // These states are transient while an agent starts and connects.
            let is_starting = matches!(
                report.diagnosis.state,
                TunnelState::AgentDown | TunnelState::NotConnected | TunnelState::Unreachable
            ) && !report.is_foreign;
            let should_stop =
                self.env.stop.is_cancelled() || self.state.stop_requested.load(Ordering::SeqCst);
            if !(is_starting || report.has_started_agent)
                || began.elapsed() >= timeout
                || should_stop
            {
                return Ok(report);
            }
            sleep(POLL_INTERVAL);
        }
    }

    /// Logs the diagnosis if it differs from the last one.
    fn log_diagnosis(&self, watchdog_state: &mut WatchdogState, report: &TunnelCheck) {
        let diagnosis = &report.diagnosis;
        let current = (diagnosis.state.to_string(), diagnosis.message.clone());
        if watchdog_state.last_logged.as_ref() == Some(&current) {
            return;
        }
        if !report.has_started_agent {
            let adopted =
                if report.is_foreign { " (another program started the agent)" } else { "" };
            let hint = diagnosis.hint.as_ref().map(|hint| format!("; {hint}")).unwrap_or_default();
            let line =
                format!("[watchdog] {}: {}{adopted}{hint}", diagnosis.state, diagnosis.message);
            match diagnosis.state {
                TunnelState::Up | TunnelState::Stopped => tracing::info!("{line}"),
                _ => tracing::warn!("{line}"),
            }
        }
        watchdog_state.last_logged = Some(current);
    }

    /// Saves the address and logs which clients need the new one.
    fn save_address(&self, watchdog_state: &mut WatchdogState, settings: &Settings, url: &str) {
        *self.state.address.write() = Some(url.to_owned());
        let persistent_state = watchdog_state.persistent_state(&self.env.home);
        if persistent_state.address.as_deref() == Some(url) {
            return;
        }
        let before = persistent_state.address.replace(url.to_owned());
        if let Err(fault) = persistent_state.save(&self.env.home) {
            tracing::warn!("[watchdog] {fault}");
        }
        let Some(before) = before else {
            return tracing::info!("[watchdog] the public address is {url}");
        };
        let clients = self
            .access
            .client_list(&ClientList { all: false })
            .map(|list| list.clients)
            .unwrap_or_default();
        let names: Vec<String> =
            clients.into_iter().map(|client| format!("\"{}\"", client.client_name)).collect();
        let notice = match names.is_empty() {
            true => "no registered client needs the new address".to_owned(),
            false => format!("these clients need the new address: {}", names.join(", ")),
        };
        let advice = match &settings.domain {
            Some(_) => "",
            None => "; set tunnel.domain for a fixed address",
        };
        tracing::warn!(
            "[watchdog] the public address has changed from {before} to {url}; {notice}{advice}"
        );
    }
}
