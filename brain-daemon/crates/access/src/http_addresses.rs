//! The addresses of this service: its issuer, and the resources of its tokens (RFC 8707).

use std::collections::HashSet;
use std::net::SocketAddr;

use parking_lot::RwLockReadGuard;
use url::Url;

use crate::{Access, OAuthError, OAuthFault};

/// The issuer if neither an address nor a listener is known.
const DEFAULT_ISSUER: &str = "http://127.0.0.1:3131";

/// The addresses of the HTTP listeners, and the problems with them.
#[derive(Debug, Clone, Default)]
pub struct HttpAddresses {
    /// The listener for this machine.
    pub local: Option<SocketAddr>,
    /// The listener that a tunnel forwards to.
    pub public: Option<SocketAddr>,
    /// Why a configured listener is not open.
    pub missing: Vec<String>,
    /// Warnings about listeners that the network can reach or read.
    pub exposed: Vec<String>,
}

/// The addresses of the HTTP listeners, and the resources that they serve.
pub(crate) struct ListenerState {
    addresses: HttpAddresses,
    /// The result of [`Access::resources`].
    resources: HashSet<String>,
}

impl Access {
    /// Sets the addresses of the HTTP listeners. Called before the first request, and when a
    /// missing listener opens.
    pub fn set_http_addresses(&self, addresses: HttpAddresses) {
        let resources = self.resources(&addresses);
        *self.listeners.write() = Some(ListenerState { addresses, resources });
    }

    /// Returns the addresses of the HTTP listeners.
    #[must_use]
    pub fn http_addresses(&self) -> HttpAddresses {
        self.listener_state().as_ref().map(|state| state.addresses.clone()).unwrap_or_default()
    }

    fn listener_state(&self) -> RwLockReadGuard<'_, Option<ListenerState>> {
        self.listeners.read()
    }

    /// Returns the OAuth issuer: the URL of this service without a trailing slash (RFC 8414
    /// section 2).
    #[must_use]
    pub fn issuer(&self) -> String {
        self.issuer_at(&self.http_addresses())
    }

    fn issuer_at(&self, addresses: &HttpAddresses) -> String {
        if let Some(url) = &self.settings.base_url {
            return url.clone();
        }
        let address = addresses.local.or(addresses.public).or(self.settings.local);
        address.map_or_else(|| DEFAULT_ISSUER.into(), |address| format!("http://{address}"))
    }

    /// Returns the normalised URLs that a token may be for: the URLs of the listeners and the
    /// issuer, each with and without `/mcp`.
    fn resources(&self, addresses: &HttpAddresses) -> HashSet<String> {
        let listeners = [addresses.local, addresses.public].into_iter().flatten();
        let mut bases = vec![self.issuer_at(addresses)];
        bases.extend(listeners.flat_map(listener_urls));
        let resource_urls = |base: String| [format!("{base}/"), format!("{base}/mcp")];
        let urls =
            bases.into_iter().flat_map(resource_urls).filter_map(|text| Url::parse(&text).ok());
        urls.map(String::from).collect()
    }

    /// Returns whether a token for this resource (a normalised URL) is valid here.
    #[must_use]
    pub fn is_our_resource(&self, resource: &str) -> bool {
        match &*self.listener_state() {
            Some(state) => state.resources.contains(resource),
            None => self.resources(&HttpAddresses::default()).contains(resource),
        }
    }

    /// Returns the first resource that a client requested. `None` if it requested none.
    ///
    /// # Errors
    /// [`OAuthError::InvalidTarget`] if any of them is not this service.
    pub(crate) fn named_resource(&self, named: &[String]) -> Result<Option<String>, OAuthFault> {
        let mut first = None;
        for text in named {
            let url =
                Url::parse(text).ok().map(String::from).filter(|url| self.is_our_resource(url));
            let Some(url) = url else {
                return Err(OAuthFault::new(
                    OAuthError::InvalidTarget,
                    "the resource is not this service",
                ));
            };
            first.get_or_insert(url);
        }
        Ok(first)
    }
}

/// Returns the URLs of a listener for programs on this machine.
fn listener_urls(address: SocketAddr) -> Vec<String> {
    let port = address.port();
    let mut urls = vec![format!("http://{address}")];
    if address.ip().is_loopback() || address.ip().is_unspecified() {
        urls.extend(
            ["127.0.0.1", "localhost", "[::1]"].map(|host| format!("http://{host}:{port}")),
        );
    }
    urls
}
