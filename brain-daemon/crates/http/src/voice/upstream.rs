//! A voice agent of the owner's own behind `/voice`: what the provider asks is passed on to it once the signature held, its answer is
//! passed back, and a WebSocket is passed through byte by byte.

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

use super::super::{AppState, HttpError, defect};
use super::DEADLINE;
use super::signed::Signed;
use brain_config::HttpUrl;

/// The largest answer of the agent, in bytes.
const ANSWER: usize = 4 * 1024 * 1024;
/// WebSockets at once: one a call.
const AT_ONCE: usize = 32;
/// The longest one: the provider ends calls after four hours.
const MAX_TOKEN_BYTES: Duration = Duration::from_secs(4 * 60 * 60);
/// When one side of a WebSocket has ended, the other gets so long to end, too.
const LAST: Duration = Duration::from_secs(2);
/// Fields that are about one connection (RFC 9110 section 7.6.1), and what others may not say of how a request came here.
const OWN: [&str; 13] = [
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
/// Beginning of fields that say how a request came here.
const FORWARDED: &str = "x-forwarded-";

/// Room for WebSockets.
pub(super) struct Tunnels(Arc<Semaphore>);

impl Default for Tunnels {
    fn default() -> Self {
        Self(Arc::new(Semaphore::new(AT_ONCE)))
    }
}

/// Passes a request on; `None` when there is no good answer, and why stands in the log.
///
/// # Errors
/// When a WebSocket cannot be made.
pub(super) async fn pass_on(
    app: &AppState,
    call: &Signed,
    theirs: OnUpgrade,
) -> Result<Option<Response>, HttpError> {
    let Some(upstream) = app.brain.config().voice().and_then(|voice| voice.upstream.as_ref())
    else {
        return Err(defect());
    };
    let upgrades = protocol(&call.parts.headers).is_some();
    let permit = if upgrades { Some(app.shared.telephone.tunnels.enter()?) } else { None };
    let answered = tokio::time::timeout(DEADLINE, exchange(upstream, call, theirs, permit)).await;
    let why = match answered {
        Ok(Ok(response)) if upgrades || !is_error(response.status()) => return Ok(Some(response)),
        Ok(Ok(response)) => format!("it answered {}", response.status()),
        Ok(Err(why)) => why,
        Err(_) => format!("it took longer than {} seconds", DEADLINE.as_secs()),
    };
    tracing::error!("the voice agent at {upstream} (voice.upstream) gave no answer: {why}");
    if upgrades {
        let message =
            "the voice agent behind this address does not answer; the log of the daemon says why";
        return Err(HttpError::new(StatusCode::BAD_GATEWAY, "service_failed", message));
    }
    Ok(None)
}

/// Whether the provider would tell the caller of an error.
fn is_error(status: StatusCode) -> bool {
    status.is_client_error() || status.is_server_error()
}

impl Tunnels {
    fn enter(&self) -> Result<OwnedSemaphorePermit, HttpError> {
        Arc::clone(&self.0).try_acquire_owned().map_err(|_| {
            let message =
                format!("{AT_ONCE} calls are under way, which is as many as there may be");
            HttpError::new(StatusCode::SERVICE_UNAVAILABLE, "busy", message)
        })
    }
}

/// One request and its answer, over a connection of its own.
async fn exchange(
    upstream: &HttpUrl,
    call: &Signed,
    theirs: OnUpgrade,
    permit: Option<OwnedSemaphorePermit>,
) -> Result<Response, String> {
    let authority = upstream.authority();
    let address =
        if has_port(authority) { authority.to_owned() } else { format!("{authority}:80") };
    let stream = TcpStream::connect(&address).await.map_err(|e| e.to_string())?;
    let _ = stream.set_nodelay(true);
    let (mut sender, connection) =
        http1::handshake(TokioIo::new(stream)).await.map_err(|e| e.to_string())?;
    // Ends with the sender, or with the WebSocket.
    tokio::spawn(async move {
        if let Err(error) = connection.with_upgrades().await {
            tracing::debug!(%error, "the connection to the voice agent broke off");
        }
    });
    let request = request(authority, call)?;
    let response = sender.send_request(request).await.map_err(|e| e.to_string())?;
    let Some(permit) = permit.filter(|_| response.status() == StatusCode::SWITCHING_PROTOCOLS)
    else {
        return answer(response).await;
    };
    let mut back = Response::new(Body::empty());
    *back.status_mut() = StatusCode::SWITCHING_PROTOCOLS;
    *back.headers_mut() = passed(response.headers());
    upgrade(back.headers_mut(), response.headers());
    let ours = hyper::upgrade::on(response);
    tokio::spawn(async move {
        if let (Ok(theirs), Ok(ours)) = tokio::join!(theirs, ours) {
            through(theirs, ours).await;
        }
        drop(permit);
    });
    Ok(back)
}

/// The request as the agent gets it.
fn request(
    authority: &str,
    call: &Signed,
) -> Result<axum::http::Request<Full<axum::body::Bytes>>, String> {
    let path = call.parts.uri.path_and_query().map_or("/", |path| path.as_str());
    let mut request = axum::http::Request::new(Full::new(call.body.clone()));
    *request.method_mut() = call.parts.method.clone();
    *request.uri_mut() = path.parse::<Uri>().map_err(|e| e.to_string())?;
    let headers = request.headers_mut();
    *headers = passed(&call.parts.headers);
    // Whoever holds a token of this brain's, it is not for the agent.
    headers.remove(header::AUTHORIZATION);
    upgrade(headers, &call.parts.headers);
    let (scheme, host) = call.public.split_once("://").unwrap_or_default();
    // An agent that checks the signature once more needs the address that the provider called.
    for (name, value) in
        [("host", authority), ("x-forwarded-proto", scheme), ("x-forwarded-host", host)]
    {
        let value = HeaderValue::from_str(value).map_err(|e| e.to_string())?;
        headers.insert(HeaderName::from_static(name), value);
    }
    Ok(request)
}

/// The agent's answer, whole.
async fn answer(response: axum::http::Response<Incoming>) -> Result<Response, String> {
    let (parts, body) = response.into_parts();
    let body = Limited::new(body, ANSWER).collect().await.map_err(|e| e.to_string())?;
    let mut back = Response::new(Body::from(body.to_bytes()));
    *back.status_mut() = parts.status;
    *back.headers_mut() = passed(&parts.headers);
    Ok(back)
}

/// Passes bytes in both directions until one side ends, and what the other still has to say soon after.
async fn through(theirs: Upgraded, ours: Upgraded) {
    let (from_them, to_them) = tokio::io::split(TokioIo::new(theirs));
    let (from_us, to_us) = tokio::io::split(TokioIo::new(ours));
    let (mut there, mut back) = (pin!(one_way(from_them, to_us)), pin!(one_way(from_us, to_them)));
    let either = async {
        tokio::select! {
            () = &mut there => tokio::time::timeout(LAST, back).await,
            () = &mut back => tokio::time::timeout(LAST, there).await,
        }
    };
    if tokio::time::timeout(MAX_TOKEN_BYTES, either).await.is_err() {
        tracing::warn!(
            "a WebSocket of a call was ended after {} hours",
            MAX_TOKEN_BYTES.as_secs() / 3600
        );
    }
}

/// Passes bytes on until there are no more, and says so.
async fn one_way(mut from: impl AsyncRead + Unpin, mut to: impl AsyncWrite + Unpin) {
    if let Err(error) = tokio::io::copy(&mut from, &mut to).await {
        tracing::debug!(%error, "a WebSocket of a call broke off");
    }
    let _ = to.shutdown().await;
}

/// The fields that are passed on.
fn passed(headers: &HeaderMap) -> HeaderMap {
    let named: HashSet<String> = headers
        .get_all(header::CONNECTION)
        .iter()
        .filter_map(|value| value.to_str().ok())
        .flat_map(|value| value.split(','))
        .map(|name| name.trim().to_ascii_lowercase())
        .collect();
    let goes =
        |name: &str| !OWN.contains(&name) && !name.starts_with(FORWARDED) && !named.contains(name);
    headers
        .iter()
        .filter(|(name, _)| goes(name.as_str()))
        .map(|(n, v)| (n.clone(), v.clone()))
        .collect()
}

/// What a request or an answer with these fields would go on with.
fn protocol(headers: &HeaderMap) -> Option<&HeaderValue> {
    headers.get(header::UPGRADE).filter(|value| value.as_bytes().eq_ignore_ascii_case(b"websocket"))
}

/// Takes over that a WebSocket is wanted, or made.
fn upgrade(to: &mut HeaderMap, from: &HeaderMap) {
    if let Some(value) = protocol(from) {
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
    fn what_is_about_one_connection_stays_there() {
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
        let mut kept = passed(&headers);
        let mut names: Vec<&str> = kept.keys().map(HeaderName::as_str).collect();
        names.sort_unstable();
        assert_eq!(names, ["content-type", "x-twilio-signature"]);
        upgrade(&mut kept, &headers);
        assert_eq!(kept[header::UPGRADE], "websocket");
        headers.insert(header::UPGRADE, HeaderValue::from_static("h2c"));
        assert!(protocol(&headers).is_none());
    }

    #[test]
    fn an_address_may_leave_its_port_out() {
        for (authority, expected) in
            [("127.0.0.1:5050", true), ("[::1]:80", true), ("[::1]", false), ("agent", false)]
        {
            assert_eq!(has_port(authority), expected, "{authority}");
        }
    }
}
