//! Responses with pages that are the same for every visitor.

use axum::body::{Body, Bytes};
use axum::http::header::{CACHE_CONTROL, CONTENT_TYPE, HeaderValue, VARY};
use axum::http::{HeaderMap, Response};
use ep_site::http::{EntityTag, protect};

/// Responds with a page, or with 304 if the client has it. `cache` is the value of `Cache-Control`.
pub(super) fn public_page(
    bytes: Bytes,
    media_type: &'static str,
    cache: &'static str,
    request: &HeaderMap,
) -> Response<Body> {
    let tag = EntityTag::of(&bytes);
    let mut response = Response::new(Body::from(bytes));
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static(media_type));
    headers.insert(CACHE_CONTROL, HeaderValue::from_static(cache));
    headers.insert(VARY, HeaderValue::from_static("accept"));
    protect(headers);
    if let Some(tag) = tag {
        tag.apply(request, &mut response);
    }
    response
}
