//! Validation of URLs named by callers. Requests go only to public addresses, to prevent server-side request
//! forgery.

use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use ipnet::IpNet;
use reqwest::dns::{Addrs, Name, Resolve, Resolving};
use reqwest::{Client, Url};

use crate::HttpClients;

/// The maximum length of a URL, in bytes.
const MAX_URL: usize = 2048;
/// The time limit for connecting.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);

/// Networks that are not public, including special ranges inside public networks, from the IANA registries of
/// special addresses (RFC 6890).
const SPECIAL: [&str; 23] = [
    "0.0.0.0/8",
    "10.0.0.0/8",
    "100.64.0.0/10",
    "127.0.0.0/8",
    "169.254.0.0/16",
    "172.16.0.0/12",
    "192.0.0.0/24",
    "192.0.2.0/24",
    "192.88.99.0/24",
    "192.168.0.0/16",
    "198.18.0.0/15",
    "198.51.100.0/24",
    "203.0.113.0/24",
    "224.0.0.0/4",
    "240.0.0.0/4",
    // In IPv6, only 2000::/3 is public.
    "::/3",
    "4000::/2",
    "8000::/1",
    "2001::/23",
    "2001:db8::/32",
    // 6to4 can address any IPv4 host.
    "2002::/16",
    "2620:4f:8000::/48",
    "3fff::/20",
];

/// The policy for URLs named by callers.
#[derive(Clone)]
pub struct PublicTargets(Arc<Networks>);

struct Networks {
    special: Vec<IpNet>,
    /// Non-public networks that the operator allows.
    allowed: Vec<IpNet>,
}

/// The reason for rejecting a URL.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum TargetError {
    /// The URL is invalid or too long.
    #[error("must be an https URL of at most 2,048 characters, for example https://example.com/polls")]
    NotAUrl,
    /// The scheme is not https.
    #[error("must begin with https://")]
    NotHttps,
    /// The URL contains a user name or password.
    #[error("must not contain a user name or password; put a secret into its path, or check the signature")]
    Credentials,
    /// The address is not public.
    #[error("must resolve to a public address")]
    NotPublic,
}

impl PublicTargets {
    /// Allows public addresses, and these networks, for which plain http is also allowed.
    pub fn new(allowed: Vec<IpNet>) -> Self {
        let special = SPECIAL.iter().filter_map(|network| network.parse().ok()).collect();
        Self(Arc::new(Networks { special, allowed }))
    }

    /// Validates a URL without resolving its host; returns the normalised URL.
    pub fn check(&self, url: &str) -> Result<Url, TargetError> {
        if url.len() > MAX_URL {
            return Err(TargetError::NotAUrl);
        }
        let mut url = Url::parse(url).map_err(|_| TargetError::NotAUrl)?;
        let address = match url.host().ok_or(TargetError::NotAUrl)? {
            url::Host::Domain(_) => None,
            url::Host::Ipv4(address) => Some(IpAddr::V4(address)),
            url::Host::Ipv6(address) => Some(IpAddr::V6(address)),
        };
        let allowed = address.is_some_and(|address| self.0.allows(address));
        match url.scheme() {
            "https" => {}
            "http" if allowed => {}
            _ => return Err(TargetError::NotHttps),
        }
        if !url.username().is_empty() || url.password().is_some() {
            return Err(TargetError::Credentials);
        }
        if address.is_some_and(|address| !self.0.may_be_called(address)) {
            return Err(TargetError::NotPublic);
        }
        url.set_fragment(None);
        Ok(url)
    }

    /// Creates a client that connects only to allowed addresses after name resolution. URLs must be checked
    /// first.
    pub fn client(&self, clients: &HttpClients) -> reqwest::Result<Client> {
        let resolver = PublicResolver(self.clone());
        // A proxy would resolve names without these checks.
        clients.builder().dns_resolver(Arc::new(resolver)).no_proxy().connect_timeout(CONNECT_TIMEOUT).build()
    }
}

impl Networks {
    fn allows(&self, address: IpAddr) -> bool {
        self.allowed.iter().any(|network| network.contains(&address.to_canonical()))
    }

    fn may_be_called(&self, address: IpAddr) -> bool {
        let address = address.to_canonical();
        self.allows(address) || !self.special.iter().any(|network| network.contains(&address))
    }
}

/// A resolver that omits addresses that are not allowed.
struct PublicResolver(PublicTargets);

impl Resolve for PublicResolver {
    fn resolve(&self, name: Name) -> Resolving {
        let PublicTargets(networks) = self.0.clone();
        Box::pin(async move {
            let found = tokio::net::lookup_host((name.as_str(), 0)).await?;
            let public: Vec<SocketAddr> =
                found.filter(|address| networks.may_be_called(address.ip())).collect();
            if public.is_empty() {
                return Err(TargetError::NotPublic.into());
            }
            Ok(Box::new(public.into_iter()) as Addrs)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn targets(allowed: &[&str]) -> PublicTargets {
        PublicTargets::new(allowed.iter().map(|network| network.parse().unwrap()).collect())
    }

    #[test]
    fn every_network_parses() {
        assert_eq!(targets(&[]).0.special.len(), SPECIAL.len());
    }

    #[test]
    fn public_https_urls_are_normalised() {
        let check = |url: &str| targets(&[]).check(url).map(String::from);
        for (url, normal) in [
            ("https://example.com", "https://example.com/"),
            ("HTTPS://Example.COM:8443/a?b=c#d", "https://example.com:8443/a?b=c"),
            ("https://bücher.example/", "https://xn--bcher-kva.example/"),
            ("https://8.8.8.8/", "https://8.8.8.8/"),
            ("https://[2606:4700::1111]/", "https://[2606:4700::1111]/"),
            ("\thttps://exam\nple.com/ ", "https://example.com/"),
        ] {
            assert_eq!(check(url).as_deref(), Ok(normal), "{url}");
        }
    }

    #[test]
    fn other_urls_are_rejected() {
        let check = |url: &str| targets(&[]).check(url).unwrap_err();
        let long = format!("https://example.com/{}", "x".repeat(MAX_URL));
        for url in ["", "example.com", "/polls", "https://", "https://exa mple.com", "https://[::1", &long] {
            assert_eq!(check(url), TargetError::NotAUrl, "{url}");
        }
        for url in ["http://example.com", "ftp://example.com", "http://127.0.0.1", "ws://example.com"] {
            assert_eq!(check(url), TargetError::NotHttps, "{url}");
        }
        for url in ["https://user@example.com", "https://user:word@example.com", "https://:word@example.com"]
        {
            assert_eq!(check(url), TargetError::Credentials, "{url}");
        }
        for host in [
            "127.0.0.1",
            "127.1",
            "2130706433",
            "0x7f000001",
            "0177.0.0.1",
            "0.0.0.0",
            "10.1.2.3",
            "100.64.0.1",
            "169.254.169.254",
            "172.31.0.1",
            "192.168.1.1",
            "198.19.0.1",
            "224.0.0.1",
            "255.255.255.255",
            "[::]",
            "[::1]",
            "[::ffff:127.0.0.1]",
            "[::ffff:169.254.169.254]",
            "[64:ff9b::7f00:1]",
            "[fc00::1]",
            "[fe80::1]",
            "[ff02::1]",
            "[2001:db8::1]",
            "[2001::1]",
            "[2002:7f00:1::]",
            "[3fff::1]",
        ] {
            assert_eq!(check(&format!("https://{host}/")), TargetError::NotPublic, "{host}");
        }
    }

    #[test]
    fn the_operator_can_allow_networks() {
        let targets = targets(&["127.0.0.0/8", "fd00::/8"]);
        for url in [
            "http://127.0.0.1:9/hook",
            "https://127.8.8.8/",
            "http://[fd12::1]/",
            "http://[::ffff:127.0.0.1]/",
        ] {
            assert!(targets.check(url).is_ok(), "{url}");
        }
        for url in ["http://10.0.0.1/", "https://10.0.0.1/", "http://8.8.8.8/", "http://[fe80::1]/"] {
            assert!(targets.check(url).is_err(), "{url}");
        }
    }

    #[tokio::test]
    async fn names_that_resolve_to_private_addresses_are_rejected() {
        let client = targets(&[]).client(&HttpClients::default()).unwrap();
        let error = client.get("https://localhost:1/").send().await.unwrap_err();
        let causes: Vec<String> =
            std::iter::successors(std::error::Error::source(&error), |cause| cause.source())
                .map(ToString::to_string)
                .collect();
        assert!(causes.iter().any(|cause| cause.contains("public address")), "{causes:?}");
    }
}
