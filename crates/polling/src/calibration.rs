//! Levels of agreement, by which the outcomes of a panel are compared with the judgements of people.

use serde::{Deserialize, Serialize};

use crate::contested::is_low_share;
use crate::tally::{Outcome, Tally};

crate::words! {
    /// The share of the models that voted for the winner of a complete poll, in three levels.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
    #[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(inline))]
    pub enum AgreementLevel {
        /// Every model.
        Unanimous = "unanimous",
        /// At least two thirds of the models, but not all.
        TwoThirds = "two_thirds",
        /// Less than two thirds of the models. Such a result is [contested](crate::contested).
        BelowTwoThirds = "below_two_thirds",
    }
}

impl AgreementLevel {
    /// Returns the level of a complete poll of so many models. A model without a vote counts against the winner. `None` for
    /// a tie, which has no winner, and for one model, which cannot agree with another.
    ///
    /// ```
    /// use ep_polling::calibration::AgreementLevel;
    /// use ep_polling::tally::Tally;
    ///
    /// let level = |votes: &[usize], of| AgreementLevel::of(&Tally::of(3, votes.iter().copied().map(Some)), of);
    /// assert_eq!(level(&[1, 1, 1], 3), Some(AgreementLevel::Unanimous));
    /// assert_eq!(level(&[1, 1, 0], 3), Some(AgreementLevel::TwoThirds));
    /// assert_eq!(level(&[1, 1], 3), Some(AgreementLevel::TwoThirds));
    /// assert_eq!(level(&[1, 1, 0, 2], 4), Some(AgreementLevel::BelowTwoThirds));
    /// assert_eq!((level(&[0, 1], 2), level(&[0], 1)), (None, None));
    /// ```
    pub fn of(tally: &Tally, models: u32) -> Option<Self> {
        let Outcome::Winner(winner) = tally.outcome() else { return None };
        let votes = tally.counts().get(winner).copied().filter(|_| models > 1)?;
        Some(match votes {
            _ if votes == models => Self::Unanimous,
            _ if is_low_share(votes, models) => Self::BelowTwoThirds,
            _ => Self::TwoThirds,
        })
    }

    /// Returns the level with this name.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|level| level.as_str() == name)
    }
}

/// The polls that are compared together: those of one panel with one level of agreement.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct CalibrationGroup {
    /// The preset.
    pub panel: String,
    /// The level.
    pub level: AgreementLevel,
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        /// Another vote for the winner never lowers the level.
        #[test]
        fn votes_for_the_winner_raise_the_level(
            votes in prop::collection::vec(0_usize..4, 2..40),
            without_vote in 0_u32..5,
        ) {
            let mut tally = Tally::of(4, votes.iter().copied().map(Some));
            let models = tally.votes() + without_vote;
            if let (Some(level), Some(winner)) = (AgreementLevel::of(&tally, models), tally.leader()) {
                prop_assert_eq!(AgreementLevel::from_name(level.as_str()), Some(level));
                prop_assert_eq!(level == AgreementLevel::Unanimous, tally.counts()[winner] == models);
                tally.count(winner);
                prop_assert!(AgreementLevel::of(&tally, models + 1) <= Some(level));
            }
        }
    }
}
