//! The agent `tailscale`: runs `tailscale funnel`.
//!
//! The agent has no API: its program asks the local tailscaled. The program runs without `--bg`, so
//! that the funnel ends with it.

use std::time::Duration;

use brain_protocol::{Command, Secret, hint};
use serde_json::Value;

use super::{
    Agent, AgentStatus, Launch, Rejection, Settings, Starter, https_origin, join_names, leads_to,
};
use brain_net::HttpClient;

/// Time limit for the status command.
const STATUS_TIMEOUT: Duration = Duration::from_secs(10);

/// The `tailscale` agent.
pub(super) struct Tailscale {
    settings: Settings,
}

impl Tailscale {
    /// Creates the agent with these settings.
    pub(super) fn new(settings: Settings) -> Self {
        Self { settings }
    }

    /// Interprets the output of `funnel status --json`.
    fn parse_status(&self, status: &Value) -> AgentStatus {
        let (mut ours, mut others) = (Vec::new(), Vec::new());
        // Foreground programs have their own section beside the persistent configuration.
        let foreground = status.get("Foreground").and_then(Value::as_object);
        let parts = foreground.into_iter().flat_map(|parts| parts.values()).chain([status]);
        for part in parts {
            let web = part.get("Web").and_then(Value::as_object);
            for (address, site) in web.into_iter().flatten() {
                let is_public = part
                    .get("AllowFunnel")
                    .and_then(|open| open.get(address))
                    .and_then(Value::as_bool);
                let proxy =
                    site.pointer("/Handlers/~1/Proxy").and_then(Value::as_str).unwrap_or_default();
                match https_origin(&format!("https://{address}")) {
                    Some(url)
                        if is_public == Some(true) && leads_to(proxy, self.settings.local_port) =>
                    {
                        ours.push(url);
                    }
                    _ if is_public == Some(true) => others.push(format!("{address} to {proxy}")),
                    // Served inside the tailnet only.
                    _ => {}
                }
            }
        }
        match (ours.is_empty(), others.is_empty()) {
            (false, _) => AgentStatus::Up(ours),
            (true, true) => AgentStatus::NotRunning,
            (true, false) => AgentStatus::OtherTarget(format!(
                "tailscale has no funnel to port {}, but {}",
                self.settings.local_port,
                join_names(&others)
            )),
        }
    }
}

impl Agent for Tailscale {
    fn name(&self) -> &'static str {
        "tailscale"
    }

    fn program(&self) -> String {
        self.settings.program("tailscale")
    }

    fn status(&self, _: &dyn HttpClient, starter: &dyn Starter) -> AgentStatus {
        let command = [&self.program(), "funnel", "status", "--json"].map(str::to_owned);
        let Ok((0, text)) = starter.run(&command, STATUS_TIMEOUT) else {
            return AgentStatus::NotRunning;
        };
        serde_json::from_str(&text)
            .map_or(AgentStatus::NotRunning, |status| self.parse_status(&status))
    }

    fn launch(&self, token: Option<&Secret>, _: &dyn Starter) -> Launch {
        let target = format!("http://127.0.0.1:{}", self.settings.local_port);
        let command = [&self.program(), "funnel", "--yes", "--https=443", &target]
            .map(str::to_owned)
            .to_vec();
        let warning = token.map(|_| {
            "tailscale takes no token here: the machine is logged in with `tailscale up`".to_owned()
        });
        Launch { command, variables: Vec::new(), warning }
    }

    fn rejection(&self, line: &str) -> Option<Rejection> {
        let has = |words: &[&str]| words.iter().any(|word| line.contains(word));
        let (message, hint, is_permanent) =
            if has(&["Funnel is not enabled", "Funnel not available", "\"funnel\" node attribute"])
            {
                (
                    "funnel is not enabled for this tailnet or machine",
                    hint!(
                        "enable it in Tailscale's admin console (MagicDNS, HTTPS certificates, and \
                         the node attribute funnel), then {}",
                        Command::TunnelStart
                    ),
                    true,
                )
            } else if has(&["Logged out", "NeedsLogin", "not logged in"]) {
                (
                    "this machine is not logged in to Tailscale",
                    hint!("`tailscale up`, then {}", Command::TunnelStart),
                    true,
                )
            } else if has(&["Access denied", "access denied"]) {
                (
                    "this user may not change what tailscale serves",
                    hint!(
                        "once, as root: `tailscale set --operator=$USER`; then {}",
                        Command::TunnelStart
                    ),
                    true,
                )
            } else if has(&["failed to connect to local tailscaled", "is Tailscale running?"]) {
                (
                    "tailscaled does not run on this machine",
                    "start it: `systemctl start tailscaled`; brain retries".into(),
                    false,
                )
            } else {
                return None;
            };
        Some(Rejection {
            code: String::new(),
            message: message.into(),
            hint,
            is_permanent,
            is_about_token: false,
        })
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::AgentProvider;
    use super::super::fakes::{FakeNet, FakeStarter};
    use super::*;

    fn tailscale() -> Tailscale {
        Tailscale::new(Settings {
            provider: AgentProvider::Tailscale,
            domain: None,
            binary: None,
            api: "http://127.0.0.1:4040".into(),
            api_is_default: true,
            local_port: 8765,
        })
    }

    #[test]
    fn only_a_funnel_to_our_port_counts() {
        let ask =
            |text: &str| tailscale().status(&FakeNet::default(), &FakeStarter::with_output(text));
        let site = |proxy: &str| json!({"Handlers": {"/": {"Proxy": proxy}}});
        let serve = |proxy: &str, open: bool| {
            json!({"TCP": {"443": {"HTTPS": true}}, "Web": {"node.tail1.ts.net:443": site(proxy)},
                "AllowFunnel": {"node.tail1.ts.net:443": open}})
        };
        let ours = serve("http://127.0.0.1:8765", true);
        let up = AgentStatus::Up(vec!["https://node.tail1.ts.net".into()]);
        assert_eq!(ask(&ours.to_string()), up);
        assert_eq!(ask(&json!({"Foreground": {"0c55": ours}}).to_string()), up);
        assert!(matches!(
            ask(&serve("http://127.0.0.1:3000", true).to_string()),
            AgentStatus::OtherTarget(_)
        ));
        for status in
            ["{}", "null", "No serve config", &serve("http://127.0.0.1:8765", false).to_string()]
        {
            assert_eq!(ask(status), AgentStatus::NotRunning, "{status}");
        }
    }

    #[test]
    fn funnel_runs_in_the_foreground() {
        let launch = tailscale().launch(None, &FakeStarter::default());
        assert_eq!(
            launch.command.join(" "),
            "tailscale funnel --yes --https=443 http://127.0.0.1:8765"
        );
        let line = "Funnel is not enabled on your tailnet. To enable, visit: \
            https://login.tailscale.com/f/funnel";
        assert!(tailscale().rejection(line).is_some_and(|rejection| rejection.is_permanent));
        assert_eq!(tailscale().rejection("Press Ctrl+C to exit."), None);
    }
}
