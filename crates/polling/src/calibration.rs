//! Levels of agreement, by which the outcomes of a panel are compared with the judgements of people.

use serde::{Deserialize, Serialize};

use crate::contested::is_low_share;
use crate::tally::{Outcome, Tally};

/// The share of votes for the winner of a poll, in three levels.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(inline))]
pub enum AgreementLevel {
    /// Every vote.
    Unanimous,
    /// At least two thirds of the votes, but not all.
    TwoThirds,
    /// Less than two thirds of the votes. Such a result is [contested](crate::contested).
    BelowTwoThirds,
}

impl AgreementLevel {
    /// Every level, the highest agreement first.
    pub const ALL: [Self; 3] = [Self::Unanimous, Self::TwoThirds, Self::BelowTwoThirds];

    /// Returns the level of complete votes. `None` for a tie, which has no winner, and for fewer than two votes, which
    /// cannot agree.
    ///
    /// ```
    /// use ep_polling::calibration::AgreementLevel;
    /// use ep_polling::tally::Tally;
    ///
    /// let level = |votes: &[usize]| AgreementLevel::of(&Tally::of(3, votes.iter().copied().map(Some)));
    /// assert_eq!(level(&[1, 1, 1]), Some(AgreementLevel::Unanimous));
    /// assert_eq!(level(&[1, 1, 0]), Some(AgreementLevel::TwoThirds));
    /// assert_eq!(level(&[1, 1, 0, 2]), Some(AgreementLevel::BelowTwoThirds));
    /// assert_eq!((level(&[0, 1]), level(&[0])), (None, None));
    /// ```
    pub fn of(tally: &Tally) -> Option<Self> {
        let all = tally.votes();
        let Outcome::Winner(winner) = tally.outcome() else { return None };
        let votes = tally.counts().get(winner).copied().filter(|_| all > 1)?;
        Some(match votes {
            _ if votes == all => Self::Unanimous,
            _ if is_low_share(votes, all) => Self::BelowTwoThirds,
            _ => Self::TwoThirds,
        })
    }

    /// Returns the name of the level in responses and in the database.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Unanimous => "unanimous",
            Self::TwoThirds => "two_thirds",
            Self::BelowTwoThirds => "below_two_thirds",
        }
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
        fn votes_for_the_winner_raise_the_level(votes in prop::collection::vec(0_usize..4, 2..40)) {
            let mut tally = Tally::of(4, votes.iter().copied().map(Some));
            if let (Some(level), Some(winner)) = (AgreementLevel::of(&tally), tally.leader()) {
                prop_assert_eq!(AgreementLevel::from_name(level.as_str()), Some(level));
                prop_assert_eq!(level == AgreementLevel::Unanimous, tally.counts()[winner] == tally.votes());
                tally.count(winner);
                prop_assert!(AgreementLevel::of(&tally) <= Some(level));
            }
        }
    }
}
