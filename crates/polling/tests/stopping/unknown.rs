//! Failed calls: they count for the rival, in the stop and in the reported confidence.

use crate::exact::StopTable;
use crate::simulation::{Member, in_flight, run};
use crate::{LEVELS, evidence, rule};
use ep_polling::stopping::FinalResponse::{self, NoVote, Unknown, Vote};
use ep_polling::stopping::TerminationReason::{Budget, Confidence, MathematicalLock, RosterExhausted};
use ep_polling::stopping::{decide, p_value};
use ep_polling::{Decision, Pace, Responses, Tally};
use proptest::prelude::*;
use rand::SeedableRng;
use rand::seq::SliceRandom;
use rand_chacha::ChaCha8Rng;

const OPTIONS: usize = 4;

/// Returns a poll whose members responded in dispatch order.
fn polled(roster: usize, answers: &[FinalResponse]) -> Responses {
    let mut responses = Responses::new(OPTIONS, roster);
    for answer in answers {
        let position = responses.launch().unwrap();
        assert!(responses.record(position, *answer));
    }
    responses
}

#[test]
fn one_vote_of_fifty_gives_no_confidence() {
    let mut answers = vec![Unknown; 50];
    answers[31] = Vote(2);
    let end = decide(&polled(50, &answers), &rule(0.95), false).unwrap();
    assert_eq!((end.reason, end.option, end.p), (RosterExhausted, None, 1.0));
    assert_eq!(end.standing.leader, Some(2), "the count is first past the post regardless");
    // If the same members respond without a vote instead, the single vote decides the poll.
    answers.iter_mut().filter(|answer| **answer == Unknown).for_each(|answer| *answer = NoVote);
    let end = decide(&polled(50, &answers), &rule(0.95), false).unwrap();
    assert_eq!((end.reason, end.option, end.p), (RosterExhausted, Some(2), 0.0));
}

#[test]
fn a_roster_with_failed_calls_can_be_certain_or_not() {
    let certain = decide(&polled(5, &[Vote(0), Vote(0), Unknown, Vote(0), Vote(1)]), &rule(1.0), false);
    assert_eq!(certain.map(|end| (end.reason, end.p)), Some((RosterExhausted, 0.0)));
    let open = decide(&polled(5, &[Vote(0), Vote(0), Unknown, Vote(1), Vote(2)]), &rule(1.0), false).unwrap();
    assert!(open.reason == RosterExhausted && open.p > 0.0, "the third member could make it a tie");
    let tie = decide(&polled(3, &[Vote(0), Unknown, Vote(1)]), &rule(1.0), false).unwrap();
    assert_eq!((tie.option, tie.p), (None, 1.0), "the second member would break the tie");
}

#[test]
fn the_lock_counts_failed_calls_for_the_rival() {
    assert_eq!(decide(&polled(6, &[Vote(0), Vote(0), Vote(0), Unknown]), &rule(1.0), false), None);
    let locked = decide(&polled(6, &[Vote(0), Vote(0), Vote(0), NoVote]), &rule(1.0), false).unwrap();
    assert_eq!((locked.reason, locked.option), (MathematicalLock, Some(0)));
}

/// Generates the members' responses, a success flag for each call, and an order of arrival.
fn panels() -> impl Strategy<Value = (Vec<FinalResponse>, Vec<bool>, Vec<usize>)> {
    let answer =
        prop_oneof![1 => Just(NoVote), 6 => (0..2_usize).prop_map(Vote), 2 => (0..OPTIONS).prop_map(Vote)];
    prop::collection::vec((answer, prop::bool::weighted(0.8)), 1..40).prop_flat_map(|members| {
        let order: Vec<usize> = (0..members.len()).collect();
        let (answers, responded) = members.into_iter().unzip::<_, _, Vec<_>, Vec<_>>();
        (Just(answers), Just(responded), Just(order).prop_shuffle())
    })
}

fn responded(answer: FinalResponse, responded: bool) -> FinalResponse {
    if responded { answer } else { Unknown }
}

proptest! {
    #[test]
    fn a_failed_call_counts_as_one_without_a_response((answers, succeeds, order) in panels()) {
        let mut failing = Responses::new(OPTIONS, answers.len());
        let mut silent = failing.clone();
        for _ in &answers {
            failing.launch();
            silent.launch();
        }
        for position in order {
            failing.record(position, responded(answers[position], succeeds[position]));
            if succeeds[position] {
                silent.record(position, answers[position]);
            }
            prop_assert_eq!(failing.highest_confidence(), silent.highest_confidence());
            prop_assert!(failing.prefixes().eq(silent.prefixes()));
        }
        prop_assert_eq!(failing.in_flight(), 0);
        prop_assert_eq!(failing.unknown(), succeeds.iter().filter(|responded| !**responded).count());
    }

    #[test]
    fn a_no_vote_that_becomes_unknown_never_raises_confidence(
        (answers, succeeds, order) in panels(),
        known in 1..40_usize,
        threshold in prop::sample::select(LEVELS.to_vec()),
    ) {
        let mut all_responded = Responses::new(OPTIONS, answers.len());
        let mut some_unknown = all_responded.clone();
        for _ in &answers {
            all_responded.launch();
            some_unknown.launch();
        }
        for position in order.into_iter().take(known) {
            all_responded.record(position, answers[position]);
            let lost = answers[position] == NoVote && !succeeds[position];
            some_unknown.record(position, responded(answers[position], !lost));
        }
        let (less, more) = (all_responded.highest_confidence(), some_unknown.highest_confidence());
        prop_assert!(more.p >= less.p * (1.0 - 1e-12), "{} < {}", more.p, less.p);
        let ends = |responses: &Responses| decide(responses, &rule(threshold), false);
        match (ends(&some_unknown), ends(&all_responded)) {
            (Some(end), None) => prop_assert!(false, "it ends by {} only with failures", end.reason),
            (Some(one), Some(other)) => prop_assert!(one.p >= other.p * (1.0 - 1e-12)),
            _ => {}
        }
    }

    #[test]
    fn no_further_response_changes_a_certain_outcome(
        (answers, succeeds, order) in panels(),
        known in 1..41_usize,
        others in prop::collection::vec(prop::option::of(0..OPTIONS), 40),
    ) {
        let mut responses = Responses::new(OPTIONS, answers.len());
        for _ in &answers {
            responses.launch();
        }
        let mut known_responses = vec![Unknown; answers.len()];
        for position in order.into_iter().take(known) {
            known_responses[position] = responded(answers[position], succeeds[position]);
            responses.record(position, known_responses[position]);
        }
        let Some(Decision { reason, option: Some(option), p, .. }) = decide(&responses, &rule(1.0), false) else {
            return Ok(());
        };
        prop_assume!(p == 0.0);
        prop_assert!(matches!(reason, MathematicalLock | RosterExhausted));
        let full = |response_of: &dyn Fn(usize) -> Option<usize>| {
            let votes = known_responses.iter().enumerate().map(|(member, answer)| match answer {
                Vote(option) => Some(*option),
                NoVote => None,
                Unknown => response_of(member),
            });
            Tally::of(OPTIONS, votes).leader()
        };
        prop_assert_eq!(full(&|member| others[member]), Some(option));
        for rival in (0..OPTIONS).filter(|rival| *rival != option) {
            prop_assert_eq!(full(&|_| Some(rival)), Some(option), "if all others chose {}", rival);
        }
    }
}

/// Returns the probability, over the order alone, that a roster with these `votes` per option stops with
/// another option than its outcome, or reports it at that confidence. The calls of `lost` members of each
/// option fail.
fn error(votes: [usize; 2], lost: [usize; 2], table: &StopTable) -> f64 {
    let roster: usize = votes.iter().sum();
    let outcome = (votes[0] != votes[1]).then(|| usize::from(votes[1] > votes[0]));
    let kinds = [votes[0] - lost[0], votes[1] - lost[1], lost[0] + lost[1]];
    let mut wrong = 0.0;
    let mut mass = vec![vec![vec![0.0; kinds[2] + 1]; kinds[1] + 1]; kinds[0] + 1];
    mass[0][0][0] = 1.0;
    for a in 0..=kinds[0] {
        for b in 0..=kinds[1] {
            for unknown in 0..=kinds[2] {
                let (here, n) = (mass[a][b][unknown], a + b + unknown);
                let (leader, x, y) = if a > b { (0, a, b) } else { (1, b, a) };
                if x > y + unknown && table.stops(x, y + unknown, n) {
                    wrong += if outcome == Some(leader) { 0.0 } else { here };
                    continue;
                }
                let left = (roster - n).max(1) as f64;
                if a < kinds[0] {
                    mass[a + 1][b][unknown] += here * (kinds[0] - a) as f64 / left;
                }
                if b < kinds[1] {
                    mass[a][b + 1][unknown] += here * (kinds[1] - b) as f64 / left;
                }
                if unknown < kinds[2] {
                    mass[a][b][unknown + 1] += here * (kinds[2] - unknown) as f64 / left;
                }
            }
        }
    }
    wrong
}

#[test]
fn failures_chosen_to_mislead_err_at_most_as_often_as_allowed() {
    // Any members may fail, for example only those of one side.
    for roster in [5_usize, 10, 15, 20] {
        for level in LEVELS {
            let rule = rule(level);
            let table = StopTable::new(roster, |x, y, r| rule.stops(evidence(x, y, r)));
            for first in 0..=roster / 2 {
                let votes = [first, roster - first];
                for lost_first in 0..=votes[0] {
                    for lost_second in 0..=votes[1] {
                        let wrong = error(votes, [lost_first, lost_second], &table);
                        let allowed = (1.0 - level) * (1.0 + 1e-8);
                        assert!(wrong <= allowed, "{votes:?} at {level}: {wrong}");
                    }
                }
            }
        }
    }
}

#[test]
fn the_same_failures_counted_as_no_votes_would_err() {
    // In a dead heat, if half of one side fails, the other side wins nearly every poll.
    let rule = rule(0.95);
    let stops = |x: u32, y: u32, r: u32| rule.stops(evidence(x, y, r));
    let (mut rng, mut wrong) = (ChaCha8Rng::seed_from_u64(1), [0, 0]);
    for _ in 0..500 {
        let mut members: Vec<FinalResponse> =
            [vec![Vote(0); 20], vec![Vote(1); 10], vec![Unknown; 10]].concat();
        members.shuffle(&mut rng);
        for (count, lost) in wrong.iter_mut().zip([NoVote, Unknown]) {
            let mut responses = Responses::new(2, 40);
            let stopped = members.iter().any(|answer| {
                let position = responses.launch().unwrap();
                responses.record(position, if *answer == Unknown { lost } else { *answer });
                let last = responses.prefixes().last();
                last.is_some_and(|at| stops(at.evidence.leader, at.evidence.rival, at.evidence.remaining))
            });
            *count += u32::from(stopped);
        }
    }
    assert!(wrong[0] > 250, "only {} of 500 err: this scenario tests nothing", wrong[0]);
    assert!(wrong[1] <= 25, "{} of 500 err", wrong[1]);
}

#[test]
fn the_budget_reports_failures_too() {
    let answers = [Vote(3), Vote(3), Vote(3), Vote(3), Vote(3)];
    let all = decide(&polled(25, &answers), &rule(0.95), true).unwrap();
    let some =
        decide(&polled(25, &[Vote(3), Unknown, Vote(3), Vote(3), Vote(3)]), &rule(0.95), true).unwrap();
    assert_eq!((all.reason, some.reason), (Budget, Budget));
    assert!((some.p - p_value(evidence(4, 1, 20))).abs() < 1e-12 && some.p > all.p);
    assert_ne!(some.reason, Confidence);
}

#[test]
fn failures_do_not_make_a_thrifty_poll_ask_more_than_one_by_one() {
    let mut rng = ChaCha8Rng::seed_from_u64(20_261_121);
    for trial in 0..1000 {
        let rule = rule(LEVELS[trial % 5]);
        let members: Vec<Member> = crate::simulation::members(&mut rng, 40, 3, [0.2, 1.0][trial % 2])
            .into_iter()
            .map(|member| Member { unknown: member.answer.is_none(), ..member })
            .collect();
        let slow = run(&members, 3, &rule, |_| 1);
        let rolling = run(&members, 3, &rule, |responses| in_flight(Pace::Thrifty, &rule, responses));
        assert_eq!(rolling.calls, slow.calls, "trial {trial}");
    }
}
