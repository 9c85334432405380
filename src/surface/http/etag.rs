//! Entity tags (RFC 9110 §8.8.3) and the 304 response.

use axum::body::Body;
use axum::http::header::{CONTENT_LENGTH, CONTENT_TYPE, IF_NONE_MATCH};
use axum::http::{HeaderMap, Response, StatusCode};
use headers::{ETag, HeaderMapExt, IfNoneMatch};
use sha2::{Digest, Sha256};

/// A strong entity tag: the beginning of the SHA-256 of the bytes.
#[derive(Debug, Clone)]
pub struct EntityTag(ETag);

impl EntityTag {
    /// The tag of these bytes.
    pub fn of(bytes: &[u8]) -> Option<Self> {
        let text = format!("\"{}\"", hex::encode(&Sha256::digest(bytes)[..12]));
        text.parse().ok().map(Self)
    }

    /// Whether the request's `If-None-Match` names this representation (RFC 9110 §13.1.2).
    pub fn is_known(&self, request: &HeaderMap) -> bool {
        if !request.contains_key(IF_NONE_MATCH) {
            return false;
        }
        request.typed_get::<IfNoneMatch>().is_some_and(|known| !known.precondition_passes(&self.0))
    }

    /// Adds the tag to a complete response; turns it into a 304 where the request has it already.
    pub fn apply(&self, request: &HeaderMap, response: &mut Response<Body>) {
        response.headers_mut().typed_insert(self.0.clone());
        if self.is_known(request) {
            *response.status_mut() = StatusCode::NOT_MODIFIED;
            *response.body_mut() = Body::empty();
            response.headers_mut().remove(CONTENT_TYPE);
            response.headers_mut().remove(CONTENT_LENGTH);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_known_tag_needs_no_body() {
        let tag = EntityTag::of(b"text").unwrap();
        let mut response = Response::new(Body::empty());
        tag.apply(&HeaderMap::new(), &mut response);
        let shown = response.headers()["etag"].to_str().unwrap().to_owned();
        let asked = |known: &str| {
            let mut headers = HeaderMap::new();
            headers.insert(IF_NONE_MATCH, known.parse().unwrap());
            let mut response = Response::new(Body::from("text"));
            tag.apply(&headers, &mut response);
            response.status()
        };
        for known in [&shown, &format!("W/{shown}"), &format!("\"x\", {shown}"), "*"] {
            assert_eq!(asked(known), StatusCode::NOT_MODIFIED, "{known}");
        }
        for other in ["\"x\"", "garbage", ""] {
            assert_eq!(asked(other), StatusCode::OK, "{other}");
        }
    }
}
