//! Connections: listening, accepting, hyper, and a supervisor for each. Knows nothing of what is served.
//!
//! HTTP/1.1 only. A client that sends its head or body slowly, or does not take its answer, is given up; a listener that is
//! full makes room by ending connections that have nothing under way; when the daemon ends, what is under way is answered.
//!
//! A body that a refusal did not wait for is read to its end, if it is short and comes soon. Otherwise
//! the answer says `Connection: close`. So a client that keeps its connection can use it again.

use std::convert::Infallible;
use std::net::SocketAddr;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use axum::body::Bytes;
use axum::extract::ConnectInfo;
use axum::http::{HeaderMap, HeaderValue, Request, Response, StatusCode, header};
use axum::response::IntoResponse;
use brain_protocol::{Fault, FaultCode};
use http_body_util::BodyExt as _;
use hyper::body::{Body as _, Incoming};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use tokio::net::{TcpListener, TcpSocket, TcpStream};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use super::bodies::RequestBody;
use super::crowd::Crowd;
use super::guard::Seal;
use super::pulse::{Asked, Pulse, Times, Verdict};
use super::wire::{Download, Upload, Wire};
use super::{Refusal, Site};

/// How long accepting rests after a failure such as too many open files.
const REST: Duration = Duration::from_millis(50);
/// Clients that may wait to be accepted.
const BACKLOG: u32 = 4096;
/// The largest head of a request in bytes.
const HEAD: usize = 16 * 1024;
/// The most fields in it.
const FIELDS: usize = 100;
/// The most bytes of a refused body that are read to keep the connection.
const DRAINED: u64 = 64 * 1024;
/// A request whose head has not come when the daemon ends gets this long.
const LAST_HEAD: Duration = Duration::from_millis(500);

/// Where a request came in: what the door knows of its connection.
pub(crate) struct Here {
    /// The address of the other side.
    pub(crate) peer: SocketAddr,
    /// The address of our side.
    pub(crate) address: SocketAddr,
    /// The same as text: what most requests are addressed to.
    pub(crate) text: String,
    /// How the connection is.
    pub(crate) pulse: Arc<Pulse>,
}

/// Listens on `address`.
///
/// # Errors
/// When the address is taken or not this machine's, naming the key that sets it.
pub(crate) fn listen(address: SocketAddr, key: &str) -> Result<TcpListener, Fault> {
    let bind = || {
        let socket = if address.is_ipv4() { TcpSocket::new_v4() } else { TcpSocket::new_v6() }?;
        socket.set_reuseaddr(true)?;
        socket.bind(address)?;
        socket.listen(BACKLOG)
    };
    bind().map_err(|error| {
        let code = match error.kind() {
            std::io::ErrorKind::AddrInUse => FaultCode::Conflict,
            _ => FaultCode::Io,
        };
        Fault::new(code, format!("cannot listen on {address} ({key}): {error}")).hint(format!(
            "set {key} to a free address, or to \"off\": `brain config path` names the file"
        ))
    })
}

/// Listens on a socket that systemd passed in.
///
/// # Errors
/// When it cannot be used.
pub(crate) fn adopt(socket: std::net::TcpListener) -> Result<TcpListener, Fault> {
    socket.set_nonblocking(true).and_then(|()| TcpListener::from_std(socket)).map_err(|error| {
        Fault::new(
            FaultCode::Io,
            format!("cannot listen on the socket that systemd passed in: {error}"),
        )
        .hint("restart its socket unit: `systemctl --user restart brain-http-local.socket`")
    })
}

/// What a listener needs besides its socket.
pub(crate) struct Service {
    /// What is served.
    pub(crate) site: Site,
    /// The places.
    pub(crate) crowd: Arc<Crowd>,
    /// Who may take how long.
    pub(crate) times: Times,
    /// What every answer carries.
    pub(crate) seal: Seal,
}

/// Serves clients until `stop` is cancelled; comes back when all of them are answered, or gone.
pub(crate) async fn serve(listener: TcpListener, service: Service, stop: CancellationToken) {
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
                tracing::warn!(%error, "cannot accept");
                service.crowd.make_room();
                tokio::time::sleep(REST).await;
                continue;
            }
        };
        let pulse = Arc::new(Pulse::new(service.site.hash_of(peer.ip())));
        let place = tokio::select! {
            () = stop.cancelled() => break,
            place = service.crowd.enter(&pulse) => place,
        };
        let service = Arc::clone(&service);
        tracker.spawn(async move {
            connection(stream, peer, &service, pulse).await;
            drop(place);
        });
    }
    drop(listener);
    service.crowd.end();
    tracker.close();
    tracker.wait().await;
}

/// One connection to its end.
async fn connection(
    stream: TcpStream,
    peer: SocketAddr,
    service: &Arc<Service>,
    pulse: Arc<Pulse>,
) {
    // An answer is written at once; waiting for more only delays it.
    let _ = stream.set_nodelay(true);
    let Ok(address) = stream.local_addr() else { return };
    // What all requests of a connection share has a counter of its own: one for all connections would go from core to core.
    let here = Arc::new((
        Here { peer, address, text: address.to_string(), pulse: Arc::clone(&pulse) },
        Arc::clone(service),
    ));
    let wire = Wire::new(stream, Arc::clone(&pulse), HEAD);
    let answer = service_fn(move |request| answer(request, Arc::clone(&here)));
    let mut builder = http1::Builder::new();
    builder.max_headers(FIELDS).max_header_size(HEAD).header_read_timeout(None);
    let mut connection = pin!(builder.serve_connection(TokioIo::new(wire), answer).with_upgrades());
    let mut times = service.times;
    let mut alarm = pin!(tokio::time::sleep(times.head));
    let mut asked = pin!(pulse.asked());
    let mut last = None;
    loop {
        tokio::select! {
            biased;
            ended = connection.as_mut() => {
                if let Err(error) = ended {
                    tracing::trace!(%error, %peer, "a connection broke off");
                }
                return;
            }
            () = &mut alarm => match pulse.verdict(&times) {
                Verdict::Wait(_) if last.is_some_and(|last| Instant::now() >= last) => {
                    tracing::warn!(%peer, "an answer over HTTP was not finished in time");
                    return;
                }
                Verdict::Wait(wait) => {
                    let next = Instant::now() + wait;
                    alarm.as_mut().reset(last.map_or(next, |last| last.min(next)));
                }
                Verdict::End => {
                    tracing::debug!(%peer, phase = ?pulse.phase(), "a connection took too long");
                    return;
                }
            },
            asked = &mut asked, if last.is_none() => {
                if asked == Asked::ToGo {
                    return;
                }
                last = Some(Instant::now() + times.drain);
                times.head = times.head.min(LAST_HEAD);
                alarm.as_mut().reset(Instant::now() + LAST_HEAD);
                connection.as_mut().graceful_shutdown();
            }
        }
    }
}

/// One request to its answer.
async fn answer(
    request: Request<Incoming>,
    connection: Arc<(Here, Arc<Service>)>,
) -> Result<Response<Download>, Infallible> {
    let (here, service) = &*connection;
    let pulse = Arc::clone(&here.pulse);
    let has_length = pulse.begin(request.method().as_str(), b"content-length");
    let expects = request.headers().contains_key(header::EXPECT);
    let refused = framing(request.headers(), has_length);
    let body = RequestBody::new(&service.crowd, &pulse);
    let mut request = request.map(|incoming| Upload::of(incoming, &body, &service.times));
    let mut response = if let Some(refused) = refused {
        drop(request);
        let mut refused = refused.into_response();
        refused.headers_mut().insert(header::CONNECTION, HeaderValue::from_static("close"));
        refused
    } else {
        request.extensions_mut().insert(ConnectInfo(here.peer));
        request.extensions_mut().insert(Arc::clone(&pulse));
        let mut response = service.site.answer(request, here).await;
        // A client that waits for `100 Continue` is not asked for what nobody reads.
        let unasked = expects && pulse.received() == 0;
        if pulse.is_unread() && (unasked || !read_rest(&body, &service.times).await) {
            response.headers_mut().insert(header::CONNECTION, HeaderValue::from_static("close"));
        }
        response
    };
    service.seal.put_on(response.headers_mut());
    Ok(response.map(|answer| Download::new(answer, body)))
}

/// Reads what was left of a request's body; whether it came to its end.
async fn read_rest(body: &Arc<RequestBody>, times: &Times) -> bool {
    let pulse = body.pulse();
    let Some(rest) = body.take_rest() else { return false };
    if pulse.is_late() || pulse.is_evicted() || rest.size_hint().lower() > DRAINED {
        return false;
    }
    pulse.read_on();
    let mut rest = Upload::of(rest, body, times);
    let reading = async {
        let mut left = DRAINED as usize;
        while let Some(frame) = rest.frame().await {
            let Ok(frame) = frame else { return false };
            let Some(less) = left.checked_sub(frame.data_ref().map_or(0, Bytes::len)) else {
                return false;
            };
            left = less;
        }
        true
    };
    tokio::time::timeout(times.linger, reading).await.unwrap_or(false)
}

/// Refuses a request whose end can be read in two ways, or not at all (RFC 9112 section 6).
/// `has_length` says whether its head has a Content-Length, if that was seen.
fn framing(headers: &HeaderMap, has_length: Option<bool>) -> Option<Refusal> {
    let lines = headers.get_all(header::TRANSFER_ENCODING).iter();
    let codings: Vec<&[u8]> = lines
        .flat_map(|line| line.as_bytes().split(|&byte| byte == b','))
        .map(<[u8]>::trim_ascii)
        .collect();
    if codings.is_empty() {
        return None;
    }
    let refusal = |status, error, message: &str| Some(Refusal::new(status, error, message));
    let bad = |message| refusal(StatusCode::BAD_REQUEST, "bad_request", message);
    if !codings.iter().all(|coding| coding.eq_ignore_ascii_case(b"chunked")) {
        let message =
            "no transfer coding but `chunked` is known here; send the body without another";
        return refusal(StatusCode::NOT_IMPLEMENTED, "not_implemented", message);
    }
    if codings.len() > 1 {
        return bad("the transfer coding `chunked` is there more than once; send it once");
    }
    // hyper obeys the encoding and drops the length; whoever passed this on may have seen it otherwise
    // (section 6.3).
    match has_length {
        Some(false) => None,
        Some(true) => {
            bad("Transfer-Encoding and Content-Length do not go together; send one of them")
        }
        None => {
            bad("a request with Transfer-Encoding must wait for the answer to the one before it")
        }
    }
}
