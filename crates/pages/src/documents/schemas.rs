//! Self-contained schemas of operations, embedded in documents.

use ep_kernel::Entry;
use serde_json::{Map, Value, json};

/// The dialect of every schema.
pub const DIALECT: &str = "https://json-schema.org/draft/2020-12/schema";
/// The maximum depth of nested definitions.
const MAX_DEPTH: usize = 16;

/// Returns the schema of an operation's input: always an object, because agent tools require it.
pub fn input(entry: &Entry) -> Value {
    let mut schema = whole(entry.input().as_value());
    schema["type"] = "object".into();
    if schema.get("properties").is_none() {
        schema["properties"] = json!({});
    }
    schema
}

/// Returns the schema of an operation's output.
pub fn output(entry: &Entry) -> Value {
    whole(entry.output().as_value())
}

/// Returns a schema with its definitions inlined.
fn whole(schema: &Value) -> Value {
    let definitions = schema.get("$defs").and_then(Value::as_object).cloned().unwrap_or_default();
    let mut whole = resolved(schema, &definitions, 0);
    if let Some(members) = whole.as_object_mut() {
        members.remove("$defs");
    }
    whole
}

fn resolved(schema: &Value, definitions: &Map<String, Value>, depth: usize) -> Value {
    match schema {
        Value::Object(members) => {
            let mut all = Map::new();
            let reference = members.get("$ref").and_then(Value::as_str);
            if let Some(definition) = reference
                .and_then(|reference| definitions.get(reference.strip_prefix("#/$defs/")?))
                .filter(|_| depth < MAX_DEPTH)
                && let Value::Object(definition) = resolved(definition, definitions, depth + 1)
            {
                all = definition;
            }
            let others = members.iter().filter(|(name, _)| *name != "$ref");
            all.extend(others.map(|(name, value)| (name.clone(), resolved(value, definitions, depth))));
            Value::Object(all)
        }
        Value::Array(items) => items.iter().map(|item| resolved(item, definitions, depth)).collect(),
        other => other.clone(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn references_are_inlined() {
        let schema = json!({
            "properties": { "a": { "$ref": "#/$defs/A", "description": "Here." } },
            "$defs": { "A": { "description": "There.", "items": { "$ref": "#/$defs/B" } }, "B": { "type": "string" } },
        });
        let expected =
            json!({ "properties": { "a": { "description": "Here.", "items": { "type": "string" } } } });
        assert_eq!(whole(&schema), expected);
    }

    #[test]
    fn catalogue_schemas_have_no_references() {
        for entry in ep_tools::TOOLS.iter() {
            for schema in [input(entry), output(entry)] {
                assert!(!schema.to_string().contains("$ref"), "{}: {schema}", entry.spec.name);
            }
        }
    }
}
