//! The texts of the service's owner.

use serde_json::Value;

/// Returns the texts of `owner.json` about the service: name, tagline, description, tags.
pub fn owner() -> Value {
    serde_json::from_str(include_str!("../../../well-known/owner.json")).unwrap_or_default()
}
