//! Where this service is: its name as an issuer, and what its tokens may be for (RFC 8707).

use std::collections::HashSet;
use std::net::SocketAddr;

use url::Url;

use super::{OAuthError, OAuthFault, Places};
use crate::Brain;

impl Brain {
    /// Tells the brain where HTTP is served. Once, before the first request comes from there.
    pub fn set_places(&self, places: Places) {
        if self.places.set(places).is_ok() {
            let _ = self.grants.resources.set(self.resources());
        }
    }

    /// Where HTTP is served.
    pub fn places(&self) -> Places {
        self.places.get().cloned().unwrap_or_default()
    }

    /// The address of this service as clients know it, without a slash at its end: the OAuth issuer (RFC 8414 section 2).
    pub fn issuer(&self) -> String {
        if let Some(url) = self.config.http_base_url() {
            return url.into();
        }
        let places = self.places();
        let local = places.local.or(places.public).or(self.config.http_local());
        local.map_or_else(|| "http://127.0.0.1:3131".into(), |address| format!("http://{address}"))
    }

    /// The addresses that a token may be for: each listener's and the issuer, alone and with `/mcp`, as [`Url`] writes them.
    fn resources(&self) -> HashSet<String> {
        let mut bases = vec![self.issuer()];
        for address in [self.places().local, self.places().public].into_iter().flatten() {
            bases.extend(names(address));
        }
        let both = |base: String| [format!("{base}/"), format!("{base}/mcp")];
        let urls = bases.into_iter().flat_map(both).filter_map(|text| Url::parse(&text).ok());
        urls.map(String::from).collect()
    }

    /// Whether a token for this resource, as [`Url`] writes it, is good here.
    pub(crate) fn is_our_resource(&self, resource: &str) -> bool {
        match self.grants.resources.get() {
            Some(ours) => ours.contains(resource),
            None => self.resources().contains(resource),
        }
    }

    /// What a token is to be for, of what a client named; `None` when it named nothing.
    ///
    /// # Errors
    /// `invalid_target` when something of it is not this service.
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

/// How programs on this machine call a listener.
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
