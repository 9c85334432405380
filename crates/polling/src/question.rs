//! What is asked.

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::text::{Lines, TextFault, clean};

/// Fewest characters of a question asked with an account.
pub const MIN_CHARS: usize = 10;
/// Most characters of a free question.
pub const FREE_MAX_CHARS: usize = 1000;

/// A question of `MIN` to `MAX` characters, trimmed, composed (NFC), without control characters.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Text<const MIN: usize, const MAX: usize>(String);

/// A question asked with an account. Its length is bounded by the size of the request alone.
pub type Question = Text<MIN_CHARS, { usize::MAX }>;
/// A question asked without one.
pub type FreeQuestion = Text<1, FREE_MAX_CHARS>;

impl<const MIN: usize, const MAX: usize> Text<MIN, MAX> {
    /// Checks and normalises a question.
    pub fn new(text: &str) -> Result<Self, TextFault> {
        clean(text, MIN, MAX, Lines::Many).map(Self)
    }

    /// The text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl<const MIN: usize, const MAX: usize> TryFrom<String> for Text<MIN, MAX> {
    type Error = TextFault;
    fn try_from(text: String) -> Result<Self, Self::Error> {
        Self::new(&text)
    }
}

impl<const MIN: usize, const MAX: usize> From<Text<MIN, MAX>> for String {
    fn from(text: Text<MIN, MAX>) -> Self {
        text.0
    }
}

impl<const MIN: usize, const MAX: usize> fmt::Debug for Text<MIN, MAX> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&self.0, f)
    }
}

impl<const MIN: usize, const MAX: usize> JsonSchema for Text<MIN, MAX> {
    fn inline_schema() -> bool {
        true
    }
    fn schema_name() -> std::borrow::Cow<'static, str> {
        format!("Text_{MIN}_{MAX}").into()
    }
    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        let mut schema = schemars::json_schema!({ "type": "string", "minLength": MIN });
        if MAX != usize::MAX {
            schema.insert("maxLength".into(), MAX.into());
        }
        schema
    }
}
