//! Keywords of JSON Schema (2020-12), as far as they decide which values are valid.

use serde_json::{Map, Value};

/// Keywords that can reject a value, besides those of [`OF_VALUES`] and [`UNSUPPORTED`].
const OF_STRUCTURES: [&str; 17] = [
    "pattern",
    "items",
    "minItems",
    "maxItems",
    "uniqueItems",
    "properties",
    "required",
    "additionalProperties",
    "allOf",
    "anyOf",
    "oneOf",
    "$ref",
    "then",
    "else",
    "minContains",
    "maxContains",
    "additionalItems",
];

/// Keywords that reject a value in ways that are not read here.
const UNSUPPORTED: [&str; 15] = [
    "not",
    "if",
    "patternProperties",
    "propertyNames",
    "dependentRequired",
    "dependentSchemas",
    "dependencies",
    "minProperties",
    "maxProperties",
    "contains",
    "prefixItems",
    "unevaluatedProperties",
    "unevaluatedItems",
    "$dynamicRef",
    "$recursiveRef",
];

/// Keywords that a single value is checked against.
pub(super) const OF_VALUES: [&str; 10] = [
    "type",
    "enum",
    "const",
    "minimum",
    "maximum",
    "exclusiveMinimum",
    "exclusiveMaximum",
    "multipleOf",
    "minLength",
    "maxLength",
];

/// Returns a keyword that is never read.
pub(super) fn unsupported_in(members: &Map<String, Value>) -> Option<&'static str> {
    UNSUPPORTED.into_iter().find(|keyword| members.contains_key(*keyword))
}

/// Returns a keyword that can reject a value, other than the allowed ones.
pub(super) fn other_than(members: &Map<String, Value>, allowed: &[&str]) -> Option<&'static str> {
    let others = OF_VALUES.into_iter().chain(OF_STRUCTURES).chain(UNSUPPORTED);
    others.filter(|keyword| !allowed.contains(keyword)).find(|keyword| members.contains_key(*keyword))
}

/// Returns the branches of a union, with its keyword.
pub(super) fn union(members: &Map<String, Value>) -> Option<(&'static str, &[Value])> {
    ["anyOf", "oneOf"].into_iter().find_map(|name| Some((name, members.get(name)?.as_array()?.as_slice())))
}

/// Returns the types that a schema allows; empty if it does not say.
pub(super) fn types(members: &Map<String, Value>) -> Vec<&str> {
    match members.get("type") {
        Some(Value::String(one)) => vec![one],
        Some(Value::Array(several)) => several.iter().filter_map(Value::as_str).collect(),
        _ => Vec::new(),
    }
}

/// True if a schema allows null by its type, and nothing in it rejects null.
pub(super) fn allows_null(schema: &Value) -> bool {
    schema.as_object().is_some_and(|members| {
        let rejecting = ["enum", "const", "allOf", "anyOf", "oneOf", "$ref"];
        types(members).contains(&"null")
            && unsupported_in(members).is_none()
            && !rejecting.iter().any(|keyword| members.contains_key(*keyword))
    })
}

/// True if a schema rejects null by its type.
pub(super) fn rejects_null(schema: &Value) -> bool {
    let types = schema.as_object().map(types).unwrap_or_default();
    !types.is_empty() && !types.contains(&"null")
}

/// True if a value is valid by the keywords of [`OF_VALUES`].
pub(super) fn admits(members: &Map<String, Value>, value: &Value) -> bool {
    let types = types(members);
    let number = |name: &str| members.get(name).and_then(Value::as_f64);
    let length = |name: &str| members.get(name).and_then(Value::as_f64);
    (types.is_empty() || is_of(value, &types))
        && members.get("const").is_none_or(|constant| equal(constant, value))
        && members
            .get("enum")
            .and_then(Value::as_array)
            .is_none_or(|values| values.iter().any(|known| equal(known, value)))
        && value.as_f64().is_none_or(|value| {
            number("minimum").is_none_or(|least| value >= least)
                && number("maximum").is_none_or(|most| value <= most)
                && number("exclusiveMinimum").is_none_or(|least| value > least)
                && number("exclusiveMaximum").is_none_or(|most| value < most)
                && number("multipleOf")
                    .is_none_or(|step| ((value / step).round() - value / step).abs() < 1e-9)
        })
        && value.as_str().is_none_or(|text| {
            let characters = text.chars().count() as f64;
            length("minLength").is_none_or(|least| characters >= least)
                && length("maxLength").is_none_or(|most| characters <= most)
        })
}

/// Compares values as JSON Schema does: 1 equals 1.0.
pub(super) fn equal(one: &Value, two: &Value) -> bool {
    one == two || one.as_f64().zip(two.as_f64()).is_some_and(|(one, two)| one == two)
}

fn is_of(value: &Value, types: &[&str]) -> bool {
    types.iter().any(|kind| match *kind {
        "string" => value.is_string(),
        "boolean" => value.is_boolean(),
        "null" => value.is_null(),
        "integer" => value.as_f64().is_some_and(|number| number.fract() == 0.0),
        "number" => value.is_number(),
        "array" => value.is_array(),
        "object" => value.is_object(),
        _ => false,
    })
}
