//! Opens the two listeners and serves them until shutdown.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use brain_protocol::Fault;
use tokio_util::sync::CancellationToken;

use super::connection_state::HttpTimeouts;
use super::guard::SecurityHeaders;
use super::serve::{self, HttpListener, Service};
use super::{Application, HttpState, Side};
use brain_access::HttpAddresses;
use brain_base::backoff::Backoff;
use brain_config::Config;
use brain_core::Door;
use brain_mcp::{self as mcp, HttpService};

/// The first and the maximum pause before the next attempt to open a missing listener.
const RETRY: Backoff = Backoff::new(Duration::from_secs(1), Duration::from_secs(60));

/// The open sockets, and the problems found while opening them.
#[derive(Debug, Default)]
pub struct Listeners {
    local: Option<HttpListener>,
    public: Option<HttpListener>,
    missing: Vec<MissingListener>,
    /// Warnings about listeners that are open to the network.
    exposed: Vec<String>,
}

/// A configured address that could not be used, and why.
#[derive(Debug, Clone)]
struct MissingListener {
    side: Side,
    address: SocketAddr,
    /// The message of the error.
    problem: String,
}

impl Listeners {
    /// Listens on the configured addresses, or on sockets that systemd passed in.
    ///
    /// An address that cannot be used does not affect the other listener. [`Listeners::serve`]
    /// tries it again.
    ///
    /// # Errors
    /// [`FaultCode::Io`](brain_protocol::FaultCode) if a socket of systemd cannot be used.
    pub fn open(
        config: &Config,
        local: Option<std::net::TcpListener>,
        public: Option<std::net::TcpListener>,
    ) -> Result<Self, Fault> {
        let mut missing = Vec::new();
        let mut open = |side: Side, socket: Option<std::net::TcpListener>| {
            if let Some(socket) = socket {
                return serve::listen_on_inherited(socket).map(Some);
            }
            let address = match side {
                Side::Local => config.http.local,
                Side::Public => config.http.public,
            };
            let Some(address) = address else { return Ok(None) };
            match serve::listen(address, &format!("http.{}", side.as_str())) {
                Ok(listener) => Ok(Some(listener)),
                Err(fault) => {
                    tracing::warn!(%fault, "HTTP listener not opened; trying again");
                    missing.push(MissingListener { side, address, problem: fault.to_string() });
                    Ok(None)
                }
            }
        };
        let (local, public) = (open(Side::Local, local)?, open(Side::Public, public)?);
        let sides = [(Side::Local, &local), (Side::Public, &public)];
        let exposed: Vec<String> = sides
            .into_iter()
            .filter_map(|(side, listener)| {
                exposure_warning(side, address(listener)?, config.http_base_url())
            })
            .collect();
        exposed.iter().for_each(|warning| tracing::warn!("{warning}"));
        Ok(Self { local, public, missing, exposed })
    }

    /// Returns the addresses of the listeners, and the problems with them.
    #[must_use]
    pub fn addresses(&self) -> HttpAddresses {
        HttpAddresses {
            local: address(&self.local),
            public: address(&self.public),
            missing: self
                .missing
                .iter()
                .map(|missing| format!("{}; it is tried again", missing.problem))
                .collect(),
            exposed: self.exposed.clone(),
        }
    }

    /// Serves until `stop` is cancelled and the requests in progress are answered.
    pub async fn serve(self, brain: Door, stop: CancellationToken) {
        let tools = mcp::tool_service(&brain, &stop);
        self.serve_with(brain, tools, stop).await;
    }

    /// Serves like [`Listeners::serve`], with another MCP service behind `/mcp`.
    pub async fn serve_with(self, brain: Door, tools: HttpService, stop: CancellationToken) {
        let config = brain.config();
        let timeouts = HttpTimeouts::new(config.http.timeout, config.http.idle_timeout);
        let shared = Arc::new(HttpState::new(&brain, tools));
        let missing = self.missing;
        let serve_side = |listener: Option<HttpListener>, side: Side| {
            let missing = missing.iter().find(|missing| missing.side == side).cloned();
            let brain = brain.clone();
            let service = Service {
                application: Application::new(brain.clone(), side, Arc::clone(&shared)),
                limiter: Arc::clone(shared.limiter(side)),
                timeouts,
                security_headers: SecurityHeaders,
            };
            let stop = stop.clone();
            async move {
                let listener = match (listener, missing) {
                    (Some(listener), _) => Some(listener),
                    (None, Some(missing)) => open_later(&brain, &missing, &stop).await,
                    (None, None) => None,
                };
                if let Some(listener) = listener {
                    serve::serve(listener, service, stop).await;
                }
            }
        };
        tokio::join!(serve_side(self.local, Side::Local), serve_side(self.public, Side::Public));
    }
}

/// Tries to open a missing listener until that succeeds. Returns `None` when `stop` is cancelled.
async fn open_later(
    brain: &Door,
    missing: &MissingListener,
    stop: &CancellationToken,
) -> Option<HttpListener> {
    let mut failures = 0;
    let MissingListener { side, address, problem } = missing;
    loop {
        tokio::select! {
            () = stop.cancelled() => return None,
            () = tokio::time::sleep(RETRY.pause(failures)) => failures += 1,
        }
        let Ok(listener) = serve::listen(*address, &format!("http.{}", side.as_str())) else {
            continue;
        };
        let bound = listener.socket.local_addr().unwrap_or(*address);
        tracing::info!(address = %bound, "HTTP listener opened");
        let mut addresses = brain.access().http_addresses();
        match side {
            Side::Local => addresses.local = Some(bound),
            Side::Public => addresses.public = Some(bound),
        }
        addresses.missing.retain(|text| !text.starts_with(problem.as_str()));
        let warning = exposure_warning(*side, bound, brain.config().http_base_url());
        addresses.exposed.extend(warning.inspect(|warning| tracing::warn!("{warning}")));
        brain.access().set_http_addresses(addresses);
        return Some(listener);
    }
}

fn address(listener: &Option<HttpListener>) -> Option<SocketAddr> {
    listener.as_ref().and_then(|listener| listener.socket.local_addr().ok())
}

/// Returns a warning if serving `side` at `address` exposes tokens to the network.
fn exposure_warning(side: Side, address: SocketAddr, base_url: Option<&str>) -> Option<String> {
    if address.ip().to_canonical().is_loopback() {
        return None;
    }
    match side {
        Side::Local => Some(format!(
            "http.local serves administration and metrics to the network at {address}, and the \
             token can be read on the way: set http.local to a loopback address, such as \
             127.0.0.1:3131"
        )),
        // With an `https` address, a proxy encrypts the connections.
        Side::Public
            if base_url.is_some_and(|url| url.to_ascii_lowercase().starts_with("https://")) =>
        {
            None
        }
        Side::Public => Some(format!(
            "http.public serves the network at {address} without encryption: let a tunnel or a \
                proxy forward https to it, and set http.base_url to its address; or set \
                http.public to 127.0.0.1:8765"
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_open_to_the_network_are_reported() {
        let warning_at = |side, address: &str, base_url| {
            let address: SocketAddr = address.parse().unwrap_or_else(|_| panic!("{address}"));
            exposure_warning(side, address, base_url).unwrap_or_default()
        };
        for address in ["127.0.0.1:3131", "127.9.9.9:1", "[::1]:3131", "[::ffff:127.0.0.1]:3131"] {
            assert_eq!(
                warning_at(Side::Local, address, None) + &warning_at(Side::Public, address, None),
                "",
                "{address}"
            );
        }
        for address in ["0.0.0.0:3131", "[::]:3131", "192.168.1.5:3131"] {
            for url in [None, Some("https://brain.example.org")] {
                let warning = warning_at(Side::Local, address, url);
                assert!(warning.contains("http.local") && warning.contains(address), "{warning}");
            }
            let warning = warning_at(Side::Public, address, Some("http://brain.example.org"));
            for key in ["http.public", "http.base_url"] {
                assert!(warning.contains(key), "{warning}");
            }
            assert_eq!(warning_at(Side::Public, address, None), warning);
            assert_eq!(warning_at(Side::Public, address, Some("HTTPS://brain.example.org")), "");
        }
    }
}
