//! The confidence at which a poll may stop early.

use serde::{Deserialize, Serialize};

/// The confidence a poll must reach before it stops early, from 0 to 1 inclusive.
///
/// The number bounds one error only: that the early answer differs from what the *whole roster* would
/// have answered. It says nothing about whether the answer is true.
#[derive(Debug, Clone, Copy, PartialEq, PartialOrd, Serialize, Deserialize)]
#[serde(try_from = "f64", into = "f64")]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(inline, transform = crate::schema::describe_threshold))]
pub struct Threshold(f64);

/// The error of [`Threshold::new`].
#[derive(Debug, Clone, Copy, PartialEq, thiserror::Error)]
#[error("confidence_threshold must be a number from 0 to 1, for example 0.95")]
pub struct ThresholdOutOfRange;

impl Threshold {
    /// The default threshold: 0.95.
    pub const DEFAULT: Self = Self(0.95);

    /// Creates a threshold from a finite number from 0 to 1; NaN and infinities are rejected.
    pub fn new(value: f64) -> Result<Self, ThresholdOutOfRange> {
        if (0.0..=1.0).contains(&value) { Ok(Self(value)) } else { Err(ThresholdOutOfRange) }
    }

    /// Returns the threshold as a plain number.
    pub const fn get(self) -> f64 {
        self.0
    }
}

impl Default for Threshold {
    fn default() -> Self {
        Self::DEFAULT
    }
}

crate::checked!(Threshold: f64, ThresholdOutOfRange, Self::new, Threshold::get);
