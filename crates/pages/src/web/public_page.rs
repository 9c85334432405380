//! Responses with pages.

use axum::body::{Body, Bytes};
use axum::http::header::{CACHE_CONTROL, CONTENT_TYPE, HeaderValue, VARY};
use axum::http::{HeaderMap, Response};
use ep_site::http::{Rendered, protect};

/// Responds with a public page, or with status 304 if the caller's copy is current.
pub(super) fn public_page(
    bytes: Bytes,
    media_type: &'static str,
    cache: &'static str,
    request: &HeaderMap,
) -> Response<Body> {
    Rendered::new(bytes, page_headers(media_type, cache, "accept", protect)).respond_plainly(request)
}

/// Returns the headers of a page: its type, the caches that may store it, and the headers on which it depends.
pub(super) fn page_headers(
    media_type: &'static str,
    cache: &'static str,
    vary: &'static str,
    protect: fn(&mut HeaderMap),
) -> HeaderMap {
    let headers = [(CONTENT_TYPE, media_type), (CACHE_CONTROL, cache), (VARY, vary)];
    let mut headers =
        headers.map(|(name, value)| (name, HeaderValue::from_static(value))).into_iter().collect();
    protect(&mut headers);
    headers
}

/// Responds with these headers.
pub(super) fn with_headers(body: impl Into<Body>, headers: HeaderMap) -> Response<Body> {
    let mut response = Response::new(body.into());
    *response.headers_mut() = headers;
    response
}
