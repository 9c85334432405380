//! The JSON types that a field admits, and values of these types that were written as text.

use serde_json::Value;

use super::is_empty;

/// A type of JSON values beside text and `null` (JSON Schema 2020-12, core, section 4.2.1).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum JsonType {
    /// `true` or `false`.
    Boolean,
    /// A number without a fraction.
    Integer,
    /// Any number.
    Number,
    /// A list.
    Array,
    /// An object.
    Object,
}

impl JsonType {
    fn named(name: &str) -> Option<Self> {
        Some(match name {
            "boolean" => Self::Boolean,
            "integer" => Self::Integer,
            "number" => Self::Number,
            "array" => Self::Array,
            "object" => Self::Object,
            _ => return None,
        })
    }

    fn admits(self, value: &Value) -> bool {
        match self {
            Self::Boolean => value.is_boolean(),
            Self::Integer => value.is_i64() || value.is_u64(),
            Self::Number => value.is_number(),
            Self::Array => value.is_array(),
            Self::Object => value.is_object(),
        }
    }
}

/// Returns the types that a field admits, if it admits no text.
pub fn types_beside_text(field: &Value) -> Option<Vec<JsonType>> {
    let mut types = Vec::new();
    collect(field, &mut types).then_some(types)
}

/// Collects the types that a schema admits. Returns false if it admits text.
fn collect(schema: &Value, types: &mut Vec<JsonType>) -> bool {
    let named = match schema.get("type") {
        Some(Value::String(one)) => vec![one.as_str()],
        Some(Value::Array(several)) => several.iter().filter_map(Value::as_str).collect(),
        _ => {
            let branches = ["anyOf", "oneOf"].into_iter().find_map(|key| schema.get(key)?.as_array());
            return branches.is_some_and(|branches| branches.iter().all(|branch| collect(branch, types)));
        }
    };
    types.extend(named.iter().filter_map(|name| JsonType::named(name)));
    !named.contains(&"string")
}

/// Reads a value that is written as text, but exactly the JSON of one of these types. `null` and `[]` stay texts, because as
/// values they would omit the field.
pub fn read_text(value: &mut Value, types: &[JsonType]) {
    if let Value::String(text) = &*value
        && let Ok(read) = serde_json::from_str::<Value>(text)
        && !is_empty(&read)
        && types.iter().any(|wanted| wanted.admits(&read))
    {
        *value = read;
    }
}

/// Replaces numbers without a fraction by integers: `5.0` is an integer (JSON Schema 2020-12, validation,
/// section 6.1.1).
pub(super) fn integers(value: &mut Value) {
    /// Up to this value, a double represents every whole number exactly.
    const EXACT: f64 = 9_007_199_254_740_992.0;
    match value {
        Value::Number(number) if number.is_f64() => {
            let whole = number.as_f64().filter(|float| float.fract() == 0.0 && float.abs() <= EXACT);
            if let Some(whole) = whole {
                *number = (whole as i64).into();
            }
        }
        Value::Array(items) => items.iter_mut().for_each(integers),
        Value::Object(fields) => fields.values_mut().for_each(integers),
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn only_fields_without_text_have_types() {
        for (field, types) in [
            (json!({ "type": "array", "items": { "type": "string" } }), Some(vec![JsonType::Array])),
            (json!({ "type": ["number", "null"] }), Some(vec![JsonType::Number])),
            (
                json!({ "anyOf": [{ "type": "boolean" }, { "type": "object" }] }),
                Some(vec![JsonType::Boolean, JsonType::Object]),
            ),
            (json!({ "anyOf": [{ "type": "array" }, { "type": "string" }] }), None),
            (json!({ "type": ["integer", "string"] }), None),
            (json!({ "description": "Anything." }), None),
        ] {
            assert_eq!(types_beside_text(&field), types, "{field}");
        }
    }

    #[test]
    fn only_the_exact_json_of_a_wanted_type_is_read() {
        let read = |text: &str, types: &[JsonType]| {
            let mut value = json!(text);
            read_text(&mut value, types);
            value
        };
        assert_eq!(read("[\"a\", \"b\"]", &[JsonType::Array]), json!(["a", "b"]));
        assert_eq!(read(" 0.1 ", &[JsonType::Number]), json!(0.1));
        assert_eq!(read("true", &[JsonType::Boolean]), json!(true));
        assert_eq!(read("3", &[JsonType::Integer]), json!(3));
        assert_eq!(read("{\"a\":1}", &[JsonType::Array, JsonType::Object]), json!({ "a": 1 }));
        for (text, wanted) in [
            ("null", JsonType::Array),
            ("", JsonType::Array),
            ("[]", JsonType::Array),
            ("a, b", JsonType::Array),
            ("[\"a\"] and more", JsonType::Array),
            ("0.5", JsonType::Integer),
            ("True", JsonType::Boolean),
            ("NaN", JsonType::Number),
        ] {
            assert_eq!(read(text, &[wanted]), json!(text), "{text}");
        }
    }
}
