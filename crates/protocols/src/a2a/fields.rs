//! Fields of requests.

use ep_kernel::Fault;
use serde_json::Value;

use super::errors::{Answer, Refusal};

/// Returns the refusal of an invalid field.
pub(super) fn invalid(field: &str, detail: &str) -> Refusal {
    Refusal::Fault(Fault::invalid(field, detail))
}

/// Maximum length of a client's id, in characters.
pub(super) const MAX_ID: usize = 256;

/// Reads an id chosen by the client; an empty one counts as missing.
pub(super) fn identifier<'a>(
    object: &'a Value,
    field: &str,
    (name, other): (&str, &str),
) -> Answer<Option<&'a str>> {
    match field_of(object, name, other) {
        None => Ok(None),
        Some(Value::String(id)) if id.is_empty() => Ok(None),
        Some(Value::String(id)) if id.chars().count() <= MAX_ID && !id.chars().any(char::is_control) => {
            Ok(Some(id))
        }
        Some(_) => Err(invalid(
            field,
            &format!("must be a non-empty string of at most {MAX_ID} characters, without control characters"),
        )),
    }
}

/// Returns a field by its camelCase or its other name; the protocol's own parsers accept both.
pub(super) fn field_of<'a>(object: &'a Value, name: &str, other: &str) -> Option<&'a Value> {
    object.get(name).or_else(|| object.get(other)).filter(|value| !value.is_null())
}

/// Returns the task id from the parameters.
pub(super) fn task_id(params: &Value) -> Answer<&str> {
    identifier(params, "id", ("id", "name"))?.ok_or_else(|| invalid("id", "id is missing: name the task"))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn ids_are_limited_in_length() {
        for id in [json!(7), json!("a\u{0}b"), json!("x".repeat(257)), json!({})] {
            assert!(identifier(&json!({ "id": id }), "id", ("id", "id")).is_err(), "{id}");
        }
        assert_eq!(identifier(&json!({ "id": "" }), "id", ("id", "id")).unwrap(), None);
    }
}
