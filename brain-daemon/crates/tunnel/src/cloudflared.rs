//! The agent `cloudflared`. `--metrics` has its own address: `/ready` says whether it is connected, `/quicktunnel` under which name a quick
//! tunnel is, `/config` where a tunnel leads. Agents that do not tell the latter are believed; `/health` through the public address proves it.

use brain_protocol::Secret;
use serde_json::Value;

use super::{Agent, Launch, Refusal, Says, Settings, Starter, get, json, leads_to, public, shown};
use brain_net::Outgoing;

/// The ports of which an agent takes the first that is free, unless it is told.
const PORTS: std::ops::RangeInclusive<u16> = 20241..=20245;

/// A name, empty for any, and the service that it leads to.
type Rule = (String, String);

/// The agent.
pub(super) struct Cloudflared {
    settings: Settings,
}

impl Cloudflared {
    /// With these settings.
    pub(super) fn new(settings: Settings) -> Self {
        Self { settings }
    }

    /// What the agent at `base` says.
    fn at(&self, net: &dyn Outgoing, base: &str) -> Says {
        // 503 as long as it is not connected.
        let ready =
            get(net, &format!("{base}/ready")).and_then(|answer| json(&answer, &[200, 503]));
        let Some(connections) = ready.and_then(|value| value.get("readyConnections")?.as_u64())
        else {
            return Says::Nothing;
        };
        if connections == 0 {
            return Says::NoTunnel(format!(
                "the agent answers at {base}, and has no connection to Cloudflare"
            ));
        }
        let ask = |path: &str| {
            get(net, &format!("{base}{path}")).and_then(|answer| json(&answer, &[200]))
        };
        let rules = ask("/config").as_ref().and_then(rules);
        let leads = |(_, service): &&Rule| leads_to(service, self.settings.forward);
        let ours: Option<Vec<&Rule>> =
            rules.as_ref().map(|rules| rules.iter().filter(leads).collect());
        if let (Some([]), Some(rules)) = (ours.as_deref(), &rules) {
            let services: Vec<String> = rules.iter().map(|(_, service)| service.clone()).collect();
            return Says::Elsewhere(format!(
                "the agent at {base} has no tunnel to port {}, but to {}",
                self.settings.forward,
                shown(&services)
            ));
        }
        let quick = ask("/quicktunnel")
            .and_then(|value| value.get("hostname")?.as_str().map(str::to_owned));
        if let Some(url) = quick.and_then(|name| public(&format!("https://{name}"))) {
            return Says::Up(vec![url]);
        }
        // A rule without a name, or for many, is for whichever name leads to the tunnel.
        let names = ours.iter().flatten().map(|(name, _)| name).filter(|name| !name.contains('*'));
        let mut urls: Vec<String> =
            names.filter_map(|name| public(&format!("https://{name}"))).collect();
        let open = ours
            .is_none_or(|ours| ours.iter().any(|(name, _)| name.is_empty() || name.contains('*')));
        urls.extend(
            self.settings
                .domain
                .as_ref()
                .filter(|_| open)
                .map(|domain| format!("https://{domain}")),
        );
        match urls.is_empty() {
            false => Says::Up(urls),
            true => Says::Elsewhere(format!(
                "the agent at {base} runs a named tunnel, whose name only Cloudflare knows: set tunnel.domain to it"
            )),
        }
    }
}

/// The rules of `/config`: for which name, and where to.
fn rules(value: &Value) -> Option<Vec<Rule>> {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let rules = value.pointer("/config/ingress")?.as_array()?;
    Some(rules.iter().map(|one| (text(&one["hostname"]), text(&one["service"]))).collect())
}

impl Agent for Cloudflared {
    fn name(&self) -> &'static str {
        "cloudflared"
    }

    fn program(&self) -> String {
        self.settings.program("cloudflared")
    }

    fn ask(&self, net: &dyn Outgoing, _: &dyn Starter) -> Says {
        self.settings.ask(self.settings.places(PORTS), |base| self.at(net, base))
    }

    fn launch(&self, token: Option<&Secret>, _: &dyn Starter) -> Launch {
        let mut command = vec![self.program(), "tunnel".into(), "--no-autoupdate".into()];
        let place = self.settings.api.split_once("://").map(|(_, place)| place.to_owned());
        if let Some(place) = place.filter(|_| !self.settings.api_is_default) {
            command.extend(["--metrics".into(), place]);
        }
        if self.settings.domain.is_none() {
            let port = self.settings.forward;
            command.extend(["--url".into(), format!("http://127.0.0.1:{port}")]);
            let warning = token.map(|_| {
                "a quick tunnel takes no token; a named one needs tunnel.domain".to_owned()
            });
            return Launch { command, variables: Vec::new(), warning };
        }
        // Without a token, which tunnel it is stands in cloudflared's own configuration.
        command.push("run".into());
        let variables =
            token.map(|token| ("TUNNEL_TOKEN".to_owned(), token.clone())).into_iter().collect();
        Launch { command, variables, warning: None }
    }

    fn refusal(&self, line: &str) -> Option<Refusal> {
        let has = |words: &[&str]| words.iter().any(|word| line.contains(word));
        let token = "copy the tunnel's token from Cloudflare's dashboard into secrets/tunnel-authtoken with mode 600, then `brain tunnel start`";
        let (code, message, hint, lasting, about_token) = if has(&[
            "Provided Tunnel token is not valid",
        ]) {
            ("", "cloudflared says that the token is not valid", token, true, true)
        } else if has(&["Invalid tunnel secret", "Unauthorized: "]) {
            ("", "Cloudflare does not take the tunnel's token", token, true, true)
        } else if has(&["error code: 1015", "429 Too Many Requests"]) {
            let hint = "it is tried again; a named tunnel (tunnel.domain) has no such limit";
            ("1015", "Cloudflare gives no more quick tunnels at the moment", hint, false, false)
        } else if has(&[
            "Cannot determine default origin certificate path",
            "error locating origin cert",
        ]) {
            let hint = "put the tunnel's token into secrets/tunnel-authtoken, or run `cloudflared tunnel login`; then `brain tunnel start`";
            ("", "cloudflared has neither a token nor a certificate", hint, true, true)
        } else {
            return None;
        };
        let (code, message, hint) = (code.into(), message.into(), hint.into());
        Some(Refusal { code, message, hint, lasting, token: about_token })
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::Kind;
    use super::super::fakes::{FakeNet, FakeStarter};
    use super::*;

    fn cloudflared(domain: Option<&str>, api: Option<&str>) -> Cloudflared {
        Cloudflared::new(Settings {
            provider: Kind::Cloudflared,
            domain: domain.map(str::to_owned),
            binary: Some("/opt/cloudflared".into()),
            api: api.unwrap_or("http://127.0.0.1:4040").into(),
            api_is_default: api.is_none(),
            forward: 8765,
        })
    }

    #[test]
    fn ready_is_what_counts_and_a_quick_tunnel_says_its_name() {
        let (net, starter) = (FakeNet::default(), FakeStarter::default());
        let quick = cloudflared(None, None);
        assert_eq!(quick.ask(&net, &starter), Says::Nothing);
        let ready = |n: u64| json!({"status": if n == 0 { 503 } else { 200 }, "readyConnections": n, "connectorId": "x"});
        net.put("http://127.0.0.1:20242/ready", 503, &ready(0));
        assert!(matches!(quick.ask(&net, &starter), Says::NoTunnel(_)));
        net.put("http://127.0.0.1:20242/ready", 200, &ready(4));
        net.put(
            "http://127.0.0.1:20242/quicktunnel",
            200,
            &json!({"hostname": "some-words.trycloudflare.com"}),
        );
        assert_eq!(
            quick.ask(&net, &starter),
            Says::Up(vec!["https://some-words.trycloudflare.com".into()])
        );
        // A named one does not say.
        net.put("http://127.0.0.1:20242/quicktunnel", 200, &json!({"hostname": ""}));
        assert!(matches!(quick.ask(&net, &starter), Says::Elsewhere(_)));
        let named = cloudflared(Some("brain.example.org"), None);
        assert_eq!(named.ask(&net, &starter), Says::Up(vec!["https://brain.example.org".into()]));
    }

    #[test]
    fn where_a_tunnel_leads_is_asked_and_one_to_another_port_is_not_ours() {
        let (net, starter) = (FakeNet::default(), FakeStarter::default());
        let agent = |port: u16, name: &str, rules: &serde_json::Value| {
            let base = format!("http://127.0.0.1:{port}");
            net.put(&format!("{base}/ready"), 200, &json!({"status": 200, "readyConnections": 4}));
            net.put(&format!("{base}/quicktunnel"), 200, &json!({"hostname": name}));
            net.put(
                &format!("{base}/config"),
                200,
                &json!({"version": -1, "config": {"ingress": rules}}),
            );
        };
        let rule =
            |name: &str, service: &str| json!({"hostname": name, "path": null, "service": service});
        // Somebody else's, for something else, before ours.
        agent(20241, "theirs.trycloudflare.com", &json!([rule("", "http://localhost:3000")]));
        let Says::Elsewhere(said) = cloudflared(None, None).ask(&net, &starter) else {
            panic!("not ours")
        };
        assert!(said.ends_with("no tunnel to port 8765, but to http://localhost:3000"), "{said}");
        agent(20242, "ours.trycloudflare.com", &json!([rule("", "http://127.0.0.1:8765")]));
        let ours = Says::Up(vec!["https://ours.trycloudflare.com".into()]);
        assert_eq!(cloudflared(None, None).ask(&net, &starter), ours);
        // A named tunnel says its names where its rules do.
        let named = json!([
            rule("other.example.org", "http://localhost:3000"),
            rule("brain.example.org", "http://localhost:8765"),
            rule("", "http_status:404")
        ]);
        net.gone("http://127.0.0.1:20241/ready");
        agent(20242, "", &named);
        let at = |name: &str| Says::Up(vec![format!("https://{name}")]);
        assert_eq!(cloudflared(None, None).ask(&net, &starter), at("brain.example.org"));
        assert_eq!(
            cloudflared(Some("b.example"), None).ask(&net, &starter),
            at("brain.example.org")
        );
        agent(20242, "", &json!([rule("*.example.org", "http://localhost:8765")]));
        assert_eq!(
            cloudflared(Some("b.example.org"), None).ask(&net, &starter),
            at("b.example.org")
        );
        assert!(matches!(cloudflared(None, None).ask(&net, &starter), Says::Elsewhere(_)));
    }

    #[test]
    fn it_is_started_for_a_quick_or_a_named_tunnel() {
        let (token, starter) = (Secret::new("eyJh"), FakeStarter::default());
        let quick = cloudflared(None, Some("http://127.0.0.1:20241")).launch(None, &starter);
        assert_eq!(
            quick.command.join(" "),
            "/opt/cloudflared tunnel --no-autoupdate --metrics 127.0.0.1:20241 --url http://127.0.0.1:8765"
        );
        let named = cloudflared(Some("brain.example.org"), None).launch(Some(&token), &starter);
        assert_eq!(named.command.join(" "), "/opt/cloudflared tunnel --no-autoupdate run");
        assert_eq!(named.variables, [("TUNNEL_TOKEN".to_owned(), token)]);
    }

    #[test]
    fn its_words_of_refusal_are_known() {
        let agent = cloudflared(None, None);
        for (line, lasting, token) in [
            ("Provided Tunnel token is not valid.", true, true),
            (
                "ERR Register tunnel error from server side error=\"Unauthorized: Invalid tunnel secret\"",
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
            let refusal = agent.refusal(line);
            assert_eq!(refusal.map(|r| (r.lasting, r.token)), Some((lasting, token)), "{line}");
        }
        assert_eq!(agent.refusal("INF Registered tunnel connection connIndex=0"), None);
    }
}
