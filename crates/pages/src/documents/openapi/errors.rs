//! Error responses of a route, from the checks before it and its error table.

use std::collections::BTreeMap;

use axum::http::StatusCode;
use ep_kernel::fault::Row;
use ep_kernel::method::Method;
use ep_kernel::{Access, Kind, Rate};
use ep_site::Route;
use serde_json::{Value, json};

use super::headers;
use super::headers::{CHALLENGE, RETRY_AFTER};
use super::parameters::takes_key;
use super::pieces::Pieces;
use super::schemas::{Side, any_of};

/// Returns every kind of error that a route can return, in the order of the table.
pub(super) fn kinds(route: &Route) -> Vec<Kind> {
    let happens = |kind: Kind| route.faults.contains(&kind) || everywhere(route, kind);
    Kind::all().filter(|kind| happens(*kind)).collect()
}

/// True if shared code can return this kind for the route: the layer, the guard, the body reader or dispatch.
fn everywhere(route: &Route, kind: Kind) -> bool {
    let has_body = route.method == Method::Post;
    let reads_json = has_body && route.reads_json;
    let is_operation = route.as_operation().is_some();
    let with_key = is_operation && takes_key(route.effect, route.method);
    let unidentified = route.ignores_credentials || route.rate == Rate::SignIn;
    match kind {
        // Caused by the Host and Origin headers.
        Kind::InvalidInput | Kind::Forbidden | Kind::Internal | Kind::DeadlineExceeded => true,
        // An invalid credential is rejected even on routes that need no credential.
        Kind::Unauthenticated => !unidentified || route.access != Access::PUBLIC,
        Kind::MalformedJson => reads_json,
        Kind::IncompleteBody | Kind::PayloadTooLarge => has_body,
        // With a session cookie, a body must be JSON for every method that changes data.
        Kind::UnsupportedMediaType => reads_json || (route.method == Method::Delete && route.access.cookie),
        Kind::InProgress | Kind::IdempotencyMismatch => with_key,
        Kind::RateLimited => route.rate != Rate::Exempt,
        Kind::Unavailable => is_operation || !unidentified,
        _ => false,
    }
}

/// Groups the kinds by status.
pub(super) fn by_status(kinds: &[Kind]) -> BTreeMap<u16, Vec<Kind>> {
    let mut statuses: BTreeMap<u16, Vec<Kind>> = BTreeMap::new();
    for kind in kinds {
        statuses.entry(kind.row().http).or_default().push(*kind);
    }
    statuses
}

/// Returns a reference to the shared response with this status.
pub(super) fn reference(pieces: &mut Pieces<'_>, route: &Route, status: u16) -> Value {
    let reason =
        StatusCode::from_u16(status).ok().and_then(|status| status.canonical_reason()).unwrap_or_default();
    let reason: String = reason.chars().filter(char::is_ascii_alphanumeric).collect();
    let (protocol, content) = content(pieces, route);
    let name = format!("{protocol}{reason}");
    pieces.errors.entry(name.clone()).or_insert_with(|| response(status, content));
    json!({ "$ref": format!("#/components/responses/{name}") })
}

fn response(status: u16, content: Value) -> Value {
    let of: Vec<&Row> = Kind::all().map(Kind::row).filter(|row| row.http == status).collect();
    let described = of.iter().map(|row| {
        let recovery: Vec<&str> = row.recovery.iter().map(|recovery| recovery.description).collect();
        format!("{} (`{}`). {}", row.title, row.code, recovery.join(" "))
    });
    let described: Vec<String> = described.collect();
    let mut more = Vec::new();
    if of.iter().any(|row| row.retryable) {
        more.push(RETRY_AFTER);
    }
    if matches!(status, 401 | 403) {
        more.push(CHALLENGE);
    }
    json!({ "description": described.join("\n\n"), "headers": headers::with(&more), "content": content })
}

/// The media types of an error: the two shared ones and those of the protocol.
fn content(pieces: &mut Pieces<'_>, route: &Route) -> (&'static str, Value) {
    let plain = pieces.plain_error.clone();
    let problem = pieces.problem.clone();
    let forms = |protocol: Value| {
        json!({
            "application/json": { "schema": any_of([protocol, plain.clone()]) },
            "application/problem+json": { "schema": problem.clone() },
        })
    };
    let Some(endpoint) = route.as_protocol() else { return ("", forms(plain.clone())) };
    let own = (endpoint.describe)(route.method, &route.path).error;
    let error = pieces.schemas.add(&own.schema, Side::Response);
    let mut forms = forms(error.clone());
    for media_type in own.media_types {
        forms[*media_type] = json!({ "schema": error });
    }
    (own.name, forms)
}
