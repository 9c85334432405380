//! JSON that does not depend on the order of members: the canonical form of RFC 8785, for values without fractions whose
//! members have names of the Basic Multilingual Plane.

use serde_json::Value;

/// A value as text, the same in whatever order the members of its objects come.
pub fn text(value: &Value) -> String {
    let mut sorted = value.clone();
    sorted.sort_all_objects();
    sorted.to_string()
}
