//! Checks the host, origin and header fields of a request before anything else.
//!
//! Refuses requests for other host names (DNS rebinding), from foreign web pages, and with
//! ambiguous fields. No I/O.
//!
//! tower-http's `CorsLayer` only adds fields to responses: it refuses no request and does not
//! check `Host`. The tests `only_known_host_names_are_accepted` and
//! `cross_origin_requests_are_rejected` in `http_listeners` need both.

use std::net::{IpAddr, SocketAddr};

use axum::http::uri::Authority;
use axum::http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode, Uri, header};
use axum::response::{IntoResponse, Response};

use super::HttpError;
use brain_config::Config;

/// Fields that must not be repeated, because a repeated field is ambiguous.
static SINGLE_FIELDS: [HeaderName; 12] = [
    header::HOST,
    header::AUTHORIZATION,
    header::CONTENT_TYPE,
    header::CONTENT_LENGTH,
    header::CONTENT_ENCODING,
    header::ORIGIN,
    HeaderName::from_static("idempotency-key"),
    HeaderName::from_static("x-brain-source-id"),
    HeaderName::from_static("x-brain-source-uri"),
    HeaderName::from_static("x-brain-slug"),
    HeaderName::from_static("x-brain-title"),
    HeaderName::from_static("x-brain-type"),
];
/// Header fields of the response to a CORS preflight request.
static CORS: [(HeaderName, &str); 3] = [
    (header::ACCESS_CONTROL_ALLOW_METHODS, "GET, POST, PUT, PATCH, DELETE"),
    (
        header::ACCESS_CONTROL_ALLOW_HEADERS,
        "Authorization, Content-Type, Idempotency-Key, Mcp-Protocol-Version, Mcp-Session-Id, \
         X-Brain-Source-Id, X-Brain-Source-Uri, X-Brain-Slug, X-Brain-Title, X-Brain-Type",
    ),
    (header::ACCESS_CONTROL_MAX_AGE, "600"),
];
/// Fields of responses that pages of other origins may read.
const EXPOSED_FIELDS: &str = "Retry-After, WWW-Authenticate, Mcp-Session-Id";

/// Default security fields. JSON gets only the first two: browsers do not render it as a page.
static SECURITY_HEADERS: [(HeaderName, &str); 4] = [
    (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
    (header::CACHE_CONTROL, "no-store"),
    (header::CONTENT_SECURITY_POLICY, "default-src 'none'; frame-ancestors 'none'"),
    (header::REFERRER_POLICY, "no-referrer"),
];

/// Adds security fields to responses.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct SecurityHeaders;

impl SecurityHeaders {
    /// Adds the fields that the response does not have yet.
    pub(crate) fn apply(self, headers: &mut HeaderMap) {
        let is_json =
            headers.get(header::CONTENT_TYPE).is_some_and(|kind| kind == "application/json");
        for (name, value) in &SECURITY_HEADERS[..if is_json { 2 } else { SECURITY_HEADERS.len() }] {
            headers.entry(name).or_insert(HeaderValue::from_static(value));
        }
    }
}

/// The host names of this service, and the origins whose pages may call it.
#[derive(Debug, Clone, Default)]
pub(crate) struct Guard {
    /// Permitted hosts in lower case. A name without a port allows every port.
    hosts: Vec<String>,
    /// Permitted origins in lower case.
    origins: Vec<String>,
    /// The origin of the public address, in lower case.
    public_origin: Option<String>,
}

/// How CORS applies to an accepted request.
#[derive(Debug)]
pub(crate) enum CorsDecision {
    /// No CORS fields are needed.
    NoCors,
    /// A page of this origin may read the response.
    Allow(HeaderValue),
    /// The response to a preflight request.
    Preflight(Response),
}

impl Guard {
    /// Creates the guard from the configuration.
    pub(crate) fn new(config: &Config) -> Self {
        let lower = |texts: &[String]| texts.iter().map(|text| text.to_ascii_lowercase()).collect();
        let public_origin = config.http_base_url().map(str::to_ascii_lowercase);
        let mut hosts: Vec<String> = lower(&config.http.allowed_hosts);
        let host = public_origin.as_deref().and_then(|url| Some(url.split_once("://")?.1));
        // A tunnel may add or leave out the port.
        hosts.extend(
            host.and_then(|host| host.parse::<Authority>().ok()).map(|host| host.host().to_owned()),
        );
        Self { hosts, origins: lower(&config.http.allowed_origins), public_origin }
    }

    /// Checks a request to the local address `here`, which is `here_text` as text. `tunnel` returns
    /// the tunnel's current public address.
    ///
    /// # Errors
    /// 400 if a field is repeated or invalid, or `Host` is missing; 403 for a wrong host or a
    /// foreign origin.
    pub(crate) fn check(
        &self,
        method: &Method,
        uri: &Uri,
        headers: &HeaderMap,
        here: SocketAddr,
        here_text: &str,
        tunnel: &dyn Fn() -> Option<String>,
    ) -> Result<CorsDecision, HttpError> {
        let has_repeated = headers.len() > headers.keys_len();
        let is_repeated = |name: &&HeaderName| headers.get_all(*name).iter().nth(1).is_some();
        if let Some(name) = has_repeated.then(|| SINGLE_FIELDS.iter().find(is_repeated)).flatten() {
            return Err(bad_request(format!("the field {name} is repeated; send it once")));
        }
        let host =
            headers.get(header::HOST).ok_or_else(|| bad_request("the field Host is missing"))?;
        // The fast path for most requests.
        if host == here_text && uri.authority().is_none() && !headers.contains_key(header::ORIGIN) {
            return Ok(CorsDecision::NoCors);
        }
        let host = host
            .to_str()
            .ok()
            .and_then(authority)
            .ok_or_else(|| bad_request("the field Host is not a host name"))?;
        self.check_host(&host, here, tunnel)?;
        // The absolute form of the URI overrides the field Host (RFC 9112 section 3.2.2).
        if let Some(uri_host) = uri.authority() {
            let uri_host = authority(uri_host.as_str())
                .ok_or_else(|| bad_request("the URI of this request has no valid host name"))?;
            self.check_host(&uri_host, here, tunnel)?;
        }
        let Some(origin) = headers.get(header::ORIGIN) else { return Ok(CorsDecision::NoCors) };
        let text = origin.to_str().unwrap_or_default().to_ascii_lowercase();
        if self.origins.contains(&text) {
            if method == Method::OPTIONS
                && headers.contains_key(header::ACCESS_CONTROL_REQUEST_METHOD)
            {
                let mut answer = StatusCode::NO_CONTENT.into_response();
                for (name, value) in &CORS {
                    answer.headers_mut().insert(name, HeaderValue::from_static(value));
                }
                allow_origin(answer.headers_mut(), origin.clone());
                return Ok(CorsDecision::Preflight(answer));
            }
            return Ok(CorsDecision::Allow(origin.clone()));
        }
        let is_same_host = text.split_once("://").is_some_and(|(scheme, rest)| {
            matches!(scheme, "http" | "https") && authority(rest).is_some_and(|rest| rest == host)
        });
        if is_same_host || self.public_origin.as_ref() == Some(&text) {
            return Ok(CorsDecision::NoCors);
        }
        Err(HttpError::new(
            StatusCode::FORBIDDEN,
            "forbidden_origin",
            "web pages of this origin may not call; the owner can add it to http.allowed_origins",
        ))
    }

    /// Checks that requests for `host` are for this service.
    ///
    /// # Errors
    /// 403 if they are not.
    fn check_host(
        &self,
        host: &Authority,
        here: SocketAddr,
        tunnel: &dyn Fn() -> Option<String>,
    ) -> Result<(), HttpError> {
        let name = host.host().trim_end_matches('.');
        let without_brackets = name.trim_start_matches('[').trim_end_matches(']');
        let is_local = match without_brackets.parse::<IpAddr>() {
            // DNS rebinding cannot change an IP address.
            Ok(ip) => {
                ip.to_canonical() == here.ip().to_canonical()
                    || (ip.is_loopback() && here.ip().is_loopback())
            }
            Err(_) => name == "localhost" && here.ip().to_canonical().is_loopback(),
        };
        if is_local || self.hosts.iter().any(|known| known == name || known == host.as_str()) {
            return Ok(());
        }
        let tunnel = tunnel().unwrap_or_default().to_ascii_lowercase();
        let tunnel = tunnel.split_once("://").and_then(|(_, host)| host.parse::<Authority>().ok());
        if tunnel.is_some_and(|tunnel| tunnel.host() == name) {
            return Ok(());
        }
        Err(HttpError::new(
            StatusCode::FORBIDDEN,
            "forbidden_host",
            "this service does not serve that host name; the owner can set http.base_url or \
             http.allowed_hosts",
        ))
    }
}

/// Lets pages of this origin read the response (Fetch standard, CORS protocol).
pub(crate) fn allow_origin(headers: &mut HeaderMap, origin: HeaderValue) {
    headers.insert(header::ACCESS_CONTROL_ALLOW_ORIGIN, origin);
    headers.insert(header::ACCESS_CONTROL_EXPOSE_HEADERS, HeaderValue::from_static(EXPOSED_FIELDS));
    headers.append(header::VARY, HeaderValue::from_static("Origin"));
}

/// Parses a host with an optional port, and converts it to lower case.
fn authority(text: &str) -> Option<Authority> {
    let parsed: Authority = text.to_ascii_lowercase().parse().ok()?;
    let is_plain = !text.contains('@') && !parsed.host().is_empty();
    is_plain.then_some(parsed)
}

fn bad_request(message: impl Into<String>) -> HttpError {
    HttpError::new(StatusCode::BAD_REQUEST, "bad_request", message)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn guard(pairs: &[(&str, &str)]) -> Guard {
        let config = Config::load(std::path::Path::new("/nonexistent"), |name| {
            pairs.iter().find(|(known, _)| *known == name).map(|(_, value)| (*value).to_owned())
        });
        Guard::new(&config.unwrap())
    }

    fn result_of(guard: &Guard, here: &str, host: &str, origin: Option<&str>) -> String {
        let mut headers = HeaderMap::new();
        headers.insert(header::HOST, HeaderValue::from_str(host).unwrap());
        if let Some(origin) = origin {
            headers.insert(header::ORIGIN, HeaderValue::from_str(origin).unwrap());
        }
        let tunnel = || Some("https://a1-b2.tunnel.example".to_owned());
        match guard.check(
            &Method::GET,
            &Uri::from_static("/"),
            &headers,
            here.parse().unwrap(),
            here,
            &tunnel,
        ) {
            Ok(CorsDecision::NoCors) => "ok".into(),
            Ok(CorsDecision::Allow(origin)) => format!("shared with {}", origin.to_str().unwrap()),
            Ok(CorsDecision::Preflight(_)) => "preflight".into(),
            Err(refusal) => refusal.code().to_owned(),
        }
    }

    #[test]
    fn requests_must_be_addressed_to_this_service() {
        let public = guard(&[
            ("BRAIN_HTTP_BASE_URL", "https://brain.example.org"),
            ("BRAIN_HTTP_ALLOWED_HOSTS", "nas, b:99"),
        ]);
        for (here, host, expected) in [
            ("127.0.0.1:3131", "127.0.0.1:3131", "ok"),
            ("127.0.0.1:3131", "localhost", "ok"),
            ("127.0.0.1:3131", "LOCALHOST.:1", "ok"),
            ("127.0.0.1:3131", "[::1]:3131", "ok"),
            ("127.0.0.1:3131", "127.9.9.9", "ok"),
            ("127.0.0.1:3131", "evil.example:3131", "forbidden_host"),
            ("127.0.0.1:3131", "localhost.evil.example", "forbidden_host"),
            ("127.0.0.1:3131", "127.0.0.1.evil.example", "forbidden_host"),
            ("127.0.0.1:3131", "192.0.2.7", "forbidden_host"),
            ("127.0.0.1:3131", "0.0.0.0:3131", "forbidden_host"),
            ("127.0.0.1:3131", "localhost@evil.example", "bad_request"),
            ("127.0.0.1:3131", "evil.example@localhost", "bad_request"),
            ("127.0.0.1:3131", "local host", "bad_request"),
            ("127.0.0.1:3131", "", "bad_request"),
            ("127.0.0.1:3131", "brain.example.org", "ok"),
            ("127.0.0.1:3131", "brain.example.org:443", "ok"),
            ("127.0.0.1:3131", "nas:3131", "ok"),
            ("127.0.0.1:3131", "b:99", "ok"),
            ("127.0.0.1:3131", "b:98", "forbidden_host"),
            ("192.0.2.7:3131", "192.0.2.7:3131", "ok"),
            ("192.0.2.7:3131", "localhost", "forbidden_host"),
            ("192.0.2.7:3131", "127.0.0.1", "forbidden_host"),
            ("[::ffff:127.0.0.1]:3131", "localhost", "ok"),
            ("127.0.0.1:8765", "a1-b2.tunnel.example", "ok"),
            ("127.0.0.1:8765", "A1-b2.tunnel.example.:443", "ok"),
            ("127.0.0.1:8765", "c3.tunnel.example", "forbidden_host"),
            ("127.0.0.1:8765", "tunnel.example", "forbidden_host"),
        ] {
            assert_eq!(result_of(&public, here, host, None), expected, "{host} at {here}");
        }
        assert_eq!(
            result_of(&guard(&[]), "127.0.0.1:1", "brain.example.org", None),
            "forbidden_host"
        );
    }

    #[test]
    fn only_pages_of_allowed_origins_may_call() {
        let guard = guard(&[
            ("BRAIN_HTTP_BASE_URL", "https://brain.example.org"),
            ("BRAIN_HTTP_ALLOWED_ORIGINS", "https://claude.ai"),
        ]);
        for (host, origin, expected) in [
            ("127.0.0.1:3131", "http://127.0.0.1:3131", "ok"),
            ("localhost:3131", "http://localhost:3131", "ok"),
            ("localhost:3131", "http://localhost:3000", "forbidden_origin"),
            ("localhost:3131", "http://127.0.0.1:3131", "forbidden_origin"),
            ("localhost:3131", "https://brain.example.org", "ok"),
            ("brain.example.org", "https://brain.example.org", "ok"),
            ("brain.example.org", "https://brain.example.org.evil.example", "forbidden_origin"),
            ("localhost:3131", "null", "forbidden_origin"),
            ("localhost:3131", "", "forbidden_origin"),
            ("localhost:3131", "file://localhost:3131", "forbidden_origin"),
            ("localhost:3131", "https://claude.ai", "shared with https://claude.ai"),
            ("localhost:3131", "http://claude.ai", "forbidden_origin"),
            ("localhost:3131", "https://x.claude.ai", "forbidden_origin"),
        ] {
            assert_eq!(
                result_of(&guard, "127.0.0.1:3131", host, Some(origin)),
                expected,
                "{origin} at {host}"
            );
        }
    }

    #[test]
    fn ambiguous_requests_are_refused() {
        let check = |uri: &Uri, headers: &HeaderMap| {
            let here = "127.0.0.1:3131";
            guard(&[])
                .check(&Method::GET, uri, headers, here.parse().unwrap(), here, &|| None)
                .unwrap_err()
        };
        for name in &SINGLE_FIELDS {
            let mut headers = HeaderMap::new();
            headers.insert(header::HOST, HeaderValue::from_static("localhost"));
            headers.append(name, HeaderValue::from_static("localhost"));
            headers.append(name, HeaderValue::from_static("localhost"));
            let error = check(&Uri::from_static("/"), &headers);
            assert_eq!(error.code(), "bad_request", "{name}");
        }
        let mut headers = HeaderMap::new();
        headers.insert(header::HOST, HeaderValue::from_static("localhost"));
        let elsewhere = Uri::from_static("http://evil.example/health");
        let error = check(&elsewhere, &headers);
        assert_eq!(error.code(), "forbidden_host", "the absolute form");
        let error = check(&Uri::from_static("/"), &HeaderMap::new());
        assert_eq!(error.code(), "bad_request", "no Host");
    }
}
