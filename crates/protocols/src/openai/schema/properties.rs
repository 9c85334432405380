//! Any schema that is accepted yields answers that are valid for it, as the crate `jsonschema` judges.

use proptest::prelude::*;
use serde_json::{Map, Value, json};

use super::read;

fn scalar() -> impl Strategy<Value = Value> {
    prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        (-3_i64..12).prop_map(Value::from),
        (0_u32..5).prop_map(|tenths| json!(f64::from(tenths) / 4.0)),
        "[a-c ]{0,3}".prop_map(Value::from),
        Just(json!({ "a": 1 })),
        Just(json!([1, "a"])),
    ]
}

fn kind() -> impl Strategy<Value = &'static str> {
    prop::sample::select(vec!["string", "number", "integer", "boolean", "null", "array", "object"])
}

fn bounded_number() -> impl Strategy<Value = Value> {
    let step = prop::sample::select(vec![None, Some(0.1), Some(0.25), Some(0.5), Some(1.0), Some(2.0)]);
    let names = (
        prop::sample::select(vec!["minimum", "exclusiveMinimum"]),
        prop::sample::select(vec!["maximum", "exclusiveMaximum"]),
    );
    (any::<bool>(), -4_i32..8, 0_i32..14, prop::sample::select(vec![1.0, 2.0, 4.0]), step, names).prop_map(
        |(integer, least, width, scale, step, (lower, upper))| {
            let mut schema = Map::new();
            schema.insert("type".to_owned(), if integer { "integer" } else { "number" }.into());
            let bound = |value: i32| {
                let value = f64::from(value) / scale;
                if value.fract() == 0.0 { json!(value as i64) } else { json!(value) }
            };
            schema.insert(lower.to_owned(), bound(least));
            schema.insert(upper.to_owned(), bound(least + width));
            schema.extend(step.map(|step| ("multipleOf".to_owned(), json!(step))));
            Value::Object(schema)
        },
    )
}

/// Keywords that can stand beside others.
fn extra() -> impl Strategy<Value = Vec<(String, Value)>> {
    let keyword = prop_oneof![
        Just(("description", json!("The grade."))),
        Just(("title", json!("Grade"))),
        Just(("default", json!(3))),
        Just(("minLength", json!(3))),
        Just(("maxLength", json!(12))),
        Just(("pattern", json!("^a"))),
        Just(("format", json!("date"))),
        Just(("minItems", json!(1))),
        Just(("minimum", json!(1))),
        Just(("maximum", json!(3))),
        Just(("exclusiveMaximum", json!(3))),
        Just(("multipleOf", json!(2))),
        Just(("not", json!({ "const": 1 }))),
        Just(("minProperties", json!(2))),
        Just(("additionalProperties", json!(false))),
        Just(("required", json!(["missing"]))),
        Just(("if", json!({ "const": 1 }))),
        Just(("nullable", json!(true))),
        Just(("enum", json!(["a", 1, 2, null]))),
        Just(("const", json!(2))),
        Just(("anyOf", json!([{ "type": "integer" }, { "type": "null" }]))),
        Just(("oneOf", json!([{ "const": 1 }, { "const": 2 }]))),
        Just(("allOf", json!([{ "enum": [1, 2, 3] }]))),
        Just(("uniqueItems", json!(true))),
        Just(("contains", json!({ "const": 1 }))),
        kind().prop_map(|kind| ("type", json!(kind))),
    ];
    prop::collection::vec(keyword.prop_map(|(name, value)| (name.to_owned(), value)), 0..2)
}

fn schema() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        prop::collection::vec(scalar(), 1..6).prop_map(|values| json!({ "enum": values })),
        (kind(), prop::collection::vec(scalar(), 1..6))
            .prop_map(|(kind, values)| json!({ "type": kind, "enum": values })),
        scalar().prop_map(|value| json!({ "const": value })),
        kind().prop_map(|kind| json!({ "type": kind })),
        (kind(), kind()).prop_map(|(one, two)| json!({ "type": [one, two] })),
        bounded_number(),
        Just(json!({ "$ref": "#/$defs/shared" })),
        Just(json!(true)),
        Just(json!({})),
    ];
    leaf.prop_recursive(3, 24, 4, |inner| {
        let several = prop::collection::vec(inner.clone(), 1..4);
        prop_oneof![
            4 => (prop::collection::vec((inner.clone(), any::<bool>()), 1..4), any::<bool>()).prop_map(|(members, closed)| {
                let named = || members.iter().enumerate().map(|(index, member)| (format!("m{index}"), member));
                let properties: Map<String, Value> = named().map(|(name, (schema, _))| (name, schema.clone())).collect();
                let required: Vec<String> = named().filter(|(_, (_, required))| *required).map(|(name, _)| name).collect();
                let mut schema = json!({ "type": "object", "properties": properties, "required": required });
                if closed {
                    schema["additionalProperties"] = false.into();
                }
                schema
            }),
            1 => several.clone().prop_map(|branches| json!({ "anyOf": branches })),
            1 => several.clone().prop_map(|branches| json!({ "oneOf": branches })),
            1 => several.prop_map(|branches| json!({ "allOf": branches })),
            1 => inner.prop_map(|items| json!({ "type": "array", "items": items })),
        ]
    })
}

/// Adds keywords to a schema and to its members.
fn with_extras(mut schema: Value, extras: &[Vec<(String, Value)>]) -> Value {
    fn add(schema: &mut Value, extras: &mut std::slice::Iter<'_, Vec<(String, Value)>>) {
        let Value::Object(members) = schema else { return };
        if let Some(more) = extras.next() {
            members.extend(more.iter().cloned());
        }
        if let Some(Value::Object(properties)) = members.get_mut("properties") {
            properties.values_mut().for_each(|schema| add(schema, extras));
        }
    }
    add(&mut schema, &mut extras.iter());
    schema
}

proptest! {
    #![proptest_config(ProptestConfig { max_global_rejects: 1_000_000, ..ProptestConfig::default() })]
    #[test]
    fn accepted_schemas_get_valid_answers(
        schema in schema(),
        shared in schema(),
        extras in prop::collection::vec(extra(), 0..4),
        picks in prop::collection::vec(any::<prop::sample::Index>(), 8),
    ) {
        let mut schema = with_extras(schema, &extras);
        if let Value::Object(members) = &mut schema {
            members.insert("$defs".to_owned(), json!({ "shared": shared }));
        }
        let Ok(answer) = read(&schema, "schema") else { return Ok(()) };
        let judge = jsonschema::draft202012::new(&schema);
        prop_assume!(judge.is_ok());
        let winners: Vec<Value> = std::iter::zip(&answer.fields, &picks)
            .map(|(field, pick)| field.values[pick.index(field.values.len())].clone())
            .collect();
        let filled = answer.shape.fill(&winners, "grade: A was chosen in 12 of 15 votes of AI models; agreement is not proof.");
        prop_assert!(judge.unwrap().is_valid(&filled), "{schema}\n{filled}");
    }
}
