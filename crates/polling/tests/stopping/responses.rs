//! The evidence in prefixes, response by response.

use crate::{evidence, rule};
use ep_polling::{Prefix, Responses};

/// Returns a poll with the first `launched` members asked and these responses.
fn launched_poll(
    options: usize,
    roster: usize,
    answers: &[(usize, Option<usize>)],
    launched: usize,
) -> Responses {
    let mut responses = Responses::new(options, roster);
    for _ in 0..launched {
        responses.launch();
    }
    for (position, answer) in answers {
        assert!(responses.record(*position, *answer));
    }
    responses
}

#[test]
fn a_member_in_flight_counts_for_the_rival() {
    let answers: Vec<_> = [0, 0, 1, 0, 0, 0, 0].iter().map(|option| Some(*option)).enumerate().collect();
    let responses = launched_poll(2, 25, &answers, 8);
    let last = responses.prefixes().last().unwrap();
    assert_eq!(last, Prefix { members: 8, option: 0, evidence: evidence(6, 2, 17) });
    assert_eq!(responses.in_flight(), 1);
    assert_eq!(responses.overall().evidence, evidence(6, 1, 18));
}

#[test]
fn a_failure_is_a_final_response_without_a_vote() {
    let responses = launched_poll(3, 10, &[(0, Some(2)), (1, None), (2, Some(2))], 3);
    let last = responses.prefixes().last().unwrap();
    assert_eq!(last, Prefix { members: 3, option: 2, evidence: evidence(2, 0, 7) });
}

#[test]
fn responses_of_later_members_do_not_hide_a_slow_one() {
    // Seven fast members agree, but three of the first ten have not responded.
    let fast: Vec<_> = (3..10).map(|position| (position, Some(0))).collect();
    let responses = launched_poll(2, 25, &fast, 10);
    assert!(rule(0.95).stops(evidence(7, 0, 18)), "in order of arrival these votes would stop the poll");
    assert_eq!(responses.best_prefix(&rule(0.95)), None);
    assert_eq!(responses.prefixes().last().unwrap().evidence, evidence(7, 3, 15));
}

#[test]
fn an_earlier_prefix_may_give_the_highest_confidence() {
    let mut answers: Vec<_> = (0..6).map(|position| (position, Some(1))).collect();
    answers.push((7, Some(0)));
    let responses = launched_poll(2, 25, &answers, 9);
    let stop = responses.best_prefix(&rule(0.95)).unwrap();
    assert_eq!(stop.prefix, Prefix { members: 6, option: 1, evidence: evidence(6, 0, 19) });
    assert_eq!(responses.highest_confidence().option, Some(1));
    assert_eq!(responses.highest_confidence().p, stop.p);
}

#[test]
fn responses_recorded_before_the_launch_become_evidence_at_the_launch() {
    let mut responses = Responses::new(2, 9);
    for position in 4..9 {
        assert!(responses.record(position, Some(0)));
    }
    assert!(responses.is_final(4) && !responses.is_final(3) && !responses.is_final(9));
    assert_eq!(responses.prefixes().count(), 0);
    assert_eq!(responses.overall().evidence, evidence(5, 0, 4));
    for _ in 0..9 {
        responses.launch();
    }
    assert_eq!((responses.launched(), responses.in_flight(), responses.completed()), (9, 4, 5));
    assert_eq!(responses.prefixes().last().unwrap().evidence, evidence(5, 4, 0));
    assert_eq!(responses.launch(), None);
}

#[test]
fn a_second_response_is_rejected() {
    let mut responses = launched_poll(2, 3, &[(0, Some(1))], 1);
    assert!(!responses.record(0, Some(0)));
    assert!(!responses.record(3, Some(0)), "outside the roster");
    assert!(responses.record(1, Some(2)), "an unknown option is a final response, but no vote");
    assert_eq!(responses.overall().evidence, evidence(1, 0, 1));
    assert_eq!((responses.completed(), responses.in_flight()), (2, 0));
}

#[test]
fn a_shared_lead_has_no_leader() {
    let responses =
        launched_poll(3, 9, &[(0, Some(0)), (1, Some(2)), (2, Some(1)), (3, Some(2)), (4, Some(1))], 5);
    assert_eq!(responses.overall().leader, None);
    assert_eq!(responses.overall().evidence, evidence(2, 2, 4));
    let leaders: Vec<_> = responses.prefixes().map(|prefix| (prefix.members, prefix.option)).collect();
    assert_eq!(leaders, [(1, 0), (4, 2)]);
}

#[test]
fn without_evidence_the_highest_confidence_is_zero() {
    let responses = launched_poll(2, 25, &[(0, Some(0))], 1);
    assert_eq!(responses.highest_confidence().option, None, "one vote of 25 gives no confidence");
    assert_eq!(responses.highest_confidence().confidence(), 0.0);
    assert_eq!(Responses::new(2, 0).highest_confidence().p, 1.0);
}
