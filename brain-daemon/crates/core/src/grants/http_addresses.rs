//! The addresses of this service: its issuer, and the resources of its tokens (RFC 8707).

use std::collections::HashSet;
use std::net::SocketAddr;

use url::Url;

use super::{HttpAddresses, OAuthError, OAuthFault};
use crate::Brain;

impl Brain {
    /// Sets the addresses of the HTTP listeners. Must be called once, before the first request.
    pub fn set_http_addresses(&self, addresses: HttpAddresses) {
        if self.http_addresses.set(addresses).is_ok() {
            let _ = self.grants.resources.set(self.resources());
        }
    }

    /// Returns the addresses of the HTTP listeners.
    pub fn http_addresses(&self) -> HttpAddresses {
        self.http_addresses.get().cloned().unwrap_or_default()
    }

    /// Returns the OAuth issuer: the URL of this service without a trailing slash (RFC 8414
    /// section 2).
    pub fn issuer(&self) -> String {
        if let Some(url) = self.config.http_base_url() {
            return url.into();
        }
        let addresses = self.http_addresses();
        let local = addresses.local.or(addresses.public).or(self.config.http_local());
        local.map_or_else(|| "http://127.0.0.1:3131".into(), |address| format!("http://{address}"))
    }

    /// Returns the normalised URLs that a token may be for: those of the listeners and the issuer,
    /// each with and without `/mcp`.
    fn resources(&self) -> HashSet<String> {
        let mut bases = vec![self.issuer()];
        for address in
            [self.http_addresses().local, self.http_addresses().public].into_iter().flatten()
        {
            bases.extend(names(address));
        }
        let both = |base: String| [format!("{base}/"), format!("{base}/mcp")];
        let urls = bases.into_iter().flat_map(both).filter_map(|text| Url::parse(&text).ok());
        urls.map(String::from).collect()
    }

    /// Returns whether a token for this resource (a normalised URL) is valid here.
    pub(crate) fn is_our_resource(&self, resource: &str) -> bool {
        match self.grants.resources.get() {
            Some(ours) => ours.contains(resource),
            None => self.resources().contains(resource),
        }
    }

    /// Returns the first resource that a client requested. `None` if it requested none.
    ///
    /// # Errors
    /// [`OAuthError::InvalidTarget`] if any of them is not this service.
    pub(super) fn named_resource(&self, named: &[String]) -> Result<Option<String>, OAuthFault> {
        let mut first = None;
        for text in named {
            let ours =
                Url::parse(text).ok().map(String::from).filter(|url| self.is_our_resource(url));
            let Some(ours) = ours else {
                return Err(OAuthFault::new(
                    OAuthError::InvalidTarget,
                    "the resource is not this service",
                ));
            };
            first.get_or_insert(ours);
        }
        Ok(first)
    }
}

/// Returns the URLs of a listener for programs on this machine.
fn names(address: SocketAddr) -> Vec<String> {
    let port = address.port();
    let mut names = vec![format!("http://{address}")];
    if address.ip().is_loopback() || address.ip().is_unspecified() {
        names.extend(
            ["127.0.0.1", "localhost", "[::1]"].map(|host| format!("http://{host}:{port}")),
        );
    }
    names
}
