//! Proof that a public address leads here. An agent may name any address, and anybody can answer
//! `/health` as brain does. So the watchdog asks the address with a question that was made for this
//! once, and only the public listener of this daemon knows the answer.

use std::net::IpAddr;

use url::{Host, Url};

use super::{NO_PAGE, PROBE};
use brain_net::{Call, Outgoing};

/// A question that is on its way to a public address, and its answer. Both are random.
#[derive(Debug, Clone)]
pub struct Proof {
    question: String,
    answer: String,
    /// The address that is asked.
    url: Url,
}

impl Proof {
    /// For the public address `url`.
    ///
    /// # Errors
    /// When that is no address of a host.
    pub fn new(url: &str, question: String, answer: String) -> Result<Self, String> {
        let parsed = Url::parse(&format!("{url}/health")).ok().filter(Url::has_host);
        Ok(Self { question, answer, url: parsed.ok_or("it is no address")? })
    }

    /// Returns the answer for a request that arrived with this question, addressed to `host`. An
    /// agent may hand requests on under the listener's own address; under another name it does not
    /// lead here.
    #[must_use]
    pub fn answered(&self, host: &str, question: &str) -> Option<String> {
        let named = Url::parse(&format!("http://{host}/")).ok()?;
        let is_here = match named.host()? {
            Host::Domain(name) => name == "localhost",
            Host::Ipv4(ip) => IpAddr::from(ip).is_loopback(),
            Host::Ipv6(ip) => IpAddr::from(ip).is_loopback(),
        };
        let is_right =
            question == self.question && (is_here || named.host_str() == self.url.host_str());
        is_right.then(|| self.answer.clone())
    }

    /// Asks the address. With `public` its host must have public addresses only.
    ///
    /// # Errors
    /// What answered instead, or that nobody did.
    pub fn ask(&self, net: &dyn Outgoing, public: bool) -> Result<(), String> {
        let headers = [NO_PAGE, (PROBE.0, self.question.as_str())];
        let call = Call {
            url: &self.url,
            body: None,
            headers: &headers,
            authorization: None,
            public,
            enough: |_| false,
        };
        let answer = net.call(&call).map_err(|trouble| trouble.to_string())?;
        if answer.status != 200 {
            return Err(format!("it answers with status {}", answer.status));
        }
        let said: Option<serde_json::Value> = serde_json::from_slice(&answer.body).ok();
        match said.is_some_and(|said| said["proof"] == self.answer.as_str()) {
            true => Ok(()),
            false => Err("what answers there does not prove that it leads to this brain".into()),
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn only_the_question_under_the_right_name_is_answered() {
        let proof = |url: &str| Proof::new(url, "q1".into(), "a1".into()).unwrap();
        let named = proof("https://a.ngrok.app");
        for host in
            ["a.ngrok.app", "A.ngrok.app:443", "localhost:8765", "127.0.0.1:8765", "[::1]:8765"]
        {
            assert_eq!(named.answered(host, "q1").as_deref(), Some("a1"), "{host}");
        }
        for (host, question) in [
            ("a.ngrok.app", ""),
            ("a.ngrok.app", "q2"),
            ("b.ngrok.app", "q1"),
            ("a.ngrok.app.example", "q1"),
            ("10.0.0.1", "q1"),
            ("", "q1"),
            ("a b", "q1"),
        ] {
            assert_eq!(named.answered(host, question), None, "{host} {question}");
        }
        assert!(Proof::new("nonsense", "q".into(), "a".into()).is_err());
    }
}
