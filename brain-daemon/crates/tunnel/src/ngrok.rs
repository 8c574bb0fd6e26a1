//! The agent `ngrok`, versions 2 and 3, read through its local API.
//!
//! The API has two shapes: `/api/tunnels` and, from agent 3.30 on, its successor `/api/endpoints`.
//! An agent without a session answers `{"tunnels":[]}`.

use std::time::Duration;

use brain_protocol::{Command, Hint, Secret, hint};
use serde_json::Value;

use super::{
    Agent, AgentStatus, Launch, Rejection, Settings, Starter, get, https_origin, join_names, json,
    leads_to,
};
use brain_net::HttpClient;

/// The API ports: an agent takes the next one if a port is in use.
const PORTS: std::ops::RangeInclusive<u16> = 4040..=4044;
/// Time limit for the version command.
const VERSION_TIMEOUT: Duration = Duration::from_secs(5);
/// The prefix of error codes.
const CODE: &str = "ERR_NGROK_";
/// The first version with the option `--url`; assumed if the version is unknown.
const FIRST_URL_VERSION: (u32, u32) = (3, 16);

/// The `ngrok` agent.
pub(super) struct Ngrok {
    settings: Settings,
}

/// The public URL of a tunnel and its target.
type Tunnel = (String, String);

impl Ngrok {
    /// Creates the agent with these settings.
    pub(super) fn new(settings: Settings) -> Self {
        Self { settings }
    }

    /// Returns the status of the agent at `base`.
    fn status_at(&self, net: &dyn HttpClient, base: &str) -> AgentStatus {
        let mut others = Vec::new();
        let mut has_answered = false;
        for (path, parse) in [
            ("/api/tunnels", parse_tunnels as fn(&Value) -> Option<Vec<Tunnel>>),
            ("/api/endpoints", parse_endpoints),
        ] {
            let Some(answer) = get(net, &format!("{base}{path}")) else { break };
            let Some(tunnels) = json(&answer, &[200]).as_ref().and_then(parse) else { continue };
            has_answered = true;
            let is_ours = |(_, upstream): &&Tunnel| leads_to(upstream, self.settings.local_port);
            // Internal endpoints are for ngrok's own rules, not for clients.
            let urls: Vec<String> = tunnels
                .iter()
                .filter(is_ours)
                .filter_map(|(url, _)| https_origin(url))
                .filter(|url| !url.ends_with(".internal"))
                .collect();
            if !urls.is_empty() {
                return AgentStatus::Up(urls);
            }
            for (url, upstream) in tunnels {
                let other = format!("{url} to {upstream}");
                if !others.contains(&other) {
                    others.push(other);
                }
            }
        }
        match (has_answered, others.is_empty()) {
            (false, _) => AgentStatus::NotRunning,
            (true, true) => {
                AgentStatus::NotConnected(format!("the agent answers at {base}, but has no tunnel"))
            }
            (true, false) => AgentStatus::OtherTarget(format!(
                "the agent at {base} has no https tunnel to port {}, but {}",
                self.settings.local_port,
                join_names(&others)
            )),
        }
    }

    /// Returns the program's major and minor version; [`FIRST_URL_VERSION`] if it is unknown.
    fn version(&self, starter: &dyn Starter) -> (u32, u32) {
        let output = starter.run(&[self.program(), "version".into()], VERSION_TIMEOUT);
        output.ok().and_then(|(_, text)| parse_version(&text)).unwrap_or(FIRST_URL_VERSION)
    }
}

/// Parses `ngrok version 3.22.1`.
fn parse_version(text: &str) -> Option<(u32, u32)> {
    let number =
        text.split_whitespace().find(|word| word.starts_with(|c: char| c.is_ascii_digit()))?;
    let mut parts = number.split(['.', '-']).map(str::parse);
    Some((parts.next()?.ok()?, parts.next()?.ok()?))
}

/// Parses the answer of `/api/tunnels`.
fn parse_tunnels(value: &Value) -> Option<Vec<Tunnel>> {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let tunnels = value.get("tunnels")?.as_array()?;
    Some(
        tunnels
            .iter()
            .map(|tunnel| (text(&tunnel["public_url"]), text(&tunnel["config"]["addr"])))
            .collect(),
    )
}

/// Parses the answer of `/api/endpoints`.
fn parse_endpoints(value: &Value) -> Option<Vec<Tunnel>> {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let endpoints = value.get("endpoints")?.as_array()?;
    Some(
        endpoints
            .iter()
            .map(|endpoint| (text(&endpoint["url"]), text(&endpoint["upstream"]["url"])))
            .collect(),
    )
}

impl Agent for Ngrok {
    fn name(&self) -> &'static str {
        "ngrok"
    }

    fn program(&self) -> String {
        self.settings.program("ngrok")
    }

    fn status(&self, net: &dyn HttpClient, _: &dyn Starter) -> AgentStatus {
        self.settings.status(self.settings.api_addresses(PORTS), |base| self.status_at(net, base))
    }

    fn launch(&self, token: Option<&Secret>, starter: &dyn Starter) -> Launch {
        let version = self.version(starter);
        let (port, domain) = (self.settings.local_port.to_string(), self.settings.domain.clone());
        let mut command = vec![self.program(), "http".to_owned()];
        if version.0 < 3 {
            command
                .extend(["-log=stdout", "-log-format=logfmt", "-bind-tls=true"].map(str::to_owned));
            command.extend(domain.map(|name| format!("-hostname={name}")));
            command.push(port);
            let warning = token.map(|_| {
                "ngrok 2 takes a token from its own configuration only: `ngrok authtoken …`; \
                 better, install ngrok 3"
                    .to_owned()
            });
            return Launch { command, variables: Vec::new(), warning };
        }
        command.push(port);
        match domain {
            Some(name) if version >= FIRST_URL_VERSION => {
                command.extend(["--url".into(), format!("https://{name}")]);
            }
            Some(name) => command.extend(["--domain".into(), name]),
            None => {}
        }
        command.extend(["--log", "stdout", "--log-format", "logfmt"].map(str::to_owned));
        let variables =
            token.map(|token| ("NGROK_AUTHTOKEN".to_owned(), token.clone())).into_iter().collect();
        Launch { command, variables, warning: None }
    }

    fn rejection(&self, line: &str) -> Option<Rejection> {
        let digits: String =
            line.split_once(CODE)?.1.chars().take_while(char::is_ascii_digit).collect();
        let number: u32 = digits.parse().ok()?;
        let domain = self.settings.domain.as_deref().unwrap_or("the domain");
        let (message, hint, is_permanent) = explain(number, domain)?;
        let is_about_token = matches!(number, 105 | 107 | 4018);
        Some(Rejection {
            code: format!("{CODE}{number}"),
            message,
            hint,
            is_permanent,
            is_about_token,
        })
    }
}

/// Returns for an error code of ngrok: what it means, what to do about it, and whether a retry is
/// useless. `None` for codes that do not concern the agent.
fn explain(number: u32, domain: &str) -> Option<(String, Hint, bool)> {
    let token = hint!(
        "create or copy a token in ngrok's dashboard (Your Authtoken), put it into \
         secrets/tunnel-authtoken with mode 600, then {}",
        Command::TunnelStart
    );
    Some(match number {
        // These codes go to visitors of the public address and do not concern the agent.
        3004 | 3200 | 6024 | 8012 => return None,
        105 => ("ngrok says that the authtoken is malformed".into(), token, true),
        107 => ("ngrok says that the authtoken is invalid or was reset".into(), token, true),
        4018 => ("ngrok requires an authtoken, but got none".into(), token, true),
        102 | 103 => (
            "ngrok has suspended or blocked the account".into(),
            hint!("see ngrok's dashboard; then {}", Command::TunnelStart),
            true,
        ),
        108 => (
            "the account runs as many agents as its plan allows".into(),
            "end the other agents, see ngrok's dashboard (Agents); brain retries".into(),
            false,
        ),
        120 | 121 => (
            "this agent is too old for ngrok".into(),
            hint!("install ngrok 3, then {}", Command::TunnelStart),
            true,
        ),
        334 => (
            format!("{domain} is online already, by another agent"),
            "end that agent, possibly on another machine; brain retries".into(),
            false,
        ),
        313 | 314 | 320 => (
            format!("the account may not use {domain}"),
            "reserve it in ngrok's dashboard (Domains), or set tunnel.domain to one of your \
             domains, and restart the daemon"
                .into(),
            true,
        ),
        9009 => (
            "the account's plan does not permit connections through a proxy".into(),
            "remove http_proxy from the daemon's environment, or change the plan".into(),
            true,
        ),
        _ => (
            "ngrok reported an error".into(),
            format!(
                "https://ngrok.com/docs/errors/err_ngrok_{number} explains the code; brain \
                 retries"
            )
            .into(),
            false,
        ),
    })
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use serde_json::json;

    use super::super::AgentProvider;
    use super::super::fakes::{FakeNet, FakeStarter};
    use super::*;

    fn ngrok(domain: Option<&str>) -> Ngrok {
        Ngrok::new(Settings {
            provider: AgentProvider::Ngrok,
            domain: domain.map(str::to_owned),
            binary: None,
            api: "http://127.0.0.1:4040".into(),
            api_is_default: true,
            local_port: 8765,
        })
    }

    fn ask(net: &FakeNet) -> AgentStatus {
        ngrok(None).status(net, &FakeStarter::default())
    }

    fn tunnel(url: &str, addr: &str) -> Value {
        json!({"name": "command_line", "uri": "/api/tunnels/command_line", "public_url": url,
            "proto": "https",
            "config": {"addr": addr, "inspect": true}, "metrics": {}})
    }

    #[test]
    fn both_api_shapes_are_parsed_and_filtered() {
        let net = FakeNet::default();
        assert_eq!(ask(&net), AgentStatus::NotRunning);
        let tunnels = |list: Vec<Value>| json!({"tunnels": list, "uri": "/api/tunnels"});
        net.set_answer("http://127.0.0.1:4040/api/tunnels", 200, &tunnels(vec![]));
        assert!(
            matches!(ask(&net), AgentStatus::NotConnected(_)),
            "the agent runs without a tunnel"
        );
        net.set_answer(
            "http://127.0.0.1:4040/api/tunnels",
            200,
            &tunnels(vec![
                tunnel("http://a.ngrok.io", "http://localhost:8765"),
                tunnel("https://a.ngrok.io", "http://localhost:8765"),
            ]),
        );
        assert_eq!(ask(&net), AgentStatus::Up(vec!["https://a.ngrok.io".into()]));
        net.set_answer(
            "http://127.0.0.1:4040/api/tunnels",
            200,
            &tunnels(vec![tunnel("https://b.ngrok.io", "http://localhost:3000")]),
        );
        let AgentStatus::OtherTarget(description) = ask(&net) else {
            panic!("not a tunnel to another port")
        };
        let tunnel_text = "https://b.ngrok.io to http://localhost:3000";
        assert!(description.contains(tunnel_text), "{description}");
        // Newer agents have only the new shape.
        net.set_answer("http://127.0.0.1:4040/api/tunnels", 404, &json!({"error_code": 100}));
        let endpoint = json!({"name": "x", "uri": "/api/endpoints/x", "url": "https://c.ngrok.app",
            "upstream": {"url": "http://localhost:8765", "protocol": "http1"}});
        let inner = json!({"url": "https://c.internal", "upstream": {"url": "8765"}});
        net.set_answer(
            "http://127.0.0.1:4040/api/endpoints",
            200,
            &json!({"endpoints": [inner, endpoint]}),
        );
        assert_eq!(ask(&net), AgentStatus::Up(vec!["https://c.ngrok.app".into()]));
    }

    #[test]
    fn all_default_ports_are_tried() {
        let net = FakeNet::default();
        net.set_answer("http://127.0.0.1:4040/api/tunnels", 200, &json!({"hello": "world"}));
        assert_eq!(ask(&net), AgentStatus::NotRunning);
        net.set_answer(
            "http://127.0.0.1:4041/api/tunnels",
            200,
            &json!({"tunnels": [tunnel("https://x.ngrok.app", "http://localhost:1")]}),
        );
        assert!(matches!(ask(&net), AgentStatus::OtherTarget(_)));
        net.set_answer("http://127.0.0.1:4042/api/tunnels", 200, &json!({"tunnels": []}));
        assert!(
            matches!(ask(&net), AgentStatus::NotConnected(_)),
            "the agent without a tunnel may be brain's"
        );
        net.set_answer(
            "http://127.0.0.1:4044/api/tunnels",
            200,
            &json!({"tunnels": [tunnel("https://d.ngrok.app", "8765")]}),
        );
        assert_eq!(ask(&net), AgentStatus::Up(vec!["https://d.ngrok.app".into()]));
        // The search ends at the tunnel with the fixed name, or after the last port.
        net.set_answer(
            "http://127.0.0.1:4043/api/tunnels",
            200,
            &json!({"tunnels": [tunnel("https://e.ngrok.app", "8765")]}),
        );
        let ask_with = |domain: &str| ngrok(Some(domain)).status(&net, &FakeStarter::default());
        let both =
            AgentStatus::Up(vec!["https://e.ngrok.app".into(), "https://d.ngrok.app".into()]);
        assert_eq!((ask_with("d.ngrok.app"), ask_with("f.ngrok.app")), (both.clone(), both));
        let configured = Settings {
            api: "http://127.0.0.1:4999".into(),
            api_is_default: false,
            ..ngrok(None).settings
        };
        assert_eq!(
            Ngrok::new(configured).status(&net, &FakeStarter::default()),
            AgentStatus::NotRunning
        );
    }

    #[test]
    fn launch_command_follows_the_ngrok_version() {
        let token = Secret::new("2abc_secret");
        for (output, expected) in [
            (
                "ngrok version 3.22.1\n",
                "ngrok http 8765 --url https://b.ngrok.app --log stdout --log-format logfmt",
            ),
            (
                "ngrok version 3.9.0\n",
                "ngrok http 8765 --domain b.ngrok.app --log stdout --log-format logfmt",
            ),
            (
                "ngrok version 2.3.41\n",
                "ngrok http -log=stdout -log-format=logfmt -bind-tls=true -hostname=b.ngrok.app \
                    8765",
            ),
            ("what", "ngrok http 8765 --url https://b.ngrok.app --log stdout --log-format logfmt"),
        ] {
            let starter = FakeStarter::with_output(output);
            let launch = ngrok(Some("b.ngrok.app")).launch(Some(&token), &starter);
            assert_eq!(launch.command.join(" "), expected);
            let names: Vec<&str> = launch.variables.iter().map(|(name, _)| name.as_str()).collect();
            match output.contains(" 2.") {
                true => assert!(names.is_empty() && launch.warning.unwrap().contains("ngrok 3")),
                false => assert_eq!(names, ["NGROK_AUTHTOKEN"]),
            }
        }
        let bare = ngrok(None).launch(None, &FakeStarter::with_output("ngrok version 3.22.1"));
        assert_eq!(bare.command.join(" "), "ngrok http 8765 --log stdout --log-format logfmt");
        assert!(bare.variables.is_empty());
    }

    #[test]
    fn error_codes_are_permanent_or_transient() {
        let agent = ngrok(Some("b.ngrok.app"));
        for (code, is_permanent, token) in [
            (105, true, true),
            (107, true, true),
            (4018, true, true),
            (108, false, false),
            (121, true, false),
            (334, false, false),
            (320, true, false),
            (102, true, false),
            (77_777, false, false),
        ] {
            let line = format!(
                "t=2026-11-21T10:00:00+0000 lvl=eror msg=\"session closed\" err=\"… \
                    ERR_NGROK_{code}\\n\""
            );
            let rejection = agent.rejection(&line).unwrap();
            assert_eq!(
                (rejection.is_permanent, rejection.is_about_token),
                (is_permanent, token),
                "{code}"
            );
            assert_eq!(rejection.code, format!("ERR_NGROK_{code}"));
            assert!(!rejection.hint.is_empty());
        }
        for line in ["", "ERR_NGROK_", "lvl=info msg=\"started tunnel\"", "ERR_NGROK_8012"] {
            assert_eq!(agent.rejection(line), None, "{line}");
        }
    }
}
