//! Polls that end without an answer.

use serde::{Deserialize, Serialize};

use crate::choices::ChoiceKind;
use crate::tally::{Outcome, Tally};

crate::words! {
    /// The reason why an ended poll has no answer.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
    pub enum NoAnswer {
        /// No model voted.
        NoVotes = "no_votes",
        /// Options tie, and no rule decides.
        Tie = "tie",
        /// Too few votes: the missing ones could give another outcome.
        Unsupported = "unsupported",
    }
}

/// True if too few votes are known: the `missing` ones are at least as many, so they could outvote any leader.
pub const fn are_too_few(votes: u32, missing: u32) -> bool {
    missing >= votes
}

/// An ended poll, as far as its answer depends on it.
#[derive(Debug, Clone, Copy)]
pub struct EndedVotes<'a> {
    /// The kind of the choices.
    pub kind: ChoiceKind,
    /// The votes.
    pub tally: &'a Tally,
    /// The option that a rule for ties decided.
    pub decided: Option<usize>,
    /// The confidence in the outcome, from 0 to 1.
    pub confidence: f64,
    /// Number of models of the roster with an unknown vote: their calls failed, or they were not counted.
    pub missing: u32,
}

impl EndedVotes<'_> {
    /// Returns the reason why the poll has no answer; `None` if it has one. This is the only judgement of it:
    ///
    /// - Without votes, there is no answer.
    /// - If at least as many votes are missing as there are, a confidence of 0 is no answer. A median without a pass mark has no
    ///   confidence, so it is no answer then: the missing votes could make any level the median.
    /// - Options that tie are no answer, unless a rule for ties decided.
    ///
    /// ```
    /// use ep_polling::choices::ChoiceKind;
    /// use ep_polling::no_answer::{EndedVotes, NoAnswer};
    /// use ep_polling::tally::Tally;
    ///
    /// // One vote of 50: the other calls failed.
    /// let one = Tally::of(2, [Some(0)]);
    /// let poll =
    ///     EndedVotes { kind: ChoiceKind::Options, tally: &one, decided: None, confidence: 0.0, missing: 49 };
    /// assert_eq!(poll.no_answer(), Some(NoAnswer::Unsupported));
    /// assert_eq!(EndedVotes { confidence: 0.9, ..poll }.no_answer(), None);
    /// ```
    pub fn no_answer(&self) -> Option<NoAnswer> {
        let votes = self.tally.votes();
        if votes == 0 {
            return Some(NoAnswer::NoVotes);
        }
        let has_confidence = self.kind != ChoiceKind::Levels && self.confidence > 0.0;
        if are_too_few(votes, self.missing) && !has_confidence {
            return Some(NoAnswer::Unsupported);
        }
        let is_tie = self.kind == ChoiceKind::Options && self.tally.outcome() == Outcome::Tie;
        (is_tie && self.decided.is_none()).then_some(NoAnswer::Tie)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn of(kind: ChoiceKind, votes: &[u32], missing: u32, confidence: f64) -> Option<NoAnswer> {
        let tally = Tally::counted(votes.to_vec());
        EndedVotes { kind, tally: &tally, decided: None, confidence, missing }.no_answer()
    }

    #[test]
    fn no_votes_too_few_votes_and_ties_are_no_answer() {
        let options =
            |votes: &[u32], missing, confidence| of(ChoiceKind::Options, votes, missing, confidence);
        assert_eq!(options(&[0, 0], 2, 0.0), Some(NoAnswer::NoVotes));
        assert_eq!(options(&[1, 0], 1, 0.0), Some(NoAnswer::Unsupported));
        assert_eq!(options(&[1, 1], 2, 0.0), Some(NoAnswer::Unsupported));
        assert_eq!(options(&[2, 2], 0, 1.0), Some(NoAnswer::Tie));
        assert_eq!(options(&[7, 0], 43, 0.96), None);
        // Nearly all voted: the winner is the answer, and the confidence says how little it is ahead.
        assert_eq!(options(&[24, 23], 3, 0.0), None);
        let tally = Tally::of(2, [Some(0), Some(1)]);
        let (kind, decided) = (ChoiceKind::Options, Some(1));
        let tie = EndedVotes { kind, tally: &tally, decided, confidence: 0.0, missing: 1 };
        assert_eq!(tie.no_answer(), None);
        assert_eq!(EndedVotes { missing: 2, ..tie }.no_answer(), Some(NoAnswer::Unsupported));
    }

    proptest! {
        /// A median with an answer lies between levels that received votes, whatever the missing votes are.
        #[test]
        fn missing_votes_cannot_make_any_level_the_median(
            votes in prop::collection::vec(0_u32..6, 1..5),
            missing in 0_u32..30,
            level in 0_usize..7,
        ) {
            // The lowest and the highest level have no votes.
            let all: Vec<u32> = std::iter::once(0).chain(votes.iter().copied()).chain([0]).collect();
            if of(ChoiceKind::Levels, &all, missing, 0.0).is_none() {
                let mut with = all.clone();
                let level = level % all.len();
                with[level] += missing;
                let median = Tally::counted(with).lower_median().unwrap();
                prop_assert!(median > 0 && median < all.len() - 1, "{:?} + {} at {}", all, missing, level);
            }
        }

        /// A vote that is no longer missing keeps an answer, and a leader is the answer once more votes are known than missing.
        #[test]
        fn fewer_missing_votes_never_take_an_answer_away(
            votes in prop::collection::vec(0_u32..9, 2..5),
            missing in 0_u32..30,
            confidence in prop_oneof![Just(0.0), 0.0..1.0_f64],
            is_scale in any::<bool>(),
        ) {
            let kind = if is_scale { ChoiceKind::Levels } else { ChoiceKind::Options };
            let judged = |missing| of(kind, &votes, missing, confidence);
            if judged(missing + 1).is_none() {
                prop_assert_eq!(judged(missing), None);
            }
            let all: u32 = votes.iter().sum();
            prop_assert_eq!(judged(missing) == Some(NoAnswer::NoVotes), all == 0);
            let has_leader = is_scale || Tally::counted(votes.clone()).leader().is_some();
            if missing < all && has_leader {
                prop_assert_eq!(judged(missing), None);
            }
        }
    }
}
