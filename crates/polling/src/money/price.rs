//! Prices of models and costs of responses.

use serde::{Deserialize, Serialize};

use super::MicroUsd;

/// A price in pico-USD (1e-12 USD). At this resolution, per-token prices are whole numbers.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct PicoUsd(i64);

impl PicoUsd {
    /// The price of a free model.
    pub const ZERO: Self = Self(0);

    /// Creates a price from pico-USD; negative input becomes zero.
    pub const fn new(pico: i64) -> Self {
        Self(if pico < 0 { 0 } else { pico })
    }

    /// Returns the price in pico-USD.
    pub const fn pico(self) -> i64 {
        self.0
    }

    /// Returns USD per million tokens as a float: for display and comparison, not for sums.
    pub fn usd_per_million(self) -> f64 {
        self.0 as f64 / 1e6
    }
}

/// The prices of a model.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Price {
    /// Per prompt token.
    pub prompt: PicoUsd,
    /// Per completion token, reasoning included.
    pub completion: PicoUsd,
    /// Per request, in addition to the tokens.
    #[serde(default)]
    pub request: PicoUsd,
}

impl Price {
    /// The price of a free model.
    pub const FREE: Self = Self { prompt: PicoUsd::ZERO, completion: PicoUsd::ZERO, request: PicoUsd::ZERO };

    /// True if the model is free.
    pub const fn is_free(&self) -> bool {
        self.prompt.0 == 0 && self.completion.0 == 0 && self.request.0 == 0
    }

    /// Returns a figure for comparing prices: three parts prompt and one part completion, in pico-USD.
    pub fn blended(&self) -> i128 {
        i128::from(self.prompt.0) * 3 + i128::from(self.completion.0)
    }

    /// Returns the price of a million tokens, in USD: three parts prompt and one part completion.
    pub fn blended_usd_per_million(&self) -> f64 {
        (self.prompt.usd_per_million() * 3.0 + self.completion.usd_per_million()) / 4.0
    }

    /// Returns the cost of these requests and tokens, rounded up to whole micro-USD.
    pub fn of(&self, requests: u32, prompt_tokens: u64, completion_tokens: u64) -> MicroUsd {
        let pico = i128::from(self.prompt.0) * i128::from(prompt_tokens)
            + i128::from(self.completion.0) * i128::from(completion_tokens)
            + i128::from(self.request.0) * i128::from(requests);
        MicroUsd::from_i128((pico + 999_999) / 1_000_000)
    }
}

/// The source of a cost figure.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(inline))]
pub enum SpendBasis {
    /// The upstream reported the charge.
    Reported,
    /// Tokens multiplied by the listed price.
    Priced,
    /// An estimate from the listed price, because the upstream reported no charge. A call that timed out may
    /// have been charged.
    Estimated,
    /// Neither charge nor price is known. The amount is unknown, not zero.
    #[default]
    Unknown,
}

/// The cost of one response.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Spend {
    /// The amount, zero if the basis is [`SpendBasis::Unknown`].
    pub amount: MicroUsd,
    /// The source of the figure.
    pub basis: SpendBasis,
}

impl Spend {
    /// A known cost of zero.
    pub const NOTHING: Self = Self { amount: MicroUsd::ZERO, basis: SpendBasis::Priced };
    /// An unknown cost.
    pub const UNKNOWN: Self = Self { amount: MicroUsd::ZERO, basis: SpendBasis::Unknown };

    /// Returns the sum. Its basis is unknown if either basis is, else estimated if either basis is.
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
