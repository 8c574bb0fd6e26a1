//! Sends one HTTP request: resolves the name, checks its addresses, reads a bounded response.

use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use brain_protocol::VERSION;
use reqwest::dns::{Addrs, Name, Resolve, Resolving};
use reqwest::header::{AUTHORIZATION, HeaderName, HeaderValue};
use reqwest::{Certificate, ClientBuilder, RequestBuilder, Response, redirect, retry};
use tokio::runtime::Runtime;
use url::{Host, Url};

use super::error::{from_reqwest, system_message};
use super::recording::{OpenExchange, Recorder};
use super::{Error, HttpRequest, HttpResponse, Resolver};

/// Time limit for a connection, TLS included. The message of `Error::ConnectTimeout` names it.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);
/// The header in which some services expect their key.
const KEY_HEADER: &str = "x-api-key";

/// Resolves names and builds clients with the trusted certificates.
#[derive(Clone)]
pub(super) struct Connector {
    pub(super) resolver: Arc<dyn Resolver>,
    /// The only trusted root certificates. Empty means the system's.
    pub(super) roots: Vec<Certificate>,
    /// Where requests are recorded.
    pub(super) recorder: Recorder,
}

/// Limits of one request.
pub(super) struct Limits {
    /// Accepts or rejects an address. Every address of the host must be accepted.
    pub(super) is_allowed: Option<fn(IpAddr) -> bool>,
    /// Maximum size of the response body in bytes.
    pub(super) max_bytes: usize,
    /// Time limit for the whole request.
    pub(super) timeout: Duration,
}

/// Builds a runtime for blocking calls.
///
/// # Errors
/// [`Error::Setup`] when the system refuses one.
pub(super) fn runtime() -> Result<Runtime, Error> {
    let mut builder = tokio::runtime::Builder::new_current_thread();
    builder.enable_all().build().map_err(|e| Error::Setup(system_message(&e)))
}

impl Connector {
    pub(super) fn new(resolver: Arc<dyn Resolver>, roots: Vec<Certificate>) -> Self {
        Self { resolver, roots, recorder: Recorder::default() }
    }

    /// Sends a request with a new client. Blocks.
    ///
    /// # Errors
    /// Any [`Error`] but [`Error::Status`] and [`Error::NotJson`].
    pub(super) fn exchange(
        &self,
        call: &HttpRequest<'_>,
        limits: &Limits,
    ) -> Result<HttpResponse, Error> {
        let runtime = runtime()?;
        let answer = runtime.block_on(async {
            let exchange = tokio::time::timeout(limits.timeout, self.send(call, limits));
            exchange.await.unwrap_or(Err(Error::Timeout(limits.timeout.as_secs())))
        });
        // The resolver may still be blocked on a name server.
        runtime.shutdown_background();
        answer
    }

    async fn send(&self, call: &HttpRequest<'_>, limits: &Limits) -> Result<HttpResponse, Error> {
        let addresses = self.resolve(call.url).await?;
        if let Some(is_allowed) = limits.is_allowed
            && !addresses.iter().copied().all(is_allowed)
        {
            return Err(Error::NotPublic);
        }
        let builder = self
            .builder(call.url, &addresses)
            .pool_max_idle_per_host(0)
            .connect_timeout(CONNECT_TIMEOUT);
        let request = prepare(&build(builder)?, call)?;
        let mut exchange = self.recorder.begin(call, call.url)?;
        let response = send(request, &mut exchange).await.map_err(from_reqwest)?;
        read(response, exchange, call, limits.max_bytes).await
    }

    /// Returns every address of the host of `url`.
    ///
    /// # Errors
    /// [`Error::NameNotFound`] when the host has no address; [`Error::InvalidAddress`] when `url`
    /// has no host.
    pub(super) async fn resolve(&self, url: &Url) -> Result<Vec<IpAddr>, Error> {
        let name = match url.host() {
            Some(Host::Ipv4(address)) => return Ok(vec![address.into()]),
            Some(Host::Ipv6(address)) => return Ok(vec![address.into()]),
            Some(Host::Domain(name)) => name.to_owned(),
            None => return Err(Error::InvalidAddress("the address has no host")),
        };
        let resolver = Arc::clone(&self.resolver);
        let found = tokio::task::spawn_blocking(move || resolver.addresses(&name)).await;
        let found = found.map_err(|e| Error::Setup(e.to_string()))?;
        let found = found.map_err(|e| Error::NameNotFound(system_message(&e)))?;
        if found.is_empty() {
            return Err(Error::NameNotFound("it has no address".into()));
        }
        Ok(found)
    }

    /// Returns the builder of a client for the server of `url` that connects to `addresses` only.
    pub(super) fn builder(&self, url: &Url, addresses: &[IpAddr]) -> ClientBuilder {
        use rustls::crypto::{CryptoProvider, ring};
        if CryptoProvider::get_default().is_none() {
            // Fails only when another thread has installed it meanwhile.
            let _ = ring::default_provider().install_default();
        }
        let mut builder = reqwest::Client::builder()
            .no_proxy()
            .redirect(redirect::Policy::none())
            .retry(retry::never())
            .referer(false)
            .user_agent(format!("brain/{VERSION}"))
            .dns_resolver(NoResolver);
        if let Some(Host::Domain(name)) = url.host() {
            // reqwest replaces port 0 with the port of the address.
            let pinned: Vec<SocketAddr> =
                addresses.iter().map(|&ip| SocketAddr::new(ip, 0)).collect();
            builder = builder.resolve_to_addrs(name, &pinned);
        }
        // Reading the system's certificates takes time, and plain HTTP does not need them.
        if url.scheme() != "https" || !self.roots.is_empty() {
            builder = builder.tls_certs_only(self.roots.iter().cloned());
        }
        builder
    }
}

/// Builds the client.
///
/// # Errors
/// [`Error::Setup`] or [`Error::Tls`] when TLS cannot be set up.
pub(super) fn build(builder: ClientBuilder) -> Result<reqwest::Client, Error> {
    builder.build().map_err(|e| match from_reqwest(e) {
        Error::ConnectionBroken(why) | Error::Unreachable(why) => Error::Setup(why),
        other => other,
    })
}

/// Builds the request of `call`.
///
/// # Errors
/// [`Error::Setup`] when a header has invalid characters.
pub(super) fn prepare(
    client: &reqwest::Client,
    call: &HttpRequest<'_>,
) -> Result<RequestBuilder, Error> {
    let mut request = match call.body {
        Some(body) => client.post(call.url.clone()).body(body.to_vec()),
        None => client.get(call.url.clone()),
    };
    for (name, value) in call.headers {
        let (Ok(name), Ok(mut value)) =
            (HeaderName::try_from(*name), HeaderValue::try_from(*value))
        else {
            return Err(Error::Setup(format!("the header {name} has invalid characters")));
        };
        value.set_sensitive(name == KEY_HEADER);
        request = request.header(name, value);
    }
    if let Some(secret) = call.authorization {
        let mut value = HeaderValue::try_from(secret.expose()).map_err(|_| {
            Error::Setup("the token has characters that a header cannot have".into())
        })?;
        value.set_sensitive(true);
        request = request.header(AUTHORIZATION, value);
    }
    Ok(request)
}

/// Sends a recorded request.
pub(super) async fn send(
    request: RequestBuilder,
    exchange: &mut OpenExchange,
) -> Result<Response, reqwest::Error> {
    // While it is being sent, a time limit can end this function.
    exchange.note_sent();
    match request.send().await {
        Ok(response) => {
            exchange.note_head(&response);
            Ok(response)
        }
        Err(error) => {
            exchange.note_failure(&error);
            Err(error)
        }
    }
}

/// Returns status and headers of a response, without its body.
pub(super) fn head(response: &Response) -> HttpResponse {
    let headers = response.headers().iter();
    let headers = headers.filter_map(|(name, value)| {
        Some((name.as_str().to_owned(), value.to_str().ok()?.to_owned()))
    });
    HttpResponse {
        status: response.status().as_u16(),
        headers: headers.collect(),
        body: Vec::new(),
        server_address: response.remote_addr(),
    }
}

/// Reads a response until it ends or the request calls it complete, at most `max_bytes` bytes.
///
/// A response with an error status that breaks off is returned as far as it was received.
///
/// # Errors
/// [`Error::TooLarge`] when the body is larger; the cause when the response breaks off.
pub(super) async fn read(
    mut response: Response,
    mut exchange: OpenExchange,
    call: &HttpRequest<'_>,
    max_bytes: usize,
) -> Result<HttpResponse, Error> {
    let mut answer = head(&response);
    let is_complete = (call.is_complete)(&answer);
    if !is_complete && response.content_length().is_some_and(|length| length > max_bytes as u64) {
        return Err(Error::TooLarge(max_bytes));
    }
    while !(call.is_complete)(&answer) {
        let chunk = match response.chunk().await {
            Ok(Some(chunk)) => chunk,
            Ok(None) => break,
            // A server that rejects a request before it has read it may reset the connection.
            Err(_) if answer.status >= 400 => break,
            Err(error) => return Err(from_reqwest(error)),
        };
        exchange.note_received(chunk.len());
        if answer.body.len() + chunk.len() > max_bytes {
            return Err(Error::TooLarge(max_bytes));
        }
        answer.body.extend_from_slice(&chunk);
    }
    exchange.finish();
    Ok(answer)
}

/// Resolves nothing: all permitted addresses are resolved beforehand.
struct NoResolver;

impl Resolve for NoResolver {
    fn resolve(&self, _name: Name) -> Resolving {
        let none: Addrs = Box::new(std::iter::empty());
        Box::pin(std::future::ready(Ok(none)))
    }
}
