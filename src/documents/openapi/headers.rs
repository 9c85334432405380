//! Headers of responses.

use serde_json::{Map, Value, json};

use super::parameters::IDEMPOTENCY_KEY;

/// Headers that every response has, of which those about limits only where the operator limits requests.
pub(super) const EVERYWHERE: [&str; 6] = [
    "X-Request-Id",
    "RateLimit-Limit",
    "RateLimit-Remaining",
    "RateLimit-Reset",
    "RateLimit-Policy",
    "RateLimit",
];
/// The tag of what is sent, and who may keep it.
pub(super) const CACHING: [&str; 2] = ["ETag", "Cache-Control"];
/// How long to wait.
pub(super) const RETRY_AFTER: &str = "Retry-After";
/// Where what was made is.
pub(super) const LOCATION: &str = "Location";
/// What a refused credential lacks.
pub(super) const CHALLENGE: &str = "WWW-Authenticate";
/// A cookie for the browser.
pub(super) const SET_COOKIE: &str = "Set-Cookie";
/// Whether the response repeats an earlier one.
pub(super) const REPLAYED: &str = "Idempotent-Replayed";

/// All of them.
pub(super) fn all() -> Value {
    let text = || json!({ "type": "string" });
    let count = || json!({ "type": "integer", "minimum": 0 });
    let table: [(&str, Value, &str); 14] = [
        ("X-Request-Id", json!({ "type": "string", "format": "uuid" }), "The request's id in our logs."),
        ("RateLimit-Limit", count(), "Requests that the caller may send per minute."),
        ("RateLimit-Remaining", count(), "How many of them are left."),
        (
            "RateLimit-Reset",
            count(),
            "Seconds until all of them are there again; with none left, until there is one.",
        ),
        ("RateLimit-Policy", text(), "The allowance and its window (httpapi, RateLimit header fields)."),
        ("RateLimit", text(), "What is left of it, and the seconds until it is reset."),
        ("ETag", text(), "The tag of exactly these bytes."),
        ("Cache-Control", text(), "Who may keep the response, and how long."),
        (
            RETRY_AFTER,
            json!({ "type": "integer", "minimum": 1 }),
            "Seconds to wait before the same request is sent again.",
        ),
        (LOCATION, json!({ "type": "string", "format": "uri" }), "Where to go on."),
        (CHALLENGE, text(), "Which credential is needed (RFC 6750)."),
        (SET_COOKIE, text(), "A cookie for the browser."),
        (IDEMPOTENCY_KEY, text(), "The key that was sent."),
        (
            REPLAYED,
            json!({ "type": "string", "const": "true" }),
            "Sent where the response repeats that of an earlier request.",
        ),
    ];
    let header = |(name, schema, description): (&str, Value, &str)| {
        (name.to_owned(), json!({ "description": description, "schema": schema }))
    };
    Value::Object(table.into_iter().map(header).collect())
}

/// References to the headers that every response has, and to these.
pub(super) fn with(more: &[&str]) -> Value {
    let names = EVERYWHERE.iter().chain(more);
    let reference =
        |name: &&str| ((*name).to_owned(), json!({ "$ref": format!("#/components/headers/{name}") }));
    Value::Object(names.map(reference).collect::<Map<String, Value>>())
}
