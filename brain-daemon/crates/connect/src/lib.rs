//! `connect test`: walks through an AI client's connection to an MCP endpoint, step by step.
//!
//! Like a client, the test knows only the address and how to authenticate. So it finds the problems
//! of a client, even if the endpoint is this brain behind a tunnel. Remote text is untrusted: the
//! report cuts and cleans it. `Target::must_be_public` decides which discovered addresses the test
//! may call.
//!
//! `discover` finds the authorization server, `authorize` gets a token, `rpc` sends MCP requests,
//! `session_checks` checks the replies, and `explain` describes failures.

mod authorize;
mod discover;
mod explain;
mod rpc;
mod session_checks;

use std::sync::Arc;

use brain_protocol::{ConnectReport, ConnectTest, Fault, FaultCode, StepStatus};
use url::{Host, Url};

use brain_access::Access;
use brain_base::clock::Clock;
use brain_base::random::RandomSource;
use brain_net::{HttpClient, HttpRequest, HttpResponse, Reason};
use brain_service::steps::{StepFailure, StepResult, Steps, fail, pass, warn};

use explain::explain_net_error;

/// The tested endpoint, and the HTTP client for the test.
struct Target<'a> {
    net: &'a dyn HttpClient,
    url: Url,
    /// The endpoint as the caller wrote it, because clients compare URLs as texts.
    url_text: String,
    /// This brain's issuer. Its host is trusted like the endpoint.
    issuer: String,
    /// The reason of all requests of a test.
    reason: Reason,
}

impl Target<'_> {
    /// Returns whether the endpoint is on this machine.
    fn is_local(&self) -> bool {
        is_loopback(&self.url)
    }

    /// Returns scheme, host and port of the endpoint.
    fn origin(&self) -> String {
        self.url.origin().ascii_serialization()
    }

    /// Returns whether a discovered address must be public. Exceptions are the endpoint's host, the
    /// host of this brain's issuer, and this machine if the endpoint is on it.
    fn must_be_public(&self, url: &Url) -> bool {
        let issuer = Url::parse(&self.issuer).ok();
        let trusted = [Some(&self.url), issuer.as_ref()];
        let is_trusted = trusted.into_iter().flatten().any(|trusted| trusted.host() == url.host());
        !(is_trusted || self.is_local() && is_loopback(url))
    }

    /// Returns a GET request for JSON.
    fn get<'a>(&'a self, url: &'a Url) -> HttpRequest<'a> {
        HttpRequest {
            url,
            body: None,
            headers: &[("accept", "application/json")],
            authorization: None,
            must_be_public: self.must_be_public(url),
            reason: &self.reason,
            is_complete: |_| false,
        }
    }

    /// Sends a request, and explains a network error.
    fn call(&self, request: &HttpRequest<'_>) -> Result<HttpResponse, StepFailure> {
        self.net.call(request).map_err(|error| explain_net_error(self, &error))
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

/// Tests the connection of an AI client to an MCP endpoint.
pub struct ConnectService {
    access: Arc<Access>,
    net: Arc<dyn HttpClient>,
    clock: Arc<dyn Clock>,
    random: Arc<dyn RandomSource>,
}

impl ConnectService {
    /// Creates the service.
    pub fn new(
        access: Arc<Access>,
        net: Arc<dyn HttpClient>,
        clock: Arc<dyn Clock>,
        random: Arc<dyn RandomSource>,
    ) -> Self {
        Self { access, net, clock, random }
    }

    /// Tests an MCP endpoint. Blocks for up to some minutes if every step is slow.
    ///
    /// # Errors
    /// `invalid_request` if the address is not that of an endpoint. A failed step is part of the
    /// report.
    pub fn test(&self, request: &ConnectTest) -> Result<ConnectReport, Fault> {
        let url = endpoint(&request.url)?;
        let target = Target {
            net: &*self.net,
            url,
            url_text: request.url.clone(),
            issuer: self.access.issuer(),
            reason: Reason::new("connect test"),
        };
        let mut steps = Steps { clock: &*self.clock, results: Vec::new() };
        let has_passed = self.run_steps(&target, request, &mut steps).is_some();
        Ok(ConnectReport {
            url: request.url.clone(),
            status: if has_passed { StepStatus::Passed } else { StepStatus::Failed },
            steps: steps.results,
        })
    }

    /// Runs the steps in order. Returns `None` after a failed step.
    fn run_steps(
        &self,
        target: &Target<'_>,
        request: &ConnectTest,
        steps: &mut Steps<'_>,
    ) -> Option<()> {
        steps.run("reach", || discover::reach(target))?;
        let metadata = steps.run("challenge", || discover::challenge(target))?;
        let issuer = steps.run("resource", || discover::resource(target, &metadata))?;
        let server = steps.run("server", || discover::server(target, &issuer))?;
        let token =
            steps.run("authorize", || self.authorize(target, &server, &request.credentials))?;
        let mut session = steps.run("greet", || session_checks::greet(target, &token))?;
        steps.run("tools", || session_checks::tools(&mut session))?;
        steps.run("search", || session_checks::search(&mut session))
    }
}

/// Parses the address of an endpoint.
///
/// # Errors
/// `invalid_request` if it is not a plain URL with `https` or `http`.
fn endpoint(text: &str) -> Result<Url, Fault> {
    let refuse = |why: &str| {
        let hint = "enter it as in a client, for example https://brain.example.org/mcp or \
                    http://127.0.0.1:3131/mcp";
        Err(Fault::new(
            FaultCode::InvalidRequest,
            format!("this is not the address of an endpoint: {why}"),
        )
        .hint(hint))
    };
    let web_url = Url::parse(text).ok().filter(|url| matches!(url.scheme(), "http" | "https"));
    let Some(url) = web_url else {
        return refuse("it is not a valid URL that begins with https:// or http://");
    };
    if !url.username().is_empty() || url.password().is_some() {
        return refuse("it has a user name or password");
    }
    if url.query().is_some() || url.fragment().is_some() {
        return refuse("it has a query or fragment; a token never belongs there");
    }
    if text.len() > 2000 || !text.bytes().all(|b| b.is_ascii_graphic()) {
        return refuse("it is too long, or has invalid characters");
    }
    Ok(url)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use brain_net::Client;

    #[test]
    fn an_endpoint_is_a_plain_web_url() {
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
    fn only_trusted_hosts_may_be_private() {
        let net = Client::new();
        let target = |url: &str| Target {
            net: &net,
            url: Url::parse(url).unwrap(),
            url_text: url.into(),
            issuer: "https://brain.example.org".into(),
            reason: Reason::new("connect test"),
        };
        let must_be_public =
            |endpoint: &str, url: &str| target(endpoint).must_be_public(&Url::parse(url).unwrap());
        assert!(!must_be_public("https://other.example/mcp", "https://other.example/x"));
        assert!(!must_be_public("https://other.example/mcp", "https://brain.example.org/x"));
        assert!(!must_be_public("http://127.0.0.1:3131/mcp", "http://localhost:8765/x"));
        assert!(must_be_public("https://other.example/mcp", "http://127.0.0.1:3131/x"));
        assert!(must_be_public("https://other.example/mcp", "http://169.254.169.254/x"));
        assert!(must_be_public("http://127.0.0.1:3131/mcp", "https://third.example/x"));
    }
}
