//! An amount of money.

use std::fmt;
use std::iter::Sum;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A non-negative amount in micro-USD (1 USD = 1,000,000; one cent = 10,000).
///
/// Stored and computed as an integer. [`MicroUsd::as_usd`] is for showing only.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct MicroUsd(i64);

impl MicroUsd {
    /// Nothing.
    pub const ZERO: Self = Self(0);
    /// Starter credit of a new account: $1.00.
    pub const STARTER_CREDIT: Self = Self(1_000_000);
    /// No amount is larger: a trillion USD, far inside `i64`.
    pub const MAX: Self = Self(1_000_000_000_000_000_000);

    /// An amount from its micro-USD; negative input becomes zero, excess becomes [`MicroUsd::MAX`].
    pub const fn new(micro: i64) -> Self {
        if micro < 0 {
            Self::ZERO
        } else if micro > Self::MAX.0 {
            Self::MAX
        } else {
            Self(micro)
        }
    }

    /// An amount from an `i128` intermediate, clamped like [`MicroUsd::new`].
    pub const fn from_i128(micro: i128) -> Self {
        if micro > Self::MAX.0 as i128 { Self::MAX } else { Self::new(micro as i64) }
    }

    /// Whole micro-USD in a USD figure, rounded down (so that a ceiling is never raised by rounding).
    /// Non-finite or negative figures are zero.
    pub fn floor_usd(usd: f64) -> Self {
        // The product is rounded to the nearest float first; a tiny nudge keeps 0.29 at 290,000.
        let micro = (usd * 1_000_000.0 * (1.0 + f64::EPSILON)).floor();
        if micro > 0.0 { Self::new(micro.min(Self::MAX.0 as f64) as i64) } else { Self::ZERO }
    }

    /// The same, rounded up: for what something cost.
    pub fn ceil_usd(usd: f64) -> Self {
        let micro = (usd * 1_000_000.0 * (1.0 - f64::EPSILON)).ceil();
        if micro > 0.0 { Self::new(micro.min(Self::MAX.0 as f64) as i64) } else { Self::ZERO }
    }

    /// The amount in micro-USD.
    pub const fn micro(self) -> i64 {
        self.0
    }

    /// The amount in USD, for showing only.
    pub fn as_usd(self) -> f64 {
        self.0 as f64 / 1_000_000.0
    }

    /// Whole cents, rounded down: what a balance shows.
    pub const fn floor_cents(self) -> i64 {
        self.0 / 10_000
    }

    /// Whether nothing is left.
    pub const fn is_zero(self) -> bool {
        self.0 == 0
    }

    /// The sum, clamped at [`MicroUsd::MAX`].
    pub const fn plus(self, other: Self) -> Self {
        Self::from_i128(self.0 as i128 + other.0 as i128)
    }

    /// The difference, or zero where `other` is larger.
    pub const fn minus(self, other: Self) -> Self {
        Self::new(self.0 - other.0)
    }
}

impl Sum for MicroUsd {
    fn sum<I: Iterator<Item = Self>>(amounts: I) -> Self {
        amounts.fold(Self::ZERO, Self::plus)
    }
}

impl fmt::Display for MicroUsd {
    /// Dollars with as many decimals as the amount needs, and at least two: `$1.00`, `$0.000123`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (whole, micro) = (self.0 / 1_000_000, self.0 % 1_000_000);
        let decimals = format!("{micro:06}");
        let kept = decimals.trim_end_matches('0').len().max(2);
        write!(f, "${whole}.{}", &decimals[..kept])
    }
}

/// A USD figure in JSON: a plain number with at most six decimals.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Usd(pub MicroUsd);

impl Serialize for Usd {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_f64(self.0.as_usd())
    }
}

impl<'de> Deserialize<'de> for Usd {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Ok(Self(MicroUsd::ceil_usd(f64::deserialize(deserializer)?)))
    }
}

impl JsonSchema for Usd {
    fn inline_schema() -> bool {
        true
    }
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Usd".into()
    }
    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        schemars::json_schema!({ "type": "number", "minimum": 0, "description": "USD." })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn usd_figures_round_the_safe_way() {
        assert_eq!(MicroUsd::floor_usd(0.29).micro(), 290_000);
        assert_eq!(MicroUsd::floor_usd(1.0).micro(), 1_000_000);
        assert_eq!(MicroUsd::floor_usd(0.000_000_9).micro(), 0);
        assert_eq!(MicroUsd::ceil_usd(0.000_000_1).micro(), 1);
        assert_eq!(MicroUsd::ceil_usd(0.07).micro(), 70_000);
        assert_eq!(MicroUsd::floor_usd(f64::NAN), MicroUsd::ZERO);
        assert_eq!(MicroUsd::floor_usd(1e300), MicroUsd::MAX);
    }

    #[test]
    fn shows_cents_and_what_lies_below_them() {
        assert_eq!(MicroUsd::new(1_000_000).to_string(), "$1.00");
        assert_eq!(MicroUsd::new(1_234_500).to_string(), "$1.2345");
        assert_eq!(MicroUsd::new(7).to_string(), "$0.000007");
    }
}
