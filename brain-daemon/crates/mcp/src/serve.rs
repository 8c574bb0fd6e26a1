//! Serves MCP over HTTP, without sessions, or over a stream of lines.

use std::convert::Infallible;
use std::sync::Arc;

use axum::body::{Body, Bytes};
use axum::http::{Request, Response};
use http_body_util::Full;
use rmcp::ServerHandler;
use rmcp::service::serve_server_with_ct;
use rmcp::transport::streamable_http_server::session::local::LocalSessionManager;
use rmcp::transport::streamable_http_server::session::never::NeverSessionManager;
use rmcp::transport::streamable_http_server::{StreamableHttpServerConfig, StreamableHttpService};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::sync::{Semaphore, watch};
use tokio_util::sync::CancellationToken;
use tower::ServiceExt as _;
use tower::util::BoxCloneSyncService;

use super::McpServer;
use super::line_transport::{LineTransport, MAX_CONCURRENT};
use brain_base::caller::Caller;
use brain_core::Door;

/// The service behind `/mcp`. Takes a request whose body has been read, with a [`Caller`] in its
/// extensions.
pub type HttpService = BoxCloneSyncService<Request<Full<Bytes>>, Response<Body>, Infallible>;

/// How a server answers over HTTP.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mode {
    /// Answers each request independently, with JSON. There are no sessions that a restart could
    /// end.
    Stateless,
    /// With sessions and event streams, for servers that send requests.
    Sessions,
}

/// Returns the service that answers with the brain's tools.
#[must_use]
pub fn tool_service(brain: &Door, stop: &CancellationToken) -> HttpService {
    let brain = brain.clone();
    http_service(move || McpServer::for_requests(brain.clone()), Mode::Stateless, stop)
}

/// Returns the HTTP service that answers with servers that `make` creates: one for each request or
/// session.
#[must_use]
pub fn http_service<H: ServerHandler + Send + 'static>(
    make: impl Fn() -> H + Send + Sync + 'static,
    mode: Mode,
    stop: &CancellationToken,
) -> HttpService {
    // The HTTP guard has checked host names, origins and the body's size, so rmcp does not.
    let config = StreamableHttpServerConfig::default()
        .disable_allowed_hosts()
        .disable_allowed_origins()
        .with_max_request_body_bytes(usize::MAX)
        .with_cancellation_token(stop.clone());
    let make = move || Ok(make());
    match mode {
        Mode::Stateless => {
            let config = config.with_legacy_session_mode(false).with_json_response(true);
            let service =
                StreamableHttpService::new(make, Arc::new(NeverSessionManager::default()), config);
            box_service(service)
        }
        Mode::Sessions => {
            let service =
                StreamableHttpService::new(make, Arc::new(LocalSessionManager::default()), config);
            box_service(service)
        }
    }
}

fn box_service<S, B>(service: S) -> HttpService
where
    S: tower::Service<Request<Full<Bytes>>, Response = Response<B>, Error = Infallible>
        + Clone
        + Send
        + Sync
        + 'static,
    S::Future: Send + 'static,
    B: axum::body::HttpBody<Data = Bytes> + Send + 'static,
    B::Error: Into<axum::BoxError>,
{
    BoxCloneSyncService::new(service.map_response(|response: Response<B>| response.map(Body::new)))
}

/// Serves `caller` over a stream of JSON-RPC messages, one per line. Returns when the stream ends
/// or `stop` is cancelled. Requests in progress are still answered.
///
/// `has_waiting_clients` is true while other clients wait for a connection. An idle stream
/// ends then.
pub async fn serve_stream(
    stream: impl AsyncRead + AsyncWrite + Send + Unpin + 'static,
    caller: Caller,
    brain: Door,
    stop: CancellationToken,
    has_waiting_clients: watch::Receiver<bool>,
) {
    let name = caller.name.clone();
    let permits = Arc::new(Semaphore::new(MAX_CONCURRENT));
    let server = McpServer::for_caller(brain, caller, Arc::clone(&permits));
    let (read, write) = tokio::io::split(stream);
    // A child token, because the server cancels it at its end.
    let server_stop = stop.child_token();
    let transport = LineTransport::new(read, write, permits, has_waiting_clients);
    match serve_server_with_ct(server, transport, server_stop).await {
        Ok(running) => {
            let _ = running.waiting().await;
        }
        Err(error) => tracing::debug!(caller = name, %error, "cannot start an MCP stream"),
    }
}
