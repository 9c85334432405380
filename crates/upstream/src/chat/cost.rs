//! The cost and the tokens of a vote's requests.

use ep_polling::{Price, Spend, SpendBasis, Tokens, UsdFigure};

use super::response::Usage;

/// Sums the cost and the tokens of all requests of one vote.
#[derive(Debug)]
pub(crate) struct VoteCost {
    price: Option<Price>,
    known: Option<Spend>,
    unknown: bool,
    tokens: Option<Tokens>,
}

impl VoteCost {
    /// Creates an empty sum for a model with this price.
    pub(crate) fn new(price: Option<Price>) -> Self {
        Self { price, known: None, unknown: false, tokens: None }
    }

    /// Adds a response with the figures in its header and its `usage` object.
    pub(crate) fn add_response(&mut self, header: Option<UsdFigure>, usage: Option<Usage>) {
        match self.figure(header, usage) {
            Some(spend) => self.add(spend),
            None => self.add_unreported(),
        }
    }

    /// Adds a failed request, which costs only the amount it reports. Returns true if it was charged like a
    /// response.
    pub(crate) fn add_failure(&mut self, header: Option<UsdFigure>, usage: Option<Usage>) -> bool {
        let Some(spend) = self.figure(header, usage) else { return false };
        self.add(spend);
        !spend.amount.is_zero()
            || usage.and_then(|usage| usage.completion_tokens).is_some_and(|tokens| tokens > 0)
    }

    /// Adds a request without figures that may have been charged.
    pub(crate) fn add_unreported(&mut self) {
        if self.price.is_some_and(|price| price.is_free()) {
            self.add(Spend::NOTHING);
        } else {
            self.unknown = true;
        }
    }

    /// Returns the cost of a response, and counts its tokens.
    fn figure(&mut self, header: Option<UsdFigure>, usage: Option<Usage>) -> Option<Spend> {
        let usage = usage.unwrap_or_default();
        if let (Some(prompt), Some(completion)) = (usage.prompt_tokens, usage.completion_tokens) {
            let tokens = Tokens::new(prompt, completion);
            self.tokens = Some(self.tokens.map_or(tokens, |known| known.plus(tokens)));
        }
        if let Some(cost) = usage.cost.or(header) {
            return Some(Spend { amount: cost.ceil_micro(), basis: SpendBasis::Reported });
        }
        let amount = self.price?.of(1, usage.prompt_tokens?, usage.completion_tokens?);
        Some(Spend { amount, basis: SpendBasis::Priced })
    }

    fn add(&mut self, spend: Spend) {
        self.known = Some(self.known.map_or(spend, |known| known.plus(spend)));
    }

    /// Returns the tokens of all requests that report them.
    pub(crate) const fn tokens(&self) -> Option<Tokens> {
        self.tokens
    }

    /// Returns the cost of all requests. Requests that were rejected or never sent cost nothing.
    pub(crate) fn total(&self) -> Spend {
        match (self.known, self.unknown) {
            (Some(known), false) => known,
            (Some(known), true) => known.plus(Spend::UNKNOWN),
            (None, true) => Spend::UNKNOWN,
            (None, false) => Spend::NOTHING,
        }
    }
}

#[cfg(test)]
mod tests {
    use ep_polling::PicoUsd;

    use super::*;

    fn usage(tokens: u64, cost: Option<UsdFigure>) -> Option<Usage> {
        (tokens > 0).then_some(Usage {
            prompt_tokens: Some(tokens),
            completion_tokens: Some(tokens),
            cost,
            reasoning_tokens: None,
        })
    }

    #[test]
    fn reported_costs_take_precedence_over_prices_and_missing_ones_are_unknown() {
        let price = Price {
            prompt: PicoUsd::new(1_000_000),
            completion: PicoUsd::new(2_000_000),
            request: PicoUsd::ZERO,
        };
        let total = |price, header, usage| {
            let mut cost = VoteCost::new(price);
            cost.add_response(header, usage);
            let Spend { amount, basis } = cost.total();
            (amount.micro(), basis)
        };
        assert_eq!(total(Some(price), None, usage(10, "0.5".parse().ok())), (500_000, SpendBasis::Reported));
        assert_eq!(total(Some(price), "0.25".parse().ok(), usage(10, None)), (250_000, SpendBasis::Reported));
        assert_eq!(total(Some(price), None, usage(10, None)), (30, SpendBasis::Priced));
        assert_eq!(total(Some(price), None, usage(0, None)), (0, SpendBasis::Unknown));
        assert_eq!(total(None, None, usage(10, None)), (0, SpendBasis::Unknown));
        assert_eq!(total(Some(Price::FREE), None, None), (0, SpendBasis::Priced));
        assert_eq!(VoteCost::new(None).total(), Spend::NOTHING);
        let mut repaired = VoteCost::new(None);
        repaired.add_response(None, usage(10, None));
        repaired.add_unreported();
        assert!(!repaired.add_failure(None, None));
        repaired.add_response(None, usage(5, "0.5".parse().ok()));
        assert_eq!(repaired.tokens(), Some(Tokens { prompt: 15, completion: 15 }));
    }
}
