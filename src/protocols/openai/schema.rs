//! Finds what can be voted on in a JSON Schema (2020-12), and the rest of the answer around it.
//!
//! A field is voted on if it has 2 to 10 possible values: an enumeration, a boolean, a union of constants, or 2 to 11 levels
//! of a bounded number. Other required fields are filled with what is certain: constants, null, an empty list, or
//! a sentence about the vote. Everything else is refused with its path.

use std::collections::BTreeSet;

use serde_json::{Map, Number, Value};

use super::field::{Field, FieldKind, most_values, too_many};
use super::refusal::{Code, Refusal};
use super::shape::AnswerPart;
use ep_polling::options::MAX_LEVELS;
use ep_tools::polls::MAX_QUESTIONS;

/// The maximum depth of a schema, and of its references.
const MAX_DEPTH: usize = 16;
/// The maximum size of what is read: one for each schema and member of the answer, and one for each 64 bytes of values and
/// descriptions. References can repeat a schema many times.
const MAX_SIZE: usize = 10_000;

/// Keywords that can reject an answer in ways that are not read here.
const UNSUPPORTED: [&str; 16] = [
    "not",
    "if",
    "patternProperties",
    "propertyNames",
    "dependentRequired",
    "dependentSchemas",
    "dependencies",
    "minProperties",
    "maxProperties",
    "contains",
    "prefixItems",
    "unevaluatedProperties",
    "unevaluatedItems",
    "$dynamicRef",
    "$recursiveRef",
    "multipleOf",
];

/// The answer that a schema describes.
#[derive(Debug, Clone)]
pub struct Answer {
    /// The answer, with places for votes.
    pub shape: AnswerPart,
    /// The fields that are voted on.
    pub fields: Vec<Field>,
}

/// Reads a schema. `at` is the path of the schema in the request.
pub fn read(schema: &Value, at: &str) -> Result<Answer, Refusal> {
    let mut reader = Reader { root: schema, size: 0, fields: Vec::new() };
    let shape = reader.schema(schema, &Place { path: at.to_owned(), name: String::new(), depth: 0 })?;
    let fields = reader.fields;
    if fields.is_empty() {
        let text = "has no field with a few possible values: add an enum, a boolean or a number with minimum and maximum";
        return Err(Refusal::new(Code::NoDecisionField, at, text));
    }
    if fields.len() > MAX_QUESTIONS {
        let text = format!("has {} fields to decide; send at most {MAX_QUESTIONS}", fields.len());
        return Err(Refusal::new(Code::TooManyDecisionFields, at, text));
    }
    Ok(Answer { shape, fields })
}

struct Reader<'a> {
    root: &'a Value,
    size: usize,
    fields: Vec<Field>,
}

/// The place of a schema: its path in the request, the name of its field, and its depth.
struct Place {
    path: String,
    name: String,
    depth: usize,
}

impl Place {
    fn inside(&self, name: &str) -> Self {
        Self {
            path: format!("{}.properties.{name}", self.path),
            name: name.to_owned(),
            depth: self.depth + 1,
        }
    }
}

/// The possible values of a field.
struct Finite {
    values: Vec<Value>,
    /// Descriptions of the values, by index.
    descriptions: Vec<(usize, String)>,
    kind: FieldKind,
}

impl<'a> Reader<'a> {
    /// Reads a schema whose value the answer must have.
    fn schema(&mut self, schema: &'a Value, place: &Place) -> Result<AnswerPart, Refusal> {
        let description = description(schema);
        let schema = self.resolved(schema, place)?;
        if let Some(finite) = self.finite(schema, place)? {
            return self.vote(finite, description.or_else(|| self::description(schema)), place);
        }
        let Some(members) = schema.as_object() else {
            // `true`, or a schema of another type: any value is valid.
            return if schema == &Value::Bool(false) {
                Err(unsupported(place, "allows no value"))
            } else {
                Ok(AnswerPart::Constant(Value::Null))
            };
        };
        for keyword in UNSUPPORTED {
            if members.contains_key(keyword) {
                return Err(unsupported(
                    place,
                    &format!("has the keyword {keyword}, which is not supported"),
                ));
            }
        }
        if let Some(branches) = union(members) {
            return self.union(branches, place);
        }
        let types = types(members);
        if types.contains(&"null") {
            return Ok(AnswerPart::Constant(Value::Null));
        }
        match types.first().copied() {
            Some("object") => self.object(members, place),
            None if members.contains_key("properties") => self.object(members, place),
            Some("string") => sentence(members, place),
            Some("array") => array(members, place),
            Some("number" | "integer") => Err(unsupported(
                place,
                &format!(
                    "is a number without bounds: add minimum and maximum with at most {MAX_LEVELS} levels, or an enum"
                ),
            )),
            Some(other) => Err(unsupported(place, &format!("has the type {other}, which is not supported"))),
            None => Ok(AnswerPart::Constant(Value::Null)),
        }
    }

    /// Follows references, and `allOf` with a single schema.
    fn resolved(&mut self, schema: &'a Value, place: &Place) -> Result<&'a Value, Refusal> {
        let mut schema = schema;
        for _ in 0..MAX_DEPTH {
            self.count(1, place)?;
            let next = match (schema.get("$ref"), schema.get("allOf").and_then(Value::as_array)) {
                (Some(Value::String(reference)), _) => {
                    let target = reference.strip_prefix('#').and_then(|pointer| self.root.pointer(pointer));
                    target.ok_or_else(|| {
                        unsupported(place, &format!("refers to {reference}, which is not in the schema"))
                    })?
                }
                (None, Some(all)) if schema.get("properties").is_none() => match all.as_slice() {
                    [one] => one,
                    _ => {
                        return Err(unsupported(
                            place,
                            "has allOf with several schemas, which is not supported",
                        ));
                    }
                },
                (None, Some(_)) => return Err(unsupported(place, "has allOf, which is not supported here")),
                _ => return Ok(schema),
            };
            schema = next;
        }
        Err(unsupported(place, "has too many references"))
    }

    fn count(&mut self, size: usize, place: &Place) -> Result<(), Refusal> {
        self.size += size;
        if self.size > MAX_SIZE || place.depth > MAX_DEPTH {
            return Err(unsupported(place, "belongs to a schema that is too large or too deep"));
        }
        Ok(())
    }

    /// Returns the possible values; none if there are too many to vote on.
    fn finite(&mut self, schema: &'a Value, place: &Place) -> Result<Option<Finite>, Refusal> {
        let Some(members) = schema.as_object() else { return Ok(None) };
        let plain = |values: Vec<Value>| Finite { values, descriptions: Vec::new(), kind: FieldKind::Choice };
        if let Some(constant) = members.get("const") {
            return Ok(Some(plain(vec![constant.clone()])));
        }
        let types = types(members);
        if let Some(values) = members.get("enum").and_then(Value::as_array) {
            let mut found: Vec<Value> = Vec::new();
            for value in values.iter().filter(|value| types.is_empty() || is_of(value, &types)) {
                if !found.contains(value) {
                    check_count(found.len() + 1, values.len(), place)?;
                    found.push(value.clone());
                }
            }
            return Ok(Some(plain(found)));
        }
        if types == ["boolean"] {
            return Ok(Some(plain(vec![Value::Bool(true), Value::Bool(false)])));
        }
        if types == ["boolean", "null"] || types == ["null", "boolean"] {
            return Ok(Some(plain(vec![Value::Bool(true), Value::Bool(false), Value::Null])));
        }
        if types == ["null"] {
            return Ok(Some(plain(vec![Value::Null])));
        }
        if types == ["integer"] || types == ["number"] {
            return levels(members, types == ["integer"], place);
        }
        if let Some(branches) = union(members) {
            return self.finite_union(branches, place);
        }
        Ok(None)
    }

    /// Returns the values of all branches; none if a branch has too many.
    fn finite_union(&mut self, branches: &'a [Value], place: &Place) -> Result<Option<Finite>, Refusal> {
        let mut all = Finite { values: Vec::new(), descriptions: Vec::new(), kind: FieldKind::Choice };
        for branch in branches {
            let place = Place { path: place.path.clone(), name: place.name.clone(), depth: place.depth + 1 };
            let text = description(branch);
            let branch = self.resolved(branch, &place)?;
            let Some(finite) = self.finite(branch, &place)? else { return Ok(None) };
            let text = text.or_else(|| description(branch)).filter(|_| finite.values.len() == 1);
            for value in finite.values {
                if !all.values.contains(&value) {
                    check_count(all.values.len() + 1, branches.len(), &place)?;
                    all.values.push(value);
                }
            }
            let last = all.values.len().saturating_sub(1);
            all.descriptions.extend(finite.descriptions.into_iter().chain(text.map(|text| (last, text))));
        }
        Ok(Some(all))
    }

    /// Fills a union without a vote: null, if it is allowed.
    fn union(&mut self, branches: &'a [Value], place: &Place) -> Result<AnswerPart, Refusal> {
        for branch in branches {
            if types_of(branch).contains(&"null") {
                return Ok(AnswerPart::Constant(Value::Null));
            }
        }
        match branches {
            [one] => self.schema(
                one,
                &Place { path: place.path.clone(), name: place.name.clone(), depth: place.depth + 1 },
            ),
            _ => Err(unsupported(place, "is a union of schemas with many values: send one of them")),
        }
    }

    /// Makes a field of the possible values. A single value is no question.
    fn vote(
        &mut self,
        finite: Finite,
        description: Option<String>,
        place: &Place,
    ) -> Result<AnswerPart, Refusal> {
        let Finite { mut values, descriptions, kind } = finite;
        let texts = descriptions.iter().map(|(_, text)| text).chain(&description);
        let size =
            values.iter().map(size_of).sum::<usize>() + texts.map(|text| 1 + text.len() / 64).sum::<usize>();
        self.count(size, place)?;
        match values.len() {
            0 => return Err(unsupported(place, "allows no value")),
            1 => return Ok(AnswerPart::Constant(values.swap_remove(0))),
            _ => {}
        }
        let field = Field::new(&place.path, &place.name, values, kind)?;
        self.fields.push(field.described(description, descriptions));
        Ok(AnswerPart::Vote(self.fields.len() - 1))
    }

    fn object(&mut self, members: &'a Map<String, Value>, place: &Place) -> Result<AnswerPart, Refusal> {
        let none = Map::new();
        let properties = match members.get("properties") {
            Some(Value::Object(properties)) => Some(properties),
            _ => None,
        };
        let required: BTreeSet<&str> = members
            .get("required")
            .and_then(Value::as_array)
            .into_iter()
            .flatten()
            .filter_map(Value::as_str)
            .collect();
        let size = required.iter().map(|name| 1 + name.len() / 64).sum();
        self.count(size, place)?;
        let mut shapes = Vec::new();
        let before = self.fields.len();
        for (name, schema) in properties.into_iter().flatten() {
            if required.contains(name.as_str()) {
                shapes.push((name.clone(), self.schema(schema, &place.inside(name))?));
            }
        }
        for name in &required {
            if !properties.unwrap_or(&none).contains_key(*name) {
                shapes.push(((*name).to_owned(), AnswerPart::Constant(Value::Null)));
            }
        }
        if self.fields.len() == before {
            // No required field can be decided: an optional one may be what the caller asks for.
            for (name, schema) in properties.into_iter().flatten() {
                if required.contains(name.as_str()) {
                    continue;
                }
                let inside = place.inside(name);
                let text = description(schema);
                let resolved = self.resolved(schema, &inside)?;
                let text = text.or_else(|| description(resolved));
                if let Some(finite) = self.finite(resolved, &inside)?.filter(|finite| finite.values.len() > 1)
                {
                    shapes.push((name.clone(), self.vote(finite, text, &inside)?));
                }
            }
        }
        Ok(AnswerPart::Object(shapes))
    }
}

/// Refuses a field as soon as it has too many distinct values; `given` is the length of its list.
fn check_count(distinct: usize, given: usize, place: &Place) -> Result<(), Refusal> {
    let most = most_values(FieldKind::Choice);
    if distinct > most { Err(too_many(&place.path, given.max(distinct), most)) } else { Ok(()) }
}

/// Returns the size of a value: one for each value in it, and one for each 64 bytes of its texts.
fn size_of(value: &Value) -> usize {
    match value {
        Value::String(text) => 1 + text.len() / 64,
        Value::Array(values) => 1 + values.iter().map(size_of).sum::<usize>(),
        Value::Object(members) => {
            1 + members.iter().map(|(name, value)| name.len() / 64 + size_of(value)).sum::<usize>()
        }
        _ => 1,
    }
}

fn unsupported(place: &Place, text: &str) -> Refusal {
    Refusal::new(Code::UnsupportedValue, &place.path, text.to_owned())
}

fn description(schema: &Value) -> Option<String> {
    schema
        .get("description")
        .and_then(Value::as_str)
        .map(str::trim)
        .filter(|text| !text.is_empty())
        .map(str::to_owned)
}

fn union(members: &Map<String, Value>) -> Option<&[Value]> {
    ["anyOf", "oneOf"].into_iter().find_map(|name| members.get(name)?.as_array()).map(Vec::as_slice)
}

/// Returns the types that a schema allows; empty if it does not say.
fn types(members: &Map<String, Value>) -> Vec<&str> {
    match members.get("type") {
        Some(Value::String(one)) => vec![one],
        Some(Value::Array(several)) => several.iter().filter_map(Value::as_str).collect(),
        _ => Vec::new(),
    }
}

fn types_of(schema: &Value) -> Vec<&str> {
    schema.as_object().map(types).unwrap_or_default()
}

fn is_of(value: &Value, types: &[&str]) -> bool {
    types.iter().any(|kind| match *kind {
        "string" => value.is_string(),
        "boolean" => value.is_boolean(),
        "null" => value.is_null(),
        "integer" => value.as_f64().is_some_and(|number| number.fract() == 0.0),
        "number" => value.is_number(),
        "array" => value.is_array(),
        "object" => value.is_object(),
        _ => false,
    })
}

/// Returns the levels of a bounded number; none without bounds.
fn levels(members: &Map<String, Value>, integer: bool, place: &Place) -> Result<Option<Finite>, Refusal> {
    let bound = |name: &str| members.get(name).and_then(Value::as_f64);
    let exclusive = members.get("exclusiveMinimum").is_some() || members.get("exclusiveMaximum").is_some();
    let (least, most) = match (bound("minimum"), bound("maximum")) {
        (Some(least), Some(most)) if !exclusive => (least, most),
        _ if integer && exclusive => {
            let least = bound("minimum").or_else(|| bound("exclusiveMinimum").map(|bound| bound + 1.0));
            let most = bound("maximum").or_else(|| bound("exclusiveMaximum").map(|bound| bound - 1.0));
            let Some(both) = least.zip(most) else { return Ok(None) };
            both
        }
        _ => return Ok(None),
    };
    let whole = |number: f64| number.fract() == 0.0 && number.abs() < 1e9;
    let step = match bound("multipleOf") {
        Some(step) if step > 0.0 => step,
        Some(_) => return Err(unsupported(place, "has a multipleOf that is not positive")),
        None if integer => 1.0,
        // Between 0 and 1, judges use tenths; on larger scales, whole numbers.
        None if (most - least - 1.0).abs() < 1e-9 => 0.1,
        None => 1.0,
    };
    if integer && !(whole(least) && whole(most) && whole(step)) {
        return Err(unsupported(place, "has bounds that are not whole numbers"));
    }
    let count = ((most - least) / step + 1e-9).floor() + 1.0;
    if !(1.0..=MAX_LEVELS as f64).contains(&count) {
        let text =
            format!("has {count} levels; at most {MAX_LEVELS} can be voted on: narrow minimum and maximum");
        return Err(Refusal::new(Code::TooManyChoices, &place.path, text));
    }
    let mut values = Vec::new();
    for index in 0..count as u32 {
        let exact = step.mul_add(f64::from(index), least);
        // Tenths are not exact in binary.
        let level = ((exact * 1e6).round() / 1e6).min(most);
        let number = if whole(level) && (integer || step.fract() == 0.0) {
            Some(Number::from(level as i64))
        } else {
            Number::from_f64(level)
        };
        values.push(number.map_or(Value::Null, Value::Number));
    }
    Ok(Some(Finite { values, descriptions: Vec::new(), kind: FieldKind::Score }))
}

/// The longest sentence about a vote that a schema may require.
const LEAST_SENTENCE: u64 = 20;

fn sentence(members: &Map<String, Value>, place: &Place) -> Result<AnswerPart, Refusal> {
    for keyword in ["pattern", "format", "contentEncoding"] {
        if members.contains_key(keyword) {
            return Err(unsupported(place, &format!("is a text with {keyword}, which a vote cannot give")));
        }
    }
    if members.get("minLength").and_then(Value::as_u64).is_some_and(|least| least > LEAST_SENTENCE) {
        return Err(unsupported(place, "is a text with a minLength that a sentence may not reach"));
    }
    let most = members.get("maxLength").and_then(Value::as_u64).map(|most| most as usize);
    Ok(AnswerPart::Sentence { most })
}

fn array(members: &Map<String, Value>, place: &Place) -> Result<AnswerPart, Refusal> {
    if members.get("minItems").and_then(Value::as_u64).unwrap_or(0) > 0 {
        return Err(unsupported(place, "is a list, which a vote cannot give: ask for one value"));
    }
    Ok(AnswerPart::Constant(Value::Array(Vec::new())))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

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
            (
                json!({ "type": "number", "minimum": 0, "maximum": 10 }),
                json!([0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10]),
            ),
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
            (
                of(json!({ "type": "string", "pattern": "^a" })),
                Code::UnsupportedValue,
                "schema.properties.other",
            ),
            (
                of(json!({ "type": "array", "minItems": 1 })),
                Code::UnsupportedValue,
                "schema.properties.other",
            ),
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
        let nine: Map<String, Value> =
            (0..9).map(|n| (format!("f{n}"), json!({ "type": "boolean" }))).collect();
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

    proptest! {
        /// Any JSON is read without a panic, in bounded time.
        #[test]
        fn any_schema_is_read(text in "[{}\\[\\]\":,a-z0-9 $#/]{0,200}") {
            if let Ok(schema) = serde_json::from_str(&text) {
                let _ = read(&schema, "schema");
            }
        }
    }
}
