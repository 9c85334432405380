//! Path, query and header parameters.

use ep_kernel::idempotency::MAX_KEY;
use ep_kernel::method::Method;
use ep_kernel::{Effect, Entry};
use ep_polling::stopping::MAX_ROSTER;
use serde_json::{Map, Value, json};

use super::paths::placeholders;

/// The header with the idempotency key.
pub(super) const IDEMPOTENCY_KEY: &str = "Idempotency-Key";
/// The header with the entity tag that the caller has cached.
pub(super) const IF_NONE_MATCH: &str = "If-None-Match";
/// The header with the id of the last event that the caller received.
pub(super) const LAST_EVENT: &str = "Last-Event-ID";

/// True if an operation accepts an idempotency key with this method.
pub(super) fn takes_key(effect: Effect, method: Method) -> bool {
    !effect.read_only() || method == Method::Post
}

/// Returns the header parameters that operations share.
pub(super) fn shared() -> Value {
    let last = json!({ "type": "integer", "minimum": 0, "maximum": MAX_ROSTER });
    json!({
        IDEMPOTENCY_KEY: idempotency_key(
            "A request runs once per key: a repeated request gets the response of the first one. Use a new UUID.",
        ),
        IF_NONE_MATCH: described(
            IF_NONE_MATCH,
            "The entity tag of the caller's copy: if it is current, the response is 304 without a body.",
            json!({ "type": "string" }),
        ),
        LAST_EVENT: described(LAST_EVENT, "The id of the last event received: the stream continues after it.", last),
    })
}

/// Describes a header of requests.
pub(super) fn described(name: &str, description: &str, schema: Value) -> Value {
    json!({ "name": name, "in": "header", "description": description, "schema": schema })
}

/// Returns the idempotency key parameter with its pattern.
pub(super) fn idempotency_key(description: &str) -> Value {
    let pattern = "^([!#-\\[\\]-~]([ !#-\\[\\]-~]*[!#-\\[\\]-~])?|\"[ !#-\\[\\]-~]+\")$";
    let schema = json!({ "type": "string", "minLength": 1, "maxLength": MAX_KEY, "pattern": pattern });
    described(IDEMPOTENCY_KEY, description, schema)
}

/// Returns a reference to a shared header parameter.
pub(super) fn header(name: &str) -> Value {
    json!({ "$ref": format!("#/components/parameters/{name}") })
}

/// Returns the parameters of an operation at a path. Without a body, all fields except path parameters are query
/// parameters.
pub(super) fn of(entry: &Entry, path: &str, has_body: bool) -> Vec<Value> {
    let (schema, whole) = (entry.input().as_value(), entry.request().as_value());
    let example: Value = serde_json::from_str(entry.spec.example).unwrap_or_default();
    let placeholders = placeholders(path);
    let none = Map::new();
    let members = schema["properties"].as_object().unwrap_or(&none);
    let required =
        |name: &str| schema["required"].as_array().is_some_and(|names| names.iter().any(|n| n == name));
    let parameter = |name: &str, index: &str, member: &str, required: bool| {
        let mut schema = members.get(member).cloned().unwrap_or_else(|| json!({ "type": "string" }));
        let description = schema.as_object_mut().and_then(|schema| schema.remove("description"));
        let mut parameter = json!({ "name": name, "in": index, "required": required });
        if let Some(description) = description {
            parameter["description"] = description;
        }
        if index == "path" && schema.get("pattern").is_none() && schema.get("format").is_none() {
            schema["minLength"] = 1.into();
        }
        // Add the maximum that follows from the integer type.
        let kind = whole["properties"][member]["format"].as_str().unwrap_or_default();
        if let Some(most) = largest(kind).filter(|_| schema.get("maximum").is_none()) {
            schema["maximum"] = most.into();
        }
        parameter["schema"] = schema;
        if let Some(example) = example.get(member) {
            parameter["example"] = example.clone();
        }
        parameter
    };
    let in_path = placeholders.iter().map(|(member, name)| parameter(name, "path", member, true));
    let in_query = members.keys().filter(|name| !placeholders.iter().any(|(member, _)| member == name));
    let in_query = in_query.filter(|_| !has_body).map(|name| parameter(name, "query", name, required(name)));
    in_path.chain(in_query).collect()
}

/// Returns the largest number of a schemars integer format.
fn largest(format: &str) -> Option<u64> {
    match format {
        "uint8" => Some(u8::MAX.into()),
        "uint16" => Some(u16::MAX.into()),
        "uint" | "uint32" => Some(u32::MAX.into()),
        _ => None,
    }
}

/// Returns the path parameters of a route that is not an operation, each with its schema.
pub(super) fn of_path(path: &str, schema: impl Fn(&str) -> Value) -> Vec<Value> {
    let parameter = |(member, name): (&str, &str)| json!({ "name": name, "in": "path", "required": true, "schema": schema(member) });
    placeholders(path).into_iter().map(parameter).collect()
}
