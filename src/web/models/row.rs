//! A row of the table: a model with its prices and its statistics from polls.

use ep_kernel::ports::Variant;
use ep_polling::money::{MicroUsd, UsdFigure};
use ep_tools::reputation::ModelReputation;

use super::order::Order;

/// A model in the table.
pub(super) struct Row {
    pub(super) name: String,
    pub(super) id: String,
    pub(super) family: String,
    pub(super) input: String,
    pub(super) output: String,
    pub(super) context: String,
    pub(super) presets: String,
    pub(super) answers: String,
    pub(super) time: String,
    pub(super) majority: String,
}

/// A model with its statistics from polls.
pub(super) struct Model<'a> {
    pub(super) variant: &'a Variant,
    pub(super) input: Option<MicroUsd>,
    pub(super) output: Option<MicroUsd>,
    pub(super) statistics: Option<ModelReputation>,
}

impl<'a> Model<'a> {
    pub(super) fn new(variant: &'a Variant, statistics: Option<ModelReputation>) -> Self {
        let price = variant.pricing.as_ref();
        Self {
            input: price.and_then(|price| per_million(&price.prompt)),
            output: price.and_then(|price| per_million(&price.completion)),
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

    pub(super) fn row(&self) -> Row {
        let Variant { id, name, family, context_length, presets, free, .. } = self.variant;
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
        Row {
            name: name.clone(),
            id: id.clone(),
            family: family.clone(),
            input: price(self.input),
            output: price(self.output),
            context: context_length.map_or_else(|| "not listed".to_owned(), grouped),
            presets: presets.join(", "),
            answers: share(statistics(|statistics| statistics.success_rate)),
            time: time.map_or_else(none, |ms| format!("{:.1} s", ms / 1000.0)),
            majority: share(statistics(|statistics| statistics.with_outcome_rate)),
        }
    }
}

/// Converts USD per token to USD per million tokens: a million pico-USD is one micro-USD.
fn per_million(per_token: &str) -> Option<MicroUsd> {
    let price = per_token.parse::<UsdFigure>().ok()?.ceil_pico()?;
    Some(MicroUsd::new(price.pico()))
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
    fn prices_are_for_a_million_tokens() {
        let shown = |text: &str| per_million(text).map(|price| price.to_string());
        assert_eq!(shown("0.00000015").as_deref(), Some("$0.15"));
        assert_eq!(shown("0.000075").as_deref(), Some("$75.00"));
        assert_eq!(shown("0.000000000001").as_deref(), Some("$0.000001"));
        assert_eq!((shown("-1"), shown("much")), (None, None));
        assert_eq!((grouped(999), grouped(1_048_576)), ("999".to_owned(), "1,048,576".to_owned()));
    }
}
