//! Output schemas in MCP's tool list: compact, because the list is part of every conversation.
//!
//! A schema is one flat object with the fields that models use, of all variants of the output's brief form. A field with a single type
//! declares it; nested types are omitted. No field is required, because clients check errors against the same
//! schema; an error is the field `error`.

use ep_kernel::tool::Brief;
use rmcp::model::JsonObject;
use serde_json::{Value, json};

/// Field of an error.
pub(super) const ERROR: &str = "error";

/// Returns the compact form of an output schema, matching the brief form. An output may have more fields.
pub(super) fn compact(root: &Value, brief: &Brief) -> JsonObject {
    let mut members = JsonObject::new();
    collect(root, root, &mut members);
    let is_named = |name: &str| brief.named.is_empty() || brief.named.contains(&name);
    members.retain(|name, _| is_named(name) && !brief.without.contains(&name.as_str()));
    if brief.caveat.is_some() {
        members.insert(Brief::CAVEAT.into(), json!({ "type": "string" }));
    }
    members.insert(ERROR.into(), json!({ "type": "object" }));
    let schema = json!({ "type": "object", "properties": members });
    schema.as_object().cloned().unwrap_or_default()
}

/// Adds the fields of a schema and of its variants.
fn collect(root: &Value, schema: &Value, members: &mut JsonObject) {
    let schema = resolved(root, schema);
    for variant in variants(schema) {
        collect(root, variant, members);
    }
    for (name, member) in schema.get("properties").and_then(Value::as_object).into_iter().flatten() {
        let mut shape = FieldTypes::default();
        if let Some(earlier) = members.get(name) {
            shape.add(root, earlier);
        }
        shape.add(root, member);
        members.insert(name.clone(), shape.schema());
    }
}

fn variants(schema: &Value) -> impl Iterator<Item = &Value> {
    ["anyOf", "oneOf"].into_iter().filter_map(|key| schema.get(key)?.as_array()).flatten()
}

fn resolved<'a>(root: &'a Value, schema: &'a Value) -> &'a Value {
    let pointer = schema.get("$ref").and_then(Value::as_str).and_then(|target| target.strip_prefix('#'));
    pointer.and_then(|pointer| root.pointer(pointer)).unwrap_or(schema)
}

/// Possible types and enum values of a field.
#[derive(Default)]
struct FieldTypes {
    types: Vec<Value>,
    /// All enum values, unless arbitrary text is allowed too.
    words: Vec<Value>,
    any_text: bool,
}

impl FieldTypes {
    fn add(&mut self, root: &Value, schema: &Value) {
        let schema = resolved(root, schema);
        for variant in variants(schema) {
            self.add(root, variant);
        }
        let constant = schema.get("const").map(std::slice::from_ref);
        let words = schema.get("enum").and_then(Value::as_array).map(Vec::as_slice).or(constant);
        let types = match schema.get("type") {
            Some(Value::Array(types)) => types.as_slice(),
            Some(one) => std::slice::from_ref(one),
            None => &[],
        };
        for kind in types {
            push_new(&mut self.types, kind);
        }
        match words {
            Some(words) => {
                for word in words {
                    push_new(&mut self.types, &json!(if word.is_null() { "null" } else { "string" }));
                    push_new(&mut self.words, word);
                }
            }
            None => self.any_text |= types.iter().any(|kind| kind == "string"),
        }
    }

    fn schema(mut self) -> Value {
        if !self.words.is_empty() && !self.any_text {
            if self.types.iter().any(|kind| kind == "null") {
                push_new(&mut self.words, &Value::Null);
            }
            return json!({ "enum": self.words });
        }
        // Every integer is a number.
        if self.types.iter().any(|kind| kind == "number") {
            self.types.retain(|kind| kind != "integer");
        }
        // Some clients accept only a single type: a nullable field, or one with two types, is declared without a
        // type.
        match &self.types[..] {
            [kind] => json!({ "type": kind }),
            _ => json!({}),
        }
    }
}

fn push_new(values: &mut Vec<Value>, value: &Value) {
    if !values.contains(value) {
        values.push(value.clone());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn variants_become_one_flat_object() {
        let schema = json!({
            "$defs": {
                "Ended": { "type": "object", "required": ["id"], "properties": {
                    "asked": { "type": "string" },
                    "id": { "type": "string", "pattern": "^E", "description": "Its id." },
                    "state": { "$ref": "#/$defs/State" },
                    "why": { "anyOf": [{ "enum": ["lock"], "type": "string" }, { "type": "null" }] },
                    "cost": { "type": "number", "minimum": 0 },
                    "votes": { "type": "array", "items": { "$ref": "#/$defs/State" } },
                } },
                "State": { "oneOf": [{ "const": "good", "type": "string" }, { "const": "bad", "type": "string" }] },
                "Running": { "type": "object", "properties": {
                    "state": { "const": "running", "type": "string" },
                    "cost": { "type": ["integer", "null"] },
                    "why": { "type": "string" },
                } },
            },
            "anyOf": [{ "$ref": "#/$defs/Ended" }, { "$ref": "#/$defs/Running" }],
        });
        let brief = Brief { without: &["asked"], caveat: Some("not proof"), ..Brief::WHOLE };
        let compacted = compact(&schema, &brief);
        let expected = json!({ "type": "object", "properties": {
            "id": { "type": "string" },
            "state": { "enum": ["good", "bad", "running"] },
            "why": {},
            "cost": {},
            "votes": { "type": "array" },
            "caveat": { "type": "string" },
            "error": { "type": "object" },
        } });
        assert_eq!(Value::Object(compacted), expected);
    }
}
