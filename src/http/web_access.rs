//! Checks of the `Host` and `Origin` headers.

use std::net::IpAddr;
use std::sync::Arc;

use axum::http::header::{
    ACCESS_CONTROL_REQUEST_HEADERS, ACCESS_CONTROL_REQUEST_METHOD, CONTENT_TYPE, HOST, HeaderMap, HeaderName,
    ORIGIN,
};
use axum::http::request::Parts;
use axum::http::uri::Authority;
use axum::http::{Method, Version};
use ep_kernel::fault::{Fault, Kind};
use url::{Host, Origin, Url};

use super::body::is_json;
use crate::config::Config;

/// Allowed hosts and origins of requests.
///
/// A service with a loopback base URL is private to its machine. A website could still call it through a
/// visitor's browser: directly, or by a name that resolves to 127.0.0.1 (DNS rebinding). Such a service therefore
/// rejects foreign hosts and origins. The listening address is irrelevant: behind a reverse proxy, a public service
/// listens on loopback too.
#[derive(Debug, Clone)]
pub struct WebAccess {
    base_url: Option<Url>,
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

    /// Rejects a change made by another website with a visitor's session cookie (OWASP ASVS 5.0, 3.5.1 to
    /// 3.5.3). Browsers send the request's source in `Sec-Fetch-Site`, older ones in `Origin`; other programs
    /// send neither. A body must be declared as JSON, which requires a preflight request of a website (CORS).
    pub(super) fn check_cookie(&self, parts: &Parts, has_body: bool) -> Result<(), Fault> {
        if parts.method.is_safe() {
            return Ok(());
        }
        let headers = &parts.headers;
        if !self.comes_from_here(headers).unwrap_or(true) {
            return Err(Fault::new(
                Kind::Forbidden,
                "another website may not make changes with this browser's session; \
                 programs send Authorization: Bearer ep_k_… instead of the cookie",
            ));
        }
        let declared = headers.get(CONTENT_TYPE).and_then(|kind| kind.to_str().ok()).unwrap_or("");
        if has_body && !is_json(declared) {
            let text = "with a session cookie, send a body with Content-Type: application/json";
            return Err(Fault::new(Kind::UnsupportedMediaType, text));
        }
        Ok(())
    }

    /// Rejects a form sent by a page of another website, for every visitor. With a session, the browser must send the
    /// source, because a website can submit forms without a preflight request.
    pub(super) fn check_form(&self, parts: &Parts, with_session: bool) -> Result<(), Fault> {
        if self.comes_from_here(&parts.headers).unwrap_or(!with_session) {
            return Ok(());
        }
        let text = "this form did not come from a page of this service; open the page here and send it again";
        Err(Fault::new(Kind::Forbidden, text))
    }

    /// Returns true if the response may set a cookie: for a page of this service and for a program, which sends
    /// neither `Sec-Fetch-Site` nor `Origin`. Another website could sign a visitor in to an account of its choice.
    pub(super) fn may_set_cookie(&self, headers: &HeaderMap) -> bool {
        self.comes_from_here(headers).unwrap_or(true)
    }

    /// True for a request from a page of this service, or from no page; `None` if the browser does not send the
    /// source.
    fn comes_from_here(&self, headers: &HeaderMap) -> Option<bool> {
        match (headers.get("sec-fetch-site"), headers.get(ORIGIN)) {
            (Some(site), _) => Some(site == "same-origin" || site == "none"),
            (None, Some(origin)) => Some(self.is_own_origin(origin.as_bytes(), headers)),
            (None, None) => None,
        }
    }

    /// True for the origin of the base URL, or of the requested host.
    fn is_own_origin(&self, origin: &[u8], headers: &HeaderMap) -> bool {
        let Some(origin) = std::str::from_utf8(origin).ok().and_then(|text| Url::parse(text).ok()) else {
            return false;
        };
        let host = headers.get(HOST).and_then(|host| host.to_str().ok());
        self.base_url.as_ref().is_some_and(|base| base.origin() == origin.origin())
            || host.is_some_and(|host| origin.authority().eq_ignore_ascii_case(host))
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
mod tests {
    use axum::http::HeaderName;

    use super::*;
    use crate::config;

    fn access(variables: &[(&str, &str)]) -> WebAccess {
        let read = |name: &str| match variables.iter().find(|(known, _)| *known == name) {
            None if name == "EP_CONFIG" => Some("/dev/null".to_owned()),
            found => found.map(|(_, value)| (*value).to_owned()),
        };
        WebAccess::new(&config::load(read).unwrap())
    }

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
            vec![("EP_BASE_URL", "http://127.0.0.1"), ("EP_LISTEN", "0.0.0.0:80"), ("EP_SECRET_KEY", "")],
        ] {
            admits_only_this_machine(&access(&variables));
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
        let proxied = access(&[("EP_BASE_URL", "https://polls.example.com")]);
        for host in ["localhost:8080", "polls.example.com", "www.polls.example.com"] {
            assert!(admits(&proxied, host, Some("https://app.example")) && proxied.is_open(), "{host}");
        }
        let listed = access(&[
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
    fn only_own_pages_can_make_changes_with_a_cookie() {
        let access = access(&[("EP_BASE_URL", "https://polls.example.com")]);
        let admits = |method: &str, headers: &[(&str, &str)], has_body| {
            let request = axum::http::Request::builder().method(method).header(HOST, "localhost:8080");
            let request =
                headers.iter().fold(request, |request, (name, value)| request.header(*name, *value));
            access
                .check_cookie(&request.body(()).unwrap().into_parts().0, has_body)
                .map_err(|fault| fault.kind())
        };
        let json = ("content-type", "application/json; charset=utf-8");
        for site in ["same-origin", "none"] {
            assert_eq!(admits("POST", &[("sec-fetch-site", site), json], true), Ok(()));
        }
        for site in ["cross-site", "same-site", ""] {
            // `Origin` is ignored if `Sec-Fetch-Site` is present.
            let headers = [("sec-fetch-site", site), json, ("origin", "https://polls.example.com")];
            assert_eq!(admits("POST", &headers, true), Err(Kind::Forbidden), "{site}");
            assert_eq!(admits("DELETE", &headers, false), Err(Kind::Forbidden), "{site}");
            assert_eq!(admits("GET", &headers, false), Ok(()));
        }
        for origin in ["https://polls.example.com", "http://localhost:8080"] {
            assert_eq!(admits("POST", &[("origin", origin), json], true), Ok(()), "{origin}");
        }
        for origin in
            ["https://evil.example", "null", "http://localhost:3000", "https://polls.example.com:8443"]
        {
            assert_eq!(admits("POST", &[("origin", origin), json], true), Err(Kind::Forbidden), "{origin}");
        }
        assert_eq!(admits("POST", &[json], true), Ok(()));
        assert_eq!(admits("POST", &[], false), Ok(()));
        for kind in ["text/plain", "multipart/form-data", "application/x-www-form-urlencoded"] {
            let refused = admits("POST", &[("content-type", kind)], true);
            assert_eq!(refused, Err(Kind::UnsupportedMediaType), "{kind}");
        }
        assert_eq!(admits("POST", &[], true), Err(Kind::UnsupportedMediaType));
    }

    #[test]
    fn only_own_pages_and_programs_receive_cookies() {
        let access = access(&[("EP_BASE_URL", "https://polls.example.com"), ("EP_ALLOWED_ORIGINS", "*")]);
        let allowed = |headers: &[(&'static str, &str)]| {
            let headers =
                headers.iter().map(|(name, value)| (HeaderName::from_static(name), value.parse().unwrap()));
            access.may_set_cookie(&headers.collect())
        };
        assert!(allowed(&[]));
        for site in ["same-origin", "none"] {
            assert!(allowed(&[("sec-fetch-site", site)]), "{site}");
        }
        assert!(allowed(&[("origin", "https://polls.example.com")]));
        for site in ["cross-site", "same-site", ""] {
            assert!(!allowed(&[("sec-fetch-site", site)]), "{site}");
            assert!(!allowed(&[("sec-fetch-site", site), ("origin", "https://polls.example.com")]), "{site}");
        }
        for origin in
            ["https://evil.example", "null", "", "http://polls.example.com", "https://polls.example.com:8443"]
        {
            assert!(!allowed(&[("origin", origin)]), "{origin}");
        }
    }

    #[test]
    fn only_own_pages_can_send_forms() {
        let access = access(&[("EP_BASE_URL", "https://polls.example.com")]);
        let admits = |headers: &[(&str, &str)], with_session| {
            let request = axum::http::Request::builder().method("POST").header(HOST, "localhost:8080");
            let request =
                headers.iter().fold(request, |request, (name, value)| request.header(*name, *value));
            access.check_form(&request.body(()).unwrap().into_parts().0, with_session).is_ok()
        };
        for with_session in [true, false] {
            assert!(admits(&[("sec-fetch-site", "same-origin")], with_session));
            assert!(admits(&[("origin", "https://polls.example.com")], with_session));
            for headers in [
                [("sec-fetch-site", "cross-site"), ("origin", "https://polls.example.com")],
                [("sec-fetch-site", "same-site"), ("origin", "https://other.example.com")],
                [("origin", "https://evil.example"), ("referer", "https://polls.example.com")],
                [("origin", "null"), ("referer", "https://polls.example.com")],
            ] {
                assert!(!admits(&headers, with_session), "{headers:?}");
            }
        }
        assert!(admits(&[], false) && !admits(&[], true));
    }

    #[test]
    fn a_public_base_url_uses_the_origin_setting() {
        let secret = ("EP_SECRET_KEY", "");
        let open = access(&[("EP_LISTEN", "0.0.0.0:80"), secret]);
        assert!(admits(&open, "any.example", Some("https://any.example")) && open.is_open());
        let listed = access(&[("EP_LISTEN", "0.0.0.0:80"), ("EP_ALLOWED_ORIGINS", "https://app.example/")]);
        assert!(admits(&listed, "any.example", Some("https://app.example")));
        assert!(admits(&listed, "any.example", None));
        assert!(!admits(&listed, "any.example", Some("https://app.example:8443")));
        let any = access(&[("EP_ALLOWED_ORIGINS", "*")]);
        assert!(admits(&any, "localhost", Some("https://any.example")) && !admits(&any, "any.example", None));
    }
}
