//! Proof that a public address leads here.
//!
//! An agent may name any address, and any server can answer `/health` as brain does. So the
//! watchdog sends a challenge that is used once. Only the public listener of this daemon knows the
//! answer.

use std::net::IpAddr;

use url::{Host, Url};

use super::{PROBE_HEADER, SKIP_BROWSER_WARNING};
use brain_net::{HttpClient, HttpRequest, Reason};

/// A challenge that is sent to a public address, and its answer. Both are random.
#[derive(Debug, Clone)]
pub struct Proof {
    challenge: String,
    answer: String,
    /// The address under test.
    url: Url,
}

impl Proof {
    /// Creates a proof for the public address `url`.
    ///
    /// # Errors
    /// If `url` has no host.
    pub fn new(url: &str, challenge: String, answer: String) -> Result<Self, String> {
        let parsed = Url::parse(&format!("{url}/health")).ok().filter(Url::has_host);
        Ok(Self { challenge, answer, url: parsed.ok_or("it is not an address")? })
    }

    /// Returns the answer to a request with this challenge, addressed to `host`. Agents may forward
    /// requests under the listener's own address; any other name fails.
    #[must_use]
    pub fn answer_for(&self, host: &str, challenge: &str) -> Option<String> {
        let requested = Url::parse(&format!("http://{host}/")).ok()?;
        let is_loopback = match requested.host()? {
            Host::Domain(name) => name == "localhost",
            Host::Ipv4(ip) => IpAddr::from(ip).is_loopback(),
            Host::Ipv6(ip) => IpAddr::from(ip).is_loopback(),
        };
        let is_valid = challenge == self.challenge
            && (is_loopback || requested.host_str() == self.url.host_str());
        is_valid.then(|| self.answer.clone())
    }

    /// Sends the challenge. With `public`, the host must have public addresses only.
    ///
    /// # Errors
    /// A description of the wrong answer or of the failed request.
    pub fn ask(&self, net: &dyn HttpClient, must_be_public: bool) -> Result<(), String> {
        let headers = [SKIP_BROWSER_WARNING, (PROBE_HEADER.0, self.challenge.as_str())];
        let call = HttpRequest {
            url: &self.url,
            body: None,
            headers: &headers,
            authorization: None,
            must_be_public,
            reason: &Reason::new("tunnel check"),
            is_complete: |_| false,
        };
        let response = net.call(&call).map_err(|error| error.to_string())?;
        if response.status != 200 {
            return Err(format!("it answers with status {}", response.status));
        }
        let reply: Option<serde_json::Value> = serde_json::from_slice(&response.body).ok();
        match reply.is_some_and(|reply| reply["proof"] == self.answer.as_str()) {
            true => Ok(()),
            false => Err("the answer does not prove that it leads to this brain".into()),
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn a_proof_answers_only_its_host_and_challenge() {
        let proof = |url: &str| Proof::new(url, "q1".into(), "a1".into()).unwrap();
        let named = proof("https://a.ngrok.app");
        for host in
            ["a.ngrok.app", "A.ngrok.app:443", "localhost:8765", "127.0.0.1:8765", "[::1]:8765"]
        {
            assert_eq!(named.answer_for(host, "q1").as_deref(), Some("a1"), "{host}");
        }
        for (host, challenge) in [
            ("a.ngrok.app", ""),
            ("a.ngrok.app", "q2"),
            ("b.ngrok.app", "q1"),
            ("a.ngrok.app.example", "q1"),
            ("10.0.0.1", "q1"),
            ("", "q1"),
            ("a b", "q1"),
        ] {
            assert_eq!(named.answer_for(host, challenge), None, "{host} {challenge}");
        }
        assert!(Proof::new("nonsense", "q".into(), "a".into()).is_err());
    }
}
