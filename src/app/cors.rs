//! Cross-origin requests: the websites and the headers that browsers may use.

use std::sync::Arc;
use std::time::Duration;

use axum::http::Method;
use axum::http::header::HeaderName;
use ep_site::http::WebAccess;
use ep_site::rails::Arrival;
use ep_site::{Route, RouteKind, Site};
use tower_http::cors::{AllowOrigin, CorsLayer};

/// Request headers of all routes.
const REQUEST_HEADERS: [&str; 7] = [
    "authorization",
    "content-type",
    "accept",
    "idempotency-key",
    "if-none-match",
    "x-machine-client",
    "last-event-id",
];
/// Response headers of all routes.
const RESPONSE_HEADERS: [&str; 12] = [
    "x-request-id",
    "ratelimit",
    "ratelimit-policy",
    "ratelimit-limit",
    "ratelimit-remaining",
    "ratelimit-reset",
    "idempotency-key",
    "idempotent-replayed",
    "retry-after",
    "www-authenticate",
    "etag",
    "location",
];

/// Returns the CORS layer, without cookies. The headers are listed, because `*` does not cover Authorization
/// (Fetch, section 4.9).
pub(super) fn cors(web: WebAccess, site: Arc<Site>) -> CorsLayer {
    let allowed = header_names(&REQUEST_HEADERS, site.routes.iter().flat_map(request_headers));
    let exposed = header_names(&RESPONSE_HEADERS, site.routes.iter().flat_map(response_headers));
    let origin = if web.is_open() {
        AllowOrigin::any()
    } else {
        AllowOrigin::predicate(move |origin, parts| {
            web.allows(origin.as_bytes()) || site.is_open(parts.uri.path()) || web.is_public_read(parts)
        })
    };
    CorsLayer::new()
        .allow_origin(origin)
        .allow_methods([Method::GET, Method::HEAD, Method::POST, Method::DELETE])
        .allow_headers(allowed)
        .expose_headers(exposed)
        .max_age(Duration::from_hours(1))
}

/// Returns the request headers of a route's protocol or payment rail.
fn request_headers(route: &Route) -> Vec<&'static str> {
    match route.kind {
        RouteKind::Protocol(endpoint) => endpoint.protocol.headers.to_vec(),
        RouteKind::Payment(rail) => match &rail.arrival {
            Arrival::Proof(proof) => proof.headers.iter().map(|(name, _)| *name).collect(),
            Arrival::Webhook(_) => Vec::new(),
        },
        _ => Vec::new(),
    }
}

/// Returns the response headers of a route's protocol or payment rail.
const fn response_headers(route: &Route) -> &'static [&'static str] {
    match route.kind {
        RouteKind::Protocol(endpoint) => endpoint.protocol.response_headers,
        RouteKind::Payment(rail) => match &rail.arrival {
            Arrival::Proof(proof) => proof.response_headers,
            Arrival::Webhook(_) => &[],
        },
        _ => &[],
    }
}

/// Returns the shared headers and those of some routes, each once.
fn header_names<N: AsRef<str>>(shared: &[&str], own: impl Iterator<Item = N>) -> Vec<HeaderName> {
    let mut names: Vec<HeaderName> = Vec::new();
    let own = own.map(|name| HeaderName::try_from(name.as_ref()));
    for name in shared.iter().map(|name| HeaderName::try_from(*name)).chain(own).flatten() {
        if !names.contains(&name) {
            names.push(name);
        }
    }
    names
}

#[cfg(test)]
mod tests {
    use ep_site::SiteSettings;

    use super::*;
    use crate::app::routes;
    use crate::config;

    #[test]
    fn headers_of_protocols_and_rails_are_allowed_once() {
        let config = config::load(|name| (name == "EP_CONFIG").then(|| "/dev/null".to_owned())).unwrap();
        let site = routes::site(SiteSettings::new(&config), &ep_tools::TOOLS);
        let allowed = header_names(&REQUEST_HEADERS, site.routes.iter().flat_map(request_headers));
        let exposed = header_names(&RESPONSE_HEADERS, site.routes.iter().flat_map(response_headers));
        assert_eq!((allowed.len(), exposed.len()), (22, 22), "{allowed:?} {exposed:?}");
        for name in ["authorization", "mcp-session-id", "a2a-version", "payment-signature", "x-payment"] {
            assert!(allowed.iter().any(|allowed| allowed == name), "{name}");
        }
        for name in ["payment-required", "poll-outcome"] {
            assert!(exposed.iter().any(|exposed| exposed == name), "{name}");
        }
    }
}
