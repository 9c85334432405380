//! Ids of stored evaluations.

use std::borrow::Cow;
use std::fmt;
use std::str::FromStr;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use uuid::Uuid;

use crate::batches::id::digits;

/// A stored evaluation: `eval_` and 32 hexadecimal digits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct EvaluationId(Uuid);

/// The error of reading an id.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("is no id of an evaluation")]
pub struct NotAnEvaluationId;

const PREFIX: &str = "eval_";

impl EvaluationId {
    /// The form as a regular expression, for schemas.
    pub const PATTERN: &str = "^eval_[0-9a-f]{32}$";

    /// Creates an id from 16 random bytes.
    pub fn from_random(bytes: [u8; 16]) -> Self {
        Self(uuid::Builder::from_random_bytes(bytes).into_uuid())
    }
}

impl fmt::Display for EvaluationId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{PREFIX}{}", self.0.simple())
    }
}

impl FromStr for EvaluationId {
    type Err = NotAnEvaluationId;

    fn from_str(text: &str) -> Result<Self, NotAnEvaluationId> {
        let id = text.strip_prefix(PREFIX).and_then(|text| digits(text).ok());
        id.map(Self).ok_or(NotAnEvaluationId)
    }
}

impl TryFrom<String> for EvaluationId {
    type Error = NotAnEvaluationId;

    fn try_from(text: String) -> Result<Self, NotAnEvaluationId> {
        text.parse()
    }
}

impl From<EvaluationId> for String {
    fn from(id: EvaluationId) -> Self {
        id.to_string()
    }
}

impl JsonSchema for EvaluationId {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        "EvaluationId".into()
    }

    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        schemars::json_schema!({ "type": "string", "pattern": Self::PATTERN })
    }
}

crate::row::columns! {
    EvaluationId: String, |text| Ok(text.parse()?), |id| id.to_string();
}
