//! An amount of money.

use std::fmt;
use std::iter::Sum;

use serde::{Deserialize, Serialize};

/// A non-negative amount in micro-USD (1 USD = 1,000,000; one cent = 10,000).
///
/// Stored and computed as an integer. [`UsdFigure`](super::UsdFigure) reads amounts from text and JSON,
/// [`Usd`](super::Usd) writes them as JSON numbers.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct MicroUsd(i64);

impl MicroUsd {
    /// Zero.
    pub const ZERO: Self = Self(0);
    /// Starter credit of a new account: $1.00.
    pub const STARTER_CREDIT: Self = Self(1_000_000);
    /// The largest amount: a trillion USD, well within `i64`.
    pub const MAX: Self = Self(1_000_000_000_000_000_000);

    /// Creates an amount from micro-USD. Negative input becomes zero, excess becomes [`MicroUsd::MAX`].
    pub const fn new(micro: i64) -> Self {
        if micro < 0 {
            Self::ZERO
        } else if micro > Self::MAX.0 {
            Self::MAX
        } else {
            Self(micro)
        }
    }

    /// Creates an amount from an `i128` intermediate, clamped like [`MicroUsd::new`].
    pub const fn from_i128(micro: i128) -> Self {
        if micro > Self::MAX.0 as i128 {
            Self::MAX
        } else if micro < 0 {
            Self::ZERO
        } else {
            Self(micro as i64)
        }
    }

    /// Returns the amount in micro-USD.
    pub const fn micro(self) -> i64 {
        self.0
    }

    /// Returns the amount in USD, for display only.
    pub fn as_usd(self) -> f64 {
        self.0 as f64 / 1_000_000.0
    }

    /// Returns the whole cents, rounded down, for showing a balance.
    pub const fn floor_cents(self) -> i64 {
        self.0 / 10_000
    }

    /// True if the amount is zero.
    pub const fn is_zero(self) -> bool {
        self.0 == 0
    }

    /// Returns the sum, clamped at [`MicroUsd::MAX`].
    pub const fn plus(self, other: Self) -> Self {
        Self::from_i128(self.0 as i128 + other.0 as i128)
    }

    /// Returns the difference, or zero if `other` is larger.
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
    /// Formats dollars with as many decimals as the amount needs, and at least two: `$1.00`, `$0.000123`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (whole, micro) = (self.0 / 1_000_000, self.0 % 1_000_000);
        let decimals = format!("{micro:06}");
        let digits = decimals.trim_end_matches('0').len().max(2);
        write!(f, "${whole}.{}", &decimals[..digits])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn displays_cents_and_smaller_fractions() {
        assert_eq!(MicroUsd::new(1_000_000).to_string(), "$1.00");
        assert_eq!(MicroUsd::new(1_234_500).to_string(), "$1.2345");
        assert_eq!(MicroUsd::new(7).to_string(), "$0.000007");
    }
}
