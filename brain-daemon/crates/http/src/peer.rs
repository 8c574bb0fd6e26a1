//! Who is at the other end, as limits count them.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};

use axum::extract::{ConnectInfo, Request};
use axum::http::header::HOST;
use axum::http::uri::Authority;
use axum::http::{Extensions, HeaderMap};

use super::{Desk, Side};

/// Adds the address that it was asked by; a tunnel does so for everybody.
const FORWARDED: &str = "x-forwarded-for";

/// The address that a request comes from.
pub(super) fn address(desk: &Desk, request: &Request) -> IpAddr {
    origin(desk, request.extensions(), request.headers())
}

/// The address that a request with these extensions and headers comes from. Behind the tunnel everybody comes from this machine, and
/// the last hop that the tunnel names is who asked it; what stands before was said by whoever asked, and is worth nothing. Without
/// a public address there is no tunnel, and whoever names a hop is a program on this machine that would be somebody else.
pub(super) fn origin(desk: &Desk, extensions: &Extensions, headers: &HeaderMap) -> IpAddr {
    let peer = extensions.get::<ConnectInfo<SocketAddr>>().map(|ConnectInfo(peer)| peer.ip());
    // Nobody is known: all of them count as one.
    let peer = peer.unwrap_or(Ipv4Addr::UNSPECIFIED.into()).to_canonical();
    if desk.side == Side::Public && peer.is_loopback() && desk.brain.public_address().is_some() {
        return last_hop(headers).unwrap_or(peer);
    }
    peer
}

/// Whether such a request came from elsewhere to the public listener: through the tunnel, whose agent adds the address that it was asked by
/// or leaves the public name, or over the network. What a program on this machine asks by the listener's own address did not.
pub(super) fn is_from_outside(extensions: &Extensions, headers: &HeaderMap) -> bool {
    let peer = extensions.get::<ConnectInfo<SocketAddr>>().map(|ConnectInfo(peer)| peer.ip());
    let host = headers.get(HOST).and_then(|host| host.to_str().ok()?.parse::<Authority>().ok());
    let named = host.is_some_and(|host| {
        let name = host.host().trim_start_matches('[').trim_end_matches(']');
        !name.eq_ignore_ascii_case("localhost") && name.parse::<IpAddr>().is_err()
    });
    named
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
    fn what_this_machine_asks_by_its_own_address_is_not_from_outside() {
        let from = |peer: &str, fields: &[(&'static str, &str)]| {
            let mut extensions = Extensions::new();
            extensions.insert(ConnectInfo::<SocketAddr>(peer.parse().unwrap()));
            let fields = fields
                .iter()
                .map(|(name, value)| ((*name).parse().unwrap(), value.parse().unwrap()));
            is_from_outside(&extensions, &fields.collect())
        };
        for host in ["127.0.0.1:8765", "localhost:8765", "LOCALHOST", "[::1]:8765"] {
            assert!(!from("127.0.0.1:1", &[("host", host)]), "{host}");
            assert!(from("127.0.0.1:1", &[("host", host), (FORWARDED, "192.0.2.1")]), "{host}");
            assert!(from("192.0.2.1:1", &[("host", host)]), "{host}");
        }
        assert!(from("127.0.0.1:1", &[("host", "brain.ngrok.app")]));
        assert!(!from("[::ffff:127.0.0.1]:1", &[("host", "127.0.0.1")]));
    }

    #[test]
    fn only_the_last_hop_is_known() {
        let with = |lines: &[&str]| {
            let mut headers = HeaderMap::new();
            for line in lines {
                headers.append(FORWARDED, line.parse().unwrap());
            }
            last_hop(&headers).map(|ip| ip.to_string())
        };
        assert_eq!(with(&["203.0.113.9, 192.0.2.1"]).as_deref(), Some("192.0.2.1"));
        assert_eq!(with(&["203.0.113.9", "192.0.2.1"]).as_deref(), Some("192.0.2.1"));
        assert_eq!(with(&["192.0.2.1:4711"]).as_deref(), Some("192.0.2.1"));
        assert_eq!(with(&["[2001:db8::1]:80"]).as_deref(), Some("2001:db8::1"));
        assert_eq!(with(&["192.0.2.1, unknown"]), None);
        assert_eq!(with(&[]), None);
    }
}
