//! Limits on open connections, and timeouts for silent ones.
//!
//! hyper-util waits for the first bytes of a connection without a deadline, and neither it nor tower counts
//! connections by address.

use std::collections::HashMap;
use std::net::{IpAddr, Ipv6Addr};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use ep_site::config::Config;
use ipnet::IpNet;

use super::open_files;

/// Limits on the number and silence of connections.
#[derive(Debug, Clone)]
pub struct ConnectionLimits {
    /// Maximum in total; zero means no limit.
    pub total: usize,
    /// Maximum per IPv4 address or IPv6 /64 network; zero means no limit.
    pub per_address: usize,
    /// Time limit for the head of the first request.
    pub first_request: Duration,
    /// Time limit for the head of a later request.
    pub next_request: Duration,
    /// Trusted proxies, which serve many clients: only `total` applies to them and to loopback addresses.
    pub proxies: Arc<[IpNet]>,
}

impl ConnectionLimits {
    /// Reads the limits from the settings. The total is lowered to fit the open-file limit.
    pub fn new(config: &Config) -> Self {
        let server = &config.server;
        Self {
            total: open_files::connections(config),
            per_address: server.max_connections_per_address,
            first_request: Duration::from_secs(server.first_request_s.max(1)),
            next_request: Duration::from_secs(server.next_request_s.max(1)),
            proxies: server.trusted_proxies.clone().into(),
        }
    }

    /// Returns the address that a peer counts for; `None` if only the total applies.
    fn address(&self, peer: IpAddr) -> Option<IpAddr> {
        let peer = peer.to_canonical();
        if peer.is_loopback() || self.proxies.iter().any(|network| network.contains(&peer)) {
            return None;
        }
        Some(match peer {
            IpAddr::V4(_) => peer,
            IpAddr::V6(address) => Ipv6Addr::from_bits(address.to_bits() & (u128::MAX << 64)).into(),
        })
    }
}

/// Counts the open connections of one listener.
#[derive(Debug)]
pub(crate) struct Connections {
    pub(crate) limits: ConnectionLimits,
    open: Mutex<OpenCounts>,
}

#[derive(Debug, Default)]
struct OpenCounts {
    total: usize,
    by_address: HashMap<IpAddr, usize>,
}

/// The limit exceeded by a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Exceeded {
    Total,
    PerAddress,
}

impl Exceeded {
    /// Label for metrics.
    pub(crate) const fn limit(self) -> &'static str {
        match self {
            Self::Total => "total",
            Self::PerAddress => "address",
        }
    }
}

impl Connections {
    pub(crate) fn new(limits: ConnectionLimits) -> Arc<Self> {
        Arc::new(Self { limits, open: Mutex::default() })
    }

    /// Counts a connection until its permit is dropped, or rejects it.
    pub(crate) fn admit(self: &Arc<Self>, peer: IpAddr) -> Result<ConnectionPermit, Exceeded> {
        let address = self.limits.address(peer);
        let mut open = self.open();
        let full = |limit: usize, count: usize| limit > 0 && count >= limit;
        if full(self.limits.total, open.total) {
            return Err(Exceeded::Total);
        }
        if let Some(address) = address {
            let count = open.by_address.get(&address).copied().unwrap_or(0);
            if full(self.limits.per_address, count) {
                return Err(Exceeded::PerAddress);
            }
            open.by_address.insert(address, count + 1);
        }
        open.total += 1;
        drop(open);
        metrics::gauge!("ep_connections").increment(1);
        Ok(ConnectionPermit { connections: Arc::clone(self), address })
    }

    fn open(&self) -> MutexGuard<'_, OpenCounts> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Permit for one open connection, released when dropped.
#[derive(Debug)]
pub(crate) struct ConnectionPermit {
    connections: Arc<Connections>,
    address: Option<IpAddr>,
}

impl Drop for ConnectionPermit {
    fn drop(&mut self) {
        let mut open = self.connections.open();
        open.total = open.total.saturating_sub(1);
        if let Some(address) = self.address
            && let Some(count) = open.by_address.get_mut(&address)
        {
            *count = count.saturating_sub(1);
            if *count == 0 {
                open.by_address.remove(&address);
            }
        }
        drop(open);
        metrics::gauge!("ep_connections").decrement(1);
    }
}

#[cfg(test)]
impl ConnectionLimits {
    /// Limits for tests, with one network of proxies.
    pub(crate) fn example(total: usize, per_address: usize) -> Self {
        Self {
            total,
            per_address,
            first_request: Duration::from_secs(15),
            next_request: Duration::from_secs(75),
            proxies: Arc::new(["10.0.0.0/8".parse().unwrap()]),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_address_has_its_own_limit_and_closed_connections_do_not_count() {
        let connections = Connections::new(ConnectionLimits::example(0, 2));
        let admit = |peer: &str| connections.admit(peer.parse().unwrap());
        let first = admit("203.0.113.1").unwrap();
        let _second = admit("::ffff:203.0.113.1").unwrap();
        assert_eq!(admit("203.0.113.1").unwrap_err(), Exceeded::PerAddress);
        let _other = admit("203.0.113.2").unwrap();
        drop(first);
        let _third = admit("203.0.113.1").unwrap();
        // Each IPv6 client has its own network.
        let _v6 = (admit("2001:db8::1").unwrap(), admit("2001:db8::2").unwrap());
        assert_eq!(admit("2001:db8::3").unwrap_err(), Exceeded::PerAddress);
        // Proxies serve many clients, and loopback belongs to the operator.
        let _many: Vec<ConnectionPermit> =
            ["10.0.0.1", "127.0.0.1"].iter().flat_map(|peer| (0..9).map(|_| admit(peer).unwrap())).collect();
    }

    #[test]
    fn closed_connections_leave_no_entries() {
        let connections = Connections::new(ConnectionLimits::example(3, 2));
        let permits: Vec<ConnectionPermit> =
            (0..3_u8).map(|n| connections.admit([203, 0, 113, n].into()).unwrap()).collect();
        assert_eq!(connections.admit([203, 0, 113, 9].into()).unwrap_err(), Exceeded::Total);
        drop(permits);
        let open = connections.open();
        assert_eq!((open.total, open.by_address.len()), (0, 0));
    }
}
