//! The client's address.

use std::net::{IpAddr, SocketAddr};

use axum::extract::ConnectInfo;
use axum::http::request::Parts;
use ipnet::IpNet;

/// Returns the peer's address, or behind trusted proxies the last untrusted hop in `X-Forwarded-For`. The search ends
/// at an entry that cannot be parsed, because only entries appended by trusted proxies are reliable.
pub(super) fn of(parts: &Parts, proxies: &[IpNet]) -> IpAddr {
    let peer = parts
        .extensions
        .get::<ConnectInfo<SocketAddr>>()
        .map_or(IpAddr::from([127, 0, 0, 1]), |ConnectInfo(address)| address.ip().to_canonical());
    let trusted = |address: &IpAddr| proxies.iter().any(|network| network.contains(address));
    let values = parts.headers.get_all("x-forwarded-for").iter().rev();
    let mut hops = values.flat_map(|value| value.to_str().unwrap_or("").rsplit(',')).map_while(hop);
    let mut client = peer;
    while trusted(&client) {
        match hops.next() {
            Some(hop) => client = hop,
            None => break,
        }
    }
    client
}

/// Parses one hop: an address, alone or with the port that some proxies append.
fn hop(text: &str) -> Option<IpAddr> {
    let text = text.trim();
    let bare = text.strip_prefix('[').and_then(|text| text.strip_suffix(']')).unwrap_or(text);
    let address = bare.parse().or_else(|_| text.parse().map(|address: SocketAddr| address.ip()));
    address.ok().map(|address: IpAddr| address.to_canonical())
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
    fn only_trusted_proxies_can_set_the_address() {
        assert_eq!(of_request("203.0.113.9", "198.51.100.1"), "203.0.113.9");
        assert_eq!(of_request("10.0.0.1", "198.51.100.1"), "198.51.100.1");
        assert_eq!(of_request("10.0.0.1", "6.6.6.6, 198.51.100.1, 10.0.0.2"), "198.51.100.1");
        assert_eq!(of_request("10.0.0.1", "nonsense"), "10.0.0.1");
        assert_eq!(of_request("10.0.0.1", "nonsense, 198.51.100.1"), "198.51.100.1");
        assert_eq!(of_request("10.0.0.1", "198.51.100.1, nonsense, 10.0.0.2"), "10.0.0.2");
        assert_eq!(of_request("10.0.0.1", "198.51.100.1, , 10.0.0.2"), "10.0.0.2");
        assert_eq!(of_request("10.0.0.1", "10.0.0.3, 10.0.0.2"), "10.0.0.3", "a client behind the proxies");
    }

    #[test]
    fn hops_may_have_ports() {
        assert_eq!(of_request("10.0.0.1", "6.6.6.6, 198.51.100.1:4711, 10.0.0.2:80"), "198.51.100.1");
        assert_eq!(of_request("10.0.0.1", "[2001:db8::1]:4711"), "2001:db8::1");
        assert_eq!(of_request("10.0.0.1", "[2001:db8::1]"), "2001:db8::1");
        assert_eq!(of_request("10.0.0.1", "2001:db8::1"), "2001:db8::1");
        assert_eq!(of_request("10.0.0.1", "::ffff:198.51.100.1"), "198.51.100.1");
    }
}
