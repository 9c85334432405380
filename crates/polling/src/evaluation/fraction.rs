//! Rates and risks.

use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// A number above 0 and below 1, such as an error rate or the risk of a wrong statement.
#[derive(Debug, Clone, Copy, PartialEq, PartialOrd, Serialize, Deserialize)]
#[serde(into = "f64", try_from = "f64")]
pub struct Fraction(f64);

/// A number that is not above 0 and below 1.
#[derive(Debug, Clone, Copy, PartialEq, thiserror::Error)]
#[error("must be above 0 and below 1")]
pub struct NotAFraction;

impl Fraction {
    /// 5 %, the usual risk of a statement with 95 % confidence.
    pub const FIVE_PERCENT: Self = Self(0.05);

    /// One half, the probability of either side of a fair coin.
    pub const HALF: Self = Self(0.5);

    /// Creates a fraction; fails unless the number is above 0 and below 1.
    pub fn new(number: f64) -> Result<Self, NotAFraction> {
        if number > 0.0 && number < 1.0 { Ok(Self(number)) } else { Err(NotAFraction) }
    }

    /// Divides the fraction by a number of parts; by one, if the number is zero.
    pub fn divided_by(self, parts: u32) -> Self {
        Self(self.0 / f64::from(parts.max(1)))
    }

    /// Returns one minus the fraction.
    pub(crate) fn complement(self) -> Self {
        Self(1.0 - self.0)
    }

    /// Returns the number.
    pub const fn get(self) -> f64 {
        self.0
    }
}

crate::checked!(Fraction: f64, NotAFraction, Self::new, Fraction::get);

impl FromStr for Fraction {
    type Err = NotAFraction;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        text.parse().map_err(|_| NotAFraction).and_then(Self::new)
    }
}
