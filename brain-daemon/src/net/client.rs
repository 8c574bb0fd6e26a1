//! One call: look the name up, check what it stands for, connect to nothing else, read no more than is allowed.

use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use brain_protocol::VERSION;
use reqwest::dns::{Addrs, Name, Resolve, Resolving};
use reqwest::header::{AUTHORIZATION, HeaderName, HeaderValue};
use reqwest::{Certificate, redirect, retry};
use url::{Host, Url};

use super::trouble::{of_reqwest, plain};
use super::{Answer, Call, Document, Outgoing, Resolver, SystemResolver, Trouble, address, document};

/// How long a connection may take, TLS included. `Trouble::Silent` says it in words.
const CONNECT: Duration = Duration::from_secs(5);
/// How much of an answer is read for the owner, in bytes.
const MOST: usize = 1024 * 1024;
/// How long an answer may take for the owner.
const WITHIN: Duration = Duration::from_secs(10);

/// What goes out, for real.
pub struct Client {
    resolver: Arc<dyn Resolver>,
    /// The only ones whose signature counts; the system's when empty.
    roots: Vec<Certificate>,
    /// What a stranger's address must be.
    rules: document::Rules,
}

/// The bounds of a call.
pub(super) struct Bounds {
    /// Every address of the host must be public.
    pub(super) public: bool,
    /// How much is read, in bytes.
    pub(super) most: usize,
    /// How long all of it may take.
    pub(super) within: Duration,
}

impl Client {
    /// With the system's resolver and its certificates. Does nothing yet.
    #[must_use]
    pub fn new() -> Self {
        Self { resolver: Arc::new(SystemResolver), roots: Vec::new(), rules: document::Rules::STRICT }
    }

    /// With these in their place.
    #[cfg(test)]
    pub(super) fn with(resolver: Arc<dyn Resolver>, roots: Vec<Certificate>, rules: document::Rules) -> Self {
        Self { resolver, roots, rules }
    }

    /// Does a call. Blocks.
    ///
    /// # Errors
    /// Why there is no answer.
    pub(super) fn exchange(&self, call: &Call<'_>, bounds: &Bounds) -> Result<Answer, Trouble> {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .map_err(|e| Trouble::Setup(plain(&e)))?;
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
        if bounds.public && !addresses.iter().copied().all(address::is_public) {
            return Err(Trouble::NotPublic);
        }
        let client = self.client(call.url, &addresses)?;
        let mut request = match call.body {
            Some(body) => client.post(call.url.clone()).body(body.to_vec()),
            None => client.get(call.url.clone()),
        };
        for (name, value) in call.headers {
            let (Ok(name), Ok(value)) = (HeaderName::try_from(*name), HeaderValue::try_from(*value)) else {
                return Err(Trouble::Setup(format!("the field {name} cannot be sent")));
            };
            request = request.header(name, value);
        }
        if let Some(secret) = call.authorization {
            let mut value = HeaderValue::try_from(secret.expose())
                .map_err(|_| Trouble::Setup("the token has characters that no header carries".into()))?;
            value.set_sensitive(true);
            request = request.header(AUTHORIZATION, value);
        }
        let mut response = request.send().await.map_err(of_reqwest)?;
        if response.content_length().is_some_and(|length| length > bounds.most as u64) {
            return Err(Trouble::Large(bounds.most));
        }
        let headers = response
            .headers()
            .iter()
            .filter_map(|(name, value)| Some((name.as_str().to_owned(), value.to_str().ok()?.to_owned())))
            .collect();
        let status = response.status().as_u16();
        let mut answer = Answer { status, headers, body: Vec::new(), from: response.remote_addr() };
        while !(call.enough)(&answer) {
            let Some(chunk) = response.chunk().await.map_err(of_reqwest)? else { break };
            if answer.body.len() + chunk.len() > bounds.most {
                return Err(Trouble::Large(bounds.most));
            }
            answer.body.extend_from_slice(&chunk);
        }
        Ok(answer)
    }

    /// Every address that the host of `url` has.
    async fn look_up(&self, url: &Url) -> Result<Vec<IpAddr>, Trouble> {
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

    /// A client for one call, which goes to `addresses` only.
    fn client(&self, url: &Url, addresses: &[IpAddr]) -> Result<reqwest::Client, Trouble> {
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
            .pool_max_idle_per_host(0)
            .connect_timeout(CONNECT)
            .user_agent(format!("brain/{VERSION}"))
            .dns_resolver(Nobody);
        if let Some(Host::Domain(name)) = url.host() {
            // Port 0 stands for the one in the address.
            let pinned: Vec<SocketAddr> = addresses.iter().map(|&ip| SocketAddr::new(ip, 0)).collect();
            builder = builder.resolve_to_addrs(name, &pinned);
        }
        // Reading the system's certificates takes a moment, which plain HTTP can do without.
        if url.scheme() != "https" || !self.roots.is_empty() {
            builder = builder.tls_certs_only(self.roots.iter().cloned());
        }
        builder.build().map_err(|e| match of_reqwest(e) {
            Trouble::Broken(why) | Trouble::Unreachable(why) => Trouble::Setup(why),
            other => other,
        })
    }
}

impl Default for Client {
    fn default() -> Self {
        Self::new()
    }
}

impl Outgoing for Client {
    fn document(&self, url: &str) -> Result<Document, Trouble> {
        document::read(self, &self.rules, url)
    }

    fn call(&self, call: &Call<'_>) -> Result<Answer, Trouble> {
        match (call.url.scheme(), call.public) {
            ("https", _) | ("http", false) => {}
            _ => return Err(Trouble::Address("the address must begin with https://")),
        }
        self.exchange(call, &Bounds { public: call.public, most: MOST, within: WITHIN })
    }
}

/// Finds nothing: what may be reached was looked up before.
struct Nobody;

impl Resolve for Nobody {
    fn resolve(&self, _name: Name) -> Resolving {
        let none: Addrs = Box::new(std::iter::empty());
        Box::pin(std::future::ready(Ok(none)))
    }
}
