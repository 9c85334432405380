//! Outputs and faults as HTTP responses. The layer adds the headers common to all responses.

use axum::body::{Body, Bytes};
use axum::http::header::{
    CACHE_CONTROL, CONTENT_TYPE, HeaderName, HeaderValue, LOCATION, RETRY_AFTER, SET_COOKIE,
};
use axum::http::{HeaderMap, Response, StatusCode};
use ep_kernel::fault::whole_seconds;
use ep_kernel::output::{Body as OutputBody, Cache};
use ep_kernel::{CallOutput, Fault, Rest};
use ep_store::Allowance;
use serde::Serialize;

use super::{EntityTag, ErrorStyle, cookies};
use crate::protocol::ErrorFormat;

/// `Cache-Control` of a public result, which changes only when its owner deletes it. Browsers revalidate it on every
/// use, so they stop showing a deleted result. Shared caches can serve it for one day.
pub const PUBLIC_RESULT: &str = "public, max-age=0, must-revalidate, s-maxage=86400";

const REPLAYED: HeaderName = HeaderName::from_static("idempotent-replayed");

/// A fault for the layer, which writes it in the caller's format.
#[derive(Clone)]
pub(super) struct FaultReply(pub(super) Fault);

/// The caller's remaining allowance, for the layer.
#[derive(Clone)]
pub(super) struct Counted(pub(super) Option<Allowance>);

/// Marks a response to the frame of another website.
#[derive(Debug, Clone, Copy)]
pub struct Embedded;

/// Returns the response to a fault.
pub fn fault(fault: Fault) -> Response<Body> {
    let mut response = Response::new(Body::empty());
    *response.status_mut() = status(fault.kind().row().http);
    response.extensions_mut().insert(FaultReply(fault));
    response
}

/// Returns the response to a fault in this format.
pub fn formatted_fault(refusal: Fault, format: ErrorFormat) -> Response<Body> {
    let mut response = fault(refusal);
    if let ErrorFormat::Own(body) = format {
        response.extensions_mut().insert(ErrorStyle::Own(body));
    }
    response
}

/// Attaches the caller's remaining allowance.
pub fn counted(mut response: Response<Body>, allowance: Option<Allowance>) -> Response<Body> {
    response.extensions_mut().insert(Counted(allowance));
    response
}

/// Marks the response as a repeat of an earlier one.
pub fn replayed(response: &mut Response<Body>) {
    response.headers_mut().insert(REPLAYED, HeaderValue::from_static("true"));
}

/// Returns a response with a JSON body.
pub fn json(status_code: u16, body: &impl Serialize) -> Response<Body> {
    let mut response = Response::new(Body::from(bytes_of(body)));
    *response.status_mut() = status(status_code);
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    response
}

/// Returns an output with the status and cache headers of its REST binding. `request` holds the request headers.
pub fn operation_output(
    request: &HeaderMap,
    rest: &Rest,
    output: &CallOutput,
    base_url: &str,
) -> Response<Body> {
    let presentation = &output.presentation;
    let bytes = match (&presentation.body, rest.field) {
        (OutputBody::Text(text), _) => text.clone().into(),
        (OutputBody::Json, Some(field)) => bytes_of(&output.value[field]),
        (OutputBody::Json, None) => bytes_of(&output.value),
    };
    let tag = match presentation.cache {
        Cache::NoStore => None,
        Cache::Shared(_) | Cache::Immutable => EntityTag::of(&bytes),
    };
    let mut response = Response::new(Body::from(bytes));
    *response.status_mut() = status(if presentation.interim.is_some() { rest.interim } else { rest.status });
    let headers = response.headers_mut();
    set(headers, CONTENT_TYPE, rest.media_type);
    match presentation.cache {
        Cache::NoStore => set(headers, CACHE_CONTROL, "no-store"),
        Cache::Shared(time) => set(headers, CACHE_CONTROL, &format!("public, max-age={}", time.as_secs())),
        Cache::Immutable => set(headers, CACHE_CONTROL, PUBLIC_RESULT),
    }
    if let Some(wait) = presentation.interim {
        set(headers, RETRY_AFTER, &whole_seconds(wait).to_string());
    }
    if let Some(location) = &presentation.location {
        set(headers, LOCATION, location);
    }
    if let Some(cookie) =
        presentation.session.as_ref().and_then(|change| cookies::session_cookie(change, base_url))
    {
        headers.append(SET_COOKIE, cookie);
    }
    if let Some(tag) = tag {
        tag.apply(request, &mut response);
    }
    response
}

/// Serializes a value as JSON. Our own types never fail; a failure is logged and returns an error body.
pub(super) fn bytes_of(body: &impl Serialize) -> Bytes {
    serde_json::to_vec(body).map_or_else(
        |error| {
            tracing::error!(error = %error, "failed to serialize a response");
            Bytes::from_static(br#"{"error":"internal error"}"#)
        },
        Bytes::from,
    )
}

fn status(code: u16) -> StatusCode {
    StatusCode::from_u16(code).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR)
}

/// Sets a header; an invalid value is skipped.
pub(super) fn set(headers: &mut HeaderMap, name: HeaderName, value: &str) {
    if let Ok(value) = HeaderValue::from_str(value) {
        headers.insert(name, value);
    }
}
