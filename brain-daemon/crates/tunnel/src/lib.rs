//! The public tunnel: agents of three providers, what can be seen of each, and what to do about it. Knows neither pages nor HTTP doors: it is
//! told which port is to be reached, and says at which address it is.
//!
//! `watch` is the pure rule: from what was seen to what it means and what is done. `keeper` looks, times what is done, and does it. `ngrok`,
//! `cloudflared` and `tailscale` know how their agent is asked and started, behind [`Agent`].
//! `child` is a program that we started, `proof` shows that an address leads here, `leash` ends it
//! with the daemon. Everything blocks.

mod child;
mod cloudflared;
#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod fakes;
mod keeper;
#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod keeper_tests;
pub mod leash;
mod ngrok;
mod output;
mod proof;
mod tailscale;
pub mod watch;

use std::path::PathBuf;

use brain_protocol::Secret;
use url::Url;

use brain_net::{Answer, Call, Outgoing};

pub use child::{Child, OnEnd, Starter, SystemStarter};
pub use keeper::{Keeper, Looked, World, is_healthy};
pub use proof::Proof;
pub use watch::{Seen, Verdict};

/// The header that marks the watchdog's own request to `/health`, and its value on the local way.
/// Through the public address the value is the question of a [`Proof`].
pub const PROBE: (&str, &str) = ("x-brain-probe", "watchdog");
/// A free ngrok address shows browsers a page first, unless this is asked for.
const NO_PAGE: (&str, &str) = ("ngrok-skip-browser-warning", "true");
/// The version of the tunnel's recipe.
pub const TUNNEL_VERSION: &str = "0.7.0";

/// Whose agent it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// ngrok, agent 2 or 3.
    Ngrok,
    /// Cloudflare's cloudflared: a quick tunnel, or a named one.
    Cloudflared,
    /// Tailscale's funnel.
    Tailscale,
}

/// What the tunnel goes by.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Settings {
    /// Whose agent it is.
    pub provider: Kind,
    /// The fixed name.
    pub domain: Option<String>,
    /// The agent's program; looked for on PATH when absent.
    pub binary: Option<PathBuf>,
    /// The agent's own address, without a slash at its end.
    pub api: String,
    /// Whether nobody configured that: the provider's usual ports are tried then.
    pub api_is_default: bool,
    /// The port on this machine that it leads to.
    pub forward: u16,
}

impl Settings {
    /// The program: the configured one, else `name`, to be looked for on PATH.
    fn program(&self, name: &str) -> String {
        self.binary.as_ref().map_or_else(|| name.to_owned(), |path| path.display().to_string())
    }

    /// Where the agent's API may be: the configured place, else these ports of this machine.
    fn places(&self, usual: std::ops::RangeInclusive<u16>) -> Vec<String> {
        match self.api_is_default {
            true => usual.map(|port| format!("http://127.0.0.1:{port}")).collect(),
            false => vec![self.api.clone()],
        }
    }

    /// What the agents at `places` say together, each asked by `at`: several may run, ours and somebody else's. The first tunnel that is meant
    /// is enough; one that is not connected says more than one that serves something else.
    fn ask(&self, places: Vec<String>, at: impl Fn(&str) -> Says) -> Says {
        let (mut urls, mut found) = (Vec::new(), Says::Nothing);
        for base in places {
            match (at(&base), &found) {
                (Says::Up(more), _) => urls.extend(more),
                (Says::Nothing, _) | (Says::Elsewhere(_), Says::NoTunnel(_)) => {}
                (other, _) => found = other,
            }
            if watch::chosen(self, &urls).is_some() {
                break;
            }
        }
        if urls.is_empty() { found } else { Says::Up(urls) }
    }
}

/// What an agent says of itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Says {
    /// Its API does not answer: it does not run.
    Nothing,
    /// It runs for something else: its tunnels lead elsewhere. What it said.
    Elsewhere(String),
    /// It runs, and is not connected. What it said.
    NoTunnel(String),
    /// It has a tunnel to our port, at these `https` addresses.
    Up(Vec<String>),
}

/// How an agent is started.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Launch {
    /// The program and its arguments. Never with a secret among them.
    pub command: Vec<String>,
    /// Variables for it, the token among them.
    pub variables: Vec<(String, Secret)>,
    /// What the owner should know: that the token could not be handed over.
    pub warning: Option<String>,
}

/// An agent: how it is asked, started, and what its output means.
pub trait Agent: Send + Sync {
    /// Its name, as people type it.
    fn name(&self) -> &'static str;

    /// Its program: a path, or a name to be looked for on PATH.
    fn program(&self) -> String;

    /// What it says of itself. Asks the agent's API, or its program; never the list of processes.
    fn ask(&self, net: &dyn Outgoing, starter: &dyn Starter) -> Says;

    /// How a tunnel to our port is brought up; `token` goes by the environment. May ask the program for its version.
    fn launch(&self, token: Option<&Secret>, starter: &dyn Starter) -> Launch;

    /// What a line of its output says of why it does not work: the provider's code and the way out, where it is known.
    fn refusal(&self, line: &str) -> Option<Refusal>;
}

/// Why the platform refuses, from the agent's own words.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refusal {
    /// The provider's code, such as `ERR_NGROK_105`; empty where it has none.
    pub code: String,
    /// What it means.
    pub message: String,
    /// What to do about it.
    pub hint: String,
    /// Whether trying again cannot help until somebody has changed something.
    pub lasting: bool,
    /// Whether it is about the token.
    pub token: bool,
}

impl std::fmt::Display for Refusal {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.code.as_str() {
            "" => f.write_str(&self.message),
            code => write!(f, "{} ({code})", self.message),
        }
    }
}

/// The agent of these settings.
#[must_use]
pub fn agent(settings: &Settings) -> Box<dyn Agent> {
    match settings.provider {
        Kind::Ngrok => Box::new(ngrok::Ngrok::new(settings.clone())),
        Kind::Cloudflared => Box::new(cloudflared::Cloudflared::new(settings.clone())),
        Kind::Tailscale => Box::new(tailscale::Tailscale::new(settings.clone())),
    }
}

/// What an agent's API answers at `address`; `None` when nobody does, or it is no address.
fn get(net: &dyn Outgoing, address: &str) -> Option<Answer> {
    let url = Url::parse(address).ok()?;
    let call = Call {
        url: &url,
        body: None,
        headers: &[],
        authorization: None,
        public: false,
        enough: |_| false,
    };
    net.call(&call).ok()
}

/// The JSON of such an answer, when its status is one of `statuses`.
fn json(answer: &Answer, statuses: &[u16]) -> Option<serde_json::Value> {
    statuses.contains(&answer.status).then(|| serde_json::from_slice(&answer.body).ok()).flatten()
}

/// A public address as everybody writes it, `https://host` with a port that is not the usual one; `None` for anything else.
fn public(text: &str) -> Option<String> {
    let url = Url::parse(text).ok().filter(|url| url.scheme() == "https" && url.has_host())?;
    Some(url.origin().ascii_serialization())
}

/// Whether a forwarding address leads to this port of this machine: `8765`, `localhost:8765`, `http://127.0.0.1:8765`.
fn leads_to(upstream: &str, port: u16) -> bool {
    let rest = upstream.split_once("://").map_or(upstream, |(_, rest)| rest);
    let rest = rest.split('/').next().unwrap_or_default();
    let (host, named) = rest.rsplit_once(':').unwrap_or(("localhost", rest));
    let host = host.trim_start_matches('[').trim_end_matches(']');
    let here = host.eq_ignore_ascii_case("localhost")
        || host.parse::<std::net::IpAddr>().is_ok_and(|ip| ip.is_loopback() || ip.is_unspecified());
    here && named.parse() == Ok(port)
}

/// A short list of what somebody else wrote, for a message.
fn shown(items: &[String]) -> String {
    let plain =
        |text: &String| -> String { text.chars().filter(|c| !c.is_control()).take(100).collect() };
    let some: Vec<String> = items.iter().take(3).map(plain).collect();
    let more = if items.len() > some.len() { ", …" } else { "" };
    format!("{}{more}", some.join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn forwarding_addresses_lead_to_our_port_or_do_not() {
        for ours in [
            "8765",
            "localhost:8765",
            "http://localhost:8765",
            "http://127.0.0.1:8765/",
            "https://[::1]:8765",
            "http://0.0.0.0:8765",
        ] {
            assert!(leads_to(ours, 8765), "{ours}");
        }
        for other in [
            "3000",
            "http://localhost:87650",
            "http://10.0.0.5:8765",
            "http://example.org:8765",
            "",
            "http://localhost",
        ] {
            assert!(!leads_to(other, 8765), "{other}");
        }
    }

    #[test]
    fn only_https_is_a_public_address() {
        assert_eq!(public("https://Name.ngrok.app/").as_deref(), Some("https://name.ngrok.app"));
        assert_eq!(
            public("https://node.tail1.ts.net:8443").as_deref(),
            Some("https://node.tail1.ts.net:8443")
        );
        for other in
            ["http://name.ngrok.app", "tcp://0.tcp.ngrok.io:1", "name.ngrok.app", "https://", ""]
        {
            assert_eq!(public(other), None, "{other}");
        }
    }
}
