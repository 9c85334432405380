//! Accepted and refused schemas, and bounded work.

use proptest::prelude::*;
use serde_json::json;

use super::growing::SCHEMAS;
use super::*;

/// Returns the values of the fields of a schema, and the answer with the first value of each.
fn answered(schema: &Value) -> (Vec<Vec<Value>>, Value) {
    let answer = read(schema, "schema").unwrap();
    let firsts: Vec<Value> = answer.fields.iter().map(|field| field.values[0].clone()).collect();
    let values = answer.fields.into_iter().map(|field| field.values).collect();
    (values, answer.shape.fill(&firsts, "A sentence about the vote."))
}

fn object(properties: &Value) -> Value {
    let required: Vec<&String> = properties.as_object().unwrap().keys().collect();
    json!({ "type": "object", "properties": properties, "required": required })
}

#[test]
fn fields_with_a_few_values_are_decided() {
    let grade = json!({ "type": "string", "enum": ["A", "B"] });
    for (field, values) in [
        (grade.clone(), json!(["A", "B"])),
        (json!({ "enum": [0.0, 0.5, 1.0] }), json!([0.0, 0.5, 1.0])),
        (json!({ "type": "boolean" }), json!([true, false])),
        (json!({ "type": ["boolean", "null"] }), json!([true, false, null])),
        (json!({ "anyOf": [grade, { "type": "null" }] }), json!(["A", "B", null])),
        (json!({ "oneOf": [{ "const": 1, "description": "low" }, { "const": 2 }] }), json!([1, 2])),
        (json!({ "type": "integer", "minimum": 1, "maximum": 5 }), json!([1, 2, 3, 4, 5])),
        (json!({ "type": "integer", "exclusiveMinimum": 0, "maximum": 2 }), json!([1, 2])),
        (json!({ "type": "number", "minimum": 0, "maximum": 10 }), json!([0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10])),
        (
            json!({ "type": "number", "minimum": 0, "maximum": 1 }),
            json!([0.0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0]),
        ),
        (
            json!({ "type": "number", "minimum": 0, "maximum": 1, "multipleOf": 0.25 }),
            json!([0.0, 0.25, 0.5, 0.75, 1.0]),
        ),
    ] {
        let (found, answer) = answered(&object(&json!({ "result": field })));
        assert_eq!(json!(found), json!([values]), "{field}");
        assert_eq!(answer, json!({ "result": values[0] }));
    }
}

#[test]
fn other_fields_are_filled_with_what_is_certain() {
    let schema = json!({
        "$defs": { "Grade": { "enum": ["good", "bad"], "description": "The grade." } },
        "type": "object",
        "properties": {
            "reason": { "type": "string", "maxLength": 10 },
            "note": { "anyOf": [{ "type": "string" }, { "type": "null" }] },
            "version": { "const": 2 },
            "tags": { "type": "array", "items": { "type": "string" } },
            "inner": object(&json!({ "grade": { "$ref": "#/$defs/Grade" }, "kind": { "enum": ["only"] } })),
            "left_out": { "type": "string" },
        },
        "required": ["reason", "note", "version", "tags", "inner"],
    });
    let (_, answer) = answered(&schema);
    let expected = json!({
        "reason": "A sentence",
        "note": null,
        "version": 2,
        "tags": [],
        "inner": { "grade": "good", "kind": "only" },
    });
    assert_eq!(answer, expected);
    let field = &read(&schema, "schema").unwrap().fields[0];
    assert_eq!((field.name.as_str(), field.description.as_deref()), ("grade", Some("The grade.")));
}

#[test]
fn the_rest_is_refused_with_its_path() {
    let of = |field: Value| object(&json!({ "grade": { "type": "boolean" }, "other": field }));
    let many: Vec<u32> = (0..11).collect();
    for (schema, code, path) in [
        (json!({ "type": "string" }), Code::NoDecisionField, "schema"),
        (json!({}), Code::NoDecisionField, "schema"),
        (of(json!({ "type": "number" })), Code::UnsupportedValue, "schema.properties.other"),
        (of(json!({ "type": "string", "pattern": "^a" })), Code::UnsupportedValue, "schema.properties.other"),
        (of(json!({ "type": "array", "minItems": 1 })), Code::UnsupportedValue, "schema.properties.other"),
        (of(json!({ "enum": many })), Code::TooManyChoices, "schema.properties.other"),
        (
            of(json!({ "type": "integer", "minimum": 0, "maximum": 100 })),
            Code::TooManyChoices,
            "schema.properties.other",
        ),
        (of(json!({ "$ref": "#/nowhere" })), Code::UnsupportedValue, "schema.properties.other"),
        (of(json!({ "not": {} })), Code::UnsupportedValue, "schema.properties.other"),
        (json!({ "$ref": "#" }), Code::UnsupportedValue, "schema"),
        (of(false.into()), Code::UnsupportedValue, "schema.properties.other"),
    ] {
        let refusal = read(&schema, "schema").unwrap_err();
        assert_eq!((refusal.code, refusal.param.as_str()), (code, path), "{schema}: {}", refusal.text);
    }
    let nine: Map<String, Value> = (0..9).map(|n| (format!("f{n}"), json!({ "type": "boolean" }))).collect();
    assert_eq!(read(&object(&nine.into()), "schema").unwrap_err().code, Code::TooManyDecisionFields);
}

#[test]
fn repeated_references_are_bounded() {
    // Each level repeats the next one twice: 2^30 schemas without a bound.
    let mut defs = Map::new();
    for level in 0..30 {
        let next = json!({ "$ref": format!("#/$defs/d{}", level + 1) });
        defs.insert(format!("d{level}"), object(&json!({ "a": next, "b": next })));
    }
    defs.insert("d30".to_owned(), json!({ "type": "string" }));
    assert!(read(&json!({ "$defs": defs, "$ref": "#/$defs/d0" }), "schema").is_err());
}

/// Four units a byte, and the time grows like the work. A small text has a budget of its own.
#[test]
fn work_is_linear_in_the_length_of_a_schema() {
    let measured = |n: usize| {
        let shapes = SCHEMAS.iter().map(|(shape, schema)| {
            let schema = schema(n);
            let bytes = schema.to_string().len();
            let mut work = Work::of(length(&schema));
            let _ = read_within(&schema, "schema", &mut work);
            (shape, bytes, work.used())
        });
        shapes.collect::<Vec<_>>()
    };
    let largest = 1 << 17;
    let sizes = [largest / 4, largest / 2, largest].map(measured);
    for ((shape, small, first), ((_, middle, second), (_, large, third))) in
        std::iter::zip(&sizes[0], std::iter::zip(&sizes[1], &sizes[2]))
    {
        for (bytes, used) in [(small, first), (middle, second), (large, third)] {
            assert!(*used <= 4 * bytes + 1, "{shape}: {used} units for {bytes} bytes");
        }
        let grows = |from: usize, to: usize, before: usize, after: usize| {
            after as f64 <= 1.2 * before as f64 * to as f64 / from as f64
        };
        assert!(grows(*small, *middle, *first, *second), "{shape}: {first} units, then {second}");
        assert!(grows(*middle, *large, *second, *third), "{shape}: {second} units, then {third}");
    }
    assert!(sizes[2].iter().any(|(_, bytes, _)| *bytes > 1_000_000), "{:?}", sizes[2]);
}

/// A description is stored once, however many branches have it.
#[test]
fn a_value_has_one_description() {
    let low = json!({ "const": 1, "description": "low" });
    let schema = object(
        &json!({ "grade": { "anyOf": [low, low, { "const": 2 }, { "const": 1, "description": "other" }] } }),
    );
    let field = &read(&schema, "schema").unwrap().fields[0];
    assert_eq!(field.descriptions, [(0, "low".to_owned())]);
}

#[test]
fn long_names_are_shortened_in_refusals() {
    let long = "n".repeat(10_000);
    for schema in [
        object(&json!({ &*long: { "not": {} } })),
        json!({ "required": [long], "additionalProperties": false }),
    ] {
        let refusal = read(&schema, "schema").unwrap_err();
        assert!(refusal.param.len() + refusal.text.len() < 300, "{}", refusal.param);
    }
}

proptest! {
    /// Any JSON is read without a panic, in bounded time.
    #[test]
    fn any_schema_is_read(text in "[{}\\[\\]\":,a-z0-9 $#/]{0,200}") {
        if let Ok(schema) = serde_json::from_str(&text) {
            let _ = read(&schema, "schema");
        }
    }
}
