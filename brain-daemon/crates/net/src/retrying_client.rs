//! A client of one server that reuses connections and retries requests on closed ones.

use std::net::IpAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use parking_lot::{Mutex, MutexGuard};
use reqwest::Response;
use tokio::runtime::Runtime;
use tokio::time::timeout;
use tower::util::MapRequestLayer;
use url::Url;

use super::error::{from_reqwest, is_closed};
use super::recording::OpenExchange;
use super::redirect::{self, MAX_REDIRECTS};
use super::request::{self, Connector};
use super::{Error, HttpRequest, HttpResponse, RetryingClient, StreamEvent, address};

/// Maximum size of a response body in bytes.
const MAX_BYTES: usize = 8 * 1024 * 1024;
/// Time limit for a response.
const TIMEOUT: Duration = Duration::from_secs(30);
/// Time limit for a connection, TLS included.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);
/// Idle connections are closed after this time. Common model servers close theirs after 5
/// seconds.
const POOL_IDLE_TIMEOUT: Duration = Duration::from_secs(4);
/// A pooled connection that the server has closed fails within this time. After a later failure
/// the server may have processed the request.
const STALE_AFTER: Duration = Duration::from_secs(2);
/// Maximum number of retries: one for each pooled connection that the server has closed.
const MAX_RETRIES: u32 = 4;
/// Interval at which a streaming caller is asked whether to continue.
const POLL: Duration = Duration::from_secs(1);

/// A client of one server. Its first request opens the session.
pub(super) struct PooledClient {
    connector: Connector,
    /// An address of the server.
    base: Url,
    /// `None` before the first request and after a connection error.
    session: Mutex<Option<Arc<ClientPool>>>,
}

/// Runtime and connection pool.
struct ClientPool {
    connector: Connector,
    /// `None` only while it is dropped.
    runtime: Option<Runtime>,
    client: reqwest::Client,
    /// Number of connections opened so far. Shows whether a request used a pooled connection.
    connection_count: Arc<AtomicU64>,
    /// Addresses of the host.
    addresses: Vec<IpAddr>,
}

impl ClientPool {
    fn runtime(&self) -> Result<&Runtime, Error> {
        self.runtime.as_ref().ok_or_else(|| Error::Setup("the client is closing".into()))
    }

    /// Sends a request and returns its response without the body.
    ///
    /// A server may close a pooled connection while a request is in flight (RFC 9112 section
    /// 9.3.1). That request was not processed, so it is sent again. After a failure on a new
    /// connection, only a request without a body is repeated, once.
    async fn send(&self, call: &HttpRequest<'_>) -> Result<(Response, OpenExchange), Error> {
        poll_closed_connections().await;
        let mut retries = 0;
        loop {
            let (started, count) = (Instant::now(), self.connection_count.load(Ordering::SeqCst));
            let request = request::prepare(&self.client, call)?;
            let mut exchange = self.connector.recorder.begin(call, call.url)?;
            let error = match request::send(request, &mut exchange).await {
                Ok(response) => return Ok((response, exchange)),
                Err(error) => error,
            };
            drop(exchange);
            // Another request may have opened a connection meanwhile. Then the connection of this
            // request is treated as new, too.
            let is_pooled = count == self.connection_count.load(Ordering::SeqCst);
            let was_stale = is_pooled && started.elapsed() < STALE_AFTER && is_closed(&error);
            let error = from_reqwest(error);
            let is_repeatable =
                call.body.is_none() && retries == 0 && matches!(error, Error::ConnectionBroken(_));
            if retries == MAX_RETRIES || !(is_repeatable || was_stale) {
                return Err(error);
            }
            retries += 1;
        }
    }
}

impl ClientPool {
    /// Sends a request, and follows redirects that keep its method. Continues where the server has
    /// redirected an earlier request of the same call.
    async fn send_following(
        &self,
        call: &HttpRequest<'_>,
    ) -> Result<(Response, OpenExchange), Error> {
        let mut hop = self.addresses.clone();
        let (mut sent, mut from) = match call.reason.moved_to() {
            Some(url) => (self.send_to(call, &url, &mut hop).await?, url),
            None => (self.send(call).await?, call.url.clone()),
        };
        for _ in 0..MAX_REDIRECTS {
            let Some(to) = redirect::same_method_target(&request::head(&sent.0), &from)? else {
                break;
            };
            let (response, exchange) = sent;
            request::read(response, exchange, call, MAX_BYTES).await?;
            sent = self.send_to(call, &to, &mut hop).await?;
            call.reason.set_moved_to(&to);
            from = to;
        }
        Ok(sent)
    }

    /// Sends a redirected request to `url`. Another server gets no authorization. `hop` has the
    /// addresses of the server that redirects, and then those of the other server.
    async fn send_to(
        &self,
        call: &HttpRequest<'_>,
        url: &Url,
        hop: &mut Vec<IpAddr>,
    ) -> Result<(Response, OpenExchange), Error> {
        if url.origin() == call.url.origin() {
            return self.send(&HttpRequest { url, ..call.clone() }).await;
        }
        let addresses = self.connector.resolve(url).await?;
        redirect::check_addresses(hop, &addresses)?;
        let builder = self.connector.builder(url, &addresses);
        *hop = addresses;
        let client = request::build(builder.connect_timeout(CONNECT_TIMEOUT))?;
        let headers = redirect::safe_headers(call);
        let call = redirect::for_other_server(call, url, &headers);
        let request = request::prepare(&client, &call)?;
        let mut exchange = self.connector.recorder.begin(&call, url)?;
        let response = request::send(request, &mut exchange).await.map_err(from_reqwest)?;
        Ok((response, exchange))
    }
}

/// Lets the runtime detect pooled connections that the server has closed. The runtime does not run
/// between requests. The first yield polls the sockets, the second lets each connection read the
/// end of the stream, and the third is a reserve.
async fn poll_closed_connections() {
    for _ in 0..3 {
        tokio::task::yield_now().await;
    }
}

impl Drop for ClientPool {
    fn drop(&mut self) {
        // A resolver thread may still be blocked on a name server.
        if let Some(runtime) = self.runtime.take() {
            runtime.shutdown_background();
        }
    }
}

impl PooledClient {
    /// Creates a client for the server of `base`.
    ///
    /// # Errors
    /// [`Error::InvalidAddress`] when `base` is not an `http` or `https` address with a host.
    pub(super) fn new(connector: Connector, base: &Url) -> Result<Self, Error> {
        if !matches!(base.scheme(), "https" | "http") || !base.has_host() {
            return Err(Error::InvalidAddress(
                "the address must begin with https:// or http://, and name a host",
            ));
        }
        Ok(Self { connector, base: base.clone(), session: Mutex::default() })
    }

    fn lock(&self) -> MutexGuard<'_, Option<Arc<ClientPool>>> {
        self.session.lock()
    }

    /// Checks that `call` is permitted. Returns the session, and opens it if needed.
    fn session_for(&self, call: &HttpRequest<'_>) -> Result<Arc<ClientPool>, Error> {
        // A token must not be sent to another server.
        if call.url.origin() != self.base.origin() {
            return Err(Error::InvalidAddress("the address belongs to another server"));
        }
        let known = self.lock().clone();
        let session = match known {
            Some(session) => session,
            None => self.open_session()?,
        };
        if call.must_be_public
            && (call.url.scheme() != "https"
                || !session.addresses.iter().copied().all(address::is_public))
        {
            return Err(Error::NotPublic);
        }
        Ok(session)
    }

    fn open_session(&self) -> Result<Arc<ClientPool>, Error> {
        let runtime = request::runtime()?;
        let built = runtime.block_on(async {
            let lookup = timeout(CONNECT_TIMEOUT, self.connector.resolve(&self.base));
            let addresses =
                lookup.await.unwrap_or(Err(Error::Timeout(CONNECT_TIMEOUT.as_secs())))?;
            let builder = self.connector.builder(&self.base, &addresses);
            let connection_count = Arc::new(AtomicU64::new(0));
            let count = Arc::clone(&connection_count);
            let counting = MapRequestLayer::new(move |to| {
                count.fetch_add(1, Ordering::SeqCst);
                to
            });
            let builder = builder
                .connect_timeout(CONNECT_TIMEOUT)
                .pool_idle_timeout(POOL_IDLE_TIMEOUT)
                .connector_layer(counting);
            Ok((request::build(builder)?, connection_count, addresses))
        });
        match built {
            Ok((client, connection_count, addresses)) => {
                let session = Arc::new(ClientPool {
                    connector: self.connector.clone(),
                    runtime: Some(runtime),
                    client,
                    connection_count,
                    addresses,
                });
                *self.lock() = Some(Arc::clone(&session));
                Ok(session)
            }
            Err(error) => {
                runtime.shutdown_background();
                Err(error)
            }
        }
    }

    /// Drops the session after a connection error: the server may have another address now. A
    /// connect timeout names the limit of this client.
    fn reset_on_error<T>(&self, result: Result<T, Error>) -> Result<T, Error> {
        match result {
            Err(Error::ConnectTimeout) => {
                *self.lock() = None;
                Err(Error::Timeout(CONNECT_TIMEOUT.as_secs()))
            }
            Err(error @ (Error::ConnectionRefused | Error::Unreachable(_) | Error::Tls(_))) => {
                *self.lock() = None;
                Err(error)
            }
            other => other,
        }
    }
}

impl RetryingClient for PooledClient {
    fn call(&self, call: &HttpRequest<'_>) -> Result<HttpResponse, Error> {
        let session = self.session_for(call)?;
        let answer = session.runtime()?.block_on(async {
            let exchange = async {
                let (response, exchange) = session.send(call).await?;
                request::read(response, exchange, call, MAX_BYTES).await
            };
            timeout(TIMEOUT, exchange).await.unwrap_or(Err(Error::Timeout(TIMEOUT.as_secs())))
        });
        self.reset_on_error(answer)
    }

    fn stream(
        &self,
        call: &HttpRequest<'_>,
        idle_timeout: Duration,
        on_event: &mut dyn FnMut(StreamEvent<'_>) -> bool,
    ) -> Result<HttpResponse, Error> {
        let session = self.session_for(call)?;
        let streamed = StreamReader { runtime: session.runtime()?, idle_timeout }
            .run(&session, call, on_event);
        self.reset_on_error(streamed)
    }
}

/// Reads an endless response. The runtime runs only while the reader waits, so that `on_event` may
/// use it.
struct StreamReader<'a> {
    runtime: &'a Runtime,
    idle_timeout: Duration,
}

impl StreamReader<'_> {
    fn run(
        &self,
        session: &ClientPool,
        call: &HttpRequest<'_>,
        on_event: &mut dyn FnMut(StreamEvent<'_>) -> bool,
    ) -> Result<HttpResponse, Error> {
        let mut sending = Box::pin(session.send_following(call));
        let Some(response) = self.wait(on_event, |limit| {
            self.runtime.block_on(async { timeout(limit, &mut sending).await.ok() })
        })?
        else {
            // The caller stopped before there was a response.
            return Ok(HttpResponse {
                status: 200,
                headers: Vec::new(),
                body: Vec::new(),
                server_address: None,
            });
        };
        let (mut response, mut exchange) = response?;
        if response.status().as_u16() != 200 {
            let reading = request::read(response, exchange, call, MAX_BYTES);
            return self.runtime.block_on(async {
                timeout(TIMEOUT, reading).await.unwrap_or(Err(Error::Timeout(TIMEOUT.as_secs())))
            });
        }
        let answer = request::head(&response);
        if !on_event(StreamEvent::Head) {
            exchange.finish();
            return Ok(answer);
        }
        loop {
            let next = self.wait(on_event, |limit| {
                self.runtime.block_on(async { timeout(limit, response.chunk()).await.ok() })
            })?;
            let Some(next) = next else { break };
            let Some(bytes) = next.map_err(from_reqwest)? else { break };
            exchange.note_received(bytes.len());
            if !bytes.is_empty() && !on_event(StreamEvent::Bytes(&bytes)) {
                break;
            }
        }
        exchange.finish();
        Ok(answer)
    }

    /// Waits for `step` and asks `on_event` each second whether to continue. `None` means stop.
    fn wait<T>(
        &self,
        on_event: &mut dyn FnMut(StreamEvent<'_>) -> bool,
        mut step: impl FnMut(Duration) -> Option<T>,
    ) -> Result<Option<T>, Error> {
        let deadline = Instant::now() + self.idle_timeout;
        loop {
            let left = deadline.saturating_duration_since(Instant::now());
            if let Some(value) = step(left.min(POLL)) {
                return Ok(Some(value));
            }
            if Instant::now() >= deadline {
                return Err(Error::Timeout(self.idle_timeout.as_secs()));
            }
            if !on_event(StreamEvent::Idle) {
                return Ok(None);
            }
        }
    }
}
