//! Cross-origin requests: the websites and the headers that browsers may use.

use std::sync::Arc;
use std::time::Duration;

use axum::http::Method;
use axum::http::header::HeaderName;
use ep_site::http::WebAccess;
use ep_site::rail::{Arrival, Proof};
use ep_site::{Route, Site};
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
    let of_protocol = route.as_protocol().into_iter().flat_map(|endpoint| endpoint.protocol.headers).copied();
    let of_rail = proof(route).into_iter().flat_map(|proof| proof.headers).map(|(name, _)| *name);
    of_protocol.chain(of_rail).collect()
}

/// Returns the response headers of a route's protocol or payment rail.
fn response_headers(route: &Route) -> &'static [&'static str] {
    let of_protocol = route.as_protocol().map(|endpoint| endpoint.protocol.response_headers);
    of_protocol.or_else(|| Some(proof(route)?.response_headers)).unwrap_or_default()
}

/// Returns the proof of a payment that the route takes, if it takes one.
fn proof(route: &Route) -> Option<&'static Proof> {
    match &route.as_rail()?.arrival {
        Arrival::Proof(proof) => Some(proof),
        Arrival::Webhook(_) => None,
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
    use crate::payments::RAILS;

    #[test]
    fn headers_of_protocols_and_rails_are_allowed_once() {
        let config = config::load(|name| (name == "EP_CONFIG").then(|| "/dev/null".to_owned())).unwrap();
        let site = routes::site(SiteSettings::new(&config, &RAILS), &ep_tools::TOOLS);
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
