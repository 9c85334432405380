//! Entity tags (RFC 9110 §8.8.3) and the 304 response.

use axum::body::Body;
use axum::http::header::{CONTENT_LENGTH, CONTENT_TYPE, IF_NONE_MATCH};
use axum::http::{HeaderMap, Response, StatusCode};
use headers::{ETag, HeaderMapExt, IfModifiedSince, IfNoneMatch, LastModified};
use sha2::{Digest, Sha256};

/// A strong entity tag: a prefix of the SHA-256 of the bytes.
#[derive(Debug, Clone)]
pub struct EntityTag(ETag);

impl EntityTag {
    /// Returns the tag of these bytes.
    pub fn of(bytes: &[u8]) -> Option<Self> {
        let text = format!("\"{}\"", hex::encode(&Sha256::digest(bytes)[..12]));
        text.parse().ok().map(Self)
    }

    /// True if the request's `If-None-Match` contains this tag (RFC 9110 §13.1.2).
    pub fn is_known(&self, request: &HeaderMap) -> bool {
        if !request.contains_key(IF_NONE_MATCH) {
            return false;
        }
        request.typed_get::<IfNoneMatch>().is_some_and(|known| !known.precondition_passes(&self.0))
    }

    /// Adds the tag to a complete response. Turns it into a 304 if the request's `If-None-Match` contains the tag, or
    /// without that header, if `Last-Modified` has not changed (RFC 9110 §13.2.2).
    pub fn apply(&self, request: &HeaderMap, response: &mut Response<Body>) {
        response.headers_mut().typed_insert(self.0.clone());
        if self.is_known(request) || is_unmodified(request, response.headers()) {
            *response.status_mut() = StatusCode::NOT_MODIFIED;
            *response.body_mut() = Body::empty();
            response.headers_mut().remove(CONTENT_TYPE);
            response.headers_mut().remove(CONTENT_LENGTH);
        }
    }
}

fn is_unmodified(request: &HeaderMap, response: &HeaderMap) -> bool {
    let modified = response.typed_get::<LastModified>().filter(|_| !request.contains_key(IF_NONE_MATCH));
    let since = request.typed_get::<IfModifiedSince>();
    since.zip(modified).is_some_and(|(since, modified)| !since.is_modified(modified.into()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_matching_tag_returns_304_without_a_body() {
        let tag = EntityTag::of(b"text").unwrap();
        let mut response = Response::new(Body::empty());
        tag.apply(&HeaderMap::new(), &mut response);
        let shown = response.headers()["etag"].to_str().unwrap().to_owned();
        let status = |known: &str| {
            let mut headers = HeaderMap::new();
            headers.insert(IF_NONE_MATCH, known.parse().unwrap());
            let mut response = Response::new(Body::from("text"));
            tag.apply(&headers, &mut response);
            response.status()
        };
        for known in [&shown, &format!("W/{shown}"), &format!("\"x\", {shown}"), "*"] {
            assert_eq!(status(known), StatusCode::NOT_MODIFIED, "{known}");
        }
        let dated = |header: &str, date: &str| {
            let mut headers = HeaderMap::new();
            headers.insert("if-modified-since", date.parse().unwrap());
            if !header.is_empty() {
                headers.insert(IF_NONE_MATCH, header.parse().unwrap());
            }
            let mut response = Response::new(Body::from("text"));
            response.headers_mut().insert("last-modified", "Sun, 22 Nov 2026 10:00:00 GMT".parse().unwrap());
            tag.apply(&headers, &mut response);
            response.status()
        };
        assert_eq!(dated("", "Sun, 22 Nov 2026 10:00:00 GMT"), StatusCode::NOT_MODIFIED);
        assert_eq!(dated("", "Sun, 22 Nov 2026 09:59:59 GMT"), StatusCode::OK);
        assert_eq!(dated("\"x\"", "Sun, 22 Nov 2026 10:00:00 GMT"), StatusCode::OK);
        for other in ["\"x\"", "garbage", ""] {
            assert_eq!(status(other), StatusCode::OK, "{other}");
        }
    }
}
