//! The maximum cost of a poll.

use serde::Deserialize;

use crate::money::{MicroUsd, UsdFigure};

/// The caller's cost limit for one poll (`max_cost_usd`), never exceeded. It is rounded down to whole
/// micro-USD and is at least one micro-USD.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Deserialize)]
#[serde(try_from = "UsdFigure")]
pub struct Budget(MicroUsd);

/// The error of [`Budget::new`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("max_cost_usd must be a number greater than 0, at least 0.000001, for example 1")]
pub struct BudgetNotPositive;

impl Budget {
    /// The default budget: $1.
    pub const DEFAULT: Self = Self(MicroUsd::new(1_000_000));

    /// Creates a budget from a figure in USD.
    pub fn new(usd: UsdFigure) -> Result<Self, BudgetNotPositive> {
        Self::from_amount(usd.floor_micro())
    }

    /// Creates a budget from an amount.
    pub const fn from_amount(amount: MicroUsd) -> Result<Self, BudgetNotPositive> {
        if amount.is_zero() { Err(BudgetNotPositive) } else { Ok(Self(amount)) }
    }

    /// The amount.
    pub const fn amount(self) -> MicroUsd {
        self.0
    }
}

impl Default for Budget {
    fn default() -> Self {
        Self::DEFAULT
    }
}

crate::checked!(Budget: UsdFigure, BudgetNotPositive, Self::new);

/// Stores budgets as whole micro-USD.
pub(crate) mod stored {
    use serde::de::Error;
    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    use super::Budget;
    use crate::money::MicroUsd;

    #[expect(clippy::trivially_copy_pass_by_ref, reason = "serde hands in a reference")]
    pub(crate) fn serialize<S: Serializer>(budget: &Budget, serializer: S) -> Result<S::Ok, S::Error> {
        budget.amount().serialize(serializer)
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Budget, D::Error> {
        Budget::from_amount(MicroUsd::deserialize(deserializer)?).map_err(D::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use serde::{Deserialize, Serialize};

    use super::*;

    #[derive(Serialize, Deserialize)]
    struct Plan {
        #[serde(rename = "max_cost_micro_usd", with = "super::stored")]
        budget: Budget,
    }

    #[test]
    fn budgets_are_stored_as_integers() {
        let stored = serde_json::to_string(&Plan { budget: Budget::DEFAULT }).unwrap();
        assert_eq!(stored, r#"{"max_cost_micro_usd":1000000}"#);
        assert_eq!(serde_json::from_str::<Plan>(&stored).unwrap().budget, Budget::DEFAULT);
        assert!(serde_json::from_str::<Plan>(r#"{"max_cost_micro_usd":0}"#).is_err());
    }
}
