//! Requests from pages of this service: changes with a cookie, forms, and new cookies.

use axum::http::header::{CONTENT_TYPE, HOST, HeaderMap, ORIGIN};
use axum::http::request::Parts;
use ep_kernel::{Fault, Kind};
use url::Url;

use super::body::is_json;
use super::web_access::WebAccess;

impl WebAccess {
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
}

#[cfg(test)]
mod tests {
    use axum::http::HeaderName;

    use super::*;

    #[test]
    fn only_own_pages_can_make_changes_with_a_cookie() {
        let access = WebAccess::with(&[("EP_BASE_URL", "https://polls.example.com")]);
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
        let access =
            WebAccess::with(&[("EP_BASE_URL", "https://polls.example.com"), ("EP_ALLOWED_ORIGINS", "*")]);
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
        let access = WebAccess::with(&[("EP_BASE_URL", "https://polls.example.com")]);
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
}
