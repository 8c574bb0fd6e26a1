//! Forwards `/voice` to a voice agent of the owner.
//!
//! Requests are forwarded after their signature was verified. The bytes of a WebSocket are copied
//! unread.

use std::collections::HashSet;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use axum::body::Body;
use axum::http::{HeaderMap, HeaderName, HeaderValue, StatusCode, Uri, header};
use axum::response::Response;
use http_body_util::{BodyExt as _, Full, Limited};
use hyper::body::Incoming;
use hyper::client::conn::http1;
use hyper::upgrade::{OnUpgrade, Upgraded};
use hyper_util::rt::TokioIo;
use tokio::io::{AsyncRead, AsyncWrite, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use super::super::{AppState, HttpError, internal_error};
use super::DEADLINE;
use super::signed_request::SignedRequest;
use brain_config::HttpUrl;

/// The maximum size of a response of the agent, in bytes.
const MAX_RESPONSE: usize = 4 * 1024 * 1024;
/// The maximum number of concurrent WebSockets, one for each call.
const MAX_WEBSOCKETS: usize = 32;
/// The maximum duration of a WebSocket. The provider ends calls after four hours.
const MAX_DURATION: Duration = Duration::from_secs(4 * 60 * 60);
/// The time until the second side of a WebSocket must end after the first.
const CLOSE_TIMEOUT: Duration = Duration::from_secs(2);
/// Fields that are not forwarded: fields of one connection (RFC 9110 section 7.6.1), and fields
/// about the route of the request.
const NOT_FORWARDED: [&str; 13] = [
    "connection",
    "keep-alive",
    "proxy-authenticate",
    "proxy-authorization",
    "proxy-connection",
    "te",
    "trailer",
    "transfer-encoding",
    "upgrade",
    "host",
    "content-length",
    "expect",
    "forwarded",
];
/// The beginning of further fields that are not forwarded.
const FORWARDED: &str = "x-forwarded-";

pub(super) struct WebSocketPermits(Arc<Semaphore>);

impl Default for WebSocketPermits {
    fn default() -> Self {
        Self(Arc::new(Semaphore::new(MAX_WEBSOCKETS)))
    }
}

/// Forwards a request. Returns `None` if the agent failed; the log has the reason.
///
/// # Errors
/// 503 if too many WebSockets are open, 502 if the agent opens none.
pub(super) async fn forward(
    app: &AppState,
    call: &SignedRequest,
    provider_upgrade: OnUpgrade,
) -> Result<Option<Response>, HttpError> {
    let Some(upstream) = app.brain.config().voice().and_then(|voice| voice.upstream.as_ref())
    else {
        return Err(internal_error());
    };
    let is_websocket = websocket_protocol(&call.parts.headers).is_some();
    let permits = &app.shared.telephone.websockets;
    let permit = if is_websocket { Some(permits.acquire()?) } else { None };
    let answer = exchange(upstream, call, provider_upgrade, permit);
    let reason = match tokio::time::timeout(DEADLINE, answer).await {
        Ok(Ok(response)) if is_websocket || !is_error(response.status()) => {
            return Ok(Some(response));
        }
        Ok(Ok(response)) => format!("it answered {}", response.status()),
        Ok(Err(reason)) => reason,
        Err(_) => format!("it took longer than {} seconds", DEADLINE.as_secs()),
    };
    tracing::error!("the voice agent at {upstream} (voice.upstream) gave no answer: {reason}");
    if is_websocket {
        let message =
            "the voice agent behind this address does not answer; the log of the daemon says why";
        return Err(HttpError::new(StatusCode::BAD_GATEWAY, "service_failed", message));
    }
    Ok(None)
}

/// Returns whether the provider would report an error to the caller.
fn is_error(status: StatusCode) -> bool {
    status.is_client_error() || status.is_server_error()
}

impl WebSocketPermits {
    /// Takes a permit; an error if there is none.
    fn acquire(&self) -> Result<OwnedSemaphorePermit, HttpError> {
        Arc::clone(&self.0).try_acquire_owned().map_err(|_| {
            let message = format!("{MAX_WEBSOCKETS} calls are in progress, which is the maximum");
            HttpError::new(StatusCode::SERVICE_UNAVAILABLE, "busy", message)
        })
    }
}

/// Sends one request over a new connection, and returns the agent's response.
///
/// # Errors
/// The reason for the log, when the agent cannot be reached or does not answer.
async fn exchange(
    upstream: &HttpUrl,
    call: &SignedRequest,
    provider_upgrade: OnUpgrade,
    permit: Option<OwnedSemaphorePermit>,
) -> Result<Response, String> {
    let authority = upstream.authority();
    let address =
        if has_port(authority) { authority.to_owned() } else { format!("{authority}:80") };
    let stream = TcpStream::connect(&address).await.map_err(|e| e.to_string())?;
    let _ = stream.set_nodelay(true);
    let (mut sender, connection) =
        http1::handshake(TokioIo::new(stream)).await.map_err(|e| e.to_string())?;
    // The task ends with the sender or with the WebSocket.
    tokio::spawn(async move {
        if let Err(error) = connection.with_upgrades().await {
            tracing::debug!(%error, "connection to the voice agent failed");
        }
    });
    let request = request(authority, call)?;
    let response = sender.send_request(request).await.map_err(|e| e.to_string())?;
    let Some(permit) = permit.filter(|_| response.status() == StatusCode::SWITCHING_PROTOCOLS)
    else {
        return read_response(response).await;
    };
    let mut forwarded = Response::new(Body::empty());
    *forwarded.status_mut() = StatusCode::SWITCHING_PROTOCOLS;
    *forwarded.headers_mut() = forwarded_fields(response.headers());
    copy_upgrade(forwarded.headers_mut(), response.headers());
    let agent_upgrade = hyper::upgrade::on(response);
    tokio::spawn(async move {
        if let (Ok(provider), Ok(agent)) = tokio::join!(provider_upgrade, agent_upgrade) {
            copy_both_ways(provider, agent).await;
        }
        drop(permit);
    });
    Ok(forwarded)
}

/// Returns the request for the agent.
fn request(
    authority: &str,
    call: &SignedRequest,
) -> Result<axum::http::Request<Full<axum::body::Bytes>>, String> {
    let path = call.parts.uri.path_and_query().map_or("/", |path| path.as_str());
    let mut request = axum::http::Request::new(Full::new(call.body.clone()));
    *request.method_mut() = call.parts.method.clone();
    *request.uri_mut() = path.parse::<Uri>().map_err(|e| e.to_string())?;
    let headers = request.headers_mut();
    *headers = forwarded_fields(&call.parts.headers);
    // The agent must not receive a token of this brain.
    headers.remove(header::AUTHORIZATION);
    copy_upgrade(headers, &call.parts.headers);
    let (scheme, host) = call.public_address.split_once("://").unwrap_or_default();
    // An agent that verifies the signature needs the URL that the provider called.
    for (name, value) in
        [("host", authority), ("x-forwarded-proto", scheme), ("x-forwarded-host", host)]
    {
        let value = HeaderValue::from_str(value).map_err(|e| e.to_string())?;
        headers.insert(HeaderName::from_static(name), value);
    }
    Ok(request)
}

/// Reads the agent's response, of at most [`MAX_RESPONSE`] bytes.
async fn read_response(response: axum::http::Response<Incoming>) -> Result<Response, String> {
    let (parts, body) = response.into_parts();
    let body = Limited::new(body, MAX_RESPONSE).collect().await.map_err(|e| e.to_string())?;
    let mut forwarded = Response::new(Body::from(body.to_bytes()));
    *forwarded.status_mut() = parts.status;
    *forwarded.headers_mut() = forwarded_fields(&parts.headers);
    Ok(forwarded)
}

/// Copies bytes in both directions until one side ends, then for [`CLOSE_TIMEOUT`] the rest of the
/// other side.
async fn copy_both_ways(provider: Upgraded, agent: Upgraded) {
    let (from_provider, to_provider) = tokio::io::split(TokioIo::new(provider));
    let (from_agent, to_agent) = tokio::io::split(TokioIo::new(agent));
    let mut to_agent = pin!(copy_one_way(from_provider, to_agent));
    let mut to_provider = pin!(copy_one_way(from_agent, to_provider));
    let both = async {
        tokio::select! {
            () = &mut to_agent => tokio::time::timeout(CLOSE_TIMEOUT, to_provider).await,
            () = &mut to_provider => tokio::time::timeout(CLOSE_TIMEOUT, to_agent).await,
        }
    };
    if tokio::time::timeout(MAX_DURATION, both).await.is_err() {
        tracing::warn!("WebSocket of a call closed after {} hours", MAX_DURATION.as_secs() / 3600);
    }
}

/// Copies bytes in one direction until the end, then closes the receiving side.
async fn copy_one_way(mut from: impl AsyncRead + Unpin, mut to: impl AsyncWrite + Unpin) {
    if let Err(error) = tokio::io::copy(&mut from, &mut to).await {
        tracing::debug!(%error, "WebSocket of a call failed");
    }
    let _ = to.shutdown().await;
}

fn forwarded_fields(headers: &HeaderMap) -> HeaderMap {
    let connection_fields: HashSet<String> = headers
        .get_all(header::CONNECTION)
        .iter()
        .filter_map(|value| value.to_str().ok())
        .flat_map(|value| value.split(','))
        .map(|name| name.trim().to_ascii_lowercase())
        .collect();
    let is_forwarded = |name: &str| {
        !NOT_FORWARDED.contains(&name)
            && !name.starts_with(FORWARDED)
            && !connection_fields.contains(name)
    };
    headers
        .iter()
        .filter(|(name, _)| is_forwarded(name.as_str()))
        .map(|(name, value)| (name.clone(), value.clone()))
        .collect()
}

/// Returns the protocol that a message upgrades to, if it is a WebSocket.
fn websocket_protocol(headers: &HeaderMap) -> Option<&HeaderValue> {
    headers.get(header::UPGRADE).filter(|value| value.as_bytes().eq_ignore_ascii_case(b"websocket"))
}

/// Copies the upgrade to a WebSocket.
fn copy_upgrade(to: &mut HeaderMap, from: &HeaderMap) {
    if let Some(value) = websocket_protocol(from) {
        to.insert(header::UPGRADE, value.clone());
        to.insert(header::CONNECTION, HeaderValue::from_static("upgrade"));
    }
}

fn has_port(authority: &str) -> bool {
    authority.rsplit_once(':').is_some_and(|(_, port)| port.bytes().all(|b| b.is_ascii_digit()))
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn fields_of_one_connection_are_not_forwarded() {
        let mut headers = HeaderMap::new();
        for (name, value) in [
            ("connection", "keep-alive, X-Own, Upgrade"),
            ("x-own", "1"),
            ("keep-alive", "timeout=5"),
            ("transfer-encoding", "chunked"),
            ("host", "brain.example.org"),
            ("content-length", "3"),
            ("x-forwarded-for", "203.0.113.9"),
            ("forwarded", "for=203.0.113.9"),
            ("upgrade", "websocket"),
            ("x-twilio-signature", "abc="),
            ("content-type", "text/plain"),
        ] {
            headers.insert(name, HeaderValue::from_static(value));
        }
        let mut forwarded = forwarded_fields(&headers);
        let mut names: Vec<&str> = forwarded.keys().map(HeaderName::as_str).collect();
        names.sort_unstable();
        assert_eq!(names, ["content-type", "x-twilio-signature"]);
        copy_upgrade(&mut forwarded, &headers);
        assert_eq!(forwarded[header::UPGRADE], "websocket");
        headers.insert(header::UPGRADE, HeaderValue::from_static("h2c"));
        assert!(websocket_protocol(&headers).is_none());
    }

    #[test]
    fn a_port_is_optional() {
        for (authority, expected) in
            [("127.0.0.1:5050", true), ("[::1]:80", true), ("[::1]", false), ("agent", false)]
        {
            assert_eq!(has_port(authority), expected, "{authority}");
        }
    }
}
