//! Shows answers and faults over HTTP: status, headers, body, in one place.

use axum::body::Body;
use axum::http::header::{
    ALLOW, CACHE_CONTROL, CONTENT_TYPE, ETAG, HeaderName, HeaderValue, RETRY_AFTER, VARY, WWW_AUTHENTICATE,
};
use axum::http::request::Parts;
use axum::http::{HeaderMap, Response, StatusCode};
use ep_kernel::dispatch::Dispatched;
use ep_kernel::fault::{Fault, Kind};
use ep_kernel::ports::Allowance;
use ep_kernel::tool::{Answered, Freshness};
use serde::Serialize;
use sha2::{Digest, Sha256};

use super::{ErrorStyle, Gate, Incoming, Shown};

const REQUEST_ID: HeaderName = HeaderName::from_static("x-request-id");
const IDEMPOTENCY_KEY: HeaderName = HeaderName::from_static("idempotency-key");

/// What became of a call: its answer with the status its binding names, or its fault.
pub fn outcome(gate: &Gate, shown: &Shown, status: u16, done: &Dispatched) -> Response<Body> {
    let mut response = match &done.result {
        Ok(answered) => answer(shown, status, answered, done.allowance.as_ref()),
        Err(refusal) => fault(gate, shown, refusal, done.allowance.as_ref()),
    };
    if done.replayed {
        set(response.headers_mut(), HeaderName::from_static("idempotent-replayed"), "true");
    }
    response
}

/// An answer with this status and its cache headers.
pub fn answer(
    shown: &Shown,
    status: u16,
    answered: &Answered,
    allowance: Option<&Allowance>,
) -> Response<Body> {
    let mut response = json_response(status, &answered.value);
    let headers = response.headers_mut();
    match answered.freshness {
        Freshness::Live => set(headers, CACHE_CONTROL, "no-store"),
        Freshness::Shared(time) => {
            set(headers, CACHE_CONTROL, &format!("public, max-age={}", time.as_secs()));
        }
        Freshness::Immutable => set(headers, CACHE_CONTROL, "public, max-age=31536000, immutable"),
        Freshness::Pending(wait) => {
            set(headers, CACHE_CONTROL, "no-store");
            set(headers, RETRY_AFTER, &wait.as_millis().div_ceil(1000).max(1).to_string());
        }
    }
    finish(shown, headers, allowance);
    if matches!(answered.freshness, Freshness::Pending(_)) {
        *response.status_mut() = StatusCode::ACCEPTED;
    }
    if matches!(answered.freshness, Freshness::Shared(_) | Freshness::Immutable) {
        return with_etag(shown, &answered.value.to_string(), response);
    }
    response
}

/// A fault in the style its caller asked for.
pub fn fault(gate: &Gate, shown: &Shown, fault: &Fault, allowance: Option<&Allowance>) -> Response<Body> {
    let row = fault.kind().row();
    let mut response = match shown.style {
        ErrorStyle::Plain => json_response(row.http, &fault.body()),
        ErrorStyle::Problem => {
            let problem = fault.problem(&gate.app.settings.base_url, &shown.request_id.to_string());
            let mut response = json_response(row.http, &problem);
            set(response.headers_mut(), CONTENT_TYPE, "application/problem+json");
            response
        }
    };
    let headers = response.headers_mut();
    set(headers, CACHE_CONTROL, "no-store");
    set(headers, VARY, "Accept, X-Machine-Client");
    if let Some(seconds) = fault.retry_after_seconds() {
        set(headers, RETRY_AFTER, &seconds.to_string());
    }
    if fault.kind() == Kind::Unauthenticated {
        // RFC 6750 §3: the error code only where a token was shown.
        let realm = "Bearer realm=\"ensemble-poll\"";
        let challenge =
            if shown.credential { format!("{realm}, error=\"invalid_token\"") } else { realm.to_owned() };
        set(headers, WWW_AUTHENTICATE, &challenge);
    }
    finish(shown, headers, allowance);
    response
}

/// The refusal of a method that a path does not take; `allowed` lists those it does.
pub fn wrong_method(gate: &Gate, parts: &Parts, allowed: &str) -> Response<Body> {
    let refusal =
        Fault::new(Kind::MethodNotAllowed, format!("{} is not allowed here; use {allowed}", parts.method));
    let mut response = fault(gate, &Incoming::read(gate, parts).shown, &refusal, None);
    set(response.headers_mut(), ALLOW, allowed);
    response
}

/// A body of JSON.
pub fn json_response(status: u16, body: &impl Serialize) -> Response<Body> {
    let (status, body) = match serde_json::to_vec(body) {
        Ok(body) => (StatusCode::from_u16(status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR), body),
        Err(error) => {
            tracing::error!(error = %error, "an answer could not be written as JSON");
            (StatusCode::INTERNAL_SERVER_ERROR, br#"{"error":"something failed on our side"}"#.to_vec())
        }
    };
    let mut response = Response::new(Body::from(body));
    *response.status_mut() = status;
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    response
}

/// The headers every API response carries.
pub fn finish(shown: &Shown, headers: &mut HeaderMap, allowance: Option<&Allowance>) {
    set(headers, REQUEST_ID, &shown.request_id.to_string());
    if let Some(key) = &shown.idempotency_key {
        set(headers, IDEMPOTENCY_KEY, key);
    }
    if let Some(allowance) = allowance {
        limits(headers, allowance);
    }
}

/// The legacy trio as plain integers, and the structured fields of the IETF draft "RateLimit header
/// fields for HTTP" (httpapi, draft 10), where policies and limits are named strings with parameters.
fn limits(headers: &mut HeaderMap, allowance: &Allowance) {
    let Allowance { policy, limit, window, remaining, .. } = allowance;
    // Who has nothing left wants to know when there is one again, not when there are all.
    let reset = allowance.exhausted.unwrap_or(allowance.reset).as_millis().div_ceil(1000);
    set(headers, HeaderName::from_static("ratelimit-limit"), &limit.to_string());
    set(headers, HeaderName::from_static("ratelimit-remaining"), &remaining.to_string());
    set(headers, HeaderName::from_static("ratelimit-reset"), &reset.to_string());
    set(
        headers,
        HeaderName::from_static("ratelimit-policy"),
        &format!("\"{policy}\";q={limit};w={}", window.as_secs()),
    );
    set(headers, HeaderName::from_static("ratelimit"), &format!("\"{policy}\";r={remaining};t={reset}"));
}

fn set(headers: &mut HeaderMap, name: HeaderName, value: &str) {
    // A value we echo may hold what a header must not; then it is left out.
    if let Ok(value) = HeaderValue::from_str(value) {
        headers.insert(name, value);
    }
}

/// A strong entity tag: the beginning of the body's hash.
pub fn entity_tag(body: &str) -> String {
    format!("\"{}\"", hex::encode(&Sha256::digest(body.as_bytes())[..12]))
}

/// Adds an entity tag, and answers 304 to who has this very representation (RFC 9110 §13.1.2).
fn with_etag(shown: &Shown, body: &str, mut response: Response<Body>) -> Response<Body> {
    let tag = entity_tag(body);
    set(response.headers_mut(), ETAG, &tag);
    let known = shown.known_etag.as_deref().is_some_and(|known| {
        known.split(',').map(|one| one.trim().trim_start_matches("W/")).any(|one| one == tag || one == "*")
    });
    if known {
        *response.status_mut() = StatusCode::NOT_MODIFIED;
        *response.body_mut() = Body::empty();
        response.headers_mut().remove(CONTENT_TYPE);
    }
    response
}
