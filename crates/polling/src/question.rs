//! The question of a poll.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::text::{Lines, TextError, normalize};

/// The minimum length of a question asked with an account, in characters.
pub const MIN_CHARS: usize = 10;
/// The maximum length of a free question, in characters.
pub const FREE_MAX_CHARS: usize = 1000;

/// A question of `MIN` to `MAX` characters, trimmed, composed (NFC), without control characters.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct QuestionText<const MIN: usize, const MAX: usize>(String);

/// A question asked with an account. Only the request size limits its length.
pub type Question = QuestionText<MIN_CHARS, { usize::MAX }>;
/// A question asked without an account.
pub type FreeQuestion = QuestionText<1, FREE_MAX_CHARS>;

impl<const MIN: usize, const MAX: usize> QuestionText<MIN, MAX> {
    /// Validates and normalises a question.
    pub fn new(text: &str) -> Result<Self, TextError> {
        normalize(text, MIN, MAX, Lines::Many).map(Self)
    }

    /// Returns the text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl<const MIN: usize, const MAX: usize> TryFrom<String> for QuestionText<MIN, MAX> {
    type Error = TextError;
    fn try_from(text: String) -> Result<Self, Self::Error> {
        Self::new(&text)
    }
}

impl<const MIN: usize, const MAX: usize> From<QuestionText<MIN, MAX>> for String {
    fn from(text: QuestionText<MIN, MAX>) -> Self {
        text.0
    }
}

impl<const MIN: usize, const MAX: usize> fmt::Debug for QuestionText<MIN, MAX> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&self.0, f)
    }
}
