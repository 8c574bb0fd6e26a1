//! The origin of a request, by the header fields of browsers.

use axum::http::header::{HOST, ORIGIN};
use axum::http::{HeaderMap, HeaderName, HeaderValue};

const FETCH_SITE: HeaderName = HeaderName::from_static("sec-fetch-site");

/// Returns whether a change comes from a page of this origin, by `Sec-Fetch-Site` (Fetch Metadata)
/// and `Origin` (RFC 6454 section 7). A request with neither field passes; the CSRF token protects
/// it.
pub(crate) fn is_same_origin(headers: &HeaderMap) -> bool {
    let site = headers.get(FETCH_SITE).map(HeaderValue::as_bytes);
    if !matches!(site, None | Some(b"same-origin")) {
        return false;
    }
    let text = |name: &HeaderName| headers.get(name).map(HeaderValue::as_bytes);
    match (text(&ORIGIN), text(&HOST)) {
        (None, _) => true,
        (Some(origin), Some(host)) => {
            [&b"http://"[..], b"https://"].iter().any(|it| origin.strip_prefix(*it) == Some(host))
        }
        (Some(_), None) => false,
    }
}

/// Returns whether a page of another origin caused the request. If that origin is another site,
/// browsers omit the cookie.
pub(crate) fn is_cross_site(headers: &HeaderMap) -> bool {
    let site = headers.get(FETCH_SITE).map(HeaderValue::as_bytes);
    matches!(site, Some(b"cross-site" | b"same-site"))
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn headers(pairs: &[(&'static str, &str)]) -> HeaderMap {
        let mut headers = HeaderMap::new();
        for (name, value) in pairs {
            headers.append(*name, value.parse().unwrap());
        }
        headers
    }

    #[test]
    fn only_the_same_origin_may_change_something() {
        let host = ("host", "127.0.0.1:3131");
        for (expected, more) in [
            (true, vec![]),
            (true, vec![("origin", "http://127.0.0.1:3131")]),
            (true, vec![("sec-fetch-site", "same-origin")]),
            (false, vec![("sec-fetch-site", "same-site")]),
            (false, vec![("sec-fetch-site", "cross-site")]),
            (false, vec![("sec-fetch-site", "none")]),
            (false, vec![("origin", "null")]),
            (false, vec![("origin", "http://127.0.0.1:3132")]),
            (false, vec![("origin", "http://evil.example")]),
            (false, vec![("origin", "http://127.0.0.1:3131.evil.example")]),
        ] {
            let all: Vec<_> = std::iter::once(host).chain(more).collect();
            assert_eq!(is_same_origin(&headers(&all)), expected, "{all:?}");
        }
    }
}
