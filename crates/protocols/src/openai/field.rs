//! A field that is voted on. Each field is a poll of its own.

use ep_polling::options::{MAX_LEVELS, MAX_OPTIONS, MIN_OPTIONS};
use ep_polling::{Levels, Options, OptionsError};
use serde_json::Value;

use super::refusal::{Code, Refusal};

/// The kind of a field, which decides what is read from its votes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FieldKind {
    /// The value with the most votes.
    Choice,
    /// The share of votes for the first of two values. The whole panel is asked.
    Predicate,
    /// The levels of a score, in ascending order. The whole panel is asked.
    Score,
}

/// A field that is voted on.
#[derive(Debug, Clone)]
pub struct Field {
    /// Its path in the request.
    pub path: String,
    /// Its name; empty if the answer is the value itself.
    pub name: String,
    /// Its description.
    pub description: Option<String>,
    /// Its possible values, of any JSON type.
    pub values: Vec<Value>,
    /// Descriptions of values, by their index.
    pub descriptions: Vec<(usize, String)>,
    /// Its kind.
    pub kind: FieldKind,
    /// The texts of the values, which voters choose from.
    texts: Vec<String>,
}

/// A field with the text of its question.
#[derive(Debug, Clone)]
pub struct Question {
    /// The field.
    pub field: Field,
    /// The text that voters read.
    pub text: String,
}

impl Field {
    /// Creates a field without descriptions. Its values are shown as texts: strings as they are, unless that makes two
    /// of them equal, and other values as JSON.
    pub fn new(path: &str, name: &str, values: Vec<Value>, kind: FieldKind) -> Result<Self, Refusal> {
        let texts: Vec<String> = values.iter().map(text_of).collect();
        let quoted = || values.iter().map(Value::to_string).collect::<Vec<String>>();
        let texts = match check(&texts, kind) {
            Ok(()) => texts,
            Err(_) if check(&quoted(), kind).is_ok() => quoted(),
            Err(error) => return Err(refusal(error, path)),
        };
        Ok(Self { texts, ..Self::of(path, name, values, kind) })
    }

    /// Creates a score whose levels have labels.
    pub fn score(path: &str, name: &str, labels: Vec<String>) -> Result<Self, Refusal> {
        check(&labels, FieldKind::Score).map_err(|error| refusal(error, path))?;
        let values = (0..labels.len()).map(Value::from).collect();
        Ok(Self { texts: labels, ..Self::of(path, name, values, FieldKind::Score) })
    }

    fn of(path: &str, name: &str, values: Vec<Value>, kind: FieldKind) -> Self {
        let (path, name) = (path.to_owned(), name.to_owned());
        Self { path, name, description: None, values, descriptions: Vec::new(), kind, texts: Vec::new() }
    }

    /// Adds a description of the field, and descriptions of values by their index.
    pub fn described(self, description: Option<String>, descriptions: Vec<(usize, String)>) -> Self {
        Self { description, descriptions, ..self }
    }

    /// Returns the texts of the values, which voters choose from.
    pub fn texts(&self) -> &[String] {
        &self.texts
    }
}

fn check(texts: &[String], kind: FieldKind) -> Result<(), OptionsError> {
    match kind {
        FieldKind::Score => Levels::new(texts).map(drop),
        FieldKind::Choice | FieldKind::Predicate => Options::new(texts).map(drop),
    }
}

fn refusal(error: OptionsError, path: &str) -> Refusal {
    match error {
        OptionsError::Count { given, max } if given >= MIN_OPTIONS => too_many(path, given, max),
        OptionsError::Count { .. } => {
            Refusal::new(Code::UnsupportedValue, path, "needs at least two possible values")
        }
        OptionsError::Text { index, error } => {
            Refusal::new(Code::UnsupportedValue, path, format!("has a value {index} that {error}"))
        }
        OptionsError::Duplicate { first, second } => {
            Refusal::new(Code::UnsupportedValue, path, format!("has equal values {first} and {second}"))
        }
    }
}

/// Returns the refusal of a field with too many values.
pub fn too_many(path: &str, given: usize, max: usize) -> Refusal {
    let text = format!("has {given} possible values; at most {max} can be voted on");
    Refusal::new(Code::TooManyChoices, path, text)
}

/// Returns the largest number of values of a field.
pub const fn most_values(kind: FieldKind) -> usize {
    match kind {
        FieldKind::Score => MAX_LEVELS,
        FieldKind::Choice | FieldKind::Predicate => MAX_OPTIONS,
    }
}

/// Returns a value as a text: a string itself, and other values as JSON.
pub fn text_of(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Null => "none".to_owned(),
        other => other.to_string(),
    }
}
