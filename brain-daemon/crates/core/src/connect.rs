//! `connect test`: walks through an AI client's connection to a tool endpoint, step by step.
//!
//! Like a client, it knows only the address and how to authenticate. So it finds what a client
//! would stumble over, even if the endpoint is this brain behind a tunnel. Remote text is
//! untrusted: it is cut and cleaned for the report. Remote addresses must be public.
//!
//! `discover` finds the authorization server, `enter` gets a token, `rpc` speaks MCP, `speak`
//! uses it, and `answer` words unexpected answers.

mod answer;
mod discover;
mod enter;
mod rpc;
mod speak;

use std::sync::Arc;

use brain_protocol::{ConnectReport, ConnectTest, Fault, FaultCode};
use url::{Host, Url};

use crate::Environment;
use crate::steps::{Ended, Failed, Steps, failed, passed, warned};
use brain_access::Access;
use brain_net::{Error as NetError, HttpClient, HttpRequest, HttpResponse};

/// The endpoint and the network.
struct Target<'a> {
    net: &'a dyn HttpClient,
    url: Url,
    /// The endpoint as typed, because clients compare texts.
    typed: String,
    /// This brain's issuer. Its host is trusted like the endpoint.
    issuer: String,
}

impl Target<'_> {
    /// Returns whether the endpoint is on this machine.
    fn is_local(&self) -> bool {
        is_loopback(&self.url)
    }

    /// Returns scheme, host and port.
    fn origin(&self) -> String {
        self.url.origin().ascii_serialization()
    }

    /// Returns whether a discovered address must be public: the owner named neither its host nor
    /// this machine.
    fn is_strange(&self, url: &Url) -> bool {
        let issuer = Url::parse(&self.issuer).ok();
        let named = [Some(&self.url), issuer.as_ref()];
        let same = named.into_iter().flatten().any(|known| known.host() == url.host());
        !(same || self.is_local() && is_loopback(url))
    }

    /// Reads `url`.
    fn get(&self, url: &Url) -> Result<HttpResponse, NetError> {
        self.net.call(&HttpRequest {
            url,
            body: None,
            headers: &[("accept", "application/json")],
            authorization: None,
            public: self.is_strange(url),
            is_complete: |_| false,
        })
    }
}

/// Returns whether a URL leads to this machine.
fn is_loopback(url: &Url) -> bool {
    match url.host() {
        Some(Host::Domain(name)) => name == "localhost" || name.ends_with(".localhost"),
        Some(Host::Ipv4(address)) => address.is_loopback(),
        Some(Host::Ipv6(address)) => address.is_loopback(),
        None => false,
    }
}

/// The test of an AI client's way to a tool endpoint.
pub struct ConnectService {
    pub(crate) env: Environment,
    pub(crate) access: Arc<Access>,
}

impl ConnectService {
    /// Creates the service.
    pub(crate) fn new(env: Environment, access: Arc<Access>) -> Self {
        Self { env, access }
    }

    /// Tests a tool endpoint. Blocks for up to some minutes if every step is slow.
    pub(crate) fn test(&self, request: &ConnectTest) -> Result<ConnectReport, Fault> {
        let url = endpoint(&request.url)?;
        let target = Target {
            net: &*self.env.net,
            url,
            typed: request.url.clone(),
            issuer: self.access.issuer(),
        };
        let mut steps = Steps { clock: &*self.env.clock, taken: Vec::new() };
        let arrived = self.walk(&target, request, &mut steps).is_some();
        Ok(ConnectReport {
            url: request.url.clone(),
            status: if arrived { "passed" } else { "failed" }.into(),
            steps: steps.taken,
        })
    }

    fn walk(
        &self,
        target: &Target<'_>,
        request: &ConnectTest,
        steps: &mut Steps<'_>,
    ) -> Option<()> {
        steps.take("reach", || discover::reach(target))?;
        let metadata = steps.take("challenge", || discover::challenge(target))?;
        let issuer = steps.take("resource", || discover::resource(target, &metadata))?;
        let server = steps.take("server", || discover::server(target, &issuer))?;
        let pass = steps.take("authorize", || self.enter(target, &server, &request.credentials))?;
        let mut session = steps.take("greet", || speak::greet(target, &pass))?;
        steps.take("tools", || speak::tools(&mut session))?;
        steps.take("search", || speak::search(&mut session))
    }
}

/// Parses the endpoint.
fn endpoint(text: &str) -> Result<Url, Fault> {
    let refuse = |why: &str| {
        let hint = "type it as into a client, for example https://brain.example.org/mcp or http://127.0.0.1:3131/mcp";
        Err(Fault::new(
            FaultCode::InvalidRequest,
            format!("this is not the address of an endpoint: {why}"),
        )
        .hint(hint))
    };
    let Ok(url) = Url::parse(text) else {
        return refuse("it begins with neither https:// nor http://");
    };
    if !matches!(url.scheme(), "http" | "https") {
        return refuse("it begins with neither https:// nor http://");
    }
    if !url.username().is_empty() || url.password().is_some() {
        return refuse("a name or password stands before the host");
    }
    if url.query().is_some() || url.fragment().is_some() {
        return refuse("something stands behind its path; a token never belongs there");
    }
    if text.len() > 2000 || !text.bytes().all(|b| b.is_ascii_graphic()) {
        return refuse("it has characters that no address has, or too many");
    }
    Ok(url)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use brain_net::Client;

    #[test]
    fn an_endpoint_is_a_plain_address() {
        for good in [
            "https://brain.example.org/mcp",
            "http://127.0.0.1:3131/mcp",
            "https://brain.example.org",
        ] {
            assert!(endpoint(good).is_ok(), "{good}");
        }
        for bad in [
            "",
            "brain.example.org/mcp",
            "ftp://brain.example.org/mcp",
            "https://me:hush@brain.example.org/mcp",
            "https://brain.example.org/mcp?token=x",
            "https://brain.example.org/mcp#x",
            "https://brain.example.org/\u{1b}[2J",
        ] {
            let fault = endpoint(bad).unwrap_err();
            assert!(fault.hint.is_some() && !fault.message.contains("hush"), "{bad}");
        }
    }

    #[test]
    fn only_hosts_that_the_owner_named_may_be_inside() {
        let net = Client::new();
        let at = |url: &str| Target {
            net: &net,
            url: Url::parse(url).unwrap(),
            typed: url.into(),
            issuer: "https://brain.example.org".into(),
        };
        let strange = |from: &str, to: &str| at(from).is_strange(&Url::parse(to).unwrap());
        assert!(!strange("https://other.example/mcp", "https://other.example/x"));
        assert!(!strange("https://other.example/mcp", "https://brain.example.org/x"));
        assert!(!strange("http://127.0.0.1:3131/mcp", "http://localhost:8765/x"));
        assert!(strange("https://other.example/mcp", "http://127.0.0.1:3131/x"));
        assert!(strange("https://other.example/mcp", "http://169.254.169.254/x"));
        assert!(strange("http://127.0.0.1:3131/mcp", "https://third.example/x"));
    }
}
