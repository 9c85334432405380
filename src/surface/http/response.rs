//! Answers and faults as HTTP responses. Headers that every response carries are the layer's.

use axum::body::{Body, Bytes};
use axum::http::header::{
    CACHE_CONTROL, CONTENT_TYPE, HeaderName, HeaderValue, LOCATION, RETRY_AFTER, SET_COOKIE,
};
use axum::http::{HeaderMap, Response, StatusCode};
use ep_kernel::answer::{Answer, Body as AnswerBody, Cache};
use ep_kernel::fault::{Fault, whole_seconds};
use ep_kernel::ports::Allowance;
use ep_kernel::tool::Rest;
use serde::Serialize;

use super::{EntityTag, ErrorStyle, cookies};

/// `Cache-Control` of a public result, which changes only when its owner deletes it: browsers validate it on every use,
/// so that they stop showing a deleted result. Shared caches can serve it for one day.
pub const PUBLIC_RESULT: &str = "public, max-age=0, must-revalidate, s-maxage=86400";

const REPLAYED: HeaderName = HeaderName::from_static("idempotent-replayed");

/// A fault on its way to the layer, which writes it in the caller's style.
#[derive(Clone)]
pub(super) struct FaultReply(pub(super) Fault);

/// What is left of the caller's allowance, on its way to the layer.
#[derive(Clone)]
pub(super) struct Counted(pub(super) Option<Allowance>);

/// The response to a fault.
pub fn fault(fault: Fault) -> Response<Body> {
    let mut response = Response::new(Body::empty());
    *response.status_mut() = status(fault.kind().row().http);
    response.extensions_mut().insert(FaultReply(fault));
    response
}

/// The response to a fault as a JSON-RPC error, whatever style its caller prefers.
pub fn rpc_fault(refusal: Fault) -> Response<Body> {
    let mut response = fault(refusal);
    response.extensions_mut().insert(ErrorStyle::JsonRpc);
    response
}

/// Adds what is left of the caller's allowance.
pub fn counted(mut response: Response<Body>, allowance: Option<Allowance>) -> Response<Body> {
    response.extensions_mut().insert(Counted(allowance));
    response
}

/// Says that the response repeats an earlier one.
pub fn replayed(response: &mut Response<Body>) {
    response.headers_mut().insert(REPLAYED, HeaderValue::from_static("true"));
}

/// A response with a body of JSON.
pub fn json(status_code: u16, body: &impl Serialize) -> Response<Body> {
    let mut response = Response::new(Body::from(bytes_of(body)));
    *response.status_mut() = status(status_code);
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    response
}

/// An answer as its REST binding says, with its cache headers. `request` are the request's headers.
pub fn answer(request: &HeaderMap, rest: &Rest, answer: &Answer, base_url: &str) -> Response<Body> {
    let presentation = &answer.presentation;
    let bytes = match (&presentation.body, rest.member) {
        (AnswerBody::Text(text), _) => text.clone().into(),
        (AnswerBody::Json, Some(member)) => bytes_of(&answer.value[member]),
        (AnswerBody::Json, None) => bytes_of(&answer.value),
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

/// A value as JSON. Our own types always are; a failure is logged and leaves an error body.
pub(super) fn bytes_of(body: &impl Serialize) -> Bytes {
    serde_json::to_vec(body).map_or_else(
        |error| {
            tracing::error!(error = %error, "a response could not be written as JSON");
            Bytes::from_static(br#"{"error":"something failed on our side"}"#)
        },
        Bytes::from,
    )
}

fn status(code: u16) -> StatusCode {
    StatusCode::from_u16(code).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR)
}

/// Sets a header; a value that no header can hold is left out.
pub(super) fn set(headers: &mut HeaderMap, name: HeaderName, value: &str) {
    if let Ok(value) = HeaderValue::from_str(value) {
        headers.insert(name, value);
    }
}
