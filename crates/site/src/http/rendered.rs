//! Responses that are rendered once and cached.

use std::sync::OnceLock;

use axum::body::{Body, Bytes};
use axum::http::header::{CONTENT_ENCODING, HeaderValue, VARY};
use axum::http::{HeaderMap, Response};

use super::EntityTag;
use super::compression::{compressed, reads_gzip};

/// A representation ready to send, with its entity tag (RFC 9110, section 8.8.3).
pub struct Rendered {
    /// The uncompressed bytes.
    pub bytes: Bytes,
    /// The gzip form, created on first use.
    gzip: OnceLock<Option<Bytes>>,
    tag: Option<EntityTag>,
    headers: HeaderMap,
}

impl Rendered {
    /// Creates a representation from its bytes and headers.
    pub fn new(bytes: Bytes, headers: HeaderMap) -> Self {
        Self { tag: EntityTag::of(&bytes), bytes, gzip: OnceLock::new(), headers }
    }

    /// Memory use in bytes; the compressed form counts as a third.
    pub fn size(&self) -> usize {
        self.bytes.len() + self.bytes.len() / 3
    }

    /// Responds to a request, compressed if the client accepts gzip; 304 if the client already has these bytes.
    pub fn respond(&self, request: &HeaderMap) -> Response<Body> {
        let gzip = || self.gzip.get_or_init(|| compressed(&self.bytes)).clone();
        let Some(gzip) = reads_gzip(request).then(gzip).flatten() else {
            return self.respond_plainly(request);
        };
        let mut headers = self.headers.clone();
        headers.insert(CONTENT_ENCODING, HeaderValue::from_static("gzip"));
        headers.append(VARY, HeaderValue::from_static("accept-encoding"));
        self.tagged(request, gzip, headers)
    }

    /// Responds without compression: for bytes that change, the compressed form is not worth caching.
    pub fn respond_plainly(&self, request: &HeaderMap) -> Response<Body> {
        self.tagged(request, self.bytes.clone(), self.headers.clone())
    }

    fn tagged(&self, request: &HeaderMap, bytes: Bytes, headers: HeaderMap) -> Response<Body> {
        let mut response = Response::new(Body::from(bytes));
        *response.headers_mut() = headers;
        if let Some(tag) = &self.tag {
            tag.apply(request, &mut response);
        }
        response
    }
}
