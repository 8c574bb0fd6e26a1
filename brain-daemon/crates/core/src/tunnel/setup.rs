//! `brain tunnel setup`: seven steps, each checked before the next. Can be repeated.

use brain_protocol::{Fault, FaultCode, TunnelSetupReply};
use serde_json::json;

use super::{TOKEN, WatchdogState, watchdog};
use crate::steps::{Ended, Failed, Steps, failed, passed, warned};
use crate::{Progress, TunnelService};
use brain_collector::Heartbeat;
use brain_tunnel::{Kind, Settings, TUNNEL_VERSION, TunnelCheck};

/// Converts a fault into a failed step.
fn step_of_fault(fault: Fault) -> Failed {
    Failed {
        message: fault.message,
        hint: fault.hint.unwrap_or_else(|| "run `brain doctor`".into()),
    }
}

/// Converts a check into a failed step.
fn step_of_report<T>(report: &TunnelCheck) -> Ended<T> {
    let hint = report.diagnosis.hint.clone();
    failed(
        format!("{}: {}", report.diagnosis.state, report.diagnosis.message),
        hint.unwrap_or_else(|| {
            "look at `brain tunnel status` and the daemon's log, then run setup again".into()
        }),
    )
}

impl TunnelService {
    /// Runs the steps. The report lists the steps that were reached; the tunnel stays up
    /// afterwards.
    ///
    /// # Errors
    /// Only internal defects; failures are reported as steps.
    pub(crate) fn setup(&self, progress: &dyn Progress) -> Result<TunnelSetupReply, Fault> {
        let mut steps = Steps { clock: &*self.env.clock, taken: Vec::new() };
        let through = self.tunnel_steps(&mut steps, progress).is_some();
        self.state.wake.notify_one();
        Ok(TunnelSetupReply {
            status: if through { "passed" } else { "failed" }.into(),
            steps: steps.taken,
        })
    }

    fn tunnel_steps(&self, steps: &mut Steps<'_>, progress: &dyn Progress) -> Option<()> {
        let settings = steps.take("provider", || self.provider())?;
        let mut work = self.state.work();
        progress.at(1, 7);
        steps.take("agent", || self.agent(&mut work, &settings))?;
        progress.at(2, 7);
        let report = steps.take("authtoken", || self.authtoken(&mut work, &settings))?;
        progress.at(3, 7);
        let url = steps.take("start", || match &report.diagnosis.url {
            Some(url) => passed(
                url.clone(),
                format!("the agent has a tunnel to port {} at {url}", settings.forward),
            ),
            None => step_of_report(&report),
        })?;
        progress.at(4, 7);
        steps.take("reachable", || match report.diagnosis.state {
            "up" => passed((), format!("{url}/health answers, asked from here")),
            _ => step_of_report(&report),
        })?;
        progress.at(5, 7);
        steps.take("telephone", || match self.update_webhook(&mut work) {
            Ok(said) => passed((), said),
            Err(fault) => Err(step_of_fault(fault)),
        })?;
        progress.at(6, 7);
        steps.take("heartbeat", || self.tunnel_heartbeat(&settings, &url))
    }

    /// Step 1: the configuration is consistent.
    fn provider(&self) -> Ended<Settings> {
        let settings = self.tunnel_settings().map_err(step_of_fault)?;
        let name = brain_tunnel::agent(&settings).name();
        let public = self.access.http_addresses().public.or_else(|| self.env.config.http.public);
        let Some(address) = public else {
            return failed(
                "nothing listens for a tunnel: http.public is off",
                format!(
                    "set http.public = \"127.0.0.1:{}\" in config.toml, and restart the daemon",
                    settings.forward
                ),
            );
        };
        if address.port() != settings.forward {
            return failed(
                format!(
                    "the tunnel leads to port {}, and http.public listens at {address}",
                    settings.forward
                ),
                "set tunnel.forward to that port, and restart the daemon",
            );
        }
        let shown = match &settings.domain {
            Some(domain) => format!("{name}, at {domain}, to port {}", settings.forward),
            None => format!("{name}, at whatever address it gives, to port {}", settings.forward),
        };
        match (self.env.config.http_base_url(), &settings.domain) {
            (None, Some(domain)) => warned(
                settings.clone(),
                shown,
                format!(
                    "AI clients that come in by OAuth need http.base_url = \"https://{domain}\" in config.toml"
                ),
            ),
            (Some(url), Some(domain))
                if !url.eq_ignore_ascii_case(&format!("https://{domain}")) =>
            {
                warned(
                    settings.clone(),
                    shown,
                    format!(
                        "http.base_url is {url}: clients are told that address, not the tunnel's"
                    ),
                )
            }
            (None, None) => warned(
                settings,
                shown,
                "the address may change, so AI clients that come in by OAuth cannot use it: set tunnel.domain and http.base_url",
            ),
            _ => passed(settings, shown),
        }
    }

    /// Step 2: the agent is installed.
    fn agent(&self, work: &mut WatchdogState, settings: &Settings) -> Ended<()> {
        let starter = self.state.starter();
        let watchdog = work.watchdog(settings);
        let (name, program) = (watchdog.name(), watchdog.program(&*starter));
        match program {
            Some(path) => passed((), format!("{name} is {}", path.display())),
            None => {
                let report = self.run_tunnel_check(work, settings).map_err(step_of_fault)?;
                match report.adopted {
                    true => passed((), format!("{name} runs already, started by somebody else")),
                    false => failed(
                        format!("there is no program {name} on the daemon's PATH"),
                        format!("install {name}, or say where it is: tunnel.binary in config.toml"),
                    ),
                }
            }
        }
    }

    /// Step 3: the platform accepts the token, which shows when the agent connects.
    fn authtoken(&self, work: &mut WatchdogState, settings: &Settings) -> Ended<TunnelCheck> {
        let found = self.tunnel_token().map_err(step_of_fault)?;
        self.set_wanted(work, true).map_err(step_of_fault)?;
        work.watchdog(settings).reset_backoff();
        let report =
            self.wait_for_tunnel(work, settings, watchdog::SETUP_TIMEOUT).map_err(step_of_fault)?;
        if report.token_refused {
            return step_of_report(&report);
        }
        let file = self.env.home.secrets().join(TOKEN);
        let (up, adopted) = (report.diagnosis.url.is_some(), report.adopted);
        match found {
            // Only a session shows that the provider accepts a token.
            _ if !up => {
                let said = match found {
                    Some(found) => {
                        format!("whether the token of {} is good is not known", found.origin)
                    }
                    None => "brain has no token, and whether the agent has one is not known".into(),
                };
                let why = format!("the agent has no session: {}", report.diagnosis.message);
                warned(report, said, why)
            }
            _ if adopted => {
                passed(report, "the agent was started by somebody else, with a token of its own")
            }
            Some(found) if !report.token_passed => warned(
                report,
                format!(
                    "the agent takes no token from brain: that of {} is not used",
                    found.origin
                ),
                "agents of ngrok 2 have theirs from `ngrok authtoken …`; quick tunnels and tailscale need none",
            ),
            Some(found) => {
                let said = format!("the agent is connected with the token of {}", found.origin);
                passed(report, said)
            }
            None if settings.provider == Kind::Ngrok => warned(
                report,
                "brain has no token: the agent takes the one of its own configuration",
                format!("to keep it with brain: put it into {} with mode 600", file.display()),
            ),
            None => passed(report, "it needs none, or has it in its own configuration"),
        }
    }

    /// Step 7: writes the heartbeat that marks a completed setup.
    fn tunnel_heartbeat(&self, settings: &Settings, url: &str) -> Ended<()> {
        let domain = url.split_once("://").map_or(url, |(_, domain)| domain);
        let details = json!({ "domain": domain, "tier": tier(settings, domain) });
        Heartbeat::new(self.env.home.root(), "tunnel", TUNNEL_VERSION)
            .beat(self.env.clock.now(), "setup_complete", "ok", &details)
            .map_err(|fault| {
                step_of_fault(
                    Fault::new(FaultCode::Io, fault.to_string())
                        .hint("look at that file and its disk"),
                )
            })?;
        passed((), "setup_complete stands in integrations/tunnel/heartbeat.jsonl")
    }
}

/// Guesses the kind of plan from the hostname.
fn tier(settings: &Settings, domain: &str) -> &'static str {
    let free = [".ngrok-free.app", ".ngrok-free.dev"].iter().any(|end| domain.ends_with(end));
    match (settings.provider, &settings.domain) {
        (Kind::Ngrok, _) if free => "free",
        (Kind::Ngrok, Some(_)) => "paid",
        (Kind::Ngrok, None) => "changing",
        (Kind::Cloudflared, Some(_)) => "named",
        (Kind::Cloudflared, None) => "quick",
        (Kind::Tailscale, _) => "funnel",
    }
}
