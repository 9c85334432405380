//! The answer to a request: the winning values, and what stands around them.

use serde_json::{Map, Value};

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
