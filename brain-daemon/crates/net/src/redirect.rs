//! Decides where a redirected call goes, and what it may take along. No I/O.

use std::net::IpAddr;

use url::Url;

use super::{Error, HttpRequest, HttpResponse, address};

/// Maximum number of redirects of a call.
pub(super) const MAX_REDIRECTS: usize = 3;
/// Headers that another server than the configured one gets.
const SAFE_HEADERS: [&str; 2] = ["content-type", "accept"];

/// Returns where a call with a body is redirected to, if its method stays the same (RFC 9110
/// sections 15.4.8 and 15.4.9).
///
/// # Errors
/// [`Error::InvalidAddress`] when the target is no web server, or has no TLS and `from` does.
pub(super) fn same_method_target(answer: &HttpResponse, from: &Url) -> Result<Option<Url>, Error> {
    if !matches!(answer.status, 307 | 308) {
        return Ok(None);
    }
    let Some(mut to) = answer.header("location").and_then(|to| from.join(to).ok()) else {
        return Ok(None);
    };
    to.set_fragment(None);
    match (from.scheme(), to.scheme()) {
        (_, "https") | ("http", "http") if to.has_host() => Ok(Some(to)),
        _ => Err(Error::InvalidAddress("the server redirects to an address without https://")),
    }
}

/// Returns `call` as another server may see it: without authorization and keys.
pub(super) fn for_other_server<'a>(
    call: &HttpRequest<'a>,
    url: &'a Url,
    headers: &'a [(&'a str, &'a str)],
) -> HttpRequest<'a> {
    HttpRequest { url, authorization: None, headers, ..call.clone() }
}

/// Returns the headers that another server may see.
pub(super) fn safe_headers<'a>(call: &HttpRequest<'a>) -> Vec<(&'a str, &'a str)> {
    call.headers.iter().filter(|(name, _)| SAFE_HEADERS.contains(name)).copied().collect()
}

/// Checks that a public server does not redirect into the owner's network.
///
/// # Errors
/// [`Error::NotPublic`] when it does.
pub(super) fn check_addresses(from: &[IpAddr], to: &[IpAddr]) -> Result<(), Error> {
    let is_public = |all: &[IpAddr]| all.iter().copied().all(address::is_public);
    match is_public(from) && !is_public(to) {
        true => Err(Error::NotPublic),
        false => Ok(()),
    }
}
