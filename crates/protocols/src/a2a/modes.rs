//! Output modes of results: `acceptedOutputModes`.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::errors::{Answer, Refusal};
use super::fields::{field_of, invalid};

/// The accepted output modes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Modes {
    pub(super) json: bool,
    pub(super) text: bool,
}

impl Default for Modes {
    fn default() -> Self {
        Self { json: true, text: true }
    }
}

impl Modes {
    /// Reads the modes from a configuration; all modes by default.
    pub(super) fn of(configuration: &Value) -> Answer<Self> {
        let Some(modes) = field_of(configuration, "acceptedOutputModes", "accepted_output_modes") else {
            return Ok(Self::default());
        };
        let wrong = || invalid("configuration.acceptedOutputModes", "must be a list of media types");
        let modes = modes.as_array().ok_or_else(wrong)?;
        if modes.is_empty() {
            return Ok(Self::default());
        }
        let mut requested = Self { json: false, text: false };
        for mode in modes {
            let mode = mode.as_str().ok_or_else(wrong)?;
            let essence = mode.split(';').next().unwrap_or_default().trim().to_ascii_lowercase();
            let (json, text) = match essence.as_str() {
                "*/*" | "*" => (true, true),
                "application/json" | "application/*" | "json" | "data" => (true, false),
                "text/plain" | "text/*" | "text" => (false, true),
                _ => (false, false),
            };
            requested = Self { json: requested.json || json, text: requested.text || text };
        }
        if requested.json || requested.text {
            return Ok(requested);
        }
        Err(Refusal::ContentType(
            "acceptedOutputModes must include application/json or text/plain".to_owned(),
        ))
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn modes_are_parsed_as_media_types() {
        let of = |modes: Value| Modes::of(&json!({ "acceptedOutputModes": modes }));
        for (modes, json, text) in [
            (json!([]), true, true),
            (json!(["text/plain"]), false, true),
            (json!(["image/png", "Application/JSON; charset=utf-8"]), true, false),
            (json!(["*/*"]), true, true),
        ] {
            assert_eq!(of(modes.clone()).unwrap(), Modes { json, text }, "{modes}");
        }
        assert!(matches!(of(json!(["image/png"])), Err(Refusal::ContentType(_))));
        assert!(of(json!("text/plain")).is_err() && of(json!([1])).is_err());
        assert_eq!(Modes::of(&Value::Null).unwrap(), Modes::default());
    }
}
