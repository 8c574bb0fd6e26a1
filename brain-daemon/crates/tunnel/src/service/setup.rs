//! `brain tunnel setup`: seven steps, each checked before the next. Can be repeated.

use brain_protocol::{Command, Fault, StepStatus, TunnelSetupReply, TunnelState, hint};
use serde_json::json;

use super::{TOKEN, WatchdogState, watchdog};
use crate::service::TunnelService;
use crate::{AgentProvider, Settings, TUNNEL_VERSION, TunnelCheck};
use brain_service::steps::{StepFailure, StepResult, Steps, fail, pass, warn};
use brain_service::{Heartbeat, Progress};

/// Converts the report of a check into a failed step.
fn step_of_report<T>(report: &TunnelCheck) -> StepResult<T> {
    let hint = report.diagnosis.hint.clone();
    fail(
        format!("{}: {}", report.diagnosis.state, report.diagnosis.message),
        hint.unwrap_or_else(|| {
            hint!("look at {} and the daemon's log, then run setup again", Command::TunnelStatus)
        }),
    )
}

/// The number of steps.
const STEPS: u64 = 7;

impl TunnelService {
    /// Runs the steps until one fails. The reply lists the steps that were run. The tunnel stays
    /// up.
    ///
    /// # Errors
    /// None: the reply reports failures as steps.
    pub fn setup(&self, progress: &dyn Progress) -> Result<TunnelSetupReply, Fault> {
        let mut steps = Steps { clock: &*self.env.clock, results: Vec::new() };
        let has_passed = self.tunnel_steps(&mut steps, progress).is_some();
        self.state.wake.notify_one();
        Ok(TunnelSetupReply {
            status: if has_passed { StepStatus::Passed } else { StepStatus::Failed },
            steps: steps.results,
        })
    }

    fn tunnel_steps(&self, steps: &mut Steps<'_>, progress: &dyn Progress) -> Option<()> {
        let settings = steps.run("provider", || self.provider())?;
        let mut watchdog_state = self.state.lock_watchdog();
        progress.at(1, STEPS);
        steps.run("agent", || self.agent(&mut watchdog_state, &settings))?;
        progress.at(2, STEPS);
        let report = steps.run("authtoken", || self.authtoken(&mut watchdog_state, &settings))?;
        progress.at(3, STEPS);
        let url = steps.run("start", || match &report.diagnosis.url {
            Some(url) => pass(
                url.clone(),
                format!("the agent has a tunnel to port {} at {url}", settings.local_port),
            ),
            None => step_of_report(&report),
        })?;
        progress.at(4, STEPS);
        steps.run("reachable", || match report.diagnosis.state {
            TunnelState::Up => pass((), format!("{url}/health answers, requested from here")),
            _ => step_of_report(&report),
        })?;
        progress.at(5, STEPS);
        steps.run("telephone", || match self.update_webhook(&mut watchdog_state) {
            Ok(message) => pass((), message),
            Err(fault) => Err(fault.into()),
        })?;
        progress.at(6, STEPS);
        steps.run("heartbeat", || self.tunnel_heartbeat(&settings, &url))
    }

    /// Step 1: checks that the configuration is consistent.
    fn provider(&self) -> StepResult<Settings> {
        let settings = self.tunnel_settings()?;
        let name = crate::agent(&settings).name();
        let public = self.access.http_addresses().public.or(self.env.public);
        let Some(address) = public else {
            return fail(
                "nothing listens for a tunnel: http.public is off",
                format!(
                    "set http.public = \"127.0.0.1:{}\" in config.toml, and restart the daemon",
                    settings.local_port
                ),
            );
        };
        if address.port() != settings.local_port {
            return fail(
                format!(
                    "the tunnel leads to port {}, and http.public listens at {address}",
                    settings.local_port
                ),
                "set tunnel.forward to that port, and restart the daemon",
            );
        }
        let message = match &settings.domain {
            Some(domain) => format!("{name}, at {domain}, to port {}", settings.local_port),
            None => format!("{name}, at a changing address, to port {}", settings.local_port),
        };
        match (&self.env.base_url, &settings.domain) {
            (None, Some(domain)) => warn(
                settings.clone(),
                message,
                format!(
                    "AI clients that use OAuth need http.base_url = \"https://{domain}\" in \
                     config.toml"
                ),
            ),
            (Some(url), Some(domain))
                if !url.eq_ignore_ascii_case(&format!("https://{domain}")) =>
            {
                warn(
                    settings.clone(),
                    message,
                    format!("http.base_url is {url}: clients get that address, not the tunnel's"),
                )
            }
            (None, None) => warn(
                settings,
                message,
                "the address may change, so AI clients with OAuth cannot use it: set tunnel.domain \
                 and http.base_url",
            ),
            _ => pass(settings, message),
        }
    }

    /// Step 2: checks that the agent is installed, or that another program runs it.
    fn agent(&self, watchdog_state: &mut WatchdogState, settings: &Settings) -> StepResult<()> {
        let starter = self.starter();
        let watchdog = watchdog_state.watchdog(settings);
        let (name, program) = (watchdog.name(), watchdog.program(&*starter));
        match program {
            Some(path) => pass((), format!("{name} is {}", path.display())),
            None => {
                let report = self.run_tunnel_check(watchdog_state, settings)?;
                match report.is_foreign {
                    true => pass((), format!("{name} runs already, started by another program")),
                    false => fail(
                        format!("there is no program {name} on the daemon's PATH"),
                        format!("install {name}, or set its path: tunnel.binary in config.toml"),
                    ),
                }
            }
        }
    }

    /// Step 3: checks that the provider accepts the token, by waiting until the agent connects.
    fn authtoken(
        &self,
        watchdog_state: &mut WatchdogState,
        settings: &Settings,
    ) -> StepResult<TunnelCheck> {
        let found = self.tunnel_token()?;
        self.set_should_run(watchdog_state, true)?;
        watchdog_state.watchdog(settings).reset_backoff();
        let report = self.wait_for_tunnel(watchdog_state, settings, watchdog::SETUP_TIMEOUT)?;
        if report.is_token_refused {
            return step_of_report(&report);
        }
        let file = self.env.secrets.home_path(TOKEN);
        let (up, adopted) = (report.diagnosis.url.is_some(), report.is_foreign);
        match found {
            // Only a session shows that the provider accepts a token.
            _ if !up => {
                let message = match found {
                    Some(found) => {
                        format!("it is unknown whether the token of {} is valid", found.origin)
                    }
                    None => {
                        "brain has no token, and it is unknown whether the agent has one".into()
                    }
                };
                let reason = format!("the agent has no session: {}", report.diagnosis.message);
                warn(report, message, reason)
            }
            _ if adopted => pass(report, "another program started the agent, with its own token"),
            Some(found) if !report.has_token => warn(
                report,
                format!("the agent does not use the token of {}", found.origin),
                "agents of ngrok 2 have theirs from `ngrok authtoken …`; quick tunnels and \
                 tailscale need none",
            ),
            Some(found) => {
                let message = format!("the agent is connected with the token of {}", found.origin);
                pass(report, message)
            }
            None if settings.provider == AgentProvider::Ngrok => warn(
                report,
                "brain has no token: the agent uses its own configuration",
                format!("brain keeps it if you put it into {} with mode 600", file.display()),
            ),
            None => pass(report, "the agent needs no token, or has one in its own configuration"),
        }
    }

    /// Step 7: writes the heartbeat that marks a completed setup.
    fn tunnel_heartbeat(&self, settings: &Settings, url: &str) -> StepResult<()> {
        let domain = url.split_once("://").map_or(url, |(_, domain)| domain);
        let details = json!({ "domain": domain, "tier": tier(settings, domain) });
        Heartbeat::new(self.env.home.root(), "tunnel", TUNNEL_VERSION)
            .beat(self.env.clock.now(), "setup_complete", "ok", &details)
            .map_err(|fault| {
                StepFailure::new(fault.to_string(), "look at that file and its disk")
            })?;
        pass((), "setup_complete is in integrations/tunnel/heartbeat.jsonl")
    }
}

/// Guesses the plan of the account, or the kind of tunnel, from provider and hostname.
fn tier(settings: &Settings, domain: &str) -> &'static str {
    let free = [".ngrok-free.app", ".ngrok-free.dev"].iter().any(|end| domain.ends_with(end));
    match (settings.provider, &settings.domain) {
        (AgentProvider::Ngrok, _) if free => "free",
        (AgentProvider::Ngrok, Some(_)) => "paid",
        (AgentProvider::Ngrok, None) => "changing",
        (AgentProvider::Cloudflared, Some(_)) => "named",
        (AgentProvider::Cloudflared, None) => "quick",
        (AgentProvider::Tailscale, _) => "funnel",
    }
}
