//! Connections: listening, accepting, hyper, and a supervisor for each. Knows nothing of what is served.
//!
//! HTTP/1.1 only. A client that sends its head or body slowly, or does not take its answer, is given up; a listener that is
//! full makes room by ending connections that have nothing under way; when the daemon ends, what is under way is answered.

use std::convert::Infallible;
use std::net::SocketAddr;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use axum::extract::ConnectInfo;
use axum::http::{HeaderValue, Request, Response, StatusCode, header};
use axum::response::IntoResponse;
use brain_protocol::{Fault, FaultCode};
use hyper::body::{Body as _, Incoming};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use tokio::net::{TcpListener, TcpSocket, TcpStream};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use super::crowd::Crowd;
use super::guard::Seal;
use super::pulse::{Asked, Pulse, Times, Verdict};
use super::wire::{Download, Upload, Wire};
use super::{Refusal, Site};

/// How long accepting rests after a failure such as too many open files.
const REST: Duration = Duration::from_millis(50);
/// Clients that may wait to be accepted.
const BACKLOG: u32 = 1024;
/// The largest head of a request in bytes.
const HEAD: usize = 16 * 1024;
/// The most fields in it.
const FIELDS: usize = 100;
/// A body up to this size that nobody reads is read away, in bytes; the connection goes on.
const DRAINED: u64 = 4096;
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
        Fault::new(code, format!("cannot listen on {address} ({key}): {error}"))
            .hint(format!("set {key} to a free address, or to \"off\": `brain config path` names the file"))
    })
}

/// Listens on a socket that systemd passed in.
///
/// # Errors
/// When it cannot be used.
pub(crate) fn adopt(socket: std::net::TcpListener) -> Result<TcpListener, Fault> {
    socket.set_nonblocking(true).and_then(|()| TcpListener::from_std(socket)).map_err(|error| {
        Fault::new(FaultCode::Io, format!("cannot listen on the socket that systemd passed in: {error}"))
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
        let pulse = Arc::new(Pulse::new());
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
async fn connection(stream: TcpStream, peer: SocketAddr, service: &Arc<Service>, pulse: Arc<Pulse>) {
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
    let chunked = request.headers().contains_key(header::TRANSFER_ENCODING);
    let left = request.body().size_hint().upper().unwrap_or(u64::MAX);
    let mut request = request.map(|body| Upload::of(body, &pulse, &service.times));
    let mut response = if chunked && has_length != Some(false) {
        // hyper obeys the encoding and drops the length; whoever passed this on may have seen it otherwise (RFC 9112
        // section 6.3).
        let message = match has_length {
            Some(_) => "Transfer-Encoding and Content-Length do not go together; send one of them",
            None => "a request with Transfer-Encoding must wait for the answer to the one before it",
        };
        let mut refused = Refusal::new(StatusCode::BAD_REQUEST, "bad_request", message).into_response();
        refused.headers_mut().insert(header::CONNECTION, HeaderValue::from_static("close"));
        refused
    } else {
        request.extensions_mut().insert(ConnectInfo(here.peer));
        service.site.answer(request, here).await
    };
    // hyper closes a connection whose request has more than that to come; its client is to know.
    if pulse.is_unread() && left > DRAINED {
        response.headers_mut().insert(header::CONNECTION, HeaderValue::from_static("close"));
    }
    service.seal.put_on(response.headers_mut());
    Ok(response.map(|body| Download::new(body, pulse)))
}
