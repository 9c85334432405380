//! When a poll may stop. (Being merged.)
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
/// Largest roster.
pub const MAX_ROSTER: usize = 150;
/// Pace.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(inline)]
pub enum Pace {
    /// a
    Thrifty,
    /// b
    #[default]
    Balanced,
    /// c
    Fast,
}
/// Why.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(inline)]
pub enum TerminationReason {
    /// a
    MathematicalLock,
    /// b
    Confidence,
    /// c
    Budget,
    /// d
    RosterExhausted,
}
