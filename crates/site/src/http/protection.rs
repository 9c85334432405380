//! Security headers of pages.

use axum::http::HeaderMap;
use axum::http::header::{CONTENT_SECURITY_POLICY, HeaderName, HeaderValue, REFERRER_POLICY};

/// Security headers of pages, in addition to those of every response: all content from this origin, nothing
/// inline, no framing (OWASP ASVS 5.0, 3.4).
const HEADERS: [(HeaderName, &str); 3] = [
    (
        CONTENT_SECURITY_POLICY,
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; font-src 'self'; \
         connect-src 'self'; manifest-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'",
    ),
    (REFERRER_POLICY, "strict-origin-when-cross-origin"),
    (HeaderName::from_static("permissions-policy"), "camera=(), geolocation=(), microphone=()"),
];

/// Adds the security headers of a page that every website may show in a frame.
pub fn protect_embedded(headers: &mut HeaderMap) {
    protect(headers);
    let policy = HEADERS[0].1.replace("frame-ancestors 'none'", "frame-ancestors *");
    if let Ok(policy) = HeaderValue::try_from(policy) {
        headers.insert(CONTENT_SECURITY_POLICY, policy);
    }
}

/// Returns the security headers of pages.
pub const fn protection() -> [(HeaderName, &'static str); 3] {
    HEADERS
}

/// Adds the security headers of pages to a response.
pub fn protect(headers: &mut HeaderMap) {
    headers.extend(HEADERS.map(|(name, value)| (name, HeaderValue::from_static(value))));
}
