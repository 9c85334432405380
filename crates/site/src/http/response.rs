//! Bodies and faults as HTTP responses. The layer adds the headers common to all responses.

use axum::body::{Body, Bytes};
use axum::http::header::{CONTENT_TYPE, HeaderName, HeaderValue};
use axum::http::{HeaderMap, Response, StatusCode};
use ep_kernel::Fault;
use ep_store::Allowance;
use serde::Serialize;

use super::ErrorStyle;
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

/// Serializes a value as JSON. Our own types never fail; a failure is logged and returns an error body.
pub fn bytes_of(body: &impl Serialize) -> Bytes {
    serde_json::to_vec(body).map_or_else(
        |error| {
            tracing::error!(error = %error, "failed to serialize a response");
            Bytes::from_static(br#"{"error":"internal error"}"#)
        },
        Bytes::from,
    )
}

/// Returns a status by its code; 500 for one that is none.
pub fn status(code: u16) -> StatusCode {
    StatusCode::from_u16(code).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR)
}

/// Sets a header; an invalid value is skipped.
pub fn set(headers: &mut HeaderMap, name: HeaderName, value: &str) {
    if let Ok(value) = HeaderValue::from_str(value) {
        headers.insert(name, value);
    }
}
