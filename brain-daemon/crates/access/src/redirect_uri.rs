//! Redirect addresses: which may be registered, and which registered one an address is (RFC 6749 section 3.1.2, RFC 8252
//! sections 7.3 and 8.3, RFC 9700 section 4.1.3).
//!
//! Two addresses are one when they are the same text. Only the port of one on this very machine is free, since native programs
//! take whatever port they get. Texts are compared, never what a parser makes of them: no two parsers agree on everything.

use url::Url;

/// The longest address, in bytes.
const LONGEST: usize = 2000;
/// The names of this machine.
const LOOPBACK: [&str; 3] = ["localhost", "127.0.0.1", "[::1]"];
/// Schemes that let an address do something else than lead a browser to a program.
const HARMFUL: [&str; 9] =
    ["javascript", "data", "vbscript", "file", "blob", "about", "ftp", "ws", "wss"];

/// Why an address cannot be registered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum RedirectError {
    /// It is wrong or harmful; what it should be.
    Refused(&'static str),
    /// It belongs to a program of its own, such as `cursor://…`: harmless, but any program may take such a name.
    PrivateScheme,
}

/// Refuses what cannot be registered.
///
/// # Errors
/// What is wrong with it.
pub(crate) fn check(uri: &str) -> Result<(), RedirectError> {
    if uri.is_empty() || uri.len() > LONGEST {
        return Err(RedirectError::Refused("a redirect address has 1 to 2,000 characters"));
    }
    // Not even written as %…: some parsers take control characters out, and then it is another address.
    if !uri.bytes().all(|b| b.is_ascii_graphic() && !b"\"<>\\^`{|}*".contains(&b)) {
        return Err(RedirectError::Refused("a redirect address is plain ASCII, without wildcards"));
    }
    if uri.contains('#') {
        return Err(RedirectError::Refused("a redirect address has no fragment"));
    }
    let url =
        Url::parse(uri).map_err(|_| RedirectError::Refused("a redirect address is absolute"))?;
    if authority(uri).is_some_and(|authority| authority.contains('@')) || !url.username().is_empty()
    {
        return Err(RedirectError::Refused("a redirect address names no user"));
    }
    match url.scheme() {
        "https" if uri.starts_with("https://") && authority(uri).is_some_and(|a| !a.is_empty()) => {
            Ok(())
        }
        "http" if is_loopback(uri) => Ok(()),
        "https" | "http" => Err(RedirectError::Refused(
            "a redirect address begins with https://, or with http:// and this machine's name",
        )),
        scheme if HARMFUL.contains(&scheme) || !uri.contains("://") => {
            Err(RedirectError::Refused("a redirect address begins with https://"))
        }
        _ => Err(RedirectError::PrivateScheme),
    }
}

/// Whether `presented` is the address that was registered.
pub(crate) fn matches(registered: &str, presented: &str) -> bool {
    if registered == presented {
        return true;
    }
    matches!((loopback(registered), loopback(presented)), (Some(one), Some(other)) if one == other)
}

/// Whether the address leads to this very machine, by whatever program listens there.
pub(crate) fn is_loopback(uri: &str) -> bool {
    loopback(uri).is_some()
}

/// The host that the address leads to, for people.
pub(crate) fn host(uri: &str) -> String {
    Url::parse(uri).ok().and_then(|url| url.host_str().map(str::to_owned)).unwrap_or_default()
}

/// The address with parameters added.
pub(crate) fn with(uri: &str, parameters: &[(&str, String)]) -> String {
    let query = form_urlencoded::Serializer::new(String::new()).extend_pairs(parameters).finish();
    let joint = if uri.contains('?') { '&' } else { '?' };
    format!("{uri}{joint}{query}")
}

/// What stands between `://` and the path.
fn authority(uri: &str) -> Option<&str> {
    let (_, rest) = uri.split_once("://")?;
    Some(&rest[..rest.find(['/', '?', '#']).unwrap_or(rest.len())])
}

/// Host and what follows the port, when the address leads to this very machine.
fn loopback(uri: &str) -> Option<(&str, &str)> {
    let rest = uri.strip_prefix("http://")?;
    let host = LOOPBACK.into_iter().find(|host| rest.starts_with(host))?;
    let rest = &rest[host.len()..];
    let end = rest.find(['/', '?', '#']).unwrap_or(rest.len());
    let (port, rest) = rest.split_at(end);
    let good = match port.strip_prefix(':') {
        Some(digits) => {
            digits.bytes().all(|b| b.is_ascii_digit())
                && digits.parse::<u16>().is_ok_and(|port| port > 0)
        }
        None => port.is_empty(),
    };
    good.then_some((host, rest))
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn what_may_be_registered() {
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
                matches!(check(uri), Err(RedirectError::Refused(_))),
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
    fn the_port_on_this_machine_is_free_and_nothing_else_of_it() {
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
    fn parameters_are_added_behind_what_is_there() {
        let all = [("code", "a b&c".into()), ("iss", "https://b.example".into())];
        let expected = "https://a.example/cb?code=a+b%26c&iss=https%3A%2F%2Fb.example";
        assert_eq!(with("https://a.example/cb", &all), expected);
        assert!(
            with("https://a.example/cb?app=1", &all)
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
        #![proptest_config(ProptestConfig { cases: 2000, failure_persistence: None, ..ProptestConfig::default() })]

        /// Whatever is put into a registered address, or taken out of it: what still matches leads to the same place.
        #[test]
        fn what_matches_leads_to_the_same_place(
            which in 0..REGISTERED.len(),
            at in 0_usize..40,
            cut in 0_usize..4,
            put in "[a-zA-Z0-9:/?#@.\\\\%&=*\\[\\] \r\n\u{e4}-]{0,6}",
        ) {
            let registered = REGISTERED[which];
            let at = at.min(registered.len());
            let end = (at + cut).min(registered.len());
            let presented = format!("{}{put}{}", &registered[..at], &registered[end..]);
            if matches(registered, &presented) {
                let (one, other) = (Url::parse(registered).unwrap(), Url::parse(&presented).unwrap());
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
