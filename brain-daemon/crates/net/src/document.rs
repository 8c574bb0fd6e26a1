//! Documents at addresses that strangers name: what such an address must be, and what is taken from there. A stranger may send us
//! anywhere with it, so nothing is reached but a public web server, and nothing comes back but a small JSON document.

use std::net::IpAddr;
use std::time::Duration;

use url::{Host, Url};

use super::way::{Bounds, Way};
use super::{Answer, Call, Document, Trouble, address};

/// The largest document, in bytes.
const MOST: usize = 64 * 1024;
/// How long all of it may take.
const WITHIN: Duration = Duration::from_secs(5);
/// The longest address, in bytes.
const LONGEST: usize = 2000;
/// The longest address of a file: those that a store of files signs for us are long.
const LONGEST_SIGNED: usize = 8000;
/// Names that never are a host of the public network (RFC 6761, RFC 6762, RFC 8375, and the one that ICANN keeps for private use).
const LOCAL: [&str; 5] = ["localhost", "local", "internal", "home.arpa", "onion"];

/// What a stranger's address must be. A test may loosen it, to have a server on its own machine.
#[derive(Clone, Copy)]
pub(super) struct Rules {
    /// How it may begin.
    pub(super) schemes: &'static [&'static str],
    /// What a reader would mend of it (capitals, `..`, a default port, a fragment) is refused: two readers may mend it differently.
    pub(super) plain: bool,
    /// Its name is a public one and its port the usual one.
    pub(super) usual: bool,
    /// How long it may be, in bytes.
    pub(super) longest: usize,
    /// Which addresses its host may have.
    pub(super) admits: fn(IpAddr) -> bool,
}

impl Rules {
    /// The rules in force for documents.
    pub(super) const STRICT: Self = Self {
        schemes: &["https"],
        plain: true,
        usual: true,
        longest: LONGEST,
        admits: address::is_public,
    };
    /// The rules in force for web pages: people write their addresses, in whatever spelling.
    pub(super) const PAGES: Self =
        Self { schemes: &["https", "http"], plain: false, ..Self::STRICT };
    /// The rules in force for files.
    pub(super) const FILES: Self = Self { plain: false, longest: LONGEST_SIGNED, ..Self::STRICT };
}

/// Reads the document at `text`.
///
/// # Errors
/// Why there is none.
pub(super) fn read(way: &Way, rules: &Rules, text: &str) -> Result<Document, Trouble> {
    let url = check(rules, text)?;
    let headers = [("accept", "application/json")];
    let call = Call {
        url: &url,
        body: None,
        headers: &headers,
        authorization: None,
        public: true,
        // Nothing is read of what is refused anyhow.
        enough: |answer| answer.status != 200,
    };
    let answer =
        way.exchange(&call, &Bounds { admits: Some(rules.admits), most: MOST, within: WITHIN })?;
    if answer.status != 200 {
        return Err(Trouble::Status(answer.status));
    }
    if answer.kind() != "application/json" {
        return Err(Trouble::Kind);
    }
    Ok(Document { fresh: fresh(&answer), body: answer.body })
}

/// The address, if it is one that may be read.
///
/// # Errors
/// [`Trouble::Address`].
pub(super) fn check(rules: &Rules, text: &str) -> Result<Url, Trouble> {
    let refuse = |why| Err(Trouble::Address(why));
    if text.len() > rules.longest {
        return refuse("the address is too long");
    }
    let Ok(url) = Url::parse(text) else { return refuse("the address is none") };
    if !rules.schemes.contains(&url.scheme()) {
        return refuse("the address must begin with https://");
    }
    // Another spelling of an IP address is one of the things that are mended.
    if rules.plain && url.as_str() != text {
        return refuse("the address is not in its plain form");
    }
    if !url.username().is_empty() || url.password().is_some() {
        return refuse("the address must name no user");
    }
    if rules.plain && url.fragment().is_some() {
        return refuse("the address must have no fragment");
    }
    if rules.usual && url.port().is_some() {
        return refuse("the address must name no port");
    }
    match url.host() {
        Some(Host::Domain(name)) if is_host(name) || !rules.usual => Ok(url),
        Some(Host::Domain(_)) => refuse("the address must have a host of the public network"),
        _ => refuse("the address must have a host name, not a number"),
    }
}

/// Whether a name may be that of a public host.
fn is_host(name: &str) -> bool {
    let local = |suffix: &str| {
        name.strip_suffix(suffix).is_some_and(|rest| rest.is_empty() || rest.ends_with('.'))
    };
    name.contains('.') && !name.ends_with('.') && !LOCAL.into_iter().any(local)
}

/// How long the answer says that it may be kept, less what it has been kept already (RFC 9111 sections 5.1 and 5.2.2).
fn fresh(answer: &Answer) -> Option<Duration> {
    let lines = answer.headers.iter().filter(|(name, _)| name == "cache-control");
    let said: Vec<&str> = lines.flat_map(|(_, value)| value.split(',')).map(str::trim).collect();
    if said
        .iter()
        .any(|word| word.eq_ignore_ascii_case("no-store") || word.eq_ignore_ascii_case("no-cache"))
    {
        return Some(Duration::ZERO);
    }
    let seconds = said.iter().find_map(|word| {
        let (name, value) = word.split_once('=')?;
        let value = name.eq_ignore_ascii_case("max-age").then(|| value.trim_matches('"'))?;
        value.parse::<u64>().ok()
    })?;
    let age = answer.header("age").and_then(|age| age.trim().parse().ok()).unwrap_or(0);
    Some(Duration::from_secs(seconds.saturating_sub(age)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_of_a_stranger_is_plain_https() {
        for good in [
            "https://app.example/client.json",
            "https://app.example/",
            "https://app.example/a?b=c",
            "https://xn--bcher-kva.example/client",
        ] {
            assert!(check(&Rules::STRICT, good).is_ok(), "{good}");
        }
        let long = format!("https://app.example/{}", "x".repeat(2000));
        for bad in [
            "",
            "app.example/client",
            "http://app.example/client",
            "HTTPS://app.example/client",
            "file:///etc/passwd",
            "ftp://app.example/client",
            "gopher://app.example/1",
            "https://app.example",
            "https://APP.example/client",
            "https://app.example:443/client",
            "https://app.example:8443/client",
            "https://app.example:22/client",
            "https://user@app.example/client",
            "https://user:word@app.example/client",
            "https://@app.example/client",
            "https://app.example/client#x",
            "https://app.example/client#",
            "https://app.example/a/../client",
            "https://app.example/./client",
            "https://app.example\\@evil.example/client",
            "https://app.example/a b",
            "https://app.example/\tx",
            " https://app.example/client",
            "https://app.example/client\n",
            "https:app.example/client",
            "https:///client",
            "https://bücher.example/client",
            "https://127.0.0.1/client",
            "https://[::1]/client",
            "https://2130706433/client",
            "https://0x7f.1/client",
            "https://0177.0.0.1/client",
            "https://127.1/client",
            "https://8.8.8.8/client",
            "https://localhost/client",
            "https://app.localhost/client",
            "https://localhost./client",
            "https://app.example./client",
            "https://intranet/client",
            "https://printer.local/client",
            "https://metadata.google.internal/client",
            "https://a.home.arpa/client",
            long.as_str(),
        ] {
            assert!(matches!(check(&Rules::STRICT, bad), Err(Trouble::Address(_))), "{bad:?}");
        }
    }

    #[test]
    fn it_is_kept_as_long_as_it_says() {
        let said = |fields: &[(&str, &str)]| {
            let headers = fields.iter().map(|(n, v)| ((*n).to_owned(), (*v).to_owned())).collect();
            fresh(&Answer { status: 200, headers, body: Vec::new(), from: None })
                .map(|d| d.as_secs())
        };
        assert_eq!(said(&[]), None);
        assert_eq!(said(&[("cache-control", "public, Max-Age=\"600\"")]), Some(600));
        assert_eq!(said(&[("cache-control", "max-age=600"), ("age", "100")]), Some(500));
        assert_eq!(said(&[("cache-control", "max-age=600"), ("age", "9999")]), Some(0));
        assert_eq!(
            said(&[("cache-control", "max-age=600"), ("cache-control", "no-store")]),
            Some(0)
        );
        assert_eq!(said(&[("cache-control", "max-age=soon")]), None);
    }
}
