//! Scales as the input of polls.

use ep_kernel::Fault;
use ep_polling::{Choices, FreeOptions, Levels, Scale};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The levels of a scale, which the median of the votes decides.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct ScaleRequest {
    /// 2 to 11 levels, lowest first.
    pub levels: Levels,
    /// The lowest level that passes, but not the lowest of all. The poll stops once it surely passes or fails; a tie fails.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pass: Option<String>,
}

/// The levels of a scale, in the limits of free polls.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
pub struct FreeScaleRequest {
    /// 2 to 5 levels of at most 50 characters, lowest first.
    pub levels: FreeOptions,
    /// The lowest level that passes, but not the lowest of all. A tie fails.
    pub pass: Option<String>,
}

impl ScaleRequest {
    /// Returns the choices of a poll.
    pub fn choices(self) -> Result<Choices, Fault> {
        choices(self.levels, self.pass.as_deref(), "scale.pass")
    }
}

impl FreeScaleRequest {
    /// Returns the choices of a poll.
    pub fn choices(self) -> Result<Choices, Fault> {
        choices(self.levels.into(), self.pass.as_deref(), "scale.pass")
    }
}

/// Returns a scale as the choices of a poll. An empty pass mark is none; `field` names it in faults.
pub fn choices(levels: Levels, pass: Option<&str>, field: &str) -> Result<Choices, Fault> {
    let pass = pass.filter(|pass| !pass.trim().is_empty());
    let scale = Scale::new(levels, pass).map_err(|rule| Fault::invalid(field, rule.to_string()))?;
    Ok(scale.into())
}
