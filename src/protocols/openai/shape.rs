//! The answer to a request: fields that are voted on, and what stands around them.

use serde_json::{Map, Value};

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
    /// True for the levels of a score.
    pub is_score: bool,
}

/// A part of the answer.
#[derive(Debug, Clone, PartialEq)]
pub enum AnswerPart {
    /// The winning value of the field with this index.
    Vote(usize),
    /// A value that is certain.
    Constant(Value),
    /// A sentence about the vote, of at most this many characters.
    Sentence {
        /// The maximum length.
        most: Option<usize>,
    },
    /// An object with these members.
    Object(Vec<(String, AnswerPart)>),
}

impl Field {
    /// Returns the values as texts that voters choose from.
    pub fn options(&self) -> Vec<String> {
        self.values.iter().map(text_of).collect()
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

impl AnswerPart {
    /// Fills in the winning values and the sentence.
    pub fn fill(&self, winners: &[Value], sentence: &str) -> Value {
        match self {
            Self::Vote(field) => winners.get(*field).cloned().unwrap_or_default(),
            Self::Constant(value) => value.clone(),
            Self::Sentence { most } => {
                let text: String = sentence.chars().take(most.unwrap_or(usize::MAX)).collect();
                Value::String(text)
            }
            Self::Object(members) => {
                let filled =
                    members.iter().map(|(name, shape)| (name.clone(), shape.fill(winners, sentence)));
                Value::Object(filled.collect::<Map<_, _>>())
            }
        }
    }
}
