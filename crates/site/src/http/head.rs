//! The extractor of the request head: credential, client address and error format.

use std::net::IpAddr;

use axum::http::header::{ACCEPT, AUTHORIZATION, HeaderMap};
use axum::http::request::Parts;
use ep_kernel::guard::Credential;
use ep_store::RequestId;
use ipnet::IpNet;

use super::{WebAccess, address, cookies};
use crate::protocol::ErrorRenderer;
use crate::{reads_html, wants_markdown};

/// Error format for the caller.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ErrorStyle {
    /// `{"error": "…"}`.
    Plain,
    /// Problem details (RFC 9457).
    Problem,
    /// An HTML page, for browsers.
    Page,
    /// A Markdown page.
    Markdown,
    /// The own format of a protocol.
    Own(ErrorRenderer),
}

/// The request head as all surfaces need it, parsed once by the layer.
#[derive(Debug, Clone)]
pub struct RequestHead {
    /// Request id in logs, headers and error bodies.
    pub request_id: RequestId,
    /// The credential; a bearer token takes precedence over a session cookie.
    pub credential: Credential,
    /// The client's address.
    pub address: IpAddr,
    /// Error format for the caller.
    pub error_style: ErrorStyle,
    /// `Idempotency-Key` as sent.
    pub idempotency_key: Option<String>,
    /// True if the response may set a cookie. False for requests from another website.
    pub may_set_cookie: bool,
}

impl RequestHead {
    /// Reads the head of a request with this id. `proxies` are trusted to forward the client's address.
    pub(super) fn read(request_id: RequestId, proxies: &[IpNet], web: &WebAccess, parts: &Parts) -> Self {
        let headers = &parts.headers;
        Self {
            request_id,
            credential: credential(headers),
            address: address::of(parts, proxies),
            error_style: error_style(headers),
            idempotency_key: text(headers, "idempotency-key").map(str::to_owned),
            may_set_cookie: web.may_set_cookie(headers),
        }
    }
}

fn credential(headers: &HeaderMap) -> Credential {
    if headers.get_all(AUTHORIZATION).iter().count() > 1 {
        // With several headers, intermediaries could disagree on which one counts.
        return Credential::Bearer(String::new().into());
    }
    if let Some(value) = text(headers, AUTHORIZATION.as_str()) {
        let (scheme, token) = value.split_once(' ').unwrap_or((value, ""));
        // Another scheme is an invalid credential, not a missing one.
        let token = if scheme.eq_ignore_ascii_case("bearer") { token.trim() } else { "" };
        return Credential::Bearer(token.to_owned().into());
    }
    // Google's clients send keys in a header of their own.
    if let Some(key) = text(headers, "x-goog-api-key") {
        return Credential::Bearer(key.to_owned().into());
    }
    if headers.contains_key("x-api-key") {
        return Credential::Misplaced { header: "X-API-Key" };
    }
    cookies::read(headers).map_or(Credential::None, Credential::Session)
}

/// Returns a header as text. A value that is not visible ASCII counts as present and empty, so that it is rejected
/// where the header is used.
fn text<'a>(headers: &'a HeaderMap, name: &str) -> Option<&'a str> {
    headers.get(name).map(|value| value.to_str().unwrap_or(""))
}

fn error_style(headers: &HeaderMap) -> ErrorStyle {
    let machine = text(headers, "x-machine-client").is_some_and(|value| value.eq_ignore_ascii_case("true"));
    let accepts =
        headers.get_all(ACCEPT).iter().filter_map(|value| value.to_str().ok()).flat_map(|v| v.split(','));
    let problem = accepts.into_iter().any(|range| {
        let mut parts = range.split(';').map(str::trim);
        let named = parts.next().is_some_and(|kind| kind.eq_ignore_ascii_case("application/problem+json"));
        let refused =
            parts.any(|p| p.strip_prefix("q=").and_then(|q| q.parse::<f32>().ok()).is_some_and(|q| q <= 0.0));
        named && !refused
    });
    if machine || problem {
        ErrorStyle::Problem
    } else if wants_markdown(headers) {
        ErrorStyle::Markdown
    } else if reads_html(headers) {
        ErrorStyle::Page
    } else {
        ErrorStyle::Plain
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn problem_details_only_on_request() {
        let styled = |name: &'static str, value: &str| {
            let mut headers = HeaderMap::new();
            headers.insert(name, value.parse().unwrap());
            error_style(&headers)
        };
        assert_eq!(styled("accept", "*/*"), ErrorStyle::Plain);
        assert_eq!(styled("accept", "application/json, application/problem+json"), ErrorStyle::Problem);
        assert_eq!(styled("accept", "application/problem+json;q=0"), ErrorStyle::Plain);
        assert_eq!(styled("accept", "text/html,application/xhtml+xml,*/*;q=0.8"), ErrorStyle::Page);
        assert_eq!(styled("accept", "text/markdown"), ErrorStyle::Markdown);
        assert_eq!(styled("x-machine-client", "true"), ErrorStyle::Problem);
        assert_eq!(styled("x-machine-client", "false"), ErrorStyle::Plain);
    }
}
