//! Activation of the extension a2a-x402.

use axum::http::header::{HeaderName, HeaderValue};
use axum::http::{HeaderMap, Response};

use crate::documents::PAYMENTS_EXTENSION;

/// Headers that activate extensions, in 1.0 and in 0.3.
const HEADERS: [HeaderName; 2] =
    [HeaderName::from_static("a2a-extensions"), HeaderName::from_static("x-a2a-extensions")];

/// True if a request activates the extension.
pub(super) fn asks(headers: &HeaderMap) -> bool {
    HEADERS.iter().any(|name| names_extension(headers, name))
}

fn names_extension(headers: &HeaderMap, name: &HeaderName) -> bool {
    let lists = headers.get_all(name).into_iter().filter_map(|list| list.to_str().ok());
    lists.flat_map(|list| list.split(',')).any(|uri| uri.trim() == PAYMENTS_EXTENSION)
}

/// Confirms the extension in a response, under the names from the request.
pub(super) fn confirm<B>(request: &HeaderMap, response: &mut Response<B>) {
    for name in HEADERS.iter().filter(|name| names_extension(request, name)) {
        response.headers_mut().insert(name, HeaderValue::from_static(PAYMENTS_EXTENSION));
    }
}
