//! Results that are contested.

use crate::choices::ChoiceKind;
use crate::tally::{Outcome, Tally};

/// True if a result is contested: options tie, the winner has less than two thirds of the votes, or the strongest model
/// that voted chose another option. `strongest` is the vote of that model; `None` if the models have no order of strength.
/// Without votes there is nothing to contest. Of a complete poll, `of` is the number of all models, so that a model without
/// a vote counts against the winner; otherwise it is the number of votes.
///
/// A poll that stops early stops while the leader is ahead, so the share of its winner is too high on average. Such a poll
/// is marked less often than if every model had been asked: the mark is as true as of a complete poll, but its absence
/// says less.
///
/// ```
/// use ep_polling::contested::is_contested;
/// use ep_polling::tally::Tally;
///
/// let votes = |votes: &[usize]| Tally::of(3, votes.iter().copied().map(Some));
/// assert!(!is_contested(&votes(&[0, 0, 1]), 3, None));
/// assert!(is_contested(&votes(&[0, 0, 1]), 3, Some(1)));
/// assert!(is_contested(&votes(&[0, 0, 0, 1, 2]), 5, Some(0)));
/// assert!(is_contested(&votes(&[0]), 3, None));
/// ```
pub fn is_contested(tally: &Tally, of: u32, strongest: Option<usize>) -> bool {
    match tally.outcome() {
        Outcome::NoVotes => false,
        Outcome::Tie => true,
        Outcome::Winner(winner) => is_disputed(tally, winner, of, strongest),
    }
}

/// True if a result for choices of this kind is contested. On a scale, the winner is its median; with a pass mark, it is
/// the pass or the fail.
///
/// ```
/// use ep_polling::choices::ChoiceKind;
/// use ep_polling::contested::is_contested_for;
/// use ep_polling::tally::Tally;
///
/// // Two of the three votes are for the median, and the strongest model voted for another level.
/// let levels = Tally::of(5, [Some(3), Some(3), Some(4)]);
/// assert!(!is_contested_for(ChoiceKind::Levels, &levels, 3, None));
/// assert!(is_contested_for(ChoiceKind::Levels, &levels, 3, Some(4)));
/// ```
pub fn is_contested_for(kind: ChoiceKind, tally: &Tally, of: u32, strongest: Option<usize>) -> bool {
    match kind {
        ChoiceKind::Options => is_contested(tally, of, strongest),
        ChoiceKind::Levels => {
            tally.lower_median().is_some_and(|median| is_disputed(tally, median, of, strongest))
        }
        ChoiceKind::PassMark(mark) => {
            is_contested(&mark.votes(tally).into(), of, strongest.map(|level| mark.side(level) as usize))
        }
    }
}

/// True if this option has less than two thirds of so many votes, or the strongest model that voted chose another one.
fn is_disputed(tally: &Tally, winner: usize, of: u32, strongest: Option<usize>) -> bool {
    let votes = tally.counts().get(winner).copied().unwrap_or_default();
    is_low_share(votes, of) || strongest.is_some_and(|option| option != winner)
}

/// True if a winner with this number of votes has less than two thirds of all votes.
pub const fn is_low_share(votes: u32, all: u32) -> bool {
    3 * (votes as u64) < 2 * (all as u64)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::options::Levels;
    use crate::scale::Scale;

    #[test]
    fn two_thirds_are_enough_and_less_is_contested() {
        for (votes, all, low) in
            [(2, 3, false), (3, 5, true), (4, 6, false), (33, 50, true), (34, 50, false), (1, 1, false)]
        {
            assert_eq!(is_low_share(votes, all), low, "{votes} of {all}");
        }
    }

    #[test]
    fn scales_are_contested_by_their_median_and_marks_by_the_pass() {
        let scale =
            Scale::new(Levels::new(&["1", "2", "3", "4"].map(str::to_owned)).unwrap(), Some("3")).unwrap();
        let mark = ChoiceKind::PassMark(scale.mark().unwrap());
        let contested = |kind, votes: &[usize], strongest| {
            is_contested_for(
                kind,
                &Tally::of(4, votes.iter().copied().map(Some)),
                votes.len() as u32,
                strongest,
            )
        };
        // Levels from the mark on pass likewise, so a dispute among them does not matter.
        assert!(contested(ChoiceKind::Levels, &[2, 2, 3, 3], None));
        assert!(!contested(mark, &[2, 2, 3, 3], Some(2)) && contested(mark, &[2, 2, 3, 0], Some(1)));
        // A tie of levels is no tie of the median, but half of the votes are too few. An exact tie on the pass fails.
        assert!(contested(ChoiceKind::Levels, &[0, 3], Some(0)) && contested(mark, &[0, 3], Some(0)));
        assert!(
            !contested(ChoiceKind::Levels, &[1, 1, 3], Some(1)) && !contested(ChoiceKind::Levels, &[], None)
        );
        assert!(!contested(mark, &[], None));
    }

    #[test]
    fn ties_are_contested_and_no_votes_are_not() {
        assert!(is_contested(&Tally::of(2, [Some(0), Some(1), None]), 3, Some(0)));
        for strongest in [None, Some(0)] {
            assert!(!is_contested(&Tally::of(2, [None, None]), 2, strongest));
        }
    }

    proptest! {
        /// Another vote for the winner never makes a result contested.
        #[test]
        fn more_votes_for_the_winner_contest_nothing(votes in prop::collection::vec(0_usize..4, 1..40)) {
            let mut tally = Tally::of(4, votes.iter().copied().map(Some));
            if let Outcome::Winner(winner) = tally.outcome() && !is_contested(&tally, tally.votes(), None) {
                tally.count(winner);
                prop_assert!(!is_contested(&tally, tally.votes(), Some(winner)));
            }
        }
    }
}
