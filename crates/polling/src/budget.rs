//! The most a poll may spend.

use schemars::JsonSchema;
use serde::Deserialize;

use crate::money::{MicroUsd, UsdFigure};

/// The caller's ceiling for one poll (`max_cost_usd`): greater than zero, never exceeded.
/// Rounded down to whole micro-USD, of which there must be at least one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Deserialize)]
#[serde(try_from = "UsdFigure")]
pub struct Budget(MicroUsd);

/// What [`Budget::new`] refuses.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("max_cost_usd must be a number greater than 0, at least 0.000001, for example 1")]
pub struct BudgetNotPositive;

impl Budget {
    /// The budget of a poll that names none: $1.
    pub const DEFAULT: Self = Self(MicroUsd::new(1_000_000));

    /// A budget from a figure in USD.
    pub fn new(usd: UsdFigure) -> Result<Self, BudgetNotPositive> {
        Self::from_amount(usd.floor_micro())
    }

    /// A budget from an amount.
    pub const fn from_amount(amount: MicroUsd) -> Result<Self, BudgetNotPositive> {
        if amount.is_zero() { Err(BudgetNotPositive) } else { Ok(Self(amount)) }
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

impl TryFrom<UsdFigure> for Budget {
    type Error = BudgetNotPositive;
    fn try_from(usd: UsdFigure) -> Result<Self, Self::Error> {
        Self::new(usd)
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

/// Budgets in storage: whole micro-USD.
pub(crate) mod stored {
    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    use super::Budget;
    use crate::money::MicroUsd;

    pub(crate) fn serialize<S: Serializer>(budget: &Budget, serializer: S) -> Result<S::Ok, S::Error> {
        budget.amount().serialize(serializer)
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Budget, D::Error> {
        Budget::from_amount(MicroUsd::deserialize(deserializer)?).map_err(serde::de::Error::custom)
    }
}
