//! The most a poll may spend.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::money::MicroUsd;

/// The caller's ceiling for one poll (`max_cost_usd`): greater than zero, never exceeded.
/// Rounded down to whole micro-USD, of which there must be at least one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "f64", into = "f64")]
pub struct Budget(MicroUsd);

/// What [`Budget::from_usd`] refuses.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("max_cost_usd must be a number greater than 0, at least 0.000001, for example 1")]
pub struct BudgetNotPositive;

impl Budget {
    /// The budget of a poll that names none: $1.
    pub const DEFAULT: Self = Self(MicroUsd::new(1_000_000));

    /// A budget from a figure in USD.
    pub fn from_usd(usd: f64) -> Result<Self, BudgetNotPositive> {
        let amount = MicroUsd::floor_usd(usd);
        if usd.is_finite() && !amount.is_zero() { Ok(Self(amount)) } else { Err(BudgetNotPositive) }
    }

    /// The ceiling.
    pub const fn amount(self) -> MicroUsd {
        self.0
    }
}

impl Default for Budget {
    fn default() -> Self {
        Self::DEFAULT
    }
}

impl TryFrom<f64> for Budget {
    type Error = BudgetNotPositive;
    fn try_from(usd: f64) -> Result<Self, Self::Error> {
        Self::from_usd(usd)
    }
}

impl From<Budget> for f64 {
    fn from(budget: Budget) -> Self {
        budget.0.as_usd()
    }
}

impl JsonSchema for Budget {
    fn inline_schema() -> bool {
        true
    }
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Budget".into()
    }
    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        schemars::json_schema!({ "type": "number", "exclusiveMinimum": 0 })
    }
}
