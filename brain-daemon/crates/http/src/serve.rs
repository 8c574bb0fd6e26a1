//! Accepts connections and supervises each of them. Knows no routes.
//!
//! HTTP/1.1 only. A connection is closed if its client sends a request too slowly or does not read
//! the response. When a listener is full, idle connections are closed to admit new ones. When the
//! daemon stops, it first answers the requests in progress, for a limited time.
//!
//! If a request is answered before its body was read, a short body is read to its end, so that the
//! connection can be used again. After a longer body, the response says `Connection: close`.

use std::convert::Infallible;
use std::net::SocketAddr;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use axum::body::Bytes;
use axum::extract::ConnectInfo;
use axum::http::{HeaderMap, HeaderValue, Request, Response, StatusCode, header};
use axum::response::IntoResponse;
use brain_protocol::{Command, Fault, FaultCode, hint};
use http_body_util::BodyExt as _;
use hyper::body::{Body as _, Incoming};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use tokio::net::{TcpListener, TcpSocket, TcpStream};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use super::client_stream::{ClientStream, ResponseBody, TimedBody};
use super::connection_limiter::ConnectionLimiter;
use super::connection_state::{CloseRequest, ConnectionState, Deadline, HttpTimeouts, Phase};
use super::guard::SecurityHeaders;
use super::request_body::RequestBody;
use super::{Application, HttpError};

/// The pause after a failure to accept, such as too many open files.
const ACCEPT_RETRY: Duration = Duration::from_millis(50);
/// Maximum number of clients that wait to be accepted.
const BACKLOG: u32 = 4096;
/// The size limit of a request's head, in bytes.
const MAX_HEAD: usize = 16 * 1024;
/// Maximum number of header fields of a request.
const MAX_FIELDS: usize = 100;
/// Maximum number of unread bytes of a body that are read after the answer, so that the connection
/// can be used again.
const MAX_DRAINED: u64 = 64 * 1024;
/// The time for the head of a request that is incomplete when the daemon stops.
const LAST_HEAD: Duration = Duration::from_millis(500);

/// The addresses and the state of a connection.
pub(crate) struct ConnectionInfo {
    /// The client's address.
    pub(crate) peer: SocketAddr,
    /// The local address.
    pub(crate) address: SocketAddr,
    /// The local address as text, as most `Host` fields have it.
    pub(crate) address_text: String,
    pub(crate) state: Arc<ConnectionState>,
}

/// A listening socket.
#[derive(Debug)]
pub(crate) struct HttpListener {
    pub(crate) socket: TcpListener,
    /// Whether systemd passed it in. It stays open then, and the next daemon serves the clients
    /// that wait.
    is_inherited: bool,
}

/// Listens on `address`; `key` is the configuration key that sets it.
///
/// # Errors
/// [`FaultCode::Conflict`] if the address is in use, else [`FaultCode::Io`].
pub(crate) fn listen(address: SocketAddr, key: &str) -> Result<HttpListener, Fault> {
    let bind = || {
        let socket = if address.is_ipv4() { TcpSocket::new_v4() } else { TcpSocket::new_v6() }?;
        socket.set_reuseaddr(true)?;
        socket.bind(address)?;
        socket.listen(BACKLOG)
    };
    let socket = bind().map_err(|error| {
        let code = match error.kind() {
            std::io::ErrorKind::AddrInUse => FaultCode::Conflict,
            _ => FaultCode::Io,
        };
        Fault::new(code, format!("cannot listen on {address} ({key}): {error}")).hint(hint!(
            "set {} to a free address, or to \"off\": {} names the file",
            key,
            Command::ConfigPath
        ))
    })?;
    Ok(HttpListener { socket, is_inherited: false })
}

/// Listens on a socket that systemd passed in.
///
/// # Errors
/// [`FaultCode::Io`] if the socket cannot be used.
pub(crate) fn listen_on_inherited(socket: std::net::TcpListener) -> Result<HttpListener, Fault> {
    let socket = socket.set_nonblocking(true).and_then(|()| TcpListener::from_std(socket));
    let socket = socket.map_err(|error| {
        Fault::new(
            FaultCode::Io,
            format!("cannot listen on the socket that systemd passed in: {error}"),
        )
        .hint("restart its unit, for example `systemctl --user restart brain-http-local.socket`")
    })?;
    Ok(HttpListener { socket, is_inherited: true })
}

/// The application of a listener, and its limits.
pub(crate) struct Service {
    /// The routes.
    pub(crate) application: Application,
    /// The connection limit.
    pub(crate) limiter: Arc<ConnectionLimiter>,
    /// The timeouts of each connection.
    pub(crate) timeouts: HttpTimeouts,
    /// Header fields of every response.
    pub(crate) security_headers: SecurityHeaders,
}

/// Serves clients until `stop` is cancelled. Returns when all connections are closed.
pub(crate) async fn serve(listener: HttpListener, service: Service, stop: CancellationToken) {
    let HttpListener { socket: listener, is_inherited } = listener;
    let tracker = TaskTracker::new();
    let service = Arc::new(service);
    loop {
        let accepted = tokio::select! {
            () = stop.cancelled() => break,
            accepted = listener.accept() => accepted,
        };
        let (stream, peer) = match accepted {
            Ok(accepted) => accepted,
            Err(error) => {
                tracing::warn!(%error, "cannot accept a connection");
                service.limiter.evict_connection();
                tokio::time::sleep(ACCEPT_RETRY).await;
                continue;
            }
        };
        let state = Arc::new(ConnectionState::new(service.application.hash_of(peer.ip())));
        let permit = tokio::select! {
            () = stop.cancelled() => {
                serve_last(&tracker, &service, stream, peer);
                break;
            }
            permit = service.limiter.acquire(&state) => permit,
        };
        let service = Arc::clone(&service);
        tracker.spawn(async move {
            serve_connection(stream, peer, &service, state).await;
            drop(permit);
        });
    }
    // The kernel has accepted these clients already, so they get an answer.
    if !is_inherited && let Ok(listener) = listener.into_std() {
        for _ in 0..BACKLOG {
            let Ok((stream, peer)) = listener.accept() else { break };
            let is_usable = stream.set_nonblocking(true).is_ok();
            if let (true, Ok(stream)) = (is_usable, TcpStream::from_std(stream)) {
                serve_last(&tracker, &service, stream, peer);
            }
        }
    }
    service.limiter.shut_down();
    tracker.close();
    tracker.wait().await;
}

/// Serves a connection that was accepted while the daemon stops, for one request. Without a free
/// place, the connection is closed when the others end.
fn serve_last(tracker: &TaskTracker, service: &Arc<Service>, stream: TcpStream, peer: SocketAddr) {
    let service = Arc::clone(service);
    let state = Arc::new(ConnectionState::new(service.application.hash_of(peer.ip())));
    tracker.spawn(async move {
        let acquired = tokio::time::timeout(LAST_HEAD, service.limiter.acquire(&state)).await;
        let Ok(permit) = acquired else { return };
        state.request_shutdown();
        serve_connection(stream, peer, &service, state).await;
        drop(permit);
    });
}

/// Serves one connection to its end.
async fn serve_connection(
    stream: TcpStream,
    peer: SocketAddr,
    service: &Arc<Service>,
    state: Arc<ConnectionState>,
) {
    // Responses are written as a whole, so Nagle's algorithm would only delay them.
    let _ = stream.set_nodelay(true);
    let Ok(address) = stream.local_addr() else { return };
    // One `Arc` per connection: a reference count shared by all connections would move between
    // cores.
    let info = ConnectionInfo {
        peer,
        address,
        address_text: address.to_string(),
        state: Arc::clone(&state),
    };
    let context = Arc::new((info, Arc::clone(service)));
    let stream = ClientStream::new(stream, Arc::clone(&state), MAX_HEAD);
    let answer = service_fn(move |request| answer(request, Arc::clone(&context)));
    let mut builder = http1::Builder::new();
    builder.max_headers(MAX_FIELDS).max_header_size(MAX_HEAD).header_read_timeout(None);
    let connection = builder.serve_connection(TokioIo::new(stream), answer).with_upgrades();
    let mut connection = pin!(connection);
    let mut timeouts = service.timeouts;
    let mut timer = pin!(tokio::time::sleep(timeouts.head));
    let mut close_request = pin!(state.wait_for_close_request());
    let mut drain_until = None;
    loop {
        tokio::select! {
            biased;
            result = connection.as_mut() => {
                if let Err(error) = result {
                    tracing::trace!(%error, %peer, "connection failed");
                }
                return;
            }
            () = &mut timer => match next_check(&state, &timeouts, drain_until, peer) {
                Some(next) => timer.as_mut().reset(next),
                None => return,
            },
            close_request = &mut close_request, if drain_until.is_none() => {
                if close_request == CloseRequest::Immediately {
                    return;
                }
                drain_until = Some(Instant::now() + timeouts.drain);
                timeouts.head = timeouts.head.min(LAST_HEAD);
                timeouts.idle = timeouts.idle.min(LAST_HEAD);
                timer.as_mut().reset(Instant::now() + LAST_HEAD);
                // hyper would close a connection without a request at once. `answer` ends it after
                // the next response.
                if matches!(state.phase(), Phase::Body | Phase::Busy) {
                    connection.as_mut().graceful_shutdown();
                }
            }
        }
    }
}

/// Returns when the deadlines of a connection must be checked again. `None` if one has passed, so
/// that the connection must be closed.
fn next_check(
    state: &ConnectionState,
    timeouts: &HttpTimeouts,
    drain_until: Option<Instant>,
    peer: SocketAddr,
) -> Option<Instant> {
    match state.check_deadline(timeouts) {
        Deadline::Pending(_) if drain_until.is_some_and(|end| Instant::now() >= end) => {
            tracing::warn!(%peer, "HTTP response not finished before shutdown");
            None
        }
        Deadline::Pending(wait) => {
            let next = Instant::now() + wait;
            Some(drain_until.map_or(next, |end| next.min(end)))
        }
        Deadline::Expired => {
            tracing::debug!(%peer, phase = ?state.phase(), "connection timed out");
            None
        }
    }
}

/// Answers one request.
async fn answer(
    request: Request<Incoming>,
    context: Arc<(ConnectionInfo, Arc<Service>)>,
) -> Result<Response<ResponseBody>, Infallible> {
    let (info, service) = &*context;
    let state = Arc::clone(&info.state);
    let has_length = state.begin_request(request.method().as_str(), b"content-length");
    let expects_continue = request.headers().contains_key(header::EXPECT);
    let framing_error = check_framing(request.headers(), has_length);
    let body = RequestBody::new(&service.limiter, &state);
    let mut request = request.map(|incoming| TimedBody::wrap(incoming, &body, &service.timeouts));
    let mut response = if let Some(error) = framing_error {
        drop(request);
        let mut response = error.into_response();
        response.headers_mut().insert(header::CONNECTION, HeaderValue::from_static("close"));
        response
    } else {
        request.extensions_mut().insert(ConnectInfo(info.peer));
        request.extensions_mut().insert(Arc::clone(&state));
        let mut response = service.application.answer(request, info).await;
        // A client that waits for `100 Continue` must not send a body that is discarded.
        let is_unsent = expects_continue && state.body_bytes() == 0;
        if state.has_unread_body() && (is_unsent || !drain_body(&body, &service.timeouts).await) {
            response.headers_mut().insert(header::CONNECTION, HeaderValue::from_static("close"));
        }
        response
    };
    service.security_headers.apply(response.headers_mut());
    if state.is_shutting_down() {
        response.headers_mut().insert(header::CONNECTION, HeaderValue::from_static("close"));
    }
    Ok(response.map(|inner| ResponseBody::new(inner, body)))
}

/// Reads the unread part of a request's body. Returns whether its end was reached.
async fn drain_body(body: &Arc<RequestBody>, timeouts: &HttpTimeouts) -> bool {
    let state = body.state();
    let Some(unread) = body.take_unread() else { return false };
    if state.is_timed_out() || state.is_evicted() || unread.size_hint().lower() > MAX_DRAINED {
        return false;
    }
    state.unmark_unread_body();
    let mut unread = TimedBody::wrap(unread, body, timeouts);
    let reading = async {
        let mut left = MAX_DRAINED as usize;
        while let Some(frame) = unread.frame().await {
            let Ok(frame) = frame else { return false };
            let Some(remaining) = left.checked_sub(frame.data_ref().map_or(0, Bytes::len)) else {
                return false;
            };
            left = remaining;
        }
        true
    };
    tokio::time::timeout(timeouts.linger, reading).await.unwrap_or(false)
}

/// Refuses a request whose framing is ambiguous or unsupported (RFC 9112 section 6).
///
/// `has_length` says whether the raw head has a `Content-Length`; `None` if the head is unknown.
fn check_framing(headers: &HeaderMap, has_length: Option<bool>) -> Option<HttpError> {
    let lines = headers.get_all(header::TRANSFER_ENCODING).iter();
    let codings: Vec<&[u8]> = lines
        .flat_map(|line| line.as_bytes().split(|&byte| byte == b','))
        .map(<[u8]>::trim_ascii)
        .collect();
    if codings.is_empty() {
        return None;
    }
    let refusal = |status, error, message: &str| Some(HttpError::new(status, error, message));
    let bad_request = |message| refusal(StatusCode::BAD_REQUEST, "bad_request", message);
    if !codings.iter().all(|coding| coding.eq_ignore_ascii_case(b"chunked")) {
        let message =
            "the only supported transfer coding is `chunked`; send the body without another";
        return refusal(StatusCode::NOT_IMPLEMENTED, "not_implemented", message);
    }
    if codings.len() > 1 {
        return bad_request("the transfer coding `chunked` is repeated; send it once");
    }
    // hyper uses the coding and ignores the length, but a proxy between client and brain may have
    // used the length (section 6.3).
    match has_length {
        Some(false) => None,
        Some(true) => {
            bad_request("Transfer-Encoding and Content-Length exclude each other; send one of them")
        }
        None => bad_request(
            "a request with Transfer-Encoding must wait for the answer to the previous request",
        ),
    }
}
