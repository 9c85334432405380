//! Profiles: named bundles of preset, threshold and cost.

use std::borrow::Cow;

use ep_polling::{Budget, MicroUsd, Pace, Threshold, Usd};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The preset of a poll that names none.
pub const DEFAULT_PRESET: &str = "fast_and_cheap";

ep_polling::words! {
    /// A trade-off between confidence and cost.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
    #[schemars(inline)]
    pub enum Profile {
        /// More models; the result rarely differs from the full roster's.
        Conservative = "conservative",
        /// The defaults.
        Balanced = "balanced",
        /// Fewer calls; the result differs from the full roster's more often.
        Quick = "quick",
    }
}

/// The settings of a profile.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct Bundle {
    /// The profile's name.
    pub name: Profile,
    /// Advice on when to choose it.
    pub description: Cow<'static, str>,
    /// The preset that names the roster.
    pub preset: Cow<'static, str>,
    /// The confidence (that the whole roster would give the same outcome) at which a poll stops early.
    pub confidence_threshold: f64,
    /// The maximum cost of the poll, in USD.
    pub max_cost_usd: Usd,
    /// The pace, which sets the number of calls in flight.
    pub pace: Pace,
}

impl Profile {
    /// Returns its settings.
    pub fn bundle(self) -> Bundle {
        let (description, preset, threshold, micro_usd, pace) = match self {
            Self::Conservative => (
                "A large panel, for what matters. May differ from the whole panel up to 1 time in 100.",
                "generalist",
                0.99,
                5_000_000,
                Pace::Thrifty,
            ),
            Self::Balanced => (
                "Small, cheap models. May differ from the whole panel up to 1 time in 20.",
                DEFAULT_PRESET,
                0.95,
                1_000_000,
                Pace::Balanced,
            ),
            Self::Quick => (
                "Fast and cheap. May differ from the whole panel up to 1 time in 5.",
                DEFAULT_PRESET,
                0.80,
                250_000,
                Pace::Balanced,
            ),
        };
        let max_cost_usd = Usd(MicroUsd::new(micro_usd));
        Bundle {
            name: self,
            description: description.into(),
            preset: preset.into(),
            confidence_threshold: threshold,
            max_cost_usd,
            pace,
        }
    }

    /// Returns its threshold.
    pub fn threshold(self) -> Threshold {
        Threshold::new(self.bundle().confidence_threshold).unwrap_or_default()
    }

    /// Returns its budget.
    pub fn budget(self) -> Budget {
        Budget::from_amount(self.bundle().max_cost_usd.0).unwrap_or_default()
    }
}
