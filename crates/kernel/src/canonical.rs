//! Canonical JSON (RFC 8785), independent of the order of fields, for values without fractions and with field
//! names of the Basic Multilingual Plane.

use serde_json::Value;

/// Serializes a value with its fields sorted.
pub fn text(value: &Value) -> String {
    let mut sorted = value.clone();
    sorted.sort_all_objects();
    sorted.to_string()
}
