//! The telephone: request signatures, markup, the webhook of a number, and turns of a call.
//!
//! `signature` and `twiml` are the provider's formats, without I/O. `webhook` sets where a number
//! calls. `service` answers turns from pages and saves notes. The crate knows no HTTP server and
//! no tunnel. All calls block.

mod service;
mod settings;
pub mod signature;
pub mod twiml;
mod webhook;

pub use service::{ConfiguredNumber, TELEPHONE, VoiceService};

use url::{Host, Url};

/// The provider's domain, in all its regions.
const PROVIDER_DOMAIN: &str = "twilio.com";

/// Returns whether this is an `https` address of the provider.
#[must_use]
pub fn is_provider_url(url: &str) -> bool {
    let Ok(url) = Url::parse(url) else { return false };
    let Some(Host::Domain(host)) = url.host() else { return false };
    let is_in_domain = host
        .strip_suffix(PROVIDER_DOMAIN)
        .is_some_and(|rest| rest.is_empty() || rest.ends_with('.'));
    url.scheme() == "https" && url.username().is_empty() && url.password().is_none() && is_in_domain
}

/// A telephone number at the provider.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Number {
    /// The base address of the provider's API, without a trailing slash.
    pub api: String,
    /// The id of the account, `AC…`.
    pub account_sid: String,
    /// The id of the number, `PN…`.
    pub number_sid: String,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_https_urls_of_the_provider_are_accepted() {
        for url in [
            "https://api.twilio.com/2010-04-01/x",
            "https://api.dublin.ie1.twilio.com/x",
            "https://twilio.com",
        ] {
            assert!(is_provider_url(url), "{url}");
        }
        for url in [
            "http://api.twilio.com/x",
            "https://api.twilio.com.evil.example/x",
            "https://eviltwilio.com/x",
            "https://api.twilio.com@evil.example/x",
            "https://ann@api.twilio.com/x",
            "https://evil.example/api.twilio.com",
            "https://127.0.0.1/x",
            "javascript:alert(1)",
            "",
        ] {
            assert!(!is_provider_url(url), "{url}");
        }
    }
}
