//! Finds what can be voted on in a JSON Schema (2020-12), and the rest of the answer around it.
//!
//! A field is voted on if it has 2 to 10 possible values: an enumeration, a boolean, a union of constants, or 2 to 11 levels
//! of a bounded number. Other required fields are filled with what is certain: constants, null, an empty list, or
//! a sentence about the vote. Everything else is refused with its path.

#[cfg(test)]
mod growing;
mod keywords;
mod levels;

use std::collections::HashSet;
use std::fmt;

use ep_kernel::reading::{Exhausted, Work};
use ep_polling::options::MAX_LEVELS;
use ep_tools::polls::MAX_QUESTIONS;
use serde_json::{Map, Value};

use super::field::{Field, FieldKind, most_values, too_many};
use super::refusal::{Code, Refusal};
use super::shape::AnswerPart;
use keywords::{
    OF_VALUES, ValueRules, allows_null, equal, length_of_types, other_than, rejects_null, types, union,
    unsupported_in,
};
use levels::{NoLevels, levels};

/// The maximum depth of a schema, and of its references.
const MAX_DEPTH: usize = 16;
/// The maximum size of what is read: one for each schema and member of the answer, and one for each 64 bytes of values and
/// descriptions. References can repeat a schema many times.
const MAX_SIZE: usize = 10_000;

/// The answer that a schema describes.
#[derive(Debug, Clone)]
pub struct Answer {
    /// The answer, with places for votes.
    pub shape: AnswerPart,
    /// The fields that are voted on.
    pub fields: Vec<Field>,
}

/// The maximum length of a list or an object that is one of several values, in bytes. No option is as long.
const MAX_STRUCTURE: usize = 2048;
/// Maximum number of values in a list that has lists or objects, too.
const MAX_WITH_STRUCTURES: usize = 256;
/// The maximum length of a name in a path, in bytes.
const MAX_NAME: usize = 64;

/// Reads a schema. `at` is the path of the schema in the request.
pub fn read(schema: &Value, at: &str) -> Result<Answer, Refusal> {
    read_within(schema, at, &mut Work::of(0))
}

fn read_within(schema: &Value, at: &str, work: &mut Work) -> Result<Answer, Refusal> {
    let mut reader = Reader { root: schema, size: 0, fields: Vec::new(), work, is_measured: false };
    let shape = reader.schema(schema, &Place { parent: None, name: at, is_field: true, depth: 0 })?;
    let fields = reader.fields;
    if fields.is_empty() {
        let text = "has no field with a few possible values: add an enum, a boolean or a number with minimum and maximum";
        return Err(Refusal::new(Code::NoDecisionField, at, text));
    }
    Ok(Answer { shape, fields })
}

struct Reader<'a, 'w> {
    root: &'a Value,
    size: usize,
    fields: Vec<Field>,
    work: &'w mut Work,
    /// True if the budget is that of the schema's length.
    is_measured: bool,
}

/// The place of a schema: in a property of its parent, or in a union that its parent is.
struct Place<'p> {
    parent: Option<&'p Place<'p>>,
    /// The name of the property; the path of the schema at the root.
    name: &'p str,
    /// False in a union, whose branches have the place of the union.
    is_field: bool,
    depth: usize,
}

impl Place<'_> {
    fn inside<'p>(&'p self, name: &'p str) -> Place<'p> {
        Place { parent: Some(self), name, is_field: true, depth: self.depth + 1 }
    }

    fn branch(&self) -> Place<'_> {
        Place { parent: Some(self), name: self.name, is_field: false, depth: self.depth + 1 }
    }

    /// Returns the name of the field; empty at the root.
    fn field(&self) -> &str {
        match self.parent {
            Some(parent) if !self.is_field => parent.field(),
            Some(_) => self.name,
            None => "",
        }
    }

    /// Returns the path in the request. Long names are shortened.
    fn path(&self) -> String {
        self.to_string()
    }
}

impl fmt::Display for Place<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Some(parent) = self.parent else { return f.write_str(self.name) };
        parent.fmt(f)?;
        if self.is_field {
            let shown = &self.name[..self.name.floor_char_boundary(MAX_NAME)];
            let mark = if shown.len() < self.name.len() { "…" } else { "" };
            write!(f, ".properties.{shown}{mark}")?;
        }
        Ok(())
    }
}

/// The possible values of a field.
struct Finite<'a> {
    values: Vec<Value>,
    /// Descriptions of the values, by index: at most one of each.
    descriptions: Vec<(usize, &'a str)>,
    kind: FieldKind,
}

impl<'a> Reader<'a, '_> {
    /// Reads a schema whose value the answer must have.
    fn schema(&mut self, schema: &'a Value, place: &Place<'_>) -> Result<AnswerPart, Refusal> {
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
        supported(members, place)?;
        if let Some((keyword, branches)) = union(members) {
            only(members, &[keyword], place)?;
            return self.union(keyword, branches, place);
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
    fn resolved(&mut self, schema: &'a Value, place: &Place<'_>) -> Result<&'a Value, Refusal> {
        let mut schema = schema;
        for _ in 0..MAX_DEPTH {
            self.count(1, place)?;
            let Some(members) = schema.as_object() else { return Ok(schema) };
            self.spend(1 + members.len() + length_of_types(members), place)?;
            let next = if let Some(Value::String(reference)) = members.get("$ref") {
                only(members, &["$ref"], place)?;
                self.spend(reference.len(), place)?;
                let target = reference.strip_prefix('#').and_then(|pointer| self.root.pointer(pointer));
                target.ok_or_else(|| {
                    let shown = &reference[..reference.floor_char_boundary(MAX_NAME)];
                    unsupported(place, &format!("refers to {shown}, which is not in the schema"))
                })?
            } else if let Some(all) = members.get("allOf").and_then(Value::as_array) {
                only(members, &["allOf"], place)?;
                let [one] = all.as_slice() else {
                    return Err(unsupported(place, "has allOf with several schemas, which is not supported"));
                };
                one
            } else {
                return Ok(schema);
            };
            schema = next;
        }
        Err(unsupported(place, "has too many references"))
    }

    /// Spends units of work. The schema is measured once a short one would have used up its budget.
    fn spend(&mut self, units: usize, place: &Place<'_>) -> Result<(), Refusal> {
        let mut spent = self.work.spend(units);
        if spent.is_err() && !std::mem::replace(&mut self.is_measured, true) {
            self.work.extend(length(self.root));
            spent = self.work.spend(units);
        }
        spent.map_err(|Exhausted| {
            unsupported(
                place,
                "belongs to a schema that is too much work to read: repeat and refer to fewer values",
            )
        })
    }

    fn count(&mut self, size: usize, place: &Place<'_>) -> Result<(), Refusal> {
        self.size += size;
        if self.size > MAX_SIZE || place.depth > MAX_DEPTH {
            return Err(unsupported(place, "belongs to a schema that is too large or too deep"));
        }
        Ok(())
    }

    /// Returns the possible values; none if there are too many to vote on.
    fn finite(&mut self, schema: &'a Value, place: &Place<'_>) -> Result<Option<Finite<'a>>, Refusal> {
        let Some(members) = schema.as_object() else { return Ok(None) };
        let plain = |values: Vec<Value>| Finite { values, descriptions: Vec::new(), kind: FieldKind::Choice };
        let types = types(members);
        let listed = match (members.get("enum"), members.get("const")) {
            (Some(Value::Array(values)), _) => Some(values.as_slice()),
            (_, Some(constant)) => Some(std::slice::from_ref(constant)),
            _ => None,
        };
        self.spend(1 + members.len() + length_of_types(members), place)?;
        if let Some(values) = listed {
            only(members, &OF_VALUES, place)?;
            let rules = ValueRules::of(members);
            // At most as many values as an answer may have: fewer comparisons than a set would hash bytes.
            let mut found: Vec<(usize, &Value)> = Vec::new();
            for value in values {
                check_structures(value, values.len(), place)?;
                // Repetitions of one value need no length of their own.
                if let Some((size, last)) = found.last() {
                    self.spend(comparison(last, *size), place)?;
                    if equal(last, value) {
                        continue;
                    }
                }
                let size = length(value);
                self.spend(1 + size, place)?;
                if rules.admit(value) {
                    check_structure(value, size, values.len(), place)?;
                    let mut is_known = false;
                    for (_, known) in found.iter().filter(|(known, _)| *known == size) {
                        self.spend(comparison(known, size), place)?;
                        is_known |= equal(known, value);
                    }
                    if !is_known {
                        check_count(found.len() + 1, values.len(), place)?;
                        found.push((size, value));
                    }
                }
            }
            return Ok(Some(plain(found.into_iter().map(|(_, value)| value.clone()).collect())));
        }
        if let Some((keyword, branches)) = union(members) {
            return self.finite_union(keyword, branches, members, place);
        }
        let booleans = [Value::Bool(true), Value::Bool(false)];
        let found = match types.as_slice() {
            ["boolean"] => plain(booleans.to_vec()),
            ["boolean", "null"] | ["null", "boolean"] => {
                plain(booleans.into_iter().chain([Value::Null]).collect())
            }
            ["null"] => plain(vec![Value::Null]),
            ["integer" | "number"] => {
                let values = levels(members, types == ["integer"]);
                match values.map_err(|reason| no_levels(&reason, place))? {
                    Some(values) => Finite { values, descriptions: Vec::new(), kind: FieldKind::Score },
                    None => return Ok(None),
                }
            }
            _ => return Ok(None),
        };
        supported(members, place)?;
        Ok(Some(found))
    }

    /// Returns the values of all branches; none if a branch has too many. `members` are those of the union.
    fn finite_union(
        &mut self,
        keyword: &str,
        branches: &'a [Value],
        members: &Map<String, Value>,
        place: &Place<'_>,
    ) -> Result<Option<Finite<'a>>, Refusal> {
        let mut rules = ValueRules::of(members);
        if let Some(Value::Array(listed)) = members.get("enum") {
            let size = listed.iter().map(|value| 1 + length(value)).sum();
            self.spend(size, place)?;
            rules = rules.with_enum(listed);
        }
        let mut all = Finite { values: Vec::new(), descriptions: Vec::new(), kind: FieldKind::Choice };
        let mut repeats = false;
        for branch in branches {
            let place = place.branch();
            let text = description(branch);
            let branch = self.resolved(branch, &place)?;
            let Some(finite) = self.finite(branch, &place)? else { return Ok(None) };
            if finite.kind == FieldKind::Score && keyword == "oneOf" && branches.len() > 1 {
                return Err(unsupported(&place, "has a number in oneOf, which is not supported: use anyOf"));
            }
            let text = text.or_else(|| description(branch)).filter(|_| finite.values.len() == 1);
            let described = finite.descriptions.into_iter().chain(text.map(|text| (0, text)));
            let described: Vec<(Value, &str)> = described
                .filter_map(|(index, text)| Some((finite.values.get(index)?.clone(), text)))
                .collect();
            for value in finite.values {
                let size = length(&value);
                self.spend(1 + size, &place)?;
                check_structure(&value, size, branches.len(), &place)?;
                if all.values.iter().any(|known| equal(known, &value)) {
                    repeats = true;
                } else if rules.admit(&value) {
                    check_count(all.values.len() + 1, branches.len(), &place)?;
                    all.values.push(value);
                }
            }
            let position = |value: &Value| all.values.iter().position(|known| equal(known, value));
            for (value, text) in described {
                if let Some(index) = position(&value)
                    && all.descriptions.iter().all(|(known, _)| *known != index)
                {
                    all.descriptions.push((index, text));
                }
            }
        }
        only(members, &[&[keyword], &OF_VALUES[..]].concat(), place)?;
        if keyword == "oneOf" && repeats {
            return Err(unsupported(place, "has a value in several branches of oneOf: use anyOf"));
        }
        Ok(Some(all))
    }

    /// Fills a union without a vote: null, if it is allowed.
    fn union(
        &mut self,
        keyword: &str,
        branches: &'a [Value],
        place: &Place<'_>,
    ) -> Result<AnswerPart, Refusal> {
        let inside = place.branch();
        self.spend(branches.len(), place)?;
        if let [one] = branches {
            return self.schema(one, &inside);
        }
        let nullable = branches.iter().filter(|branch| allows_null(branch)).count();
        let others = branches.iter().filter(|branch| rejects_null(branch)).count();
        if nullable >= 1 && (keyword == "anyOf" || nullable == 1 && others + 1 == branches.len()) {
            return Ok(AnswerPart::Constant(Value::Null));
        }
        Err(unsupported(place, "is a union of schemas with many values: send one of them"))
    }

    /// Makes a field of the possible values. A single value is no question.
    fn vote(
        &mut self,
        finite: Finite<'a>,
        description: Option<&'a str>,
        place: &Place<'_>,
    ) -> Result<AnswerPart, Refusal> {
        let Finite { mut values, descriptions, kind } = finite;
        let texts = descriptions.iter().map(|(_, text)| *text).chain(description);
        let size =
            values.iter().map(size_of).sum::<usize>() + texts.map(|text| 1 + text.len() / 64).sum::<usize>();
        self.count(size, place)?;
        match values.len() {
            0 => return Err(unsupported(place, "allows no value")),
            1 => return Ok(AnswerPart::Constant(values.swap_remove(0))),
            _ => {}
        }
        if self.fields.len() == MAX_QUESTIONS {
            let text = format!("is one field to decide too many: send at most {MAX_QUESTIONS}");
            return Err(Refusal::new(Code::TooManyDecisionFields, &place.path(), text));
        }
        let field = Field::new(&place.path(), place.field(), values, kind)?;
        let descriptions = descriptions.into_iter().map(|(index, text)| (index, text.to_owned())).collect();
        self.fields.push(field.described(description.map(str::to_owned), descriptions));
        Ok(AnswerPart::Vote(self.fields.len() - 1))
    }

    fn object(&mut self, members: &'a Map<String, Value>, place: &Place<'_>) -> Result<AnswerPart, Refusal> {
        let none = Map::new();
        let properties = match members.get("properties") {
            Some(Value::Object(properties)) => Some(properties),
            _ => None,
        };
        let listed = members.get("required").and_then(Value::as_array).into_iter().flatten();
        let (mut required, mut names) = (HashSet::new(), Vec::new());
        for name in listed.filter_map(Value::as_str) {
            self.spend(1 + name.len(), place)?;
            if required.insert(name) {
                names.push(name);
            }
        }
        let size = names.iter().map(|name| 1 + name.len() / 64).sum();
        self.count(size, place)?;
        let size = properties.into_iter().flatten().map(|(name, _)| 1 + name.len()).sum();
        self.spend(size, place)?;
        let mut shapes = Vec::new();
        let before = self.fields.len();
        for (name, schema) in properties.into_iter().flatten() {
            if required.contains(name.as_str()) {
                shapes.push((name.clone(), self.schema(schema, &place.inside(name))?));
            }
        }
        let free = members.get("additionalProperties");
        let is_free =
            free.is_none_or(|free| free == &Value::Bool(true) || free == &Value::Object(Map::new()));
        for name in names {
            self.spend(1 + name.len(), place)?;
            if !properties.unwrap_or(&none).contains_key(name) {
                if !is_free {
                    let name = &name[..name.floor_char_boundary(MAX_NAME)];
                    let text = format!("requires {name}, which has no schema in properties");
                    return Err(unsupported(place, &text));
                }
                shapes.push((name.to_owned(), AnswerPart::Constant(Value::Null)));
            }
        }
        if self.fields.len() == before {
            // No required field can be decided: an optional one may be what the caller asks for.
            for (name, schema) in properties.into_iter().flatten() {
                self.spend(1 + name.len(), place)?;
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

/// Refuses a schema with a keyword that is never read.
fn supported(members: &Map<String, Value>, place: &Place<'_>) -> Result<(), Refusal> {
    match unsupported_in(members) {
        Some(keyword) => {
            Err(unsupported(place, &format!("has the keyword {keyword}, which is not supported")))
        }
        None => Ok(()),
    }
}

/// Refuses a schema with a keyword that can reject a value, other than the allowed ones.
fn only(members: &Map<String, Value>, allowed: &[&str], place: &Place<'_>) -> Result<(), Refusal> {
    match other_than(members, allowed) {
        Some(keyword) => {
            let text = format!("has the keyword {keyword} beside {}, which is not supported", allowed[0]);
            Err(unsupported(place, &text))
        }
        None => Ok(()),
    }
}

fn no_levels(reason: &NoLevels, place: &Place<'_>) -> Refusal {
    match reason {
        NoLevels::TooMany(count) => {
            let text = format!(
                "has {count} levels; at most {MAX_LEVELS} can be voted on: narrow minimum and maximum"
            );
            Refusal::new(Code::TooManyChoices, &place.path(), text)
        }
        NoLevels::Invalid(text) => unsupported(place, text),
    }
}

/// Refuses a field as soon as it has too many distinct values; `given` is the length of its list.
fn check_count(distinct: usize, given: usize, place: &Place<'_>) -> Result<(), Refusal> {
    let most = most_values(FieldKind::Choice);
    if distinct > most { Err(too_many(&place.path(), given.max(distinct), most)) } else { Ok(()) }
}

/// Refuses a list or an object in a list of too many values. They are spread over the memory, so reading them is slow.
fn check_structures(value: &Value, several: usize, place: &Place<'_>) -> Result<(), Refusal> {
    if several > MAX_WITH_STRUCTURES && is_structure(value) {
        let text = format!("has lists or objects among {several} values: send at most {MAX_WITH_STRUCTURES}");
        return Err(unsupported(place, &text));
    }
    Ok(())
}

fn is_structure(value: &Value) -> bool {
    value.is_array() || value.is_object()
}

/// Refuses a list or an object that is too long for one of several values. Comparing objects takes more than linear work.
fn check_structure(value: &Value, size: usize, several: usize, place: &Place<'_>) -> Result<(), Refusal> {
    if several > 1 && is_structure(value) && size > MAX_STRUCTURE {
        return Err(unsupported(place, "has a list or an object among its values that is too long"));
    }
    Ok(())
}

/// Returns the units of work of comparing a value of this length. The bytes of a text are compared several at once.
fn comparison(value: &Value, length: usize) -> usize {
    if value.is_string() { 1 + length / 8 } else { 1 + length }
}

/// Returns the least length of a value as JSON, in bytes.
fn length(value: &Value) -> usize {
    match value {
        Value::Null | Value::Bool(_) => 4,
        Value::Number(_) => 1,
        Value::String(text) => text.len() + 2,
        Value::Array(values) => 1 + values.iter().map(|value| 1 + length(value)).sum::<usize>(),
        Value::Object(members) => {
            1 + members.iter().map(|(name, value)| name.len() + 4 + length(value)).sum::<usize>()
        }
    }
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

fn unsupported(place: &Place<'_>, text: &str) -> Refusal {
    Refusal::new(Code::UnsupportedValue, &place.path(), text.to_owned())
}

fn description(schema: &Value) -> Option<&str> {
    schema.get("description").and_then(Value::as_str).map(str::trim).filter(|text| !text.is_empty())
}

/// The longest sentence about a vote that a schema may require.
const LEAST_SENTENCE: f64 = 20.0;

fn sentence(members: &Map<String, Value>, place: &Place<'_>) -> Result<AnswerPart, Refusal> {
    for keyword in ["pattern", "format", "contentEncoding"] {
        if members.contains_key(keyword) {
            return Err(unsupported(place, &format!("is a text with {keyword}, which a vote cannot give")));
        }
    }
    let number = |name: &str| members.get(name).and_then(Value::as_f64);
    let least = number("minLength").unwrap_or(0.0);
    if least > LEAST_SENTENCE {
        return Err(unsupported(place, "is a text with a minLength that a sentence may not reach"));
    }
    let most = number("maxLength");
    if most.is_some_and(|most| most < least) {
        return Err(unsupported(place, "is a text with a maxLength below its minLength"));
    }
    Ok(AnswerPart::Sentence { most: most.map(|most| most as usize) })
}

fn array(members: &Map<String, Value>, place: &Place<'_>) -> Result<AnswerPart, Refusal> {
    if members.get("minItems").and_then(Value::as_f64).is_some_and(|least| least > 0.0) {
        return Err(unsupported(place, "is a list, which a vote cannot give: ask for one value"));
    }
    Ok(AnswerPart::Constant(Value::Array(Vec::new())))
}

#[cfg(test)]
mod properties;

#[cfg(test)]
mod tests;
