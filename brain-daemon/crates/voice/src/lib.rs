//! The telephony provider: its signatures, its markup, and its API for numbers. Pure but for the last. Knows neither pages nor calls' meaning.

pub mod number;
pub mod signature;
pub mod twiml;

use url::{Host, Url};

/// Where the provider keeps what is its own, in all its regions.
const PROVIDER: &str = "twilio.com";

/// Whether this is an address of the provider's.
#[must_use]
pub fn is_of_provider(url: &str) -> bool {
    let Ok(url) = Url::parse(url) else { return false };
    let Some(Host::Domain(host)) = url.host() else { return false };
    let at_home =
        host.strip_suffix(PROVIDER).is_some_and(|rest| rest.is_empty() || rest.ends_with('.'));
    url.scheme() == "https" && url.username().is_empty() && url.password().is_none() && at_home
}

/// A telephone number at the provider.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Number {
    /// The provider's address, without a slash at its end.
    pub api: String,
    /// The account, `AC…`.
    pub account_sid: String,
    /// The number's id, `PN…`.
    pub number_sid: String,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_providers_addresses_are_known() {
        for url in [
            "https://api.twilio.com/2010-04-01/x",
            "https://api.dublin.ie1.twilio.com/x",
            "https://twilio.com",
        ] {
            assert!(is_of_provider(url), "{url}");
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
            assert!(!is_of_provider(url), "{url}");
        }
    }
}
