//! The agent `cloudflared`, read through its metrics address.
//!
//! `/ready` reports the connection, `/quicktunnel` the name of a quick tunnel, and `/config` the
//! target. Agents without `/config` are assumed to lead here; `/health` through the public address
//! proves it.

use brain_protocol::{Command, Secret, hint};
use serde_json::Value;

use super::{
    Agent, AgentStatus, Launch, Rejection, Settings, Starter, get, https_origin, join_names, json,
    leads_to,
};
use brain_net::HttpClient;

/// The default metrics ports: an agent takes the first free one.
const PORTS: std::ops::RangeInclusive<u16> = 20241..=20245;

/// An ingress rule: a hostname (empty for any) and the service that it leads to.
type IngressRule = (String, String);

/// The `cloudflared` agent.
pub(super) struct Cloudflared {
    settings: Settings,
}

impl Cloudflared {
    /// Creates the agent with these settings.
    pub(super) fn new(settings: Settings) -> Self {
        Self { settings }
    }

    /// Returns the status of the agent at `base`.
    fn status_at(&self, net: &dyn HttpClient, base: &str) -> AgentStatus {
        // The agent returns 503 while it is not connected.
        let ready =
            get(net, &format!("{base}/ready")).and_then(|answer| json(&answer, &[200, 503]));
        let Some(connections) = ready.and_then(|value| value.get("readyConnections")?.as_u64())
        else {
            return AgentStatus::NotRunning;
        };
        if connections == 0 {
            return AgentStatus::NotConnected(format!(
                "the agent answers at {base}, but has no connection to Cloudflare"
            ));
        }
        let query = |path: &str| {
            get(net, &format!("{base}{path}")).and_then(|answer| json(&answer, &[200]))
        };
        let rules = query("/config").as_ref().and_then(rules);
        let is_ours = |(_, service): &&IngressRule| leads_to(service, self.settings.local_port);
        let ours: Option<Vec<&IngressRule>> =
            rules.as_ref().map(|rules| rules.iter().filter(is_ours).collect());
        if let (Some([]), Some(rules)) = (ours.as_deref(), &rules) {
            let services: Vec<String> = rules.iter().map(|(_, service)| service.clone()).collect();
            return AgentStatus::OtherTarget(format!(
                "the agent at {base} has no tunnel to port {}, but to {}",
                self.settings.local_port,
                join_names(&services)
            ));
        }
        let quick_name = query("/quicktunnel")
            .and_then(|value| value.get("hostname")?.as_str().map(str::to_owned));
        if let Some(url) = quick_name.and_then(|name| https_origin(&format!("https://{name}"))) {
            return AgentStatus::Up(vec![url]);
        }
        // A rule without a hostname, or with a wildcard, applies to any name of the tunnel.
        let names = ours.iter().flatten().map(|(name, _)| name).filter(|name| !name.contains('*'));
        let mut urls: Vec<String> =
            names.filter_map(|name| https_origin(&format!("https://{name}"))).collect();
        let takes_any_name = ours
            .is_none_or(|ours| ours.iter().any(|(name, _)| name.is_empty() || name.contains('*')));
        urls.extend(
            self.settings
                .domain
                .as_ref()
                .filter(|_| takes_any_name)
                .map(|domain| format!("https://{domain}")),
        );
        match urls.is_empty() {
            false => AgentStatus::Up(urls),
            true => AgentStatus::OtherTarget(format!(
                "the agent at {base} runs a named tunnel, whose name only Cloudflare knows: set \
                 tunnel.domain to it"
            )),
        }
    }
}

/// Parses the ingress rules of `/config`.
fn rules(value: &Value) -> Option<Vec<IngressRule>> {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let rules = value.pointer("/config/ingress")?.as_array()?;
    Some(rules.iter().map(|rule| (text(&rule["hostname"]), text(&rule["service"]))).collect())
}

impl Agent for Cloudflared {
    fn name(&self) -> &'static str {
        "cloudflared"
    }

    fn program(&self) -> String {
        self.settings.program("cloudflared")
    }

    fn status(&self, net: &dyn HttpClient, _: &dyn Starter) -> AgentStatus {
        self.settings.status(self.settings.api_addresses(PORTS), |base| self.status_at(net, base))
    }

    fn launch(&self, token: Option<&Secret>, _: &dyn Starter) -> Launch {
        let mut command = vec![self.program(), "tunnel".into(), "--no-autoupdate".into()];
        let address = self.settings.api.split_once("://").map(|(_, address)| address.to_owned());
        if let Some(address) = address.filter(|_| !self.settings.api_is_default) {
            command.extend(["--metrics".into(), address]);
        }
        if self.settings.domain.is_none() {
            let port = self.settings.local_port;
            command.extend(["--url".into(), format!("http://127.0.0.1:{port}")]);
            let warning = token.map(|_| {
                "a quick tunnel takes no token; a named one needs tunnel.domain".to_owned()
            });
            return Launch { command, variables: Vec::new(), warning };
        }
        // Without a token, cloudflared's own configuration names the tunnel.
        command.push("run".into());
        let variables =
            token.map(|token| ("TUNNEL_TOKEN".to_owned(), token.clone())).into_iter().collect();
        Launch { command, variables, warning: None }
    }

    fn rejection(&self, line: &str) -> Option<Rejection> {
        let has = |words: &[&str]| words.iter().any(|word| line.contains(word));
        let token = hint!(
            "copy the tunnel's token from Cloudflare's dashboard into secrets/tunnel-authtoken \
             with mode 600, then {}",
            Command::TunnelStart
        );
        let (code, message, hint, is_permanent, about_token) =
            if has(&["Provided Tunnel token is not valid"]) {
                ("", "cloudflared says that the token is not valid", token, true, true)
            } else if has(&["Invalid tunnel secret", "Unauthorized: "]) {
                ("", "Cloudflare rejects the tunnel's token", token, true, true)
            } else if has(&["error code: 1015", "429 Too Many Requests"]) {
                let hint = "brain retries; a named tunnel (tunnel.domain) has no such limit".into();
                (
                    "1015",
                    "Cloudflare offers no more quick tunnels at the moment",
                    hint,
                    false,
                    false,
                )
            } else if has(&[
                "Cannot determine default origin certificate path",
                "error locating origin cert",
            ]) {
                let hint = hint!(
                    "put the tunnel's token into secrets/tunnel-authtoken, or run `cloudflared \
                     tunnel login`; then {}",
                    Command::TunnelStart
                );
                ("", "cloudflared has neither a token nor a certificate", hint, true, true)
            } else {
                return None;
            };
        let (code, message) = (code.into(), message.into());
        Some(Rejection { code, message, hint, is_permanent, is_about_token: about_token })
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::AgentProvider;
    use super::super::fakes::{FakeNet, FakeStarter};
    use super::*;

    fn cloudflared(domain: Option<&str>, api: Option<&str>) -> Cloudflared {
        Cloudflared::new(Settings {
            provider: AgentProvider::Cloudflared,
            domain: domain.map(str::to_owned),
            binary: Some("/opt/cloudflared".into()),
            api: api.unwrap_or("http://127.0.0.1:4040").into(),
            api_is_default: api.is_none(),
            local_port: 8765,
        })
    }

    #[test]
    fn quick_tunnel_reports_its_name_when_ready() {
        let (net, starter) = (FakeNet::default(), FakeStarter::default());
        let quick = cloudflared(None, None);
        assert_eq!(quick.status(&net, &starter), AgentStatus::NotRunning);
        let ready = |n: u64| {
            json!({"status": if n == 0 { 503 } else { 200 }, "readyConnections": n,
            "connectorId": "x"})
        };
        net.set_answer("http://127.0.0.1:20242/ready", 503, &ready(0));
        assert!(matches!(quick.status(&net, &starter), AgentStatus::NotConnected(_)));
        net.set_answer("http://127.0.0.1:20242/ready", 200, &ready(4));
        net.set_answer(
            "http://127.0.0.1:20242/quicktunnel",
            200,
            &json!({"hostname": "some-words.trycloudflare.com"}),
        );
        assert_eq!(
            quick.status(&net, &starter),
            AgentStatus::Up(vec!["https://some-words.trycloudflare.com".into()])
        );
        // A named tunnel does not report its name here.
        net.set_answer("http://127.0.0.1:20242/quicktunnel", 200, &json!({"hostname": ""}));
        assert!(matches!(quick.status(&net, &starter), AgentStatus::OtherTarget(_)));
        let named = cloudflared(Some("brain.example.org"), None);
        assert_eq!(
            named.status(&net, &starter),
            AgentStatus::Up(vec!["https://brain.example.org".into()])
        );
    }

    #[test]
    fn tunnel_to_another_port_is_not_ours() {
        let (net, starter) = (FakeNet::default(), FakeStarter::default());
        let agent = |port: u16, name: &str, rules: &serde_json::Value| {
            let base = format!("http://127.0.0.1:{port}");
            net.set_answer(
                &format!("{base}/ready"),
                200,
                &json!({"status": 200, "readyConnections": 4}),
            );
            net.set_answer(&format!("{base}/quicktunnel"), 200, &json!({"hostname": name}));
            net.set_answer(
                &format!("{base}/config"),
                200,
                &json!({"version": -1, "config": {"ingress": rules}}),
            );
        };
        let rule =
            |name: &str, service: &str| json!({"hostname": name, "path": null, "service": service});
        // A foreign tunnel to another service comes first.
        agent(20241, "theirs.trycloudflare.com", &json!([rule("", "http://localhost:3000")]));
        let AgentStatus::OtherTarget(description) = cloudflared(None, None).status(&net, &starter)
        else {
            panic!("not ours")
        };
        let expected = "no tunnel to port 8765, but to http://localhost:3000";
        assert!(description.ends_with(expected), "{description}");
        agent(20242, "ours.trycloudflare.com", &json!([rule("", "http://127.0.0.1:8765")]));
        let ours = AgentStatus::Up(vec!["https://ours.trycloudflare.com".into()]);
        assert_eq!(cloudflared(None, None).status(&net, &starter), ours);
        // A named tunnel reports its names in its ingress rules.
        let named = json!([
            rule("other.example.org", "http://localhost:3000"),
            rule("brain.example.org", "http://localhost:8765"),
            rule("", "http_status:404")
        ]);
        net.remove_answer("http://127.0.0.1:20241/ready");
        agent(20242, "", &named);
        let at = |name: &str| AgentStatus::Up(vec![format!("https://{name}")]);
        assert_eq!(cloudflared(None, None).status(&net, &starter), at("brain.example.org"));
        assert_eq!(
            cloudflared(Some("b.example"), None).status(&net, &starter),
            at("brain.example.org")
        );
        agent(20242, "", &json!([rule("*.example.org", "http://localhost:8765")]));
        assert_eq!(
            cloudflared(Some("b.example.org"), None).status(&net, &starter),
            at("b.example.org")
        );
        assert!(matches!(
            cloudflared(None, None).status(&net, &starter),
            AgentStatus::OtherTarget(_)
        ));
    }

    #[test]
    fn launch_command_for_quick_and_named_tunnels() {
        let (token, starter) = (Secret::new("eyJh"), FakeStarter::default());
        let quick = cloudflared(None, Some("http://127.0.0.1:20241")).launch(None, &starter);
        assert_eq!(
            quick.command.join(" "),
            "/opt/cloudflared tunnel --no-autoupdate --metrics 127.0.0.1:20241 --url \
                http://127.0.0.1:8765"
        );
        let named = cloudflared(Some("brain.example.org"), None).launch(Some(&token), &starter);
        assert_eq!(named.command.join(" "), "/opt/cloudflared tunnel --no-autoupdate run");
        assert_eq!(named.variables, [("TUNNEL_TOKEN".to_owned(), token)]);
    }

    #[test]
    fn rejection_messages_are_recognised() {
        let agent = cloudflared(None, None);
        for (line, is_permanent, token) in [
            ("Provided Tunnel token is not valid.", true, true),
            (
                "ERR Register tunnel error from server side error=\"Unauthorized: Invalid tunnel \
                    secret\"",
                true,
                true,
            ),
            (
                "failed to request quick Tunnel: 429 Too Many Requests: error code: 1015",
                false,
                false,
            ),
            ("ERR Cannot determine default origin certificate path. No file cert.pem", true, true),
        ] {
            let rejection = agent.rejection(line);
            assert_eq!(
                rejection.map(|r| (r.is_permanent, r.is_about_token)),
                Some((is_permanent, token)),
                "{line}"
            );
        }
        assert_eq!(agent.rejection("INF Registered tunnel connection connIndex=0"), None);
    }
}
