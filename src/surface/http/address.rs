//! The client's address.

use std::net::{IpAddr, SocketAddr};

use axum::extract::ConnectInfo;
use axum::http::request::Parts;
use ipnet::IpNet;

/// The peer's address, unless the peer is a trusted proxy; then the last untrusted hop in
/// `X-Forwarded-For`.
pub(super) fn of(parts: &Parts, proxies: &[IpNet]) -> IpAddr {
    let peer = parts
        .extensions
        .get::<ConnectInfo<SocketAddr>>()
        .map_or(IpAddr::from([127, 0, 0, 1]), |ConnectInfo(address)| address.ip().to_canonical());
    let trusted = |address: &IpAddr| proxies.iter().any(|network| network.contains(address));
    if !trusted(&peer) {
        return peer;
    }
    // From the last hop to the first: only what trusted proxies appended is believed.
    let hops = parts.headers.get_all("x-forwarded-for").iter().rev();
    hops.flat_map(|value| value.to_str().unwrap_or("").rsplit(','))
        .map_while(|hop| hop.trim().parse::<IpAddr>().ok().map(|address| address.to_canonical()))
        .find(|address| !trusted(address))
        .unwrap_or(peer)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of_request(peer: &str, forwarded: &str) -> String {
        let request = axum::http::Request::builder().header("x-forwarded-for", forwarded).body(()).unwrap();
        let mut parts = request.into_parts().0;
        let peer: SocketAddr = format!("{peer}:1").parse().unwrap();
        parts.extensions.insert(ConnectInfo(peer));
        of(&parts, &["10.0.0.0/8".parse().unwrap()]).to_string()
    }

    #[test]
    fn only_trusted_proxies_are_believed() {
        assert_eq!(of_request("203.0.113.9", "198.51.100.1"), "203.0.113.9");
        assert_eq!(of_request("10.0.0.1", "198.51.100.1"), "198.51.100.1");
        assert_eq!(of_request("10.0.0.1", "6.6.6.6, 198.51.100.1, 10.0.0.2"), "198.51.100.1");
        assert_eq!(of_request("10.0.0.1", "nonsense"), "10.0.0.1");
        assert_eq!(of_request("10.0.0.1", "nonsense, 198.51.100.1"), "198.51.100.1");
        assert_eq!(of_request("10.0.0.1", "198.51.100.1, nonsense, 10.0.0.2"), "10.0.0.1");
    }
}
