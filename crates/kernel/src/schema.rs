//! JSON Schemas of inputs and outputs (draft 2020-12), and decoding by the same types.
//!
//! Input schemas use the *deserialize* contract and are simplified for models: no `null` for an absent field, no
//! integer formats, no titles, everything inline. Request schemas are the same without the simplification. Output
//! schemas use the *serialize* contract.

use schemars::generate::SchemaSettings;
use schemars::transform::{RecursiveTransform, Transform};
use schemars::{JsonSchema, Schema};
use serde::de::{DeserializeOwned, IntoDeserializer};
use serde::{Deserialize, Deserializer};
use serde_json::{Map, Value, json};

mod json_type;

use json_type::integers;
pub use json_type::{JsonType, read_text, types_beside_text};

use crate::fault::{Fault, Result, shown};
use crate::likeness::{likeness, resemblance};
use ep_polling::schema::TEXT_PATTERNS;

/// Keyword of an interim output.
pub const INTERIM: &str = "x-interim";
/// Keyword for the other accepted names of a field, which agents do not see.
pub const ALIASES: &str = "x-aliases";
/// Keyword of a field listed only for agents that request a set of tools.
pub const EXTENDED: &str = "x-extended";
/// Keyword of a field that can be sent instead of a required one, which it names.
pub const REPLACES: &str = "x-replaces";
/// Keyword of an optional field whose absence permits more: `""` and `[]` in it are refused, `null` is absent.
const LIMIT: &str = "x-limit";
/// Keyword of a required field in which `null` is a value.
const NULLABLE: &str = "x-nullable";
/// End of the description of an input with optional fields.
const EMPTY_IS_ABSENT: &str = "null, \"\" or [] omits an optional field.";
/// The same for an input with limits, in which `""` and `[]` are refused.
const NULL_IS_ABSENT: &str = "null omits an optional field.";

/// Marks a schema as the output of an unfinished call. Surfaces may send it with a different status.
pub fn interim(schema: &mut Schema) {
    schema.insert(INTERIM.to_owned(), true.into());
}

/// Allows `null` as a value of a required field. The field declares a single type.
pub fn nullable(schema: &mut Schema) {
    if let Some(kind) = schema.get("type").filter(|kind| kind.is_string()).cloned() {
        schema.insert("type".to_owned(), json!([kind, "null"]));
        schema.insert(NULLABLE.to_owned(), true.into());
    }
}

/// Returns the schema of an input, simplified for models.
pub fn input<T: JsonSchema>() -> Schema {
    let mut settings = SchemaSettings::draft2020_12().for_deserialize();
    settings.meta_schema = None;
    settings.inline_subschemas = true;
    let mut schema = settings.into_generator().into_root_schema_for::<T>();
    let replaced: Vec<Value> = replacements(&schema).map(|(_, replaced)| replaced.clone()).collect();
    let rule = rule_for_empty_values(&schema);
    RecursiveTransform(plain).transform(&mut schema);
    if let Some(Value::Array(required)) = schema.get_mut("required") {
        required.retain(|name| !replaced.contains(name));
    }
    describe_empty_values(&mut schema, rule);
    schema
}

/// Returns the schema of an input for programs, with everything that is accepted, including `null`. A field that can be
/// replaced is required, and the field that [`REPLACES`] it is optional.
pub fn request<T: JsonSchema>() -> Schema {
    let mut schema = accepted::<T>();
    let rule = rule_for_empty_values(&schema);
    RecursiveTransform(for_generators).transform(&mut schema);
    describe_empty_values(&mut schema, rule);
    schema
}

/// Returns the rule for empty values in an input with these fields.
fn rule_for_empty_values(schema: &Schema) -> &'static str {
    if limits(schema).next().is_some() { NULL_IS_ABSENT } else { EMPTY_IS_ABSENT }
}

/// Adds the rule for empty values to the description of an input with optional fields.
fn describe_empty_values(schema: &mut Schema, rule: &str) {
    if optional(schema).next().is_some() {
        let words = schema.get("description").and_then(Value::as_str).unwrap_or_default();
        let description = format!("{words} {rule}");
        schema.insert("description".into(), description.trim_start().into());
    }
}

/// Returns the rule for empty values at the end of a description, if it has one.
pub fn rule_in(description: &str) -> Option<&'static str> {
    [EMPTY_IS_ABSENT, NULL_IS_ABSENT].into_iter().find(|rule| description.ends_with(rule))
}

/// Returns the names of the fields whose absence permits more.
pub fn limits_of<T: JsonSchema>() -> Vec<String> {
    limits(&accepted::<T>()).cloned().collect()
}

fn limits(schema: &Schema) -> impl Iterator<Item = &String> {
    let fields = schema.get("properties").and_then(Value::as_object).into_iter().flatten();
    fields.filter(|(_, field)| field.get(LIMIT).is_some()).map(|(name, _)| name)
}

/// Removes the fields listed only for agents that request a set of tools from the schema of an input.
pub fn remove_extended<T: JsonSchema>(input: &mut Map<String, Value>) {
    let schema = accepted::<T>();
    let fields = schema.get("properties").and_then(Value::as_object).into_iter().flatten();
    let extended = fields.filter(|(_, field)| field.get(EXTENDED).is_some());
    if let Some(Value::Object(members)) = input.get_mut("properties") {
        extended.for_each(|(name, _)| drop(members.shift_remove(name)));
    }
}

/// Returns each field that can be sent instead of a required one, with the name of that one.
pub fn replacements(schema: &Schema) -> impl Iterator<Item = (&String, &Value)> {
    let fields = schema.get("properties").and_then(Value::as_object).into_iter().flatten();
    fields.filter_map(|(name, field)| Some((name, field.get(REPLACES)?)))
}

/// Returns the schema of an input exactly as its type declares it.
fn accepted<T: JsonSchema>() -> Schema {
    let mut settings = SchemaSettings::draft2020_12().for_deserialize();
    settings.meta_schema = None;
    settings.into_generator().into_root_schema_for::<T>()
}

/// Returns the names of the fields declared by a schema.
fn declared(schema: &Schema) -> impl Iterator<Item = &String> {
    schema.get("properties").and_then(Value::as_object).into_iter().flat_map(Map::keys)
}

/// Returns the names of the required fields of a schema.
fn required(schema: &Schema) -> impl Iterator<Item = &str> {
    schema.get("required").and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_str)
}

/// Returns the names of the optional fields of a schema.
fn optional(schema: &Schema) -> impl Iterator<Item = &String> {
    declared(schema).filter(|name| !required(schema).any(|required| required == name.as_str()))
}

/// Removes optional fields with `null`, `""` or `[]`, because many clients send these for omitted fields.
/// Required fields stay, so that `null` can have a meaning in them; limits stay unless they are `null`.
pub fn drop_empty(schema: &Schema, limits: &[String], input: &mut Map<String, Value>) {
    let is_dropped =
        |name: &String, value: &Value| value.is_null() || (is_empty(value) && !limits.contains(name));
    if input.values().any(is_empty) {
        let names: Vec<&String> = optional(schema)
            .filter(|name| input.get(*name).is_some_and(|value| is_dropped(name, value)))
            .collect();
        for name in names {
            input.shift_remove(name);
        }
    }
}

/// Returns true for `null`, `""` and `[]`.
pub fn is_empty(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::String(text) => text.is_empty(),
        Value::Array(items) => items.is_empty(),
        _ => false,
    }
}

/// Rewrites a schema for client generators, without changing its meaning.
fn for_generators(schema: &mut Schema) {
    schema.remove(EXTENDED);
    schema.remove(LIMIT);
    schema.remove(NULLABLE);
    describe_default(schema);
    let branches = schema.get("anyOf").and_then(Value::as_array);
    let all = branches.filter(|branches| branches.iter().all(|branch| only_required(branch).is_some()));
    if let Some((last, others)) = all.and_then(|branches| branches.split_last()) {
        // Generators create an empty type for each branch of `anyOf`, and ignore a condition. The condition
        // must not contain an `anyOf`, because the transform visits it next.
        let absent: Vec<Value> = others.iter().map(|branch| json!({ "not": branch })).collect();
        let (condition, then) = (json!({ "allOf": absent }), last.clone());
        schema.remove("anyOf");
        schema.insert("if".into(), condition);
        schema.insert("then".into(), then);
    }
}

/// Moves a default into the description, because client generators treat a field with a default as required.
fn describe_default(schema: &mut Schema) {
    let Some(default) = schema.remove("default").filter(|default| !default.is_null()) else { return };
    let text = schema.get("description").and_then(Value::as_str).unwrap_or_default();
    if !text.to_lowercase().contains("default") {
        let text = format!("{text} Default: {default}.");
        schema.insert("description".into(), text.trim_start().into());
    }
}

/// Returns the schema of an output.
pub fn output<T: JsonSchema>() -> Schema {
    let mut settings = SchemaSettings::draft2020_12().for_serialize();
    settings.meta_schema = None;
    settings.into_generator().into_root_schema_for::<T>()
}

/// Removes everything that some agents reject (`null` types, unknown formats) or that wastes tokens, because
/// a tool list is sent in every conversation.
fn plain(schema: &mut Schema) {
    schema.remove("title");
    schema.remove(ALIASES);
    schema.remove(EXTENDED);
    schema.remove(LIMIT);
    schema.remove(REPLACES);
    if schema.get("pattern").and_then(Value::as_str).is_some_and(|pattern| TEXT_PATTERNS.contains(&pattern)) {
        schema.remove("pattern");
    }
    if schema.get("format").and_then(Value::as_str).is_some_and(|format| {
        format.starts_with("uint") || format.starts_with("int") || matches!(format, "double" | "float")
    }) {
        schema.remove("format");
    }
    if schema.get("default").is_some_and(Value::is_null) {
        schema.remove("default");
    }
    let is_nullable = schema.remove(NULLABLE).is_some();
    if let Some(Value::Array(types)) = schema.get_mut("type").filter(|_| !is_nullable) {
        types.retain(|kind| kind != "null");
        if let [one] = types.as_slice() {
            let one = one.clone();
            schema.insert("type".into(), one);
        }
    }
    if let Some(Value::Array(choices)) = schema.get_mut("enum") {
        choices.retain(|choice| !choice.is_null());
    }
    if let Some(Value::Array(branches)) = schema.remove("anyOf") {
        if let Some(first) = branches.first().and_then(|branch| only_required(branch)) {
            // One alternative is enough for an agent.
            let others = schema.remove("required").and_then(|names| names.as_array().cloned());
            let all = first.iter().cloned().chain(others.unwrap_or_default()).collect();
            schema.insert("required".into(), Value::Array(all));
            return;
        }
        let mut remaining: Vec<Value> = branches
            .into_iter()
            .filter(|branch| branch.get("type").is_none_or(|kind| kind != "null"))
            .collect();
        match (remaining.len(), remaining.pop()) {
            (1, Some(Value::Object(only))) => {
                for (key, value) in only {
                    if schema.get(&key).is_none() {
                        schema.insert(key, value);
                    }
                }
            }
            (_, Some(last)) => {
                remaining.push(last);
                schema.insert("anyOf".into(), Value::Array(remaining));
            }
            (_, None) => {}
        }
    }
    if let Some(Value::Array(branches)) = schema.remove("oneOf") {
        if let Some(words) = constants(&branches) {
            schema.insert("type".into(), "string".into());
            schema.insert("enum".into(), words);
        } else if !branches.iter().all(|branch| only_required(branch).is_some()) {
            // Where each branch requires another field, the descriptions say so, and the operation refuses both or none.
            // Anthropic's API refuses every request with such a schema (anthropics/claude-code#45106).
            schema.insert("oneOf".into(), Value::Array(branches));
        }
    }
}

/// Returns the fields that a branch requires, if it has no other keyword.
fn only_required(branch: &Value) -> Option<&Vec<Value>> {
    let fields = branch.as_object().filter(|fields| fields.len() == 1)?;
    fields.get("required")?.as_array()
}

/// Returns the values of an enum with described variants, which schemars lists as `oneOf` constants.
fn constants(branches: &[Value]) -> Option<Value> {
    branches.iter().map(|branch| branch.get("const").filter(|word| word.is_string()).cloned()).collect()
}

/// Decodes an input. The fault names every invalid field and the expected value.
pub fn decode<T: DeserializeOwned + JsonSchema>(mut input: Value) -> Result<T> {
    decode_from(&mut input)
}

/// Decodes an input like [`decode`], and leaves it to the caller.
pub fn decode_from<T: DeserializeOwned + JsonSchema>(input: &mut Value) -> Result<T> {
    if !input.is_object() {
        return Err(Fault::invalid("", "the input must be a JSON object"));
    }
    integers(input);
    serde_path_to_error::deserialize(&*input).map_err(|error| {
        let first = field_fault(error).1;
        add_other_faults::<T>(input, first)
    })
}

/// Returns the field at which a decoder stopped, or an empty name for a missing field, with the fault.
fn field_fault(error: serde_path_to_error::Error<serde_json::Error>) -> (String, Fault) {
    let path = error.path().to_string();
    let field = if path == "." { String::new() } else { path };
    let fault = Fault::invalid(field.clone(), reword(&error.into_inner().to_string()));
    (field, fault)
}

/// Adds the faults of the other fields. The decoder stops at the first invalid field, so each field is
/// decoded separately. Missing fields are then ignored, and found from the schema.
fn add_other_faults<T: DeserializeOwned + JsonSchema>(input: &Value, first: Fault) -> Fault {
    /// More fields than any operation has.
    const MAX_FIELDS: usize = 64;
    let Some(fields) = input.as_object() else { return first };
    let wrong = fields.iter().take(MAX_FIELDS).filter_map(|(name, value)| {
        let alone = Value::Object(Map::from_iter([(name.clone(), value.clone())]));
        let error = serde_path_to_error::deserialize::<_, T>(&alone).err()?;
        let (field, fault) = field_fault(error);
        (!field.is_empty()).then_some(fault)
    });
    let missing = missing(&accepted::<T>(), fields);
    let missing = missing.into_iter().map(|name| Fault::invalid(name.clone(), format!("{name} is missing")));
    wrong.chain(missing).fold(first, Fault::and)
}

/// Returns the required fields missing from an input. If alternatives exist, returns only the first.
fn missing(schema: &Schema, input: &Map<String, Value>) -> Vec<String> {
    let has = |name: &str| {
        input.contains_key(name) || aliases_of(schema, name).any(|alias| input.contains_key(alias))
    };
    let mut names: Vec<&str> = Vec::new();
    let ways: Vec<&Vec<Value>> = schema
        .get("anyOf")
        .and_then(Value::as_array)
        .into_iter()
        .flatten()
        .filter_map(only_required)
        .collect();
    let met = |way: &&Vec<Value>| way.iter().filter_map(Value::as_str).all(has);
    if let Some(first) = ways.first().filter(|_| !ways.iter().any(met)) {
        names.extend(first.iter().filter_map(Value::as_str));
    }
    let is_replaced = |name: &str| replacements(schema).any(|(by, replaced)| *replaced == name && has(by));
    names.extend(required(schema).filter(|name| !is_replaced(name)));
    names.into_iter().filter(|name| !has(name)).map(str::to_owned).collect()
}

/// An unknown field of an input, with the nearest known name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UnknownMember {
    /// The unknown name, shortened, without control characters.
    pub given: String,
    /// The known name.
    pub nearest: String,
    /// True if the unknown name looks like a misspelling of the known one.
    pub alike: bool,
}

/// Longer than any known name. Comparing takes time proportional to the product of two lengths.
const MAX_NAME: usize = 64;
/// Maximum number of unknown fields reported.
const MAX_UNKNOWN: usize = 64;

/// Returns the fields of `input` that are not in `known`, each with the nearest name of `offered`.
pub fn unknown(
    known: &dyn Fn(&str) -> bool,
    offered: &[&str],
    input: &Map<String, Value>,
) -> Vec<UnknownMember> {
    let unknown = input.keys().filter(|name| !known(name)).take(MAX_UNKNOWN);
    let found = unknown.filter_map(|given| {
        let compared: String = given.chars().filter(|c| !c.is_control()).take(MAX_NAME).collect();
        let near =
            offered.iter().map(|known| (likeness(&compared, known), resemblance(&compared, known), known));
        let (likeness, _, nearest) = near.max_by(|a, b| a.0.total_cmp(&b.0).then(a.1.total_cmp(&b.1)))?;
        let alike = likeness > 0.0 && given.len() <= MAX_NAME;
        Some(UnknownMember { given: compared, nearest: (*nearest).to_owned(), alike })
    });
    found.collect()
}

/// Returns a notice for each unknown field of `input` that looks like a misspelling of a known one: it could be a
/// spending limit without effect.
pub fn spelling_notices(schema: &Schema, input: &Map<String, Value>) -> Vec<String> {
    let notice = |UnknownMember { given, nearest, .. }| {
        format!("{given} has no effect: it is not a known field; did you mean {nearest}?")
    };
    misspelt(schema, input).into_iter().map(notice).collect()
}

/// Returns the unknown fields of `input` that look like misspellings of known ones.
fn misspelt(schema: &Schema, input: &Map<String, Value>) -> Vec<UnknownMember> {
    let offered = names(schema);
    let known = |name: &str| offered.contains(&name);
    let mut found = unknown(&known, &offered, input);
    found.retain(|field| field.alike);
    found
}

/// Returns the names declared by an input schema.
pub fn names(schema: &Schema) -> Vec<&str> {
    declared(schema).map(String::as_str).collect()
}

/// Returns true for a field that is accepted but no longer offered.
pub fn is_deprecated(schema: &Schema, name: &str) -> bool {
    let field = schema.get("properties").and_then(|fields| fields.get(name));
    field.and_then(|field| field.get("deprecated")).and_then(Value::as_bool).unwrap_or(false)
}

/// Returns the other names that this input schema accepts for its fields.
pub fn aliases(schema: &Schema) -> impl Iterator<Item = &str> {
    names(schema).into_iter().flat_map(|name| aliases_of(schema, name))
}

/// Returns the other names that this input schema accepts for a field.
pub fn aliases_of<'s>(schema: &'s Schema, name: &str) -> impl Iterator<Item = &'s str> {
    let field = schema.get("properties").and_then(|fields| fields.get(name)?.get(ALIASES)?.as_array());
    field.into_iter().flatten().filter_map(Value::as_str)
}

/// Decodes an optional name of an enum, given as text. Without this, the decoder would also accept a map with
/// the name as its key.
pub fn word<'de, D: Deserializer<'de>, T: Deserialize<'de>>(deserializer: D) -> Result<Option<T>, D::Error> {
    match Option::<String>::deserialize(deserializer)? {
        Some(word) => T::deserialize(word.into_deserializer()).map(Some),
        None => Ok(None),
    }
}

/// Maximum length of a wrong value that a fault quotes, in characters.
const MAX_QUOTED: usize = 120;

/// Rewrites a decoder's message ("invalid type: string \"x\", expected f64") for the caller.
fn reword(message: &str) -> String {
    let wrong = message.strip_prefix("invalid type: ").or_else(|| message.strip_prefix("invalid value: "));
    let Some((given, expected)) = wrong.and_then(|rest| rest.rsplit_once(", expected ")) else {
        if let Some((word, known)) =
            message.strip_prefix("unknown variant ").and_then(|m| m.split_once(", expected "))
        {
            return format!("must be {}, not {}", known.replace('`', ""), shown(word, MAX_QUOTED));
        }
        return match message.strip_prefix("missing field ") {
            Some(field) => format!("{} is missing", field.trim_matches('`')),
            None => message.to_owned(),
        };
    };
    let expected = match expected {
        "f64" | "f32" => "a number",
        "u8" | "u16" | "u32" | "u64" | "usize" => "a whole number from 0",
        "i32" | "i64" => "a whole number",
        "a sequence" => "a list",
        "a string" => "text",
        "a boolean" => "true or false",
        other if other.starts_with("struct ") => "a JSON object",
        other => other,
    };
    format!("must be {expected}, not {}", shown(given, MAX_QUOTED))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug, Deserialize, JsonSchema)]
    struct Input {
        name: String,
        count: Option<u32>,
        #[serde(default)]
        nested: Vec<f64>,
        #[serde(default, deserialize_with = "word")]
        size: Option<Size>,
    }

    #[derive(Debug, Deserialize, JsonSchema)]
    #[serde(rename_all = "lowercase")]
    enum Size {
        /// Not large.
        Small,
        /// Not small.
        Large,
    }

    #[test]
    fn inputs_are_plain() {
        let schema = serde_json::to_value(input::<Input>()).unwrap();
        assert_eq!(schema["properties"]["count"], json!({ "type": "integer", "minimum": 0 }));
        assert_eq!(schema["required"], json!(["name"]));
        assert_eq!(schema["properties"]["size"], json!({ "type": "string", "enum": ["small", "large"] }));
        assert!(schema.get("title").is_none() && schema.get("$schema").is_none());
    }

    #[test]
    fn request_schemas_describe_defaults_and_alternatives() {
        #[derive(JsonSchema)]
        #[schemars(extend("anyOf" = [{ "required": ["a"] }, { "required": ["b"] }]))]
        #[expect(dead_code, reason = "only its schema is used")]
        struct Alternatives {
            /// The first.
            a: Option<u8>,
            b: Option<u8>,
            /// Said twice.
            #[schemars(extend("default" = false))]
            c: Option<bool>,
        }
        let schema = serde_json::to_value(request::<Alternatives>()).unwrap();
        assert!(schema.get("anyOf").is_none() && schema.get("required").is_none(), "{schema}");
        assert_eq!(schema["if"], json!({ "allOf": [{ "not": { "required": ["a"] } }] }));
        assert_eq!(schema["then"], json!({ "required": ["b"] }));
        let c = &schema["properties"]["c"];
        assert_eq!((c.get("default"), &c["description"]), (None, &json!("Said twice. Default: false.")));
    }

    #[test]
    fn misspelt_fields_are_distinguished_from_foreign_ones() {
        #[derive(JsonSchema)]
        #[expect(dead_code, reason = "only its schema is used")]
        struct Poll {
            question: String,
            options: Vec<String>,
            confidence_threshold: f64,
            max_cost_usd: f64,
            preset: String,
            models: Vec<String>,
            wait_ms: u32,
            poll_type: String,
            private: bool,
            dry_run: bool,
        }
        let schema = input::<Poll>();
        let meant = |name: &str| {
            let found = misspelt(&schema, &Map::from_iter([(name.to_owned(), json!(1))]));
            found.into_iter().next().map(|found| found.nearest)
        };
        for (given, known) in [
            ("max_cost", "max_cost_usd"),
            ("maxCostUsd", "max_cost_usd"),
            ("max_cost_us", "max_cost_usd"),
            ("max_costs_usd", "max_cost_usd"),
            ("cost", "max_cost_usd"),
            ("treshold", "confidence_threshold"),
            ("threshold", "confidence_threshold"),
            ("confidenceTreshold", "confidence_threshold"),
            ("confidence", "confidence_threshold"),
            ("option", "options"),
            ("Question", "question"),
            ("dryrun", "dry_run"),
            ("presets", "preset"),
            ("wait", "wait_ms"),
            ("num_models", "models"),
            ("model_count", "models"),
        ] {
            assert_eq!(meant(given).as_deref(), Some(known), "{given}");
        }
        for foreign in
            ["question", "max_cost_usd", "user", "trace_id", "idempotency_key", "context", "_meta", ""]
        {
            assert_eq!(meant(foreign), None, "{foreign}");
        }
        let hostile =
            Map::from_iter([("x".repeat(100_000), json!(1)), ("max_cost\u{1b}".to_owned(), json!(1))]);
        assert_eq!(misspelt(&schema, &hostile).len(), 1);
        assert_eq!(misspelt(&schema, &hostile)[0].given, "max_cost");
    }

    #[test]
    fn faults_name_the_field_and_the_remedy() {
        let fault = |value| decode::<Input>(value).unwrap_err();
        assert_eq!(fault(json!({})).message(), "name is missing");
        assert_eq!(fault(json!({ "name": 3 })).message(), "name must be text, not integer `3`");
        let nested = fault(json!({ "name": "x", "nested": [1, "two"] }));
        assert_eq!(nested.message(), "nested[1] must be a number, not string \"two\"");
        assert_eq!(nested.fields()[0].field, "nested[1]");
        assert_eq!(fault(json!([1])).message(), "the input must be a JSON object");
        let long = fault(json!({ "name": "x", "count": "y".repeat(100_000), "size": "z".repeat(100_000) }));
        assert!(long.message().len() < 500, "{}", long.message());
        let input = decode::<Input>(json!({ "name": "x", "count": 2.0, "nested": [3.0, 0.5] })).unwrap();
        assert_eq!((input.count, input.nested), (Some(2), vec![3.0, 0.5]));
        assert_eq!(fault(json!({ "name": "x", "count": 2.5 })).fields()[0].field, "count");
        let input = decode::<Input>(json!({ "name": "x", "count": 2, "extra": null })).unwrap();
        assert_eq!((input.name.as_str(), input.count, input.nested.len()), ("x", Some(2), 0));
        assert!(input.size.is_none());
    }
}
