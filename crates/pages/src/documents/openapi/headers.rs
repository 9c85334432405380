//! Response headers.

use serde_json::{Map, Value, json};

use super::parameters::IDEMPOTENCY_KEY;

/// Headers of every response. The rate limit headers are present only if the operator limits requests.
pub(super) const EVERYWHERE: [&str; 6] = [
    "X-Request-Id",
    "RateLimit-Limit",
    "RateLimit-Remaining",
    "RateLimit-Reset",
    "RateLimit-Policy",
    "RateLimit",
];
/// The entity tag and the cache policy.
pub(super) const CACHING: [&str; 2] = ["ETag", "Cache-Control"];
/// The delay before a retry.
pub(super) const RETRY_AFTER: &str = "Retry-After";
/// The URL of the created resource.
pub(super) const LOCATION: &str = "Location";
/// The challenge for a rejected credential.
pub(super) const CHALLENGE: &str = "WWW-Authenticate";
/// A cookie for the browser.
pub(super) const SET_COOKIE: &str = "Set-Cookie";
/// The marker of a replayed response.
pub(super) const REPLAYED: &str = "Idempotent-Replayed";

/// Returns the definitions of all headers.
pub(super) fn all() -> Value {
    let text = || json!({ "type": "string" });
    let count = || json!({ "type": "integer", "minimum": 0 });
    let table: [(&str, Value, &str); 14] = [
        ("X-Request-Id", json!({ "type": "string", "format": "uuid" }), "The request's id in our logs."),
        ("RateLimit-Limit", count(), "Requests that the caller may send per minute."),
        ("RateLimit-Remaining", count(), "Requests left in the current window."),
        (
            "RateLimit-Reset",
            count(),
            "Seconds until the allowance is full again; with none left, until the next request is allowed.",
        ),
        ("RateLimit-Policy", text(), "The allowance and its window (httpapi, RateLimit header fields)."),
        ("RateLimit", text(), "The remaining allowance and the seconds until it is reset."),
        ("ETag", text(), "The entity tag of these bytes."),
        ("Cache-Control", text(), "The caches that may store the response, and for how long."),
        (
            RETRY_AFTER,
            json!({ "type": "integer", "minimum": 1 }),
            "Seconds to wait before the same request is sent again.",
        ),
        (LOCATION, json!({ "type": "string", "format": "uri" }), "The URL of the next step."),
        (CHALLENGE, text(), "The required credential (RFC 6750)."),
        (SET_COOKIE, text(), "A cookie for the browser."),
        (IDEMPOTENCY_KEY, text(), "The key that was sent."),
        (
            REPLAYED,
            json!({ "type": "string", "const": "true" }),
            "Present if the response repeats that of an earlier request.",
        ),
    ];
    let header = |(name, schema, description): (&str, Value, &str)| {
        (name.to_owned(), json!({ "description": description, "schema": schema }))
    };
    Value::Object(table.into_iter().map(header).collect())
}

/// Returns references to the headers of every response and to `more`.
pub(super) fn with(more: &[&str]) -> Value {
    let names = EVERYWHERE.iter().chain(more);
    let reference =
        |name: &&str| ((*name).to_owned(), json!({ "$ref": format!("#/components/headers/{name}") }));
    Value::Object(names.map(reference).collect::<Map<String, Value>>())
}
