//! Builds a tool's input from path, query and body.
//!
//! Path and query values are text. The input's schema, read once at start, tells which of them are
//! numbers or booleans. A value that cannot be parsed stays text, so that the decoding error names the field.

use std::collections::HashMap;

use axum::extract::RawPathParams;
use ep_kernel::{Entry, Fault, Rest};
use serde_json::{Map, Number, Value};

/// An operation bound to a path and method.
pub struct Binding {
    pub(super) entry: &'static Entry,
    pub(super) rest: Rest,
    /// True if the response is an event stream.
    pub(super) streamed: bool,
    kinds: HashMap<String, Scalar>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Scalar {
    Integer,
    Number,
    Boolean,
    List,
}

impl Binding {
    /// Creates a binding; reads the input's schema once.
    pub fn new(entry: &'static Entry, rest: Rest, streamed: bool) -> Self {
        let schema = entry.input();
        let members = schema.get("properties").and_then(Value::as_object);
        let kinds = members.into_iter().flatten().filter_map(|(name, member)| {
            let kind = match member.get("type")?.as_str()? {
                "integer" => Scalar::Integer,
                "number" => Scalar::Number,
                "boolean" => Scalar::Boolean,
                "array" => Scalar::List,
                _ => return None,
            };
            Some((name.clone(), kind))
        });
        Self { kinds: kinds.collect(), entry, rest, streamed }
    }

    /// True if the operation has a scalar input with this name.
    pub(super) fn takes(&self, name: &str) -> bool {
        self.kinds.contains_key(name)
    }

    /// Returns the fields from query and path.
    pub(super) fn input_of(&self, query: &str, params: &RawPathParams) -> Value {
        let mut members = Map::new();
        let pairs = url::form_urlencoded::parse(query.as_bytes());
        let path = params.iter().map(|(name, value)| (name.into(), value.into()));
        for (name, value) in pairs.chain(path) {
            let (name, value): (String, String) = (name.into_owned(), value.into_owned());
            match (self.kinds.get(&name), members.get_mut(&name)) {
                // An empty parameter is an empty list, not a list with an empty string.
                (Some(Scalar::List), Some(Value::Array(list))) => {
                    list.extend(Some(value).filter(|value| !value.is_empty()).map(Value::String));
                }
                (Some(Scalar::List), _) => {
                    let first = Some(value).filter(|value| !value.is_empty()).map(Value::String);
                    drop(members.insert(name, Value::Array(first.into_iter().collect())));
                }
                (kind, _) => drop(members.insert(name, coerce(kind.copied(), value))),
            }
        }
        Value::Object(members)
    }
}

/// Returns the body's fields combined with the path parameters.
pub(super) fn with_path(body: Value, params: &RawPathParams) -> Result<Value, Fault> {
    let Value::Object(mut members) = body else {
        return Err(Fault::invalid("", "the body must be a JSON object"));
    };
    for (name, value) in params {
        members.insert(name.to_owned(), Value::String(value.to_owned()));
    }
    Ok(Value::Object(members))
}

fn coerce(kind: Option<Scalar>, text: String) -> Value {
    let parsed = match kind {
        Some(Scalar::Integer) => text.parse::<i64>().ok().map(|number| Value::Number(number.into())),
        Some(Scalar::Number) => text.parse::<f64>().ok().and_then(Number::from_f64).map(Value::Number),
        Some(Scalar::Boolean) => text.parse::<bool>().ok().map(Value::Bool),
        Some(Scalar::List) | None => None,
    };
    parsed.unwrap_or(Value::String(text))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn text_is_parsed_by_schema_or_stays_text() {
        assert_eq!(coerce(Some(Scalar::Integer), "10".into()), json!(10));
        assert_eq!(coerce(Some(Scalar::Number), "0.5".into()), json!(0.5));
        assert_eq!(coerce(Some(Scalar::Number), "NaN".into()), json!("NaN"));
        assert_eq!(coerce(Some(Scalar::Boolean), "yes".into()), json!("yes"));
        assert_eq!(coerce(None, "10".into()), json!("10"));
    }
}
