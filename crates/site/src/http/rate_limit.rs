//! Rate-limit headers.

use axum::http::HeaderMap;
use axum::http::header::HeaderName;
use ep_store::Allowance;

use super::response::set;

/// Writes the remaining allowance: the three RateLimit-* headers, and the structured fields of the
/// IETF draft "RateLimit header fields for HTTP" (httpapi, draft 10).
pub(super) fn write(headers: &mut HeaderMap, allowance: &Allowance) {
    let Allowance { policy, limit, window, remaining, .. } = allowance;
    // An exhausted caller needs the time of the next allowed request, not of the full allowance.
    let reset = allowance.exhausted.unwrap_or(allowance.reset).as_millis().div_ceil(1000);
    let window = window.as_secs();
    for (name, value) in [
        ("ratelimit-limit", limit.to_string()),
        ("ratelimit-remaining", remaining.to_string()),
        ("ratelimit-reset", reset.to_string()),
        ("ratelimit-policy", format!("\"{policy}\";q={limit};w={window}")),
        ("ratelimit", format!("\"{policy}\";r={remaining};t={reset}")),
    ] {
        set(headers, HeaderName::from_static(name), &value);
    }
}
