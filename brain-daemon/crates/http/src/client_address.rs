//! The address of a client, as the rate limits count it.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};

use axum::extract::{ConnectInfo, Request};
use axum::http::header::HOST;
use axum::http::uri::Authority;
use axum::http::{Extensions, HeaderMap};

use super::{AppState, Side};

/// The field in which a proxy or tunnel appends the address of its client.
const FORWARDED: &str = "x-forwarded-for";

/// Returns the address of the client that sent `request`.
pub(super) fn of_request(app: &AppState, request: &Request) -> IpAddr {
    of_headers(app, request.extensions(), request.headers())
}

/// Returns the address of the client that sent a request with these extensions and headers.
///
/// Requests through the tunnel come from this machine. Their client is the last hop that the
/// tunnel names; the client can forge earlier hops. Without a public address there is no
/// tunnel, and a local program could forge the field, so it is ignored.
pub(super) fn of_headers(app: &AppState, extensions: &Extensions, headers: &HeaderMap) -> IpAddr {
    let peer = extensions.get::<ConnectInfo<SocketAddr>>().map(|ConnectInfo(peer)| peer.ip());
    // Clients without an address share one limit.
    let peer = peer.unwrap_or(Ipv4Addr::UNSPECIFIED.into()).to_canonical();
    if app.side == Side::Public && peer.is_loopback() && app.brain.public_address().is_some() {
        return last_hop(headers).unwrap_or(peer);
    }
    peer
}

/// Returns whether a request to the public listener came through the tunnel or over the network.
///
/// The tunnel's agent adds the client's address, or keeps the public host name. A local program
/// that uses the listener's own address does neither.
pub(super) fn is_from_outside(extensions: &Extensions, headers: &HeaderMap) -> bool {
    let peer = extensions.get::<ConnectInfo<SocketAddr>>().map(|ConnectInfo(peer)| peer.ip());
    let host = headers.get(HOST).and_then(|host| host.to_str().ok()?.parse::<Authority>().ok());
    let has_public_name = host.is_some_and(|host| {
        let name = host.host().trim_start_matches('[').trim_end_matches(']');
        !name.eq_ignore_ascii_case("localhost") && name.parse::<IpAddr>().is_err()
    });
    has_public_name
        || headers.contains_key(FORWARDED)
        || !peer.is_some_and(|peer| peer.to_canonical().is_loopback())
}

fn last_hop(headers: &HeaderMap) -> Option<IpAddr> {
    let line = headers.get_all(FORWARDED).iter().next_back()?.to_str().ok()?;
    let hop = line.rsplit(',').next()?.trim();
    hop.parse::<IpAddr>()
        .or_else(|_| hop.parse::<SocketAddr>().map(|hop| hop.ip()))
        .ok()
        .map(|ip| ip.to_canonical())
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn requests_to_a_loopback_address_are_not_from_outside() {
        let is_from_outside = |peer: &str, fields: &[(&'static str, &str)]| {
            let mut extensions = Extensions::new();
            extensions.insert(ConnectInfo::<SocketAddr>(peer.parse().unwrap()));
            let fields = fields
                .iter()
                .map(|(name, value)| ((*name).parse().unwrap(), value.parse().unwrap()));
            super::is_from_outside(&extensions, &fields.collect())
        };
        for host in ["127.0.0.1:8765", "localhost:8765", "LOCALHOST", "[::1]:8765"] {
            assert!(!is_from_outside("127.0.0.1:1", &[("host", host)]), "{host}");
            let forwarded = [("host", host), (FORWARDED, "192.0.2.1")];
            assert!(is_from_outside("127.0.0.1:1", &forwarded), "{host}");
            assert!(is_from_outside("192.0.2.1:1", &[("host", host)]), "{host}");
        }
        assert!(is_from_outside("127.0.0.1:1", &[("host", "brain.ngrok.app")]));
        assert!(!is_from_outside("[::ffff:127.0.0.1]:1", &[("host", "127.0.0.1")]));
    }

    #[test]
    fn only_the_last_hop_is_trusted() {
        let last_hop_of = |lines: &[&str]| {
            let mut headers = HeaderMap::new();
            for line in lines {
                headers.append(FORWARDED, line.parse().unwrap());
            }
            last_hop(&headers).map(|ip| ip.to_string())
        };
        assert_eq!(last_hop_of(&["203.0.113.9, 192.0.2.1"]).as_deref(), Some("192.0.2.1"));
        assert_eq!(last_hop_of(&["203.0.113.9", "192.0.2.1"]).as_deref(), Some("192.0.2.1"));
        assert_eq!(last_hop_of(&["192.0.2.1:4711"]).as_deref(), Some("192.0.2.1"));
        assert_eq!(last_hop_of(&["[2001:db8::1]:80"]).as_deref(), Some("2001:db8::1"));
        assert_eq!(last_hop_of(&["192.0.2.1, unknown"]), None);
        assert_eq!(last_hop_of(&[]), None);
    }
}
