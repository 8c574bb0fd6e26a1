//! Who is at the other end, as limits count them.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};

use axum::extract::{ConnectInfo, Request};
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
    if desk.side == Side::Public && peer.is_loopback() && desk.brain.config().http_base_url().is_some() {
        return last_hop(headers).unwrap_or(peer);
    }
    peer
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
