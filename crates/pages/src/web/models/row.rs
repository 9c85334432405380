//! A row of the table: a model with its prices and its statistics from polls.

use ep_kernel::{Variant, VariantPricing};
use ep_polling::{MicroUsd, PicoUsd};
use ep_site::layout::capitalized;
use ep_tools::polls::typical_vote_cost;
use ep_tools::reputation::ModelReputation;

use super::order::Order;

/// Micro-USD in a cent.
const CENT: i64 = 10_000;

/// A model in the table.
pub(super) struct Row {
    pub(super) mark: String,
    pub(super) name: String,
    pub(super) id: String,
    pub(super) family: String,
    pub(super) price: String,
    pub(super) input: String,
    pub(super) output: String,
    pub(super) context: String,
    pub(super) presets: String,
    pub(super) answers: String,
    pub(super) time: String,
    pub(super) majority: String,
    pub(super) decision_model: bool,
    /// True if the search does not find the model.
    pub(super) hidden: bool,
}

impl Row {
    /// Returns the text for searches, in lower case. The page's script reads the same cells.
    pub(super) fn words(&self) -> String {
        let Self { name, id, family, price, presets, .. } = self;
        let kind = if self.decision_model { "decision model" } else { "" };
        format!("{name} {id} {kind} {family} {price} {presets}").to_lowercase()
    }
}

/// A model with its statistics from polls.
pub(super) struct Model<'a> {
    pub(super) variant: &'a Variant,
    vote: Option<MicroUsd>,
    input: Option<MicroUsd>,
    output: Option<MicroUsd>,
    pub(super) statistics: Option<ModelReputation>,
}

impl<'a> Model<'a> {
    pub(super) fn new(variant: &'a Variant, statistics: Option<ModelReputation>) -> Self {
        let price = variant.pricing.as_ref().and_then(VariantPricing::price);
        Self {
            vote: price.map(typical_vote_cost).or_else(|| variant.free.then_some(MicroUsd::ZERO)),
            input: price.map(|price| per_million(price.prompt)),
            output: price.map(|price| per_million(price.completion)),
            variant,
            statistics,
        }
    }

    /// Returns the sort key in a column of numbers, in ascending order.
    pub(super) fn rank(&self, order: Order) -> Option<i64> {
        let falling = |share: f64| -((share * 1e6) as i64);
        let statistics = self.statistics.as_ref();
        match order {
            Order::Listed | Order::Model | Order::Family => None,
            Order::Price => self.vote.map(MicroUsd::micro),
            Order::Input => self.input.map(MicroUsd::micro),
            Order::Output => self.output.map(MicroUsd::micro),
            Order::Context => {
                self.variant.context_length.map(|tokens| -i64::try_from(tokens).unwrap_or(i64::MAX))
            }
            Order::Answers => statistics.and_then(|statistics| statistics.success_rate).map(falling),
            Order::Time => {
                statistics.and_then(|statistics| statistics.average_latency_ms).map(|ms| ms as i64)
            }
            Order::Majority => statistics.and_then(|statistics| statistics.with_outcome_rate).map(falling),
        }
    }

    /// Returns the row, with the mark of the model's family.
    pub(super) fn row(&self, mark: &str) -> Row {
        let Variant { id, name, family, context_length, presets, free, decision_model, .. } = self.variant;
        let price = |price: Option<MicroUsd>| match price {
            Some(price) if !price.is_zero() => price.to_string(),
            Some(_) => "free".to_owned(),
            None if *free => "free".to_owned(),
            None => "not listed".to_owned(),
        };
        let statistics =
            |figure: fn(&ModelReputation) -> Option<f64>| self.statistics.as_ref().and_then(figure);
        let share = |share: Option<f64>| share.map_or_else(none, |share| format!("{:.1} %", share * 100.0));
        let time = statistics(|statistics| statistics.average_latency_ms);
        let presets: Vec<String> = presets.iter().map(|preset| preset_title(preset)).collect();
        Row {
            mark: mark.to_owned(),
            name: name.clone(),
            id: id.clone(),
            family: family.clone(),
            price: self.vote.map_or_else(|| "Not listed".to_owned(), price_in_words),
            input: price(self.input),
            output: price(self.output),
            context: context_length.map_or_else(|| "not listed".to_owned(), grouped),
            presets: presets.join(", "),
            answers: share(statistics(|statistics| statistics.success_rate)),
            time: time.map_or_else(none, |ms| format!("{:.1} s", ms / 1000.0)),
            majority: share(statistics(|statistics| statistics.with_outcome_rate)),
            decision_model: *decision_model,
            hidden: false,
        }
    }
}

/// Converts the price of a token to the price of a million: a million pico-USD is one micro-USD.
const fn per_million(price: PicoUsd) -> MicroUsd {
    MicroUsd::new(price.pico())
}

/// Returns the price of a vote in words, rounded so that it reads at a glance.
fn price_in_words(vote: MicroUsd) -> String {
    match vote.micro() {
        ..=0 => "Free".to_owned(),
        micro if micro > CENT => format!("{} cents a vote", micro / CENT + i64::from(micro % CENT > 0)),
        micro => match two_digits(CENT / micro) {
            1 => "1 cent a vote".to_owned(),
            votes => format!("{} votes for 1 cent", grouped(votes.unsigned_abs())),
        },
    }
}

/// Rounds a number down to two significant digits.
fn two_digits(number: i64) -> i64 {
    let mut unit = 1;
    while number / unit >= 100 {
        unit *= 10;
    }
    number / unit * unit
}

/// Returns the name of a preset as a title: "Fast and cheap" for `fast_and_cheap`.
pub(in crate::web) fn preset_title(name: &str) -> String {
    capitalized(&name.replace('_', " "))
}

/// Returns the placeholder for missing statistics.
pub(super) fn none() -> String {
    "–".to_owned()
}

/// Formats a number with separators between thousands.
fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::with_capacity(digits.len() + digits.len() / 3);
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn votes_are_priced_in_words() {
        let shown = |micro| price_in_words(MicroUsd::new(micro));
        for (micro, words) in [
            (0, "Free"),
            (1, "10,000 votes for 1 cent"),
            (61, "160 votes for 1 cent"),
            (5_000, "2 votes for 1 cent"),
            (5_001, "1 cent a vote"),
            (10_000, "1 cent a vote"),
            (10_001, "2 cents a vote"),
            (1_000_000, "100 cents a vote"),
        ] {
            assert_eq!(shown(micro), words, "{micro}");
        }
    }

    #[test]
    fn prices_are_for_a_million_tokens() {
        let shown = |text: &str| PicoUsd::parse(text).map(|price| per_million(price).to_string());
        assert_eq!(shown("0.00000015").as_deref(), Some("$0.15"));
        assert_eq!(shown("0.000075").as_deref(), Some("$75.00"));
        assert_eq!(shown("0.000000000001").as_deref(), Some("$0.000001"));
        assert_eq!((shown("-1"), shown("much")), (None, None));
        assert_eq!((grouped(999), grouped(1_048_576)), ("999".to_owned(), "1,048,576".to_owned()));
    }
}
