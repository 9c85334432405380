//! What asking cost.

use ep_polling::money::{Price, Spend, SpendBasis, UsdFigure};

use super::response::Usage;

/// Adds up the attempts of one vote.
#[derive(Debug)]
pub(crate) struct Bill {
    price: Option<Price>,
    known: Option<Spend>,
    unknown: bool,
}

impl Bill {
    /// A bill for a model with this price.
    pub(crate) fn new(price: Option<Price>) -> Self {
        Self { price, known: None, unknown: false }
    }

    /// An answer, with whatever figures came with it.
    pub(crate) fn answer(&mut self, header: Option<UsdFigure>, usage: Option<Usage>) {
        match self.figure(header, usage) {
            Some(spend) => self.add(spend),
            None => self.unreported(),
        }
    }

    /// A failed attempt; it costs only what it says. Whether it was charged like an answer.
    pub(crate) fn failure(&mut self, header: Option<UsdFigure>, usage: Option<Usage>) -> bool {
        let Some(spend) = self.figure(header, usage) else { return false };
        self.add(spend);
        !spend.amount.is_zero()
            || usage.and_then(|usage| usage.completion_tokens).is_some_and(|tokens| tokens > 0)
    }

    /// An answer may have been made, but nobody said what it cost.
    pub(crate) fn unreported(&mut self) {
        if self.price.is_some_and(|price| price.is_free()) {
            self.add(Spend::NOTHING);
        } else {
            self.unknown = true;
        }
    }

    fn figure(&self, header: Option<UsdFigure>, usage: Option<Usage>) -> Option<Spend> {
        let usage = usage.unwrap_or_default();
        if let Some(cost) = usage.cost.or(header) {
            return Some(Spend { amount: cost.ceil_micro(), basis: SpendBasis::Reported });
        }
        let amount = self.price?.of(1, usage.prompt_tokens?, usage.completion_tokens?);
        Some(Spend { amount, basis: SpendBasis::Priced })
    }

    fn add(&mut self, spend: Spend) {
        self.known = Some(self.known.map_or(spend, |known| known.plus(spend)));
    }

    /// The sum. Requests that were refused or never left cost nothing.
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
    use ep_polling::money::PicoUsd;

    use super::*;

    fn usage(tokens: u64, cost: Option<UsdFigure>) -> Option<Usage> {
        (tokens > 0).then_some(Usage { prompt_tokens: Some(tokens), completion_tokens: Some(tokens), cost })
    }

    #[test]
    fn a_report_beats_the_price_list_and_silence_is_unknown() {
        let price = Price {
            prompt: PicoUsd::new(1_000_000),
            completion: PicoUsd::new(2_000_000),
            request: PicoUsd::ZERO,
        };
        let total = |price, header, usage| {
            let mut bill = Bill::new(price);
            bill.answer(header, usage);
            let Spend { amount, basis } = bill.total();
            (amount.micro(), basis)
        };
        assert_eq!(total(Some(price), None, usage(10, "0.5".parse().ok())), (500_000, SpendBasis::Reported));
        assert_eq!(total(Some(price), "0.25".parse().ok(), usage(10, None)), (250_000, SpendBasis::Reported));
        assert_eq!(total(Some(price), None, usage(10, None)), (30, SpendBasis::Priced));
        assert_eq!(total(Some(price), None, usage(0, None)), (0, SpendBasis::Unknown));
        assert_eq!(total(None, None, usage(10, None)), (0, SpendBasis::Unknown));
        assert_eq!(total(Some(Price::FREE), None, None), (0, SpendBasis::Priced));
        assert_eq!(Bill::new(None).total(), Spend::NOTHING);
    }
}
