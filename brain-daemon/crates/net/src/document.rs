//! Fetches small JSON documents from untrusted addresses.
//!
//! An untrusted address may point anywhere. So only public web servers are contacted, and only a
//! small JSON document is returned.

use std::net::IpAddr;
use std::time::Duration;

use url::{Host, Url};

use super::request::{Connector, Limits};
use super::{Error, FetchedDocument, HttpRequest, HttpResponse, Reason, address};

/// Maximum size of a document in bytes.
const MAX_BYTES: usize = 64 * 1024;
/// Time limit for the request and its response.
const TIMEOUT: Duration = Duration::from_secs(5);
/// Maximum length of an address in bytes.
const MAX_URL_BYTES: usize = 2000;
/// Maximum length of a file's address in bytes. Object stores append a signature, which is long.
const MAX_SIGNED_URL_BYTES: usize = 8000;
/// Domains that are never public (RFC 6761, 6762, 7686, 8375, and ICANN's `internal`).
const PRIVATE_DOMAINS: [&str; 5] = ["localhost", "local", "internal", "home.arpa", "onion"];

/// Rules for an untrusted address. Tests relax them to use a server on their own machine.
#[derive(Clone, Copy)]
pub(super) struct Rules {
    /// Permitted schemes.
    pub(super) schemes: &'static [&'static str],
    /// Whether the address must be in normal form: without capitals in its host, `..`, default port
    /// or fragment. Two parsers may normalise other forms differently.
    pub(super) requires_normal_form: bool,
    /// Whether the host must be a public name, and the port the default one.
    pub(super) requires_public_name: bool,
    /// Maximum length of the address in bytes.
    pub(super) max_url_bytes: usize,
    /// Accepts or rejects an IP address of the host.
    pub(super) is_allowed: fn(IpAddr) -> bool,
}

impl Rules {
    /// Rules for documents.
    pub(super) const STRICT: Self = Self {
        schemes: &["https"],
        requires_normal_form: true,
        requires_public_name: true,
        max_url_bytes: MAX_URL_BYTES,
        is_allowed: address::is_public,
    };
    /// Rules for web pages. People write these addresses, so any spelling is accepted.
    pub(super) const PAGES: Self =
        Self { schemes: &["https", "http"], requires_normal_form: false, ..Self::STRICT };
    /// Rules for files.
    pub(super) const FILES: Self =
        Self { requires_normal_form: false, max_url_bytes: MAX_SIGNED_URL_BYTES, ..Self::STRICT };
}

/// Fetches the document at `text`.
///
/// # Errors
/// Any [`Error`].
pub(super) fn read(
    connector: &Connector,
    rules: &Rules,
    text: &str,
) -> Result<FetchedDocument, Error> {
    let url = check(rules, text)?;
    let headers = [("accept", "application/json")];
    let reason = Reason::new("document");
    let call = HttpRequest {
        url: &url,
        body: None,
        headers: &headers,
        authorization: None,
        must_be_public: true,
        reason: &reason,
        // The body of an error response is not needed.
        is_complete: |answer| answer.status != 200,
    };
    let answer = connector.exchange(
        &call,
        &Limits { is_allowed: Some(rules.is_allowed), max_bytes: MAX_BYTES, timeout: TIMEOUT },
    )?;
    if answer.status != 200 {
        return Err(Error::Status(answer.status));
    }
    if answer.media_type() != "application/json" {
        return Err(Error::NotJson);
    }
    Ok(FetchedDocument { max_age: max_age(&answer), body: answer.body })
}

/// Parses an address and checks it against `rules`.
///
/// # Errors
/// [`Error::InvalidAddress`] when the address breaks a rule.
pub(super) fn check(rules: &Rules, text: &str) -> Result<Url, Error> {
    let refuse = |why| Err(Error::InvalidAddress(why));
    if text.len() > rules.max_url_bytes {
        return refuse("the address is too long");
    }
    let Ok(url) = Url::parse(text) else { return refuse("the address is not valid") };
    if !rules.schemes.contains(&url.scheme()) {
        return refuse("the address must begin with https://");
    }
    // Normalisation also rewrites unusual spellings of IP addresses.
    if rules.requires_normal_form && url.as_str() != text {
        return refuse("the address is not in its normal form");
    }
    if !url.username().is_empty() || url.password().is_some() {
        return refuse("the address must not name a user");
    }
    if rules.requires_normal_form && url.fragment().is_some() {
        return refuse("the address must not have a fragment");
    }
    if rules.requires_public_name && url.port().is_some() {
        return refuse("the address must not name a port");
    }
    match url.host() {
        Some(Host::Domain(name)) if is_public_name(name) || !rules.requires_public_name => Ok(url),
        Some(Host::Domain(_)) => refuse("the address must have a public host name"),
        _ => refuse("the address must have a host name, not an IP address"),
    }
}

/// Returns whether a name can be that of a public host.
fn is_public_name(name: &str) -> bool {
    let is_within = |suffix: &str| {
        name.strip_suffix(suffix).is_some_and(|rest| rest.is_empty() || rest.ends_with('.'))
    };
    name.contains('.') && !name.ends_with('.') && !PRIVATE_DOMAINS.into_iter().any(is_within)
}

/// Returns the remaining cache lifetime of a response (RFC 9111 sections 5.1 and 5.2.2). `None` if
/// the response does not say.
fn max_age(answer: &HttpResponse) -> Option<Duration> {
    let lines = answer.headers.iter().filter(|(name, _)| name == "cache-control");
    let directives: Vec<&str> =
        lines.flat_map(|(_, value)| value.split(',')).map(str::trim).collect();
    if directives
        .iter()
        .any(|word| word.eq_ignore_ascii_case("no-store") || word.eq_ignore_ascii_case("no-cache"))
    {
        return Some(Duration::ZERO);
    }
    let seconds = directives.iter().find_map(|word| {
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
    fn document_addresses_are_https_in_normal_form() {
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
            assert!(matches!(check(&Rules::STRICT, bad), Err(Error::InvalidAddress(_))), "{bad:?}");
        }
    }

    #[test]
    fn max_age_follows_the_response() {
        let seconds = |fields: &[(&str, &str)]| {
            let headers = fields.iter().map(|(n, v)| ((*n).to_owned(), (*v).to_owned())).collect();
            max_age(&HttpResponse { status: 200, headers, body: Vec::new(), server_address: None })
                .map(|d| d.as_secs())
        };
        assert_eq!(seconds(&[]), None);
        assert_eq!(seconds(&[("cache-control", "public, Max-Age=\"600\"")]), Some(600));
        assert_eq!(seconds(&[("cache-control", "max-age=600"), ("age", "100")]), Some(500));
        assert_eq!(seconds(&[("cache-control", "max-age=600"), ("age", "9999")]), Some(0));
        assert_eq!(
            seconds(&[("cache-control", "max-age=600"), ("cache-control", "no-store")]),
            Some(0)
        );
        assert_eq!(seconds(&[("cache-control", "max-age=soon")]), None);
    }
}
