//! The voters that are asked for explanations.

use rand::seq::SliceRandom;

use super::ballot::Ballot;
use super::explanation::{ExplanationCount, OPTIONS};
use super::order::Seed;

/// A voter that is asked for an explanation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Explainer {
    /// The voter's position in the dispatch order, from 0.
    pub position: usize,
    /// The option for which it voted.
    pub option: usize,
}

/// Draws the voters to ask: `count` of each of the two options with the most votes, or all if there are fewer. Voters
/// of both options alternate, so that a small budget reaches both. Decision models are not asked, because they write no text.
pub(crate) fn draw<'b>(
    count: ExplanationCount,
    ballots: impl IntoIterator<Item = &'b Ballot>,
    options: usize,
    seed: Seed,
) -> Vec<Explainer> {
    let mut voters = vec![Vec::new(); options];
    for ballot in ballots {
        if ballot.probabilities.is_none()
            && let Ok(option) = ballot.vote
            && let Some(voters) = voters.get_mut(option)
        {
            voters.push(Explainer { position: ballot.position as usize, option });
        }
    }
    voters.sort_by_key(|voters| std::cmp::Reverse(voters.len()));
    voters.truncate(OPTIONS);
    for (place, voters) in voters.iter_mut().enumerate() {
        // Ballots are in order of arrival, which differs from run to run.
        voters.sort_unstable_by_key(|explainer| explainer.position);
        voters.shuffle(&mut seed.explanations(place));
    }
    let turns = 0..count.per_option();
    turns.flat_map(|turn| voters.iter().filter_map(move |voters| voters.get(turn)).copied()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ballot::{NoVote, Reason};
    use crate::money::Spend;
    use crate::probabilities::Probabilities;

    fn ballots(votes: &[Option<usize>]) -> Vec<Ballot> {
        let ballot = |(position, vote): (usize, &Option<usize>)| Ballot {
            seq: position as u32 + 1,
            position: position as u32,
            vote: vote.ok_or_else(|| NoVote::new(Reason::Refused, "refused")),
            probabilities: None,
            casting: None,
            latency_ms: 1,
            at_ms: 1,
            spend: Spend::NOTHING,
            tokens: None,
            answered_by: None,
        };
        votes.iter().enumerate().map(ballot).collect()
    }

    #[test]
    fn voters_of_the_two_first_options_alternate_and_the_order_of_arrival_does_not_matter() {
        let votes: Vec<Option<usize>> =
            (0..30).map(|at| [Some(2), Some(0), Some(2), Some(1), None][at % 5]).collect();
        let mut ballots = ballots(&votes);
        let count = ExplanationCount::new(3).unwrap();
        let seed = Seed::new([5; 32]);
        let drawn = draw(count, &ballots, 4, seed);
        let options: Vec<usize> = drawn.iter().map(|explainer| explainer.option).collect();
        assert_eq!(options, [2, 0, 2, 0, 2, 0]);
        assert!(drawn.iter().all(|explainer| votes[explainer.position] == Some(explainer.option)));
        ballots.reverse();
        assert_eq!(draw(count, &ballots, 4, seed), drawn);
        assert_ne!(draw(count, &ballots, 4, Seed::new([6; 32])), drawn);
    }

    #[test]
    fn decision_models_are_not_asked() {
        let mut ballots = ballots(&[Some(0), Some(0), Some(1)]);
        ballots[0].probabilities = Probabilities::new(&[0.75, 0.25]).ok();
        let drawn = draw(ExplanationCount::new(3).unwrap(), &ballots, 2, Seed::new([5; 32]));
        assert_eq!(drawn.iter().map(|explainer| explainer.position).collect::<Vec<_>>(), [1, 2]);
    }

    #[test]
    fn fewer_voters_and_options_than_requested_are_all_drawn() {
        let count = ExplanationCount::new(2).unwrap();
        let seed = Seed::new([5; 32]);
        assert_eq!(draw(count, &ballots(&[Some(1), None]), 2, seed), [Explainer { position: 0, option: 1 }]);
        assert_eq!(draw(count, &ballots(&[None]), 2, seed), []);
        assert_eq!(
            (count.at_most(), ExplanationCount::new(0).is_err(), ExplanationCount::new(4).is_err()),
            (4, true, true)
        );
    }
}
