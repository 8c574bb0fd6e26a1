//! Fetches web pages from untrusted addresses, by the rules of `document.rs`.
//!
//! The target of a redirect is untrusted, too, and is checked in the same way.

use std::time::{Duration, Instant};

use url::Url;

use super::document::{Rules, check};
use super::request::{Connector, Limits};
use super::{Error, HttpRequest, HttpResponse, Reason, WebPage};

/// Maximum size of a page in bytes.
const MAX_BYTES: usize = 2 * 1024 * 1024;
/// Time limit for the page, redirects included.
const TIMEOUT: Duration = Duration::from_secs(15);
/// Maximum number of redirects.
const MAX_REDIRECTS: usize = 3;

/// Fetches the page at `address`.
///
/// # Errors
/// Any [`Error`] but [`Error::NotJson`]; [`Error::Status`] with the status of the redirect that
/// exceeds the limit.
pub(super) fn read(connector: &Connector, rules: &Rules, address: &str) -> Result<WebPage, Error> {
    let deadline = Instant::now() + TIMEOUT;
    let mut url = check(rules, address)?;
    let mut redirects_left = MAX_REDIRECTS;
    let reason = Reason::new("web page");
    loop {
        url.set_fragment(None);
        let answer = fetch(connector, rules, (&url, &reason), deadline)?;
        match redirect_target(&answer, &url) {
            Some(next) if redirects_left > 0 => {
                url = check(rules, next.as_str())?;
                redirects_left -= 1;
            }
            _ if answer.status != 200 => return Err(Error::Status(answer.status)),
            _ => return page(url, answer),
        }
    }
}

fn fetch(
    connector: &Connector,
    rules: &Rules,
    (url, reason): (&Url, &Reason),
    deadline: Instant,
) -> Result<HttpResponse, Error> {
    let call = HttpRequest {
        url,
        body: None,
        headers: &[
            ("accept", "text/html, text/plain;q=0.9, */*;q=0.1"),
            ("accept-encoding", "identity"),
        ],
        authorization: None,
        must_be_public: true,
        reason,
        // The body of an error response is not needed.
        is_complete: |answer| answer.status != 200,
    };
    let timeout = deadline.saturating_duration_since(Instant::now());
    let answer = connector.exchange(
        &call,
        &Limits { is_allowed: Some(rules.is_allowed), max_bytes: MAX_BYTES, timeout },
    );
    answer.map_err(|error| match error {
        Error::Timeout(_) => Error::Timeout(TIMEOUT.as_secs()),
        other => other,
    })
}

/// Returns the target of a redirect (RFC 9110 section 15.4).
pub(super) fn redirect_target(answer: &HttpResponse, from: &Url) -> Option<Url> {
    let is_redirect = matches!(answer.status, 301 | 302 | 303 | 307 | 308);
    from.join(answer.header("location").filter(|_| is_redirect)?).ok()
}

fn page(url: Url, answer: HttpResponse) -> Result<WebPage, Error> {
    let is_compressed =
        answer.header("content-encoding").is_some_and(|how| !how.eq_ignore_ascii_case("identity"));
    if is_compressed {
        return Err(Error::ConnectionBroken(
            "the response is compressed although that was not requested".into(),
        ));
    }
    let content_type =
        answer.header("content-type").unwrap_or_default().trim().to_ascii_lowercase();
    Ok(WebPage { url: url.into(), content_type, body: answer.body })
}
