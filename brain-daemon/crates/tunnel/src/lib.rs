//! The public tunnel: agents of three providers and a watchdog. Knows no pages and no HTTP server.
//!
//! `service` has the operations, and keeps a [`TelephoneNumber`] at the public address. `diagnosis`
//! is the pure rule from an observation to an action, and `watchdog` carries it out.
//! `ngrok`, `cloudflared` and `tailscale` implement [`Agent`]. `child` runs programs,
//! `child_supervisor` ends them with the daemon, and `proof` shows that an address leads here. All
//! calls block.

mod child;
pub mod child_supervisor;
mod cloudflared;
pub mod diagnosis;
#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod fakes;
mod ngrok;
mod output;
mod proof;
mod recorded_agent;
mod service;
mod settings;
mod tailscale;
mod watchdog;
#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod watchdog_tests;

use std::path::PathBuf;

use brain_protocol::{Hint, Secret};
use url::Url;

use brain_net::{HttpClient, HttpRequest, HttpResponse, Reason};

pub use child::{Child, ExitListener, RefusingStarter, Starter, SystemStarter};
pub use diagnosis::{Diagnosis, Observation};
pub use proof::Proof;
pub use recorded_agent::RecordingStarter;
pub use service::{TelephoneNumber, TunnelEnvironment, TunnelService};
pub use watchdog::{TunnelCheck, Watchdog, WatchdogEnvironment, check_health};

/// The header that marks the watchdog's requests to `/health`, and its value on the local path.
/// Through the public address, the value is the challenge of a [`Proof`].
pub const PROBE_HEADER: (&str, &str) = ("x-brain-probe", "watchdog");
/// Skips the page that free ngrok addresses show to browsers.
const SKIP_BROWSER_WARNING: (&str, &str) = ("ngrok-skip-browser-warning", "true");
/// The version that the tunnel's heartbeats report.
pub const TUNNEL_VERSION: &str = "0.7.0";

/// The provider of the agent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AgentProvider {
    /// ngrok, agent 2 or 3.
    Ngrok,
    /// Cloudflare's cloudflared: a quick or a named tunnel.
    Cloudflared,
    /// Tailscale Funnel.
    Tailscale,
}

/// The settings of a tunnel.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Settings {
    /// The provider.
    pub provider: AgentProvider,
    /// The fixed hostname.
    pub domain: Option<String>,
    /// The agent's program; searched on PATH if absent.
    pub binary: Option<PathBuf>,
    /// The base URL of the agent's API, without a trailing slash.
    pub api: String,
    /// Whether `api` is the default. Then the provider's usual ports are tried.
    pub api_is_default: bool,
    /// The local port that the tunnel leads to.
    pub local_port: u16,
}

impl Settings {
    /// Returns the configured program, or `name` to be searched on PATH.
    fn program(&self, name: &str) -> String {
        self.binary.as_ref().map_or_else(|| name.to_owned(), |path| path.display().to_string())
    }

    /// Returns the possible API addresses: the configured one, or these ports of this machine.
    fn api_addresses(&self, default_ports: std::ops::RangeInclusive<u16>) -> Vec<String> {
        match self.api_is_default {
            true => default_ports.map(|port| format!("http://127.0.0.1:{port}")).collect(),
            false => vec![self.api.clone()],
        }
    }

    /// Combines the statuses of the agents at `api_addresses`; ours and foreign ones may run
    /// together. The first matching tunnel wins. An agent that is not connected outranks one that
    /// serves another target.
    fn status(
        &self,
        api_addresses: Vec<String>,
        status_at: impl Fn(&str) -> AgentStatus,
    ) -> AgentStatus {
        let (mut urls, mut status) = (Vec::new(), AgentStatus::NotRunning);
        for base in api_addresses {
            match (status_at(&base), &status) {
                (AgentStatus::Up(more), _) => urls.extend(more),
                (AgentStatus::NotRunning, _)
                | (AgentStatus::OtherTarget(_), AgentStatus::NotConnected(_)) => {}
                (other, _) => status = other,
            }
            if diagnosis::select_url(self, &urls).is_some() {
                break;
            }
        }
        if urls.is_empty() { status } else { AgentStatus::Up(urls) }
    }
}

/// The status that an agent reports.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum AgentStatus {
    /// The API does not answer, so the agent does not run.
    NotRunning,
    /// The agent runs, but its tunnels lead elsewhere. Has a description.
    OtherTarget(String),
    /// The agent runs without a connection. Has a description.
    NotConnected(String),
    /// The agent has a tunnel to our port at these `https` addresses.
    Up(Vec<String>),
}

/// The command that starts an agent.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Launch {
    /// The program and its arguments. Never contains a secret.
    pub command: Vec<String>,
    /// Environment variables, including the token.
    pub variables: Vec<(String, Secret)>,
    /// A warning for the owner: the token could not be passed.
    pub warning: Option<String>,
}

/// An agent: how to query it, start it and read its output.
pub trait Agent: Send + Sync {
    /// Returns the name as in the configuration.
    fn name(&self) -> &'static str;

    /// Returns the program: a path, or a name to be searched on PATH.
    fn program(&self) -> String;

    /// Returns the status, from the agent's API or program. Never reads the process list.
    fn status(&self, net: &dyn HttpClient, starter: &dyn Starter) -> AgentStatus;

    /// Returns the command that brings up a tunnel to our port. `token` is passed in the
    /// environment. May run the program to get its version.
    fn launch(&self, token: Option<&Secret>, starter: &dyn Starter) -> Launch;

    /// Parses a rejection from a line of the agent's output.
    fn rejection(&self, line: &str) -> Option<Rejection>;
}

/// A rejection by the platform, as the agent reports it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rejection {
    /// The provider's code, such as `ERR_NGROK_105`; empty if it has none.
    pub code: String,
    /// The meaning of the code.
    pub message: String,
    /// What to do about it.
    pub hint: Hint,
    /// Whether retrying cannot help until someone changes something.
    pub is_permanent: bool,
    /// Whether the rejection is about the token.
    pub is_about_token: bool,
}

impl std::fmt::Display for Rejection {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.code.as_str() {
            "" => f.write_str(&self.message),
            code => write!(f, "{} ({code})", self.message),
        }
    }
}

/// Returns the agent for these settings.
#[must_use]
pub fn agent(settings: &Settings) -> Box<dyn Agent> {
    match settings.provider {
        AgentProvider::Ngrok => Box::new(ngrok::Ngrok::new(settings.clone())),
        AgentProvider::Cloudflared => Box::new(cloudflared::Cloudflared::new(settings.clone())),
        AgentProvider::Tailscale => Box::new(tailscale::Tailscale::new(settings.clone())),
    }
}

/// Returns the answer of an agent's API at `address`. `None` if `address` is no URL or nothing
/// answers.
fn get(net: &dyn HttpClient, address: &str) -> Option<HttpResponse> {
    let url = Url::parse(address).ok()?;
    let call = HttpRequest {
        url: &url,
        body: None,
        headers: &[],
        authorization: None,
        must_be_public: false,
        reason: &Reason::new("tunnel agent"),
        is_complete: |_| false,
    };
    net.call(&call).ok()
}

/// Parses the JSON of an answer whose status is one of `statuses`.
fn json(answer: &HttpResponse, statuses: &[u16]) -> Option<serde_json::Value> {
    statuses.contains(&answer.status).then(|| serde_json::from_slice(&answer.body).ok()).flatten()
}

/// Normalises an `https` address to `https://host[:port]`. `None` for anything else.
fn https_origin(text: &str) -> Option<String> {
    let url = Url::parse(text).ok().filter(|url| url.scheme() == "https" && url.has_host())?;
    Some(url.origin().ascii_serialization())
}

/// Returns whether a forwarding address leads to this local port, for example `8765`,
/// `localhost:8765` or `http://127.0.0.1:8765`.
fn leads_to(upstream: &str, port: u16) -> bool {
    let rest = upstream.split_once("://").map_or(upstream, |(_, rest)| rest);
    let rest = rest.split('/').next().unwrap_or_default();
    let (host, port_text) = rest.rsplit_once(':').unwrap_or(("localhost", rest));
    let host = host.trim_start_matches('[').trim_end_matches(']');
    let is_local = host.eq_ignore_ascii_case("localhost")
        || host.parse::<std::net::IpAddr>().is_ok_and(|ip| ip.is_loopback() || ip.is_unspecified());
    is_local && port_text.parse() == Ok(port)
}

/// Joins the first three items for a message. The items are untrusted text, so control characters
/// are removed and each item is cut at 100 characters.
fn join_names(items: &[String]) -> String {
    let plain =
        |text: &String| -> String { text.chars().filter(|c| !c.is_control()).take(100).collect() };
    let first_items: Vec<String> = items.iter().take(3).map(plain).collect();
    let more = if items.len() > first_items.len() { ", …" } else { "" };
    format!("{}{more}", first_items.join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn leads_to_accepts_local_addresses_of_the_port() {
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
    fn public_accepts_https_only() {
        assert_eq!(
            https_origin("https://Name.ngrok.app/").as_deref(),
            Some("https://name.ngrok.app")
        );
        assert_eq!(
            https_origin("https://node.tail1.ts.net:8443").as_deref(),
            Some("https://node.tail1.ts.net:8443")
        );
        for other in
            ["http://name.ngrok.app", "tcp://0.tcp.ngrok.io:1", "name.ngrok.app", "https://", ""]
        {
            assert_eq!(https_origin(other), None, "{other}");
        }
    }
}
