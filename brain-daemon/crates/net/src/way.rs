//! One request and its answer: look the name up, check what it stands for, connect to nothing else, read no more than is allowed.

use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use brain_protocol::VERSION;
use reqwest::dns::{Addrs, Name, Resolve, Resolving};
use reqwest::header::{AUTHORIZATION, HeaderName, HeaderValue};
use reqwest::{Certificate, ClientBuilder, RequestBuilder, Response, redirect, retry};
use tokio::runtime::Runtime;
use url::{Host, Url};

use super::trouble::{of_reqwest, plain};
use super::{Answer, Call, Resolver, Trouble};

/// How long a connection may take, TLS included. `Trouble::Silent` says it in words.
const CONNECT: Duration = Duration::from_secs(5);
/// The field in which some services take their key.
const KEY: &str = "x-api-key";

/// How names become addresses, and whose word counts there.
#[derive(Clone)]
pub(super) struct Way {
    pub(super) resolver: Arc<dyn Resolver>,
    /// The only ones whose signature counts; the system's when empty.
    pub(super) roots: Vec<Certificate>,
}

/// The bounds of a call.
pub(super) struct Bounds {
    /// Which addresses the host may have; each of them must be one.
    pub(super) admits: Option<fn(IpAddr) -> bool>,
    /// How much is read, in bytes.
    pub(super) most: usize,
    /// How long all of it may take.
    pub(super) within: Duration,
}

/// A runtime for calls.
///
/// # Errors
/// When the system gives none.
pub(super) fn runtime() -> Result<Runtime, Trouble> {
    let mut builder = tokio::runtime::Builder::new_current_thread();
    builder.enable_all().build().map_err(|e| Trouble::Setup(plain(&e)))
}

impl Way {
    /// Does a call with a client of its own. Blocks.
    ///
    /// # Errors
    /// Why there is no answer.
    pub(super) fn exchange(&self, call: &Call<'_>, bounds: &Bounds) -> Result<Answer, Trouble> {
        let runtime = runtime()?;
        let answer = runtime.block_on(async {
            let going = tokio::time::timeout(bounds.within, self.go(call, bounds));
            going.await.unwrap_or(Err(Trouble::Slow(bounds.within.as_secs())))
        });
        // The resolver may still wait for a name server: nobody waits for it.
        runtime.shutdown_background();
        answer
    }

    async fn go(&self, call: &Call<'_>, bounds: &Bounds) -> Result<Answer, Trouble> {
        let addresses = self.look_up(call.url).await?;
        if let Some(admits) = bounds.admits
            && !addresses.iter().copied().all(admits)
        {
            return Err(Trouble::NotPublic);
        }
        let builder =
            self.builder(call.url, &addresses).pool_max_idle_per_host(0).connect_timeout(CONNECT);
        let request = request(&build(builder)?, call)?;
        read(request.send().await.map_err(of_reqwest)?, call, bounds.most).await
    }

    /// Every address that the host of `url` has.
    pub(super) async fn look_up(&self, url: &Url) -> Result<Vec<IpAddr>, Trouble> {
        let name = match url.host() {
            Some(Host::Ipv4(address)) => return Ok(vec![address.into()]),
            Some(Host::Ipv6(address)) => return Ok(vec![address.into()]),
            Some(Host::Domain(name)) => name.to_owned(),
            None => return Err(Trouble::Address("the address has no host")),
        };
        let resolver = Arc::clone(&self.resolver);
        let found = tokio::task::spawn_blocking(move || resolver.addresses(&name)).await;
        let found = found.map_err(|e| Trouble::Setup(e.to_string()))?;
        let found = found.map_err(|e| Trouble::Name(plain(&e)))?;
        if found.is_empty() {
            return Err(Trouble::Name("it has no address".into()));
        }
        Ok(found)
    }

    /// What is to be a client for the server of `url`, which goes to `addresses` only.
    pub(super) fn builder(&self, url: &Url, addresses: &[IpAddr]) -> ClientBuilder {
        use rustls::crypto::{CryptoProvider, ring};
        if CryptoProvider::get_default().is_none() {
            // Another thread may have been first: then it is there, too.
            let _ = ring::default_provider().install_default();
        }
        let mut builder = reqwest::Client::builder()
            .no_proxy()
            .redirect(redirect::Policy::none())
            .retry(retry::never())
            .referer(false)
            .user_agent(format!("brain/{VERSION}"))
            .dns_resolver(Nobody);
        if let Some(Host::Domain(name)) = url.host() {
            // Port 0 stands for the one in the address.
            let pinned: Vec<SocketAddr> =
                addresses.iter().map(|&ip| SocketAddr::new(ip, 0)).collect();
            builder = builder.resolve_to_addrs(name, &pinned);
        }
        // Reading the system's certificates takes a moment, which plain HTTP can do without.
        if url.scheme() != "https" || !self.roots.is_empty() {
            builder = builder.tls_certs_only(self.roots.iter().cloned());
        }
        builder
    }
}

/// The client itself.
///
/// # Errors
/// [`Trouble::Setup`]; [`Trouble::Tls`].
pub(super) fn build(builder: ClientBuilder) -> Result<reqwest::Client, Trouble> {
    builder.build().map_err(|e| match of_reqwest(e) {
        Trouble::Broken(why) | Trouble::Unreachable(why) => Trouble::Setup(why),
        other => other,
    })
}

/// The request of `call`.
///
/// # Errors
/// [`Trouble::Setup`] when a field of the head cannot be sent.
pub(super) fn request(
    client: &reqwest::Client,
    call: &Call<'_>,
) -> Result<RequestBuilder, Trouble> {
    let mut request = match call.body {
        Some(body) => client.post(call.url.clone()).body(body.to_vec()),
        None => client.get(call.url.clone()),
    };
    for (name, value) in call.headers {
        let (Ok(name), Ok(mut value)) =
            (HeaderName::try_from(*name), HeaderValue::try_from(*value))
        else {
            return Err(Trouble::Setup(format!("the field {name} cannot be sent")));
        };
        value.set_sensitive(name == KEY);
        request = request.header(name, value);
    }
    if let Some(secret) = call.authorization {
        let mut value = HeaderValue::try_from(secret.expose()).map_err(|_| {
            Trouble::Setup("the token has characters that no header carries".into())
        })?;
        value.set_sensitive(true);
        request = request.header(AUTHORIZATION, value);
    }
    Ok(request)
}

/// The head of an answer, without its body.
pub(super) fn head(response: &Response) -> Answer {
    let headers = response.headers().iter();
    let headers = headers.filter_map(|(name, value)| {
        Some((name.as_str().to_owned(), value.to_str().ok()?.to_owned()))
    });
    Answer {
        status: response.status().as_u16(),
        headers: headers.collect(),
        body: Vec::new(),
        from: response.remote_addr(),
    }
}

/// The whole answer, or what is enough of it; at most `most` bytes. Of a refusal that breaks off,
/// what came.
///
/// # Errors
/// [`Trouble::Large`]; why it broke off.
pub(super) async fn read(
    mut response: Response,
    call: &Call<'_>,
    most: usize,
) -> Result<Answer, Trouble> {
    let mut answer = head(&response);
    let enough = (call.enough)(&answer);
    if !enough && response.content_length().is_some_and(|length| length > most as u64) {
        return Err(Trouble::Large(most));
    }
    while !(call.enough)(&answer) {
        let chunk = match response.chunk().await {
            Ok(Some(chunk)) => chunk,
            Ok(None) => break,
            // A server that refuses a request before it has read it may reset the connection: its
            // status counts.
            Err(_) if answer.status >= 400 => break,
            Err(error) => return Err(of_reqwest(error)),
        };
        if answer.body.len() + chunk.len() > most {
            return Err(Trouble::Large(most));
        }
        answer.body.extend_from_slice(&chunk);
    }
    Ok(answer)
}

/// Finds nothing: what may be reached was looked up before.
struct Nobody;

impl Resolve for Nobody {
    fn resolve(&self, _name: Name) -> Resolving {
        let none: Addrs = Box::new(std::iter::empty());
        Box::pin(std::future::ready(Ok(none)))
    }
}
