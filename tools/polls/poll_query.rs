//! The input of operations on one of the caller's own polls.

use schemars::JsonSchema;
use serde::Deserialize;

/// The poll to read.
#[derive(Debug, Deserialize, JsonSchema)]
pub struct PollQuery {
    /// The poll's id: EP-<date>-<suffix>.
    pub poll_id: String,
}
