//! The two listeners: where they are, what is served on each, and their end.

use std::net::SocketAddr;
use std::sync::Arc;

use brain_protocol::Fault;
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;

use super::guard::Seal;
use super::pulse::Times;
use super::serve::{self, Service};
use super::{Room, Side, Site};
use brain_core::config::Config;
use brain_core::{Brain, Places};
use brain_mcp::{self as mcp, HttpService};

/// Sockets that listen, and what keeps the others from it.
#[derive(Debug, Default)]
pub struct Listeners {
    local: Option<TcpListener>,
    public: Option<TcpListener>,
    missing: Vec<String>,
    exposed: Vec<String>,
}

impl Listeners {
    /// Listens where the configuration says, or on sockets that systemd passed in.
    ///
    /// An address that nobody configured and that is taken is left out: a second brain of this machine can do without.
    ///
    /// # Errors
    /// When somebody asked for an address and it cannot be had.
    pub fn open(
        config: &Config,
        local: Option<std::net::TcpListener>,
        public: Option<std::net::TcpListener>,
    ) -> Result<Self, Fault> {
        let mut missing = Vec::new();
        let mut open = |side: Side, passed: Option<std::net::TcpListener>| {
            if let Some(passed) = passed {
                return serve::adopt(passed).map(Some);
            }
            let address = match side {
                Side::Local => config.http_local(),
                Side::Public => config.http_public(),
            };
            let Some(address) = address else { return Ok(None) };
            match serve::listen(address, &format!("http.{}", side.as_str())) {
                Ok(listener) => Ok(Some(listener)),
                Err(fault) if config.is_default("http", side.as_str()) => {
                    tracing::warn!(%fault, "HTTP is not served there");
                    missing.push(fault.to_string());
                    Ok(None)
                }
                Err(fault) => Err(fault),
            }
        };
        let (local, public) = (open(Side::Local, local)?, open(Side::Public, public)?);
        let sides = [(Side::Local, &local), (Side::Public, &public)];
        let exposed: Vec<String> = sides
            .into_iter()
            .filter_map(|(side, listener)| {
                exposed(side, address(listener)?, config.http_base_url())
            })
            .collect();
        exposed.iter().for_each(|what| tracing::warn!("{what}"));
        Ok(Self { local, public, missing, exposed })
    }

    /// Where HTTP is served, and where it is not.
    #[must_use]
    pub fn places(&self) -> Places {
        Places {
            local: address(&self.local),
            public: address(&self.public),
            missing: self.missing.clone(),
            exposed: self.exposed.clone(),
        }
    }

    /// Serves until `stop` is cancelled, and then until what is under way is answered.
    pub async fn serve(self, brain: Arc<Brain>, stop: CancellationToken) {
        let tools = mcp::service(&brain, &stop);
        self.serve_with(brain, tools, stop).await;
    }

    /// The same with other tools behind `/mcp`.
    pub async fn serve_with(self, brain: Arc<Brain>, tools: HttpService, stop: CancellationToken) {
        let config = brain.config();
        let times = Times::new(config.http_timeout(), config.http_idle_timeout());
        let room = Arc::new(Room::new(&brain, tools));
        let one = |listener: Option<TcpListener>, side: Side| {
            let site = Site::new(Arc::clone(&brain), side, Arc::clone(&room));
            let service = Service { site, crowd: Arc::clone(room.crowd(side)), times, seal: Seal };
            let stop = stop.clone();
            async move {
                if let Some(listener) = listener {
                    serve::serve(listener, service, stop).await;
                }
            }
        };
        tokio::join!(one(self.local, Side::Local), one(self.public, Side::Public));
    }
}

fn address(listener: &Option<TcpListener>) -> Option<SocketAddr> {
    listener.as_ref().and_then(|it| it.local_addr().ok())
}

/// What is wrong with serving `side` at `address` to clients that know it as `base_url`.
fn exposed(side: Side, address: SocketAddr, base_url: Option<&str>) -> Option<String> {
    if address.ip().to_canonical().is_loopback() {
        return None;
    }
    match side {
        Side::Local => Some(format!(
            "http.local serves administration and metrics to the network, at {address}, and whoever is on the way can read \
             the token: set http.local to an address of this machine alone, such as 127.0.0.1:3131"
        )),
        // Somebody in front of it has the key.
        Side::Public
            if base_url.is_some_and(|url| url.to_ascii_lowercase().starts_with("https://")) =>
        {
            None
        }
        Side::Public => Some(format!(
            "http.public serves the network, at {address}, without encryption: let a tunnel or a proxy forward https to it, \
             and set http.base_url to its address; or set http.public to 127.0.0.1:8765"
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_network_can_reach_is_said() {
        let at = |side, address: &str, base_url| {
            let address: SocketAddr = address.parse().unwrap_or_else(|_| panic!("{address}"));
            exposed(side, address, base_url).unwrap_or_default()
        };
        for address in ["127.0.0.1:3131", "127.9.9.9:1", "[::1]:3131", "[::ffff:127.0.0.1]:3131"] {
            assert_eq!(
                at(Side::Local, address, None) + &at(Side::Public, address, None),
                "",
                "{address}"
            );
        }
        for address in ["0.0.0.0:3131", "[::]:3131", "192.168.1.5:3131"] {
            for url in [None, Some("https://brain.example.org")] {
                let told = at(Side::Local, address, url);
                assert!(told.contains("http.local") && told.contains(address), "{told}");
            }
            let told = at(Side::Public, address, Some("http://brain.example.org"));
            assert!(told.contains("http.public") && told.contains("http.base_url"), "{told}");
            assert_eq!(at(Side::Public, address, None), told);
            assert_eq!(at(Side::Public, address, Some("HTTPS://brain.example.org")), "");
        }
    }
}
