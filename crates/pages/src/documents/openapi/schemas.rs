//! The schemas of a description: each type once, by name.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Map, Value, json};

/// The path prefix of schemas in a description.
const HOME: &str = "#/components/schemas/";
/// The path prefix of definitions in the schema of a single type.
const DEFINITIONS: &str = "#/$defs/";

/// The side of a call that a schema is for. A type that is serialized and deserialized differently has two
/// schemas.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::documents) enum Side {
    Request,
    Response,
}

/// Schemas by name.
#[derive(Default)]
pub(in crate::documents) struct Schemas {
    by_name: BTreeMap<String, Value>,
    /// Each schema with its definitions, to recognize equal schemas.
    whole: BTreeMap<String, String>,
}

impl Schemas {
    /// Adds a type's schema from schemars with its definitions, and returns a reference to it. Schemas without a
    /// title are returned inline.
    pub(in crate::documents) fn add(&mut self, schema: &Value, side: Side) -> Value {
        let mut root = schema.clone();
        let Some(members) = root.as_object_mut() else { return json!({}) };
        let definitions = match members.remove("$defs") {
            Some(Value::Object(definitions)) => definitions,
            _ => Map::new(),
        };
        let title = members.remove("title");
        let mut names = BTreeMap::new();
        for name in definitions.keys() {
            let whole = whole(&definitions[name], &definitions);
            names.insert(name.clone(), self.name(name, &whole, side));
        }
        for (name, definition) in &definitions {
            self.by_name.insert(names[name].clone(), referring(definition, &names));
        }
        let referring = referring(&root, &names);
        let Some(title) = title.as_ref().and_then(Value::as_str) else { return referring };
        let name = self.name(title, &whole(&root, &definitions), side);
        self.by_name.insert(name.clone(), referring);
        reference(&name)
    }

    /// Returns the schema that a reference points to, or the schema itself if it is not a reference.
    pub(in crate::documents) fn get<'a>(&'a self, schema: &'a Value) -> &'a Value {
        let name = schema["$ref"].as_str().and_then(|reference| reference.strip_prefix(HOME));
        name.and_then(|name| self.by_name.get(name)).unwrap_or(schema)
    }

    /// Returns all schemas as an object.
    pub(in crate::documents) fn into_value(self) -> Value {
        self.by_name.into_iter().collect()
    }

    /// Returns the name for a schema: its title, or a longer name if another schema has that title.
    fn name(&mut self, own: &str, whole: &str, side: Side) -> String {
        let suffix = if side == Side::Request { "Input" } else { "Output" };
        let own: String = own.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '_' }).collect();
        let names = [own.clone(), format!("{own}{suffix}")];
        let numbered = (2_u32..).map(|number| format!("{own}{suffix}{number}"));
        let mut fitting = names
            .into_iter()
            .chain(numbered)
            .filter(|name| self.whole.get(name).is_none_or(|known| known == whole));
        let name = fitting.next().unwrap_or(own);
        self.whole.insert(name.clone(), whole.to_owned());
        name
    }
}

/// Returns a reference to the schema with this name.
pub(in crate::documents) fn reference(name: &str) -> Value {
    json!({ "$ref": format!("{HOME}{name}") })
}

/// Returns a schema with its definitions as text.
fn whole(schema: &Value, definitions: &Map<String, Value>) -> String {
    let (mut found, mut open) = (BTreeSet::new(), vec![schema]);
    while let Some(schema) = open.pop() {
        for name in used(schema) {
            if let Some(definition) = definitions.get(&name).filter(|_| found.insert(name.clone())) {
                open.push(definition);
            }
        }
    }
    let parts = found.iter().filter_map(|name| Some((name.clone(), definitions.get(name)?.clone())));
    let parts: Map<String, Value> = parts.collect();
    json!([schema, parts]).to_string()
}

/// Returns the names of the definitions that a schema refers to.
fn used(schema: &Value) -> Vec<String> {
    match schema {
        Value::Object(members) => {
            let own =
                members.get("$ref").and_then(Value::as_str).and_then(|name| name.strip_prefix(DEFINITIONS));
            own.map(str::to_owned).into_iter().chain(members.values().flat_map(used)).collect()
        }
        Value::Array(items) => items.iter().flat_map(used).collect(),
        _ => Vec::new(),
    }
}

/// Returns a schema with references to the description's schemas. Fields of any type get an empty schema, because
/// some readers do not support `true`.
fn referring(schema: &Value, names: &BTreeMap<String, String>) -> Value {
    match schema {
        Value::Object(members) => {
            let member = |(name, value): (&String, &Value)| {
                let definition = value.as_str().and_then(|text| text.strip_prefix(DEFINITIONS));
                let value = match (name.as_str(), definition.and_then(|name| names.get(name))) {
                    ("$ref", Some(name)) => format!("{HOME}{name}").into(),
                    ("properties", _) => without_booleans(value, names),
                    ("items", _) if value == &Value::Bool(true) => json!({}),
                    _ => referring(value, names),
                };
                (name.clone(), value)
            };
            with_plain_words(members.iter().map(member).collect())
        }
        Value::Array(items) => items.iter().map(|item| referring(item, names)).collect(),
        other => other.clone(),
    }
}

/// Replaces described constants with an `enum`, because client generators do not support constants.
fn with_plain_words(mut schema: Map<String, Value>) -> Value {
    let word = |branch: &Value| {
        Some((branch["const"].as_str()?.to_owned(), branch["description"].as_str().map(str::to_owned)))
    };
    let branches = schema.get("oneOf").and_then(Value::as_array);
    let words: Option<Vec<_>> = branches.and_then(|branches| branches.iter().map(word).collect());
    if let Some(words) = words {
        schema.remove("oneOf");
        let known = schema.get("enum").cloned();
        let all: Value = words.iter().map(|(word, _)| word.clone()).collect();
        let described = words.iter().filter_map(|(word, text)| Some(format!("`{word}`: {}", text.as_ref()?)));
        let own = schema.get("description").and_then(Value::as_str).map(str::to_owned);
        let text = own.into_iter().chain(described.filter(|_| known.is_none())).collect::<Vec<_>>().join(" ");
        schema.insert("type".to_owned(), "string".into());
        schema.insert("enum".to_owned(), known.unwrap_or(all));
        if !text.is_empty() {
            schema.insert("description".to_owned(), text.into());
        }
    }
    Value::Object(schema)
}

fn without_booleans(properties: &Value, names: &BTreeMap<String, String>) -> Value {
    let Some(members) = properties.as_object() else { return properties.clone() };
    let schema =
        |schema: &Value| if schema == &Value::Bool(true) { json!({}) } else { referring(schema, names) };
    members.iter().map(|(name, value)| (name.clone(), schema(value))).collect()
}

/// Splits the schemas of a response into final and interim ones.
pub(super) fn last_and_interim(schemas: &Schemas, whole: &Value) -> (Value, Option<Value>) {
    let root = schemas.get(whole);
    let Some(forms) = root["anyOf"].as_array() else { return (whole.clone(), None) };
    let is_interim = |form: &&Value| schemas.get(form)[ep_kernel::schema::INTERIM] == true;
    let (interim, last): (Vec<&Value>, Vec<&Value>) = forms.iter().partition(is_interim);
    match interim.as_slice() {
        [] => (whole.clone(), None),
        some => (any_of(last.into_iter().cloned()), Some(any_of(some.iter().copied().cloned()))),
    }
}

/// Returns a schema that matches any of these schemas.
pub(super) fn any_of(schemas: impl IntoIterator<Item = Value>) -> Value {
    let mut distinct: Vec<Value> = Vec::new();
    for schema in schemas {
        // A reference is enough: its description belongs to the original type.
        let schema = match schema["$ref"].as_str().and_then(|text| text.rsplit('/').next()) {
            Some(name) => reference(name),
            None => schema,
        };
        if !distinct.contains(&schema) {
            distinct.push(schema);
        }
    }
    match distinct.len() {
        1 => distinct.pop().unwrap_or_default(),
        _ => json!({ "anyOf": distinct }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn types_with_equal_names_stay_distinct() {
        let mut schemas = Schemas::default();
        let one = json!({ "title": "One", "$defs": { "Part": { "type": "string" } }, "properties": { "part": { "$ref": "#/$defs/Part" } } });
        let other = json!({ "title": "Other", "$defs": { "Part": { "type": "number" } }, "items": { "$ref": "#/$defs/Part" } });
        for _ in 0..2 {
            assert_eq!(schemas.add(&one, Side::Response), reference("One"));
            assert_eq!(schemas.add(&other, Side::Request), reference("Other"));
        }
        let all = schemas.into_value();
        let names: Vec<&String> = all.as_object().unwrap().keys().collect();
        assert_eq!(names, ["One", "Other", "Part", "PartInput"]);
        assert_eq!(all["Other"]["items"], reference("PartInput"));
    }

    #[test]
    fn definitions_are_added_with_their_type() {
        let with = |kind: &str| json!({ "title": "A", "$defs": { "B": { "type": kind } }, "properties": { "b": { "$ref": "#/$defs/B" } } });
        let mut schemas = Schemas::default();
        assert_eq!(schemas.add(&with("string"), Side::Response), reference("A"));
        assert_eq!(schemas.add(&with("number"), Side::Response), reference("AOutput"));
    }
}
