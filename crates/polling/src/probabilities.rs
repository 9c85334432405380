//! The probabilities that a decision model gives to the options of a ballot.

use serde::{Deserialize, Serialize};

/// Parts of a probability of 1.
const WHOLE: u32 = 1_000_000;
/// The maximum rounding of one probability, in parts: upstreams round to two decimals.
const ROUNDING: u32 = 5_001;

/// A probability for each option, in the caller's order, as integers: in parts per million. They add up to 1, as far as
/// probabilities rounded to two decimals can. They are the model's weights of the options, not the chance of being right.
///
/// The vote follows from them ([`Probabilities::choice`]), and nothing else does.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "Vec<u32>", into = "Vec<u32>")]
pub struct Probabilities(Vec<u32>);

/// The probability that a decision model gave to an option: its own weight, not the chance that the option is right.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct OptionProbability {
    /// The option.
    pub option: String,
    /// The probability, from 0 to 1, with at most six decimals. Upstreams round: the sum of a vote can differ from 1.
    pub probability: f64,
}

/// The problem with a list of probabilities.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum ProbabilitiesError {
    /// Fewer than two probabilities.
    #[error("a ballot has at least two options")]
    Count,
    /// A number that is not a probability.
    #[error("a probability is not a number from 0 to 1")]
    Range,
    /// The sum is too far from 1.
    #[error("the probabilities do not add up to 1")]
    Sum,
}

impl Probabilities {
    /// Creates probabilities from fractions of 1, which are rounded to six decimals.
    pub fn new(fractions: &[f64]) -> Result<Self, ProbabilitiesError> {
        let parts = |fraction: &f64| {
            let parts = (fraction * f64::from(WHOLE)).round();
            (0.0..=f64::from(WHOLE)).contains(&parts).then_some(parts as u32)
        };
        let parts: Option<Vec<u32>> = fractions.iter().map(parts).collect();
        Self::try_from(parts.ok_or(ProbabilitiesError::Range)?)
    }

    /// Returns the option with the greatest probability; `None` if several share it, because none of them is then the
    /// model's choice.
    pub fn choice(&self) -> Option<usize> {
        let greatest = self.0.iter().max()?;
        let mut choices = self.0.iter().enumerate().filter(|(_, parts)| *parts == greatest);
        match (choices.next(), choices.next()) {
            (Some((option, _)), None) => Some(option),
            _ => None,
        }
    }

    /// Returns the probabilities with the texts of the options, in the caller's order.
    pub fn named(&self, options: &[String]) -> Vec<OptionProbability> {
        let named =
            |(option, probability): (&String, f64)| OptionProbability { option: option.clone(), probability };
        options.iter().zip(self.fractions()).map(named).collect()
    }

    /// Returns the probabilities as fractions of 1, in the caller's order of the options.
    pub fn fractions(&self) -> impl ExactSizeIterator<Item = f64> {
        self.0.iter().map(|parts| f64::from(*parts) / f64::from(WHOLE))
    }
}

crate::checked!(
    Probabilities: Vec<u32>,
    ProbabilitiesError,
    |parts| {
        if parts.len() < 2 {
            return Err(ProbabilitiesError::Count);
        }
        if parts.iter().any(|parts| *parts > WHOLE) {
            return Err(ProbabilitiesError::Range);
        }
        let sum: u64 = parts.iter().copied().map(u64::from).sum();
        let tolerance = u64::from(ROUNDING) * parts.len() as u64;
        if sum.abs_diff(u64::from(WHOLE)) > tolerance {
            return Err(ProbabilitiesError::Sum);
        }
        Ok(Self(parts))
    },
    |probabilities| probabilities.0
);

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn other_numbers_are_refused() {
        for (fractions, problem) in [
            (&[][..], ProbabilitiesError::Count),
            (&[1.0], ProbabilitiesError::Count),
            (&[0.5, f64::NAN], ProbabilitiesError::Range),
            (&[f64::INFINITY, 0.0], ProbabilitiesError::Range),
            (&[1.1, -0.1], ProbabilitiesError::Range),
            (&[0.5, 0.4], ProbabilitiesError::Sum),
            (&[0.9, 0.9], ProbabilitiesError::Sum),
            (&[0.0, 0.0], ProbabilitiesError::Sum),
        ] {
            assert_eq!(Probabilities::new(fractions), Err(problem), "{fractions:?}");
        }
        assert!(serde_json::from_str::<Probabilities>("[1000001,0]").is_err());
    }

    #[test]
    fn a_tie_is_no_choice() {
        let choice = |fractions: &[f64]| Probabilities::new(fractions).unwrap().choice();
        assert_eq!(choice(&[0.2, 0.5, 0.3]), Some(1));
        assert_eq!(choice(&[0.5, 0.5]), None);
        assert_eq!(choice(&[0.33, 0.33, 0.33]), None, "rounded to two decimals");
        assert_eq!(choice(&[0.500_000_1, 0.499_999_9]), None, "equal in six decimals");
        assert_eq!(choice(&[0.0, 1.0]), Some(1));
    }

    proptest! {
        #[test]
        fn probabilities_rounded_to_two_decimals_are_read_and_stored_unchanged(
            weights in prop::collection::vec(1_u32..1000, 2..=11),
        ) {
            let sum: u32 = weights.iter().sum();
            let rounded: Vec<f64> = weights
                .iter()
                .map(|weight| (f64::from(*weight) / f64::from(sum) * 100.0).round() / 100.0)
                .collect();
            let read = Probabilities::new(&rounded).unwrap();
            prop_assert_eq!(read.fractions().collect::<Vec<_>>(), rounded.clone());
            let stored = serde_json::to_string(&read).unwrap();
            prop_assert_eq!(serde_json::from_str::<Probabilities>(&stored).unwrap(), read.clone());
            if let Some(choice) = read.choice() {
                let others = rounded.iter().enumerate().filter(|(option, _)| *option != choice);
                prop_assert!(others.into_iter().all(|(_, other)| *other < rounded[choice]));
            }
        }
    }
}
