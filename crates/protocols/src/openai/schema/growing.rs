//! Schemas that grow, for the test of their work and for the bench `readers`, which measures their time.

use serde_json::{Map, Value, json};

/// A schema by its size.
pub type Growing = fn(usize) -> Value;

/// Schemas that grow with a number, and that a naive reader reads in quadratic time.
pub const SCHEMAS: [(&str, Growing); 23] = [
    ("an enum that minimum rejects", |n| required(json!({ "enum": numbers(n), "minimum": 1e17 }))),
    ("an enum that const rejects", |n| required(json!({ "enum": numbers(n), "const": "a" }))),
    ("an enum that its type rejects", |n| required(json!({ "enum": numbers(n), "type": "string" }))),
    ("texts that minLength rejects", |n| required(json!({ "enum": texts(n, 20), "minLength": 1000 }))),
    ("equal texts", |n| required(json!({ "enum": vec!["y".repeat(50); n / 8] }))),
    ("equal objects", |n| required(json!({ "enum": vec![object(1); n / 8] }))),
    ("distinct objects", |n| {
        required(json!({ "enum": (0..n / 8).map(object).collect::<Vec<Value>>(), "const": 1 }))
    }),
    ("one long value", |n| required(json!({ "enum": [long(n)] }))),
    ("long equal values", |n| required(json!({ "enum": [long(n), long(n), long(n)] }))),
    ("constants beside an enum", |n| constants(n, json!({}))),
    ("constants beside an enum and minimum", |n| constants(n, json!({ "minimum": 1e17 }))),
    ("an enum in unions in unions", |n| {
        let inner = json!({ "anyOf": [{ "enum": numbers(n), "minimum": 1e17 }, {}] });
        required((0..10).fold(inner, |inner, _| json!({ "anyOf": [inner] })))
    }),
    ("fields that refer to one enum", |n| {
        let defs = json!({ "e": { "enum": numbers(n), "minimum": 1e17 } });
        with_defs(fields(n, &json!({ "$ref": "#/$defs/e" })), defs)
    }),
    ("fields that refer to a long name", |n| {
        let name = long(n);
        let defs = json!({ "a": { "$ref": format!("#/$defs/{name}") }, &*name: { "type": "string" } });
        with_defs(fields(n, &json!({ "$ref": "#/$defs/a" })), defs)
    }),
    ("fields below a long name", |n| {
        let (name, inner) = (long(n), fields(n, &json!({ "type": "string" })));
        required(json!({ "properties": { &*name: inner }, "required": [name] }))
    }),
    ("optional fields", |n| json!({ "properties": fields(n, &json!({ "type": "string" }))["properties"] })),
    ("required names without a schema", |n| json!({ "required": texts(n, 60) })),
    ("unknown keywords", |n| required(texts(n, 20).into_iter().map(|name| (name, json!(1))).collect())),
    ("fields of fields", |n| fields(n, &fields(n, &json!({ "type": "boolean" }))["properties"]["f0"])),
    ("a long list of types", |n| required(json!({ "enum": numbers(n), "type": vec!["a"; n / 4] }))),
    ("fields that refer to a long list of types", |n| {
        with_defs(fields(n, &json!({ "$ref": "#/$defs/t" })), json!({ "t": { "type": vec!["a"; n / 4] } }))
    }),
    ("branches that refer to a long description", |n| {
        let branches = vec![json!({ "$ref": "#/$defs/d" }); n / 32];
        with_defs(
            required(json!({ "anyOf": branches })),
            json!({ "d": { "const": 1, "description": long(n) } }),
        )
    }),
    ("a long description", |n| required(json!({ "type": "boolean", "description": long(n) }))),
];

fn numbers(n: usize) -> Vec<usize> {
    (0..n).collect()
}

fn texts(n: usize, length: usize) -> Vec<String> {
    (0..n / 8).map(|i| format!("{i:0length$}")).collect()
}

fn long(n: usize) -> String {
    "x".repeat(n)
}

fn object(n: usize) -> Value {
    json!({ "a": n, "b": [n] })
}

fn required(field: Value) -> Value {
    json!({ "properties": { "f": field }, "required": ["f"] })
}

fn fields(n: usize, schema: &Value) -> Value {
    let properties: Map<String, Value> = (0..n / 16).map(|i| (format!("f{i}"), schema.clone())).collect();
    let names: Vec<String> = properties.keys().cloned().collect();
    json!({ "properties": properties, "required": names })
}

fn with_defs(mut schema: Value, defs: Value) -> Value {
    schema["$defs"] = defs;
    schema
}

fn constants(n: usize, rule: Value) -> Value {
    let branches: Vec<Value> = (0..n / 8).map(|i| json!({ "const": i })).collect();
    let mut union = json!({ "anyOf": branches, "enum": numbers(n) });
    if let (Value::Object(union), Value::Object(rule)) = (&mut union, rule) {
        union.extend(rule);
    }
    required(union)
}
