//! Checks of the `Host` and `Origin` headers.

use std::net::IpAddr;
use std::sync::Arc;

use axum::http::header::{
    ACCESS_CONTROL_REQUEST_HEADERS, ACCESS_CONTROL_REQUEST_METHOD, HOST, HeaderMap, HeaderName, ORIGIN,
};
use axum::http::request::Parts;
use axum::http::uri::Authority;
use axum::http::{Method, Version};
use ep_kernel::{Fault, Kind};
use url::{Host, Origin, Url};

use crate::config::Config;

/// Allowed hosts and origins of requests.
///
/// A service with a loopback base URL is private to its machine. A website could still call it through a
/// visitor's browser: directly, or by a name that resolves to 127.0.0.1 (DNS rebinding). Such a service therefore
/// rejects foreign hosts and origins. The listening address is irrelevant: behind a reverse proxy, a public service
/// listens on loopback too.
#[derive(Debug, Clone)]
pub struct WebAccess {
    pub(super) base_url: Option<Url>,
    /// True if the base URL is a loopback address.
    local: bool,
    origins: Origins,
}

#[derive(Debug, Clone)]
enum Origins {
    Any,
    /// This machine, the base URL, and these.
    Listed(Arc<[Origin]>),
}

impl WebAccess {
    /// Creates the rules from the settings.
    pub fn new(config: &Config) -> Self {
        let (base_url, listed) = (Url::parse(&config.base_url()).ok(), &config.server.allowed_origins);
        let local = base_url.as_ref().is_none_or(|url| is_this_machine(url.host()));
        let any = if listed.is_empty() { !local } else { listed.iter().any(|origin| origin == "*") };
        let parse = |origin: &String| Some(Url::parse(origin).ok()?.origin());
        let origins =
            if any { Origins::Any } else { Origins::Listed(listed.iter().filter_map(parse).collect()) };
        Self { base_url, local, origins }
    }

    /// Rejects foreign hosts and origins. Every website may read an `open` document, and the public parts of a public
    /// service; `anonymous` requests carry no credential.
    pub(super) fn check(&self, parts: &Parts, open: bool, anonymous: bool) -> Result<(), Fault> {
        let hosts = parts.headers.get_all(HOST).iter().count();
        if hosts > 1 || (hosts == 0 && parts.version == Version::HTTP_11) {
            // RFC 9112 §3.2.
            return Err(Fault::invalid("Host", "must be sent, and only once"));
        }
        if self.local && !self.is_own_host(parts) {
            return Err(Fault::new(
                Kind::Forbidden,
                "the base URL of this service is a loopback address and the Host header names another host; \
                 call it as localhost, or let the operator set EP_BASE_URL",
            ));
        }
        let open = open || (anonymous && self.is_public_read(parts));
        if !open && !parts.headers.get(ORIGIN).is_none_or(|origin| self.allows(origin.as_bytes())) {
            return Err(Fault::new(
                Kind::Forbidden,
                "pages of this origin may not call the service; the operator can allow it in EP_ALLOWED_ORIGINS",
            ));
        }
        Ok(())
    }

    /// True for a GET or HEAD request to a public service, and for its preflight request without credentials.
    /// Every program can send such requests, so rejecting them in browsers protects nothing.
    pub fn is_public_read(&self, parts: &Parts) -> bool {
        if self.local {
            return false;
        }
        if parts.method != Method::OPTIONS {
            return parts.method.is_safe();
        }
        let header = |name: HeaderName| {
            parts.headers.get(name).and_then(|value| value.to_str().ok()).unwrap_or_default()
        };
        let credential = |name: &str| {
            let name = name.trim();
            ["authorization", "cookie"].iter().any(|known| name.eq_ignore_ascii_case(known))
        };
        matches!(header(ACCESS_CONTROL_REQUEST_METHOD), "GET" | "HEAD")
            && !header(ACCESS_CONTROL_REQUEST_HEADERS).split(',').any(credential)
    }

    /// True if pages of any website may call the service.
    pub const fn is_open(&self) -> bool {
        matches!(self.origins, Origins::Any)
    }

    /// True if pages of this origin, as in the `Origin` header, may call the service.
    pub fn allows(&self, origin: &[u8]) -> bool {
        let Origins::Listed(listed) = &self.origins else { return true };
        let parsed = std::str::from_utf8(origin).ok().and_then(|origin| Url::parse(origin).ok());
        parsed.is_some_and(|url| {
            let base_url = self.base_url.as_ref().map(Url::origin);
            is_this_machine(url.host()) || base_url == Some(url.origin()) || listed.contains(&url.origin())
        })
    }

    /// Returns the allowed origins other than this machine, for rmcp's own check.
    pub fn origins(&self) -> impl Iterator<Item = String> {
        let listed = match &self.origins {
            Origins::Any => &[],
            Origins::Listed(listed) => &**listed,
        };
        let base_url = self.base_url.as_ref().map(Url::origin);
        base_url.into_iter().chain(listed.iter().cloned()).filter_map(|origin| match origin {
            Origin::Tuple(scheme, host, port) => Some(format!("{scheme}://{host}:{port}")),
            Origin::Opaque(_) => None,
        })
    }

    fn is_own_host(&self, parts: &Parts) -> bool {
        // HTTP/2 has the host in `:authority`. Only HTTP/1.0 may omit it, and browsers never do.
        let Some(host) = parts.uri.host().map(str::to_owned).or_else(|| host_header(&parts.headers)) else {
            return !parts.headers.contains_key(HOST);
        };
        let host = Host::parse(&host).ok();
        let host = host.as_ref().map(|host| match host {
            Host::Domain(name) => Host::Domain(name.as_str()),
            Host::Ipv4(address) => Host::Ipv4(*address),
            Host::Ipv6(address) => Host::Ipv6(*address),
        });
        is_this_machine(host.clone()) || host.is_some() && host == self.base_url.as_ref().and_then(Url::host)
    }
}

/// Returns the host in the `Host` header. The header holds a host and an optional port, but no user (RFC 9110 §7.2).
fn host_header(headers: &HeaderMap) -> Option<String> {
    let authority: Authority = headers.get(HOST)?.to_str().ok()?.parse().ok()?;
    (!authority.as_str().contains('@')).then(|| authority.host().to_owned())
}

/// True for a loopback address or `localhost` (RFC 6761 §6.3).
fn is_this_machine(host: Option<Host<&str>>) -> bool {
    match host {
        Some(Host::Domain(name)) => name.eq_ignore_ascii_case("localhost"),
        Some(Host::Ipv4(address)) => address.is_loopback(),
        Some(Host::Ipv6(address)) => IpAddr::from(address).to_canonical().is_loopback(),
        None => false,
    }
}

#[cfg(test)]
impl WebAccess {
    /// Returns the defaults with the settings of these environment variables.
    pub(crate) fn with(variables: &[(&str, &str)]) -> Self {
        let mut config = Config::defaults().unwrap();
        for (name, value) in variables {
            match *name {
                "EP_BASE_URL" => config.server.base_url = (*value).to_owned(),
                "EP_LISTEN" => config.server.listen = value.parse().unwrap(),
                "EP_ALLOWED_ORIGINS" => config.server.allowed_origins = vec![(*value).to_owned()],
                _ => panic!("{name}"),
            }
        }
        Self::new(&config)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn admits(access: &WebAccess, host: &str, origin: Option<&str>) -> bool {
        sends(access, "POST", host, origin)
    }

    fn sends(access: &WebAccess, method: &str, host: &str, origin: Option<&str>) -> bool {
        let mut request = axum::http::Request::builder().method(method);
        request = match host {
            // Only HTTP/1.0 may omit the host.
            "" => request.version(Version::HTTP_10),
            host => request.header(HOST, host),
        };
        if let Some(origin) = origin {
            request = request.header(ORIGIN, origin);
        }
        access.check(&request.body(()).unwrap().into_parts().0, false, true).is_ok()
    }

    #[test]
    fn a_loopback_base_url_admits_only_this_machine() {
        for variables in [
            vec![],
            vec![("EP_BASE_URL", "http://localhost:8080")],
            vec![("EP_BASE_URL", "http://127.0.0.1"), ("EP_LISTEN", "0.0.0.0:80")],
        ] {
            admits_only_this_machine(&WebAccess::with(&variables));
        }
    }

    fn admits_only_this_machine(local: &WebAccess) {
        for host in ["localhost", "LOCALHOST:9", "127.0.0.1:8080", "127.9.9.9", "[::1]:8080", ""] {
            assert!(admits(local, host, None), "{host}");
        }
        for host in [
            "evil.example",
            "polls.example.com",
            "127.0.0.1.evil.example",
            "localhost.evil.example:8080",
            "10.0.0.1",
            "a b",
            "evil@127.0.0.1",
        ] {
            assert!(!admits(local, host, None), "{host}");
        }
        for origin in ["http://localhost:3000", "https://127.0.0.1"] {
            assert!(admits(local, "localhost", Some(origin)), "{origin}");
        }
        for origin in [
            "https://evil.example",
            "null",
            "http://polls.example.com",
            "https://localhost.evil.example",
            "\u{e9}",
        ] {
            for method in ["GET", "POST"] {
                assert!(!sends(local, method, "localhost", Some(origin)), "{method} {origin}");
            }
        }
    }

    #[test]
    fn a_public_base_url_on_loopback_is_public() {
        let proxied = WebAccess::with(&[("EP_BASE_URL", "https://polls.example.com")]);
        for host in ["localhost:8080", "polls.example.com", "www.polls.example.com"] {
            assert!(admits(&proxied, host, Some("https://app.example")) && proxied.is_open(), "{host}");
        }
        let listed = WebAccess::with(&[
            ("EP_BASE_URL", "https://polls.example.com"),
            ("EP_ALLOWED_ORIGINS", "https://app.example"),
        ]);
        let own = ["https://app.example", "https://polls.example.com", "http://localhost:3000"];
        for origin in own {
            assert!(admits(&listed, "polls.example.com", Some(origin)), "{origin}");
        }
        let foreign = Some("https://evil.example");
        assert!(sends(&listed, "GET", "polls.example.com", foreign));
        assert!(!sends(&listed, "POST", "polls.example.com", foreign));
        let mut request = axum::http::Request::builder().method("GET").header(HOST, "polls.example.com");
        request = request.header(ORIGIN, "https://evil.example");
        let with_credential = listed.check(&request.body(()).unwrap().into_parts().0, false, false);
        assert_eq!(with_credential.unwrap_err().kind(), Kind::Forbidden);
    }

    #[test]
    fn a_public_base_url_uses_the_origin_setting() {
        let open = WebAccess::with(&[("EP_LISTEN", "0.0.0.0:80")]);
        assert!(admits(&open, "any.example", Some("https://any.example")) && open.is_open());
        let listed =
            WebAccess::with(&[("EP_LISTEN", "0.0.0.0:80"), ("EP_ALLOWED_ORIGINS", "https://app.example/")]);
        assert!(admits(&listed, "any.example", Some("https://app.example")));
        assert!(admits(&listed, "any.example", None));
        assert!(!admits(&listed, "any.example", Some("https://app.example:8443")));
        let any = WebAccess::with(&[("EP_ALLOWED_ORIGINS", "*")]);
        assert!(admits(&any, "localhost", Some("https://any.example")) && !admits(&any, "any.example", None));
    }
}
