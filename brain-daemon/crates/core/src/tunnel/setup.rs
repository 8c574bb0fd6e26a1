//! `brain tunnel setup`: seven steps, each checked before the next; it can be walked again.

use brain_protocol::{Fault, FaultCode, TunnelSetupReply};
use serde_json::json;

use super::super::steps::{Ended, Failed, Steps, failed, passed, warned};
use super::super::{Brain, Progress};
use super::{TOKEN, Work, look};
use brain_collector::Heartbeat;
use brain_tunnel::{Kind, Looked, Settings, TUNNEL_VERSION};

/// A step that a fault ended.
fn fell(fault: Fault) -> Failed {
    Failed {
        message: fault.message,
        hint: fault.hint.unwrap_or_else(|| "run `brain doctor`".into()),
    }
}

/// A step that a look ended.
fn seen<T>(looked: &Looked) -> Ended<T> {
    let hint = looked.verdict.hint.clone();
    failed(
        format!("{}: {}", looked.verdict.state, looked.verdict.message),
        hint.unwrap_or_else(|| {
            "look at `brain tunnel status` and the daemon's log, then run setup again".into()
        }),
    )
}

impl Brain {
    /// Walks the steps. The report says how far it came; the tunnel is kept up from then on.
    ///
    /// # Errors
    /// None but a defect: what goes wrong is a step.
    pub(crate) fn tunnel_setup(&self, progress: &dyn Progress) -> Result<TunnelSetupReply, Fault> {
        let mut steps = Steps { clock: &*self.clock, taken: Vec::new() };
        let through = self.tunnel_steps(&mut steps, progress).is_some();
        self.tunnelling.wake.notify_one();
        Ok(TunnelSetupReply {
            status: if through { "passed" } else { "failed" }.into(),
            steps: steps.taken,
        })
    }

    fn tunnel_steps(&self, steps: &mut Steps<'_>, progress: &dyn Progress) -> Option<()> {
        let settings = steps.take("provider", || self.provider())?;
        let mut work = self.tunnelling.work();
        progress.at(1, 7);
        steps.take("agent", || self.agent(&mut work, &settings))?;
        progress.at(2, 7);
        let looked = steps.take("authtoken", || self.authtoken(&mut work, &settings))?;
        progress.at(3, 7);
        let url = steps.take("start", || match &looked.verdict.url {
            Some(url) => passed(
                url.clone(),
                format!("the agent has a tunnel to port {} at {url}", settings.forward),
            ),
            None => seen(&looked),
        })?;
        progress.at(4, 7);
        steps.take("reachable", || match looked.verdict.state {
            "up" => passed((), format!("{url}/health answers, asked from here")),
            _ => seen(&looked),
        })?;
        progress.at(5, 7);
        steps.take("telephone", || match self.lead_phone(&mut work) {
            Ok(said) => passed((), said),
            Err(fault) => Err(fell(fault)),
        })?;
        progress.at(6, 7);
        steps.take("heartbeat", || self.tunnel_heartbeat(&settings, &url))
    }

    /// 1: what is configured fits together.
    fn provider(&self) -> Ended<Settings> {
        let settings = self.tunnel_settings().map_err(fell)?;
        let name = brain_tunnel::agent(&settings).name();
        let public = self.places().public.or_else(|| self.config.http_public());
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
        match (self.config.http_base_url(), &settings.domain) {
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

    /// 2: the agent is there.
    fn agent(&self, work: &mut Work, settings: &Settings) -> Ended<()> {
        let starter = self.tunnelling.starter();
        let keeper = work.keeper(settings);
        let (name, program) = (keeper.name(), keeper.program(&*starter));
        match program {
            Some(path) => passed((), format!("{name} is {}", path.display())),
            None => {
                let looked = self.look(work, settings).map_err(fell)?;
                match looked.adopted {
                    true => passed((), format!("{name} runs already, started by somebody else")),
                    false => failed(
                        format!("there is no program {name} on the daemon's PATH"),
                        format!("install {name}, or say where it is: tunnel.binary in config.toml"),
                    ),
                }
            }
        }
    }

    /// 3: the platform takes the token, which it says when the agent connects with it.
    fn authtoken(&self, work: &mut Work, settings: &Settings) -> Ended<Looked> {
        let found = self.tunnel_token().map_err(fell)?;
        self.want(work, true).map_err(fell)?;
        work.keeper(settings).forget();
        let looked = self.settle_tunnel(work, settings, look::SETUP).map_err(fell)?;
        if looked.token_refused {
            return seen(&looked);
        }
        let file = self.home.secrets().join(TOKEN);
        let (up, adopted) = (looked.verdict.url.is_some(), looked.adopted);
        match found {
            // Only a session shows that the provider takes a token.
            _ if !up => {
                let said = match found {
                    Some(found) => {
                        format!("whether the token of {} is good is not known", found.origin)
                    }
                    None => "brain has no token, and whether the agent has one is not known".into(),
                };
                let why = format!("the agent has no session: {}", looked.verdict.message);
                warned(looked, said, why)
            }
            _ if adopted => {
                passed(looked, "the agent was started by somebody else, with a token of its own")
            }
            Some(found) if !looked.handed => warned(
                looked,
                format!(
                    "the agent takes no token from brain: that of {} is not used",
                    found.origin
                ),
                "agents of ngrok 2 have theirs from `ngrok authtoken …`; quick tunnels and tailscale need none",
            ),
            Some(found) => {
                let said = format!("the agent is connected with the token of {}", found.origin);
                passed(looked, said)
            }
            None if settings.provider == Kind::Ngrok => warned(
                looked,
                "brain has no token: the agent takes the one of its own configuration",
                format!("to keep it with brain: put it into {} with mode 600", file.display()),
            ),
            None => passed(looked, "it needs none, or has it in its own configuration"),
        }
    }

    /// 7: the line by which others see that it is set up.
    fn tunnel_heartbeat(&self, settings: &Settings, url: &str) -> Ended<()> {
        let domain = url.split_once("://").map_or(url, |(_, domain)| domain);
        let details = json!({ "domain": domain, "tier": tier(settings, domain) });
        Heartbeat::new(self.home.root(), "tunnel", TUNNEL_VERSION)
            .beat(self.now(), "setup_complete", "ok", &details)
            .map_err(|fault| {
                fell(
                    Fault::new(FaultCode::Io, fault.to_string())
                        .hint("look at that file and its disk"),
                )
            })?;
        passed((), "setup_complete stands in integrations/tunnel/heartbeat.jsonl")
    }
}

/// What kind of address it is, as far as its name tells: what a plan costs is nowhere to be asked.
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
