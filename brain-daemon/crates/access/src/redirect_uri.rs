//! Redirect addresses: validates them, and compares them with the registered ones (RFC 6749 section
//! 3.1.2, RFC 8252 sections 7.3 and 8.3, RFC 9700 section 4.1.3).
//!
//! Two addresses match if they are the same text. Only the port of a loopback address may differ,
//! because native programs listen on any free port. Texts are compared, not parsed addresses,
//! because parsers differ in details.

use url::Url;

/// The maximum length of an address, in bytes.
const MAX_LENGTH: usize = 2000;
/// The hosts of loopback addresses.
const LOOPBACK_HOSTS: [&str; 3] = ["localhost", "127.0.0.1", "[::1]"];
/// Schemes that are always refused, because they run code, show local data or are not redirects.
const REFUSED_SCHEMES: [&str; 9] =
    ["javascript", "data", "vbscript", "file", "blob", "about", "ftp", "ws", "wss"];

/// What an address that can be registered looks like.
pub(crate) const ALLOWED: &str = "a redirect address begins with https://, or with http:// and \
     localhost, 127.0.0.1 or [::1]";

/// Why an address cannot be registered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum RedirectError {
    /// The address is invalid or harmful, for this reason.
    Invalid(&'static str),
    /// The address has a private scheme such as `cursor://`. It is harmless, but any program can
    /// claim the scheme.
    PrivateScheme,
}

/// Checks that an address can be registered.
///
/// # Errors
/// The reason if the address cannot be registered.
pub(crate) fn check(uri: &str) -> Result<(), RedirectError> {
    if uri.is_empty() || uri.len() > MAX_LENGTH {
        return Err(RedirectError::Invalid("a redirect address has 1 to 2,000 characters"));
    }
    // Some parsers drop control characters and thereby change the address.
    if !uri.bytes().all(|b| b.is_ascii_graphic() && !b"\"<>\\^`{|}*".contains(&b)) {
        return Err(RedirectError::Invalid("a redirect address is plain ASCII, without wildcards"));
    }
    if uri.contains('#') {
        return Err(RedirectError::Invalid("a redirect address has no fragment"));
    }
    let url =
        Url::parse(uri).map_err(|_| RedirectError::Invalid("a redirect address is absolute"))?;
    if authority(uri).is_some_and(|authority| authority.contains('@')) || !url.username().is_empty()
    {
        return Err(RedirectError::Invalid("a redirect address names no user"));
    }
    match url.scheme() {
        "https" if uri.starts_with("https://") && authority(uri).is_some_and(|a| !a.is_empty()) => {
            Ok(())
        }
        "http" if is_loopback(uri) => Ok(()),
        "https" | "http" => Err(RedirectError::Invalid(ALLOWED)),
        scheme if REFUSED_SCHEMES.contains(&scheme) || !uri.contains("://") => {
            Err(RedirectError::Invalid("a redirect address begins with https://"))
        }
        _ => Err(RedirectError::PrivateScheme),
    }
}

/// Returns whether `presented` is the registered address, apart from the port of a loopback
/// address.
pub(crate) fn matches(registered: &str, presented: &str) -> bool {
    if registered == presented {
        return true;
    }
    let parts = (loopback_parts(registered), loopback_parts(presented));
    matches!(parts, (Some(one), Some(other)) if one == other)
}

/// Returns whether this is a loopback address, at which any local program can listen.
pub(crate) fn is_loopback(uri: &str) -> bool {
    loopback_parts(uri).is_some()
}

/// Returns the host of an address, for display. Empty if it has none.
pub(crate) fn host(uri: &str) -> String {
    Url::parse(uri).ok().and_then(|url| url.host_str().map(str::to_owned)).unwrap_or_default()
}

/// Returns an address with added query parameters.
pub(crate) fn with_parameters(uri: &str, parameters: &[(&str, String)]) -> String {
    let query = form_urlencoded::Serializer::new(String::new()).extend_pairs(parameters).finish();
    let separator = if uri.contains('?') { '&' } else { '?' };
    format!("{uri}{separator}{query}")
}

/// Returns the text between `://` and the path, query or fragment.
fn authority(uri: &str) -> Option<&str> {
    let (_, rest) = uri.split_once("://")?;
    Some(&rest[..rest.find(['/', '?', '#']).unwrap_or(rest.len())])
}

/// Returns the host, and the text after the port, of a loopback address; `None` for other
/// addresses.
fn loopback_parts(uri: &str) -> Option<(&str, &str)> {
    let rest = uri.strip_prefix("http://")?;
    let host = LOOPBACK_HOSTS.into_iter().find(|host| rest.starts_with(host))?;
    let rest = &rest[host.len()..];
    let end = rest.find(['/', '?', '#']).unwrap_or(rest.len());
    let (port, rest) = rest.split_at(end);
    let is_valid = match port.strip_prefix(':') {
        Some(digits) => {
            digits.bytes().all(|b| b.is_ascii_digit())
                && digits.parse::<u16>().is_ok_and(|port| port > 0)
        }
        None => port.is_empty(),
    };
    is_valid.then_some((host, rest))
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn only_safe_addresses_can_be_registered() {
        for uri in [
            "https://claude.ai/api/mcp/auth_callback",
            "https://a.example/cb?app=1",
            "https://a.example:8443/",
            "http://localhost:3000/callback",
            "http://127.0.0.1/callback",
            "http://[::1]:99/",
        ] {
            assert_eq!(check(uri), Ok(()), "{uri}");
        }
        assert_eq!(
            check("cursor://anysphere.cursor-mcp/oauth/callback"),
            Err(RedirectError::PrivateScheme)
        );
        let long = format!("https://a.example/{}", "x".repeat(2000));
        for uri in [
            "",
            "javascript:alert(1)",
            "JavaScript://a.example/%0aalert(1)",
            "data:text/html,<script>",
            "vbscript://x/",
            "file:///etc/passwd",
            "http://a.example/cb",
            "http://localhost.a.example/cb",
            "http://127.0.0.1.a.example/cb",
            "http://127.0.0.2/cb",
            "http://localhost:0/cb",
            "http://localhost:99999/cb",
            "http://localhost:+80/cb",
            "http://localhost:80@a.example/cb",
            "http://localhost\\@a.example/cb",
            "https://user@a.example/cb",
            "https://user:word@a.example/cb",
            "https://@a.example/cb",
            "https://a.example/cb#part",
            "https://a.example/#",
            "https://*.a.example/cb",
            "https://a.example/*",
            "https:a.example/cb",
            "https:///cb",
            "HTTPS://a.example/cb",
            "//a.example/cb",
            "/cb",
            "cb",
            "https://a.example/c b",
            "https://a.example/c\tb",
            "https://a.example\r\nSet-Cookie: x/",
            "https://ä.example/",
            "mailto:a@example.org",
            long.as_str(),
        ] {
            assert!(
                matches!(check(uri), Err(RedirectError::Invalid(_))),
                "{uri:?}: {:?}",
                check(uri)
            );
        }
    }

    #[test]
    fn only_the_registered_address_matches() {
        let registered = "https://app.example/oauth/cb";
        assert!(matches(registered, registered));
        for trick in [
            "https://app.example/oauth/cb?next=https://evil.example",
            "https://app.example/oauth/cb?",
            "https://app.example/oauth/cb#",
            "https://app.example/oauth/cb#evil",
            "https://app.example/oauth/cb/",
            "https://app.example/oauth/cb/../../evil",
            "https://app.example/oauth/../oauth/cb",
            "https://app.example//oauth/cb",
            "https://app.example/oauth/%63b",
            "https://app.example/OAuth/cb",
            "https://APP.example/oauth/cb",
            "https://app.example:443/oauth/cb",
            "https://app.example:8443/oauth/cb",
            "https://app.example./oauth/cb",
            "https://evil.app.example/oauth/cb",
            "https://app.example.evil.example/oauth/cb",
            "https://app.example@evil.example/oauth/cb",
            "https://user@app.example/oauth/cb",
            "https://evil.example/oauth/cb",
            "https://evil.example\\@app.example/oauth/cb",
            "http://app.example/oauth/cb",
            "HTTPS://app.example/oauth/cb",
            " https://app.example/oauth/cb",
            "https://app.example/oauth/cb\n",
            "",
        ] {
            assert!(!matches(registered, trick), "{trick:?}");
        }
    }

    #[test]
    fn only_the_port_of_a_loopback_address_may_differ() {
        let registered = "http://localhost/callback";
        for port in ["", ":1", ":3118", ":65535"] {
            assert!(matches(registered, &format!("http://localhost{port}/callback")), "{port}");
        }
        assert!(matches("http://127.0.0.1:33418/", "http://127.0.0.1:50000/"));
        for trick in [
            "http://127.0.0.1/callback",
            "http://[::1]/callback",
            "http://LOCALHOST/callback",
            "http://localhost:/callback",
            "http://localhost:0/callback",
            "http://localhost:65536/callback",
            "http://localhost:80@evil.example/callback",
            "http://localhost@evil.example/callback",
            "http://localhost.evil.example/callback",
            "http://localhost:80/callback?x=1",
            "http://localhost:80/callback#x",
            "http://localhost:80/callback/",
            "http://localhost:80/other",
            "http://localhost:80\\.evil.example/callback",
            "https://localhost/callback",
            "https://localhost:80/callback",
        ] {
            assert!(!matches(registered, trick), "{trick:?}");
        }
    }

    #[test]
    fn parameters_are_added_after_existing_ones() {
        let all = [("code", "a b&c".into()), ("iss", "https://b.example".into())];
        let expected = "https://a.example/cb?code=a+b%26c&iss=https%3A%2F%2Fb.example";
        assert_eq!(with_parameters("https://a.example/cb", &all), expected);
        assert!(
            with_parameters("https://a.example/cb?app=1", &all)
                .starts_with("https://a.example/cb?app=1&code=")
        );
    }

    const REGISTERED: [&str; 4] = [
        "https://app.example/oauth/cb",
        "https://app.example/cb?app=1",
        "http://localhost/callback",
        "http://127.0.0.1:33418/",
    ];

    proptest! {
        #![proptest_config(ProptestConfig {
            cases: 2000, failure_persistence: None, ..ProptestConfig::default()
        })]

        /// An edited address that still matches leads to the same place.
        #[test]
        fn a_matching_address_leads_to_the_same_place(
            which in 0..REGISTERED.len(),
            at in 0_usize..40,
            cut in 0_usize..4,
            inserted in "[a-zA-Z0-9:/?#@.\\\\%&=*\\[\\] \r\n\u{e4}-]{0,6}",
        ) {
            let registered = REGISTERED[which];
            let at = at.min(registered.len());
            let end = (at + cut).min(registered.len());
            let presented = format!("{}{inserted}{}", &registered[..at], &registered[end..]);
            if matches(registered, &presented) {
                let (one, other) = (Url::parse(registered).unwrap(),
                    Url::parse(&presented).unwrap());
                prop_assert_eq!(one.scheme(), other.scheme());
                prop_assert_eq!(one.host_str(), other.host_str());
                prop_assert_eq!(one.path(), other.path());
                prop_assert_eq!(one.query(), other.query());
                prop_assert_eq!(other.fragment(), None);
                prop_assert!(other.username().is_empty() && other.password().is_none());
                prop_assert!(one.port() == other.port() || is_loopback(registered));
                prop_assert_eq!(check(&presented), Ok(()));
            } else {
                prop_assert_ne!(registered, presented.as_str());
            }
        }
    }
}
