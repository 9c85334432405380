//! Prices of models and costs of answers.

use serde::{Deserialize, Serialize};

use super::MicroUsd;

/// A price in pico-USD (1e-12 USD), the resolution in which per-token prices are whole numbers.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct PicoUsd(i64);

impl PicoUsd {
    /// Free.
    pub const ZERO: Self = Self(0);

    /// A price from its pico-USD; negative input becomes zero.
    pub const fn new(pico: i64) -> Self {
        Self(if pico < 0 { 0 } else { pico })
    }

    /// The price in pico-USD.
    pub const fn pico(self) -> i64 {
        self.0
    }

    /// USD per million tokens, as a float: for display and for comparison, not for sums.
    pub fn usd_per_million(self) -> f64 {
        self.0 as f64 / 1e6
    }
}

/// What a model charges.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Price {
    /// Per prompt token.
    pub prompt: PicoUsd,
    /// Per completion token, reasoning included.
    pub completion: PicoUsd,
    /// Per request, on top.
    #[serde(default)]
    pub request: PicoUsd,
}

impl Price {
    /// Nothing is charged.
    pub const FREE: Self = Self { prompt: PicoUsd::ZERO, completion: PicoUsd::ZERO, request: PicoUsd::ZERO };

    /// Whether nothing is charged.
    pub const fn is_free(&self) -> bool {
        self.prompt.0 == 0 && self.completion.0 == 0 && self.request.0 == 0
    }

    /// What these tokens cost, rounded up to a whole micro-USD.
    pub fn of(&self, requests: u32, prompt_tokens: u64, completion_tokens: u64) -> MicroUsd {
        let pico = i128::from(self.prompt.0) * i128::from(prompt_tokens)
            + i128::from(self.completion.0) * i128::from(completion_tokens)
            + i128::from(self.request.0) * i128::from(requests);
        MicroUsd::from_i128((pico + 999_999) / 1_000_000)
    }
}

/// Where a cost figure comes from.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(inline))]
pub enum SpendBasis {
    /// The upstream said what it charged.
    Reported,
    /// Tokens times the listed price.
    Priced,
    /// An estimate from the listed price, because the upstream gave no figure: a call that timed out may
    /// have been charged.
    Estimated,
    /// Neither is known: the amount is not zero, it is unknown.
    #[default]
    Unknown,
}

/// What one answer cost.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Spend {
    /// The amount, zero if the basis is [`SpendBasis::Unknown`].
    pub amount: MicroUsd,
    /// Where the figure comes from.
    pub basis: SpendBasis,
}

impl Spend {
    /// Known to have cost nothing.
    pub const NOTHING: Self = Self { amount: MicroUsd::ZERO, basis: SpendBasis::Priced };
    /// The cost is not known.
    pub const UNKNOWN: Self = Self { amount: MicroUsd::ZERO, basis: SpendBasis::Unknown };

    /// The sum. Its basis is unknown, or else an estimate, if the basis of either part is.
    pub fn plus(self, other: Self) -> Self {
        let basis = match (self.basis, other.basis) {
            (SpendBasis::Unknown, _) | (_, SpendBasis::Unknown) => SpendBasis::Unknown,
            (SpendBasis::Estimated, _) | (_, SpendBasis::Estimated) => SpendBasis::Estimated,
            (SpendBasis::Reported, SpendBasis::Reported) => SpendBasis::Reported,
            _ => SpendBasis::Priced,
        };
        Self { amount: self.amount.plus(other.amount), basis }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tokens_times_price_rounds_up() {
        let price =
            Price { prompt: PicoUsd(300_000), completion: PicoUsd(1_500_000), request: PicoUsd::ZERO };
        assert_eq!(price.of(1, 100, 20).micro(), 60);
        assert_eq!(price.of(1, 1, 0).micro(), 1);
        assert_eq!(Price::FREE.of(1, 1000, 1000), MicroUsd::ZERO);
    }
}
