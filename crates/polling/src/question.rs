//! The question of a poll.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::foreign_text::{Conversions, Converted, convert};
use super::text::{Lines, TextError, normalize};

/// The minimum length of a question asked with an account, in characters.
pub const MIN_CHARS: usize = 10;
/// The maximum length of a free question, in characters.
pub const FREE_MAX_CHARS: usize = 1000;

/// A question of `MIN` to `MAX` characters, trimmed, composed (NFC), without control characters. Rare line breaks are
/// converted, terminal sequences are removed, and marks of direction are closed.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct QuestionText<const MIN: usize, const MAX: usize> {
    text: String,
    /// Its conversions, for a notice.
    conversions: Conversions,
}

/// A question without its limits of length, for a poll.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AskedQuestion {
    /// The text, already normalised.
    pub text: String,
    /// A notice for the owner about characters that were converted.
    pub notice: Option<String>,
}

/// A question asked with an account. Only the request size limits its length.
pub type Question = QuestionText<MIN_CHARS, { usize::MAX }>;
/// A question asked without an account.
pub type FreeQuestion = QuestionText<1, FREE_MAX_CHARS>;

impl<const MIN: usize, const MAX: usize> QuestionText<MIN, MAX> {
    /// Validates and normalises a question.
    pub fn new(text: &str) -> Result<Self, TextError> {
        let Converted { text, conversions } = convert(text);
        Ok(Self { text: normalize(&text, MIN, MAX, Lines::Foreign)?, conversions })
    }

    /// Returns the text.
    pub fn as_str(&self) -> &str {
        &self.text
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
        text.text
    }
}

impl From<&'static str> for AskedQuestion {
    fn from(text: &'static str) -> Self {
        Self { text: text.to_owned(), notice: None }
    }
}

impl<const MIN: usize, const MAX: usize> From<QuestionText<MIN, MAX>> for AskedQuestion {
    fn from(QuestionText { text, conversions }: QuestionText<MIN, MAX>) -> Self {
        Self { text, notice: conversions.notice() }
    }
}

impl<const MIN: usize, const MAX: usize> fmt::Debug for QuestionText<MIN, MAX> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&self.text, f)
    }
}
