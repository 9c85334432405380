//! Keywords of JSON Schema (2020-12), as far as they decide which values are valid.

use std::collections::HashSet;
use std::hash::{Hash, Hasher};

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

/// The types of values.
const TYPES: [&str; 7] = ["string", "boolean", "null", "integer", "number", "array", "object"];

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

/// The length of the longest keyword, in bytes.
const LONGEST_KEYWORD: usize = "unevaluatedProperties".len();

/// Returns a keyword that is never read.
pub(super) fn unsupported_in(members: &Map<String, Value>) -> Option<&str> {
    named(members, |keyword| UNSUPPORTED.contains(&keyword))
}

/// Returns a keyword that can reject a value, other than the allowed ones.
pub(super) fn other_than<'m>(members: &'m Map<String, Value>, allowed: &[&str]) -> Option<&'m str> {
    named(members, |keyword| {
        let rejects = OF_VALUES.contains(&keyword)
            || OF_STRUCTURES.contains(&keyword)
            || UNSUPPORTED.contains(&keyword);
        rejects && !allowed.contains(&keyword)
    })
}

/// Returns the first member with such a name. No keyword is longer than [`LONGEST_KEYWORD`].
fn named(members: &Map<String, Value>, is: impl Fn(&str) -> bool) -> Option<&str> {
    members.keys().map(String::as_str).find(|name| name.len() <= LONGEST_KEYWORD && is(name))
}

/// Returns the branches of a union, with its keyword.
pub(super) fn union(members: &Map<String, Value>) -> Option<(&'static str, &[Value])> {
    ["anyOf", "oneOf"].into_iter().find_map(|name| Some((name, members.get(name)?.as_array()?.as_slice())))
}

/// Returns the distinct types that a schema allows, as far as they are known, or the first one that is not; empty if it does
/// not say.
pub(super) fn types(members: &Map<String, Value>) -> Vec<&str> {
    match members.get("type") {
        Some(Value::String(one)) => vec![one],
        Some(Value::Array(several)) => {
            let mut types = Vec::new();
            for name in several.iter().filter_map(Value::as_str) {
                if (types.is_empty() || TYPES.contains(&name)) && !types.contains(&name) {
                    types.push(name);
                }
            }
            types
        }
        _ => Vec::new(),
    }
}

/// Returns the number of listed types.
pub(super) fn length_of_types(members: &Map<String, Value>) -> usize {
    members.get("type").and_then(Value::as_array).map_or(0, Vec::len)
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

/// The keywords of [`OF_VALUES`] in a schema, read once for all values.
pub(super) struct ValueRules<'m> {
    types: Vec<&'m str>,
    constant: Option<&'m Value>,
    listed: Option<HashSet<Distinct<'m>>>,
    minimum: Option<f64>,
    maximum: Option<f64>,
    exclusive_minimum: Option<f64>,
    exclusive_maximum: Option<f64>,
    multiple_of: Option<f64>,
    min_length: Option<f64>,
    max_length: Option<f64>,
}

impl<'m> ValueRules<'m> {
    /// Reads all rules but the enumeration.
    pub(super) fn of(members: &'m Map<String, Value>) -> Self {
        let number = |name: &str| members.get(name).and_then(Value::as_f64);
        Self {
            types: types(members),
            constant: members.get("const"),
            listed: None,
            minimum: number("minimum"),
            maximum: number("maximum"),
            exclusive_minimum: number("exclusiveMinimum"),
            exclusive_maximum: number("exclusiveMaximum"),
            multiple_of: number("multipleOf"),
            min_length: number("minLength"),
            max_length: number("maxLength"),
        }
    }

    /// Adds the enumeration.
    pub(super) fn with_enum(mut self, values: &'m [Value]) -> Self {
        self.listed = Some(values.iter().map(Distinct).collect());
        self
    }

    /// True if a value is valid.
    pub(super) fn admit(&self, value: &Value) -> bool {
        let holds = |rule: Option<f64>, is: &dyn Fn(f64) -> bool| rule.is_none_or(is);
        (self.types.is_empty() || is_of(value, &self.types))
            && self.constant.is_none_or(|constant| equal(constant, value))
            && self.listed.as_ref().is_none_or(|listed| listed.contains(&Distinct(value)))
            && value.as_f64().is_none_or(|value| {
                holds(self.minimum, &|least| value >= least)
                    && holds(self.maximum, &|most| value <= most)
                    && holds(self.exclusive_minimum, &|least| value > least)
                    && holds(self.exclusive_maximum, &|most| value < most)
                    && holds(self.multiple_of, &|step| ((value / step).round() - value / step).abs() < 1e-9)
            })
            && value.as_str().is_none_or(|text| {
                let characters = || text.chars().count() as f64;
                holds(self.min_length, &|least| characters() >= least)
                    && holds(self.max_length, &|most| characters() <= most)
            })
    }
}

/// A value in a set of distinct ones: 1 is 1.0, as in JSON Schema.
#[derive(Debug, Clone, Copy)]
struct Distinct<'v>(&'v Value);

impl PartialEq for Distinct<'_> {
    fn eq(&self, other: &Self) -> bool {
        equal(self.0, other.0)
    }
}

impl Eq for Distinct<'_> {}

impl Hash for Distinct<'_> {
    fn hash<H: Hasher>(&self, state: &mut H) {
        match self.0.as_f64() {
            // Adding 0 makes -0 and 0 equal.
            Some(number) => (number + 0.0).to_bits().hash(state),
            None => self.0.hash(state),
        }
    }
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
