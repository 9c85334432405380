//! The fields of every operation, one a line: the path, the type, the limits, and whether it is required.

use std::sync::LazyLock;

use serde_json::{Map, Value};

/// Keywords that say nothing about what is valid, or are parts of the line.
const LEFT_OUT: [&str; 12] = [
    "$defs",
    "$schema",
    "additionalProperties",
    "allOf",
    "anyOf",
    "description",
    "examples",
    "items",
    "oneOf",
    "properties",
    "required",
    "title",
];

static NOTHING: LazyLock<Map<String, Value>> = LazyLock::new(Map::new);

struct Fields<'s> {
    root: &'s Value,
    lines: Vec<String>,
}

impl<'s> Fields<'s> {
    /// Returns the schema to which a reference leads.
    fn resolved(&self, schema: &'s Value) -> &'s Value {
        let reference = schema.get("$ref").and_then(Value::as_str).and_then(|to| to.strip_prefix('#'));
        reference.map_or(schema, |to| self.root.pointer(to).expect("the reference leads to a schema"))
    }

    fn add(&mut self, path: &str, schema: &'s Value, required: bool, depth: usize) {
        let schema = self.resolved(schema);
        let keywords = schema.as_object().unwrap_or(&NOTHING);
        let mut words = vec![path.to_owned()];
        if let Value::Bool(_) = schema {
            words.push(format!("anything={schema}"));
        }
        for (keyword, value) in keywords.iter().filter(|(keyword, _)| !LEFT_OUT.contains(&keyword.as_str())) {
            words.push(match keyword.as_str() {
                "type" => value.to_string().replace('"', ""),
                _ => format!("{keyword}={value}"),
            });
        }
        if required {
            words.push("required".to_owned());
        }
        self.lines.push(words.join(" "));
        assert!(depth < 12, "{path}: the schema refers to itself");
        let is_required = |name: &str| {
            schema["required"].as_array().is_some_and(|names| names.iter().any(|found| found == name))
        };
        for (name, property) in keywords.get("properties").and_then(Value::as_object).into_iter().flatten() {
            self.add(&format!("{path}.{name}"), property, is_required(name), depth + 1);
        }
        for (keyword, at) in [("items", "[]"), ("additionalProperties", ".*")] {
            if let Some(inner) = keywords.get(keyword).filter(|inner| inner.is_object()) {
                self.add(&format!("{path}{at}"), inner, false, depth + 1);
            }
        }
        for keyword in ["anyOf", "oneOf", "allOf"] {
            for (place, inner) in
                keywords.get(keyword).and_then(Value::as_array).into_iter().flatten().enumerate()
            {
                self.add(&format!("{path}<{keyword} {place}>"), inner, false, depth + 1);
            }
        }
    }
}

fn fields(path: &str, schema: &Value) -> Vec<String> {
    let mut fields = Fields { root: schema, lines: Vec::new() };
    fields.add(path, schema, false, 0);
    fields.lines
}

#[test]
fn every_field_of_every_operation_as_a_snapshot() {
    let mut lines = Vec::new();
    for entry in ep_tools::TOOLS.iter() {
        let name = entry.spec.name;
        lines.extend(fields(&format!("{name} <"), entry.input().as_value()));
        lines.extend(fields(&format!("{name} >"), entry.output().as_value()));
    }
    insta::assert_snapshot!("fields", lines.join("\n"));
}

#[test]
fn a_line_has_the_type_the_limits_and_whether_a_field_is_required() {
    let schema = serde_json::json!({
        "type": "object",
        "required": ["a"],
        "properties": {
            "a": { "type": ["string", "null"], "maxLength": 9, "description": "Some." },
            "b": { "type": "array", "items": { "$ref": "#/$defs/b" } },
        },
        "$defs": { "b": { "enum": ["x"] } },
    });
    let lines =
        ["op < object", "op <.a [string,null] maxLength=9 required", "op <.b array", "op <.b[] enum=[\"x\"]"];
    assert_eq!(fields("op <", &schema), lines);
}
