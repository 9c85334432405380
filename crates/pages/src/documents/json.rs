//! JSON of documents.

use axum::body::Bytes;
use serde_json::Value;

/// Serializes JSON for documents: indented, with a trailing newline.
pub(super) fn json_text(value: &Value) -> Option<Bytes> {
    let mut text = serde_json::to_string_pretty(value).ok()?;
    text.push('\n');
    Some(text.into())
}
