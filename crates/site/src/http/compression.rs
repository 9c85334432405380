//! Response compression with gzip, which every client supports.

use std::io::Write;

use axum::body::{Body, Bytes};
use axum::http::header::{ACCEPT_ENCODING, CONTENT_ENCODING, CONTENT_TYPE, ETAG, HeaderValue};
use axum::http::{Extensions, HeaderMap, Response, StatusCode, Version};
use flate2::Compression;
use flate2::write::GzEncoder;
use tower_http::CompressionLevel;
use tower_http::compression::CompressionLayer;
use tower_http::compression::predicate::{And, Predicate, SizeAbove};

/// Minimum size in bytes: smaller bodies fit into one packet uncompressed.
const SMALLEST: u16 = 1024;

/// Marks a response that must not be compressed. It contains secrets and text chosen by others, so its compressed
/// size would leak information (BREACH).
#[derive(Debug, Clone, Copy)]
pub struct Confidential;

type Rule = fn(StatusCode, Version, &HeaderMap, &Extensions) -> bool;

/// zlib level 2: level 1 is only slightly faster, and its output is a quarter larger.
const QUICK: CompressionLevel = CompressionLevel::Precise(2);

/// Returns the layer that compresses text while it is sent, favouring speed over size.
pub fn layer() -> CompressionLayer<And<SizeAbove, Rule>> {
    let rule: Rule =
        |_, _, headers, extensions| is_text(headers) && extensions.get::<Confidential>().is_none();
    CompressionLayer::new().quality(QUICK).compress_when(SizeAbove::new(SMALLEST).and(rule))
}

/// True for text. Event streams are sent in pieces, and images are already compressed.
fn is_text(headers: &HeaderMap) -> bool {
    let kind = headers.get(CONTENT_TYPE).and_then(|kind| kind.to_str().ok()).unwrap_or_default();
    let kind = kind.split(';').next().unwrap_or_default().trim();
    let structured = ["json", "xml", "javascript"].iter().any(|syntax| kind.ends_with(syntax));
    kind != "text/event-stream" && (kind.starts_with("text/") || structured)
}

/// Compresses bytes at a high level, for caching; `None` if that saves nothing.
pub fn compressed(bytes: &[u8]) -> Option<Bytes> {
    if bytes.len() < SMALLEST.into() {
        return None;
    }
    let mut encoder = GzEncoder::new(Vec::new(), Compression::best());
    encoder.write_all(bytes).ok()?;
    encoder.finish().ok().filter(|small| small.len() < bytes.len()).map(Bytes::from)
}

/// True if the client accepts gzip (RFC 9110, section 12.5.3).
pub fn reads_gzip(headers: &HeaderMap) -> bool {
    let values = headers.get_all(ACCEPT_ENCODING).iter().filter_map(|value| value.to_str().ok());
    values.flat_map(|value| value.split(',')).any(|coding| {
        let mut parts = coding.split(';').map(str::trim);
        let named = parts.next().is_some_and(|name| name.eq_ignore_ascii_case("gzip"));
        named && !parts.any(|part| part.strip_prefix("q=").and_then(|q| q.parse().ok()) == Some(0.0))
    })
}

/// Weakens the entity tag of a compressed response: a strong tag identifies the exact bytes sent (RFC 9110, section
/// 8.8.3.3).
pub async fn weaken_tag(mut response: Response<Body>) -> Response<Body> {
    let headers = response.headers_mut();
    if headers.contains_key(CONTENT_ENCODING)
        && let Some(tag) = headers.get(ETAG).and_then(|tag| tag.to_str().ok())
        && tag.starts_with('"')
        && let Ok(weak) = HeaderValue::try_from(format!("W/{tag}"))
    {
        headers.insert(ETAG, weak);
    }
    response
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gzip_requires_accept_encoding() {
        let reads = |accepted: &str| {
            let mut headers = HeaderMap::new();
            headers.insert(ACCEPT_ENCODING, accepted.parse().unwrap());
            reads_gzip(&headers)
        };
        for accepted in ["gzip", "br, GZIP;q=0.5", "deflate, gzip, br, zstd"] {
            assert!(reads(accepted), "{accepted}");
        }
        for accepted in ["", "br", "gzip;q=0", "gzip; q=0.0", "xgzip", "identity"] {
            assert!(!reads(accepted), "{accepted}");
        }
    }

    #[test]
    fn text_is_compressed() {
        let text = |kind: &str| {
            let mut headers = HeaderMap::new();
            headers.insert(CONTENT_TYPE, kind.parse().unwrap());
            is_text(&headers)
        };
        for kind in
            ["text/html; charset=utf-8", "application/problem+json", "image/svg+xml", "text/javascript"]
        {
            assert!(text(kind), "{kind}");
        }
        for kind in ["text/event-stream", "image/png", "application/zip", ""] {
            assert!(!text(kind), "{kind}");
        }
    }
}
