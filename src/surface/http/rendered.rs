//! Responses that are rendered once and sent often.

use std::sync::OnceLock;

use axum::body::{Body, Bytes};
use axum::http::header::{CONTENT_ENCODING, HeaderValue, VARY};
use axum::http::{HeaderMap, Response};

use super::EntityTag;
use super::compression::{compressed, reads_gzip};

/// A representation as it is served, with its tag (RFC 9110, section 8.8.3).
pub struct Rendered {
    /// Its bytes, exactly as served to clients that read no compression.
    pub bytes: Bytes,
    /// The same compressed, once somebody has asked for it.
    gzip: OnceLock<Option<Bytes>>,
    tag: Option<EntityTag>,
    headers: HeaderMap,
}

impl Rendered {
    /// These bytes, served with these headers.
    pub fn new(bytes: Bytes, headers: HeaderMap) -> Self {
        Self { tag: EntityTag::of(&bytes), bytes, gzip: OnceLock::new(), headers }
    }

    /// Memory that this holds, in bytes; the compressed form counts as a third.
    pub fn size(&self) -> usize {
        self.bytes.len() + self.bytes.len() / 3
    }

    /// Answers a request, compressed where its client reads that: 304 where it has these bytes already.
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

    /// The same without the compressed form, which is not worth keeping for bytes that change.
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
