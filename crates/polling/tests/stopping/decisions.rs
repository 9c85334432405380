//! The order of termination reasons, and the report of each.

use crate::rule;
use ep_polling::stopping::TerminationReason::{Budget, Confidence, MathematicalLock, RosterExhausted};
use ep_polling::stopping::decide;
use ep_polling::{Decision, Pace, Responses, TerminationReason};

/// Returns a poll whose members responded in dispatch order.
fn polled(options: usize, roster: usize, answers: &[Option<usize>]) -> Responses {
    let mut responses = Responses::new(options, roster);
    for answer in answers {
        let position = responses.launch().unwrap();
        responses.record(position, *answer);
    }
    responses
}

fn decided(responses: &Responses, threshold: f64) -> (TerminationReason, Option<usize>, f64) {
    let Decision { reason, option, p, .. } = decide(responses, &rule(threshold), false).unwrap();
    (reason, option, p)
}

#[test]
fn the_lock_comes_before_confidence() {
    let responses = polled(2, 5, &[Some(1); 3]);
    assert_eq!(decided(&responses, 0.5), (MathematicalLock, Some(1), 0.0));
    assert_eq!(decided(&responses, 1.0), (MathematicalLock, Some(1), 0.0));
}

#[test]
fn the_lock_counts_votes_in_any_order() {
    let mut responses = Responses::new(2, 5);
    (0..5).for_each(|_| _ = responses.launch());
    (2..5).for_each(|position| assert!(responses.record(position, Some(0))));
    assert_eq!(decided(&responses, 1.0), (MathematicalLock, Some(0), 0.0));
}

#[test]
fn confidence_stops_at_the_threshold_and_not_before() {
    assert_eq!(decide(&polled(4, 25, &[Some(3); 5]), &rule(0.95), false), None);
    let (reason, option, p) = decided(&polled(4, 25, &[Some(3); 6]), 0.95);
    assert_eq!((reason, option), (Confidence, Some(3)));
    assert!((p - (1.0 - 94_064.0 / 96_577.0)).abs() < 1e-12);
}

#[test]
fn the_budget_ends_a_poll_without_another_reason() {
    let responses = polled(4, 25, &[Some(3); 5]);
    let end = decide(&responses, &rule(0.95), true).unwrap();
    assert_eq!((end.reason, end.option), (Budget, Some(3)));
    assert!((end.confidence() - 3625.0 / 3876.0).abs() < 1e-12, "the guarantee still holds");
    assert_eq!(decide(&polled(4, 25, &[Some(3); 6]), &rule(0.95), true).unwrap().reason, Confidence);
    let no_votes = decide(&polled(4, 25, &[None; 4]), &rule(0.95), true).unwrap();
    assert_eq!((no_votes.reason, no_votes.option, no_votes.p), (Budget, None, 1.0));
}

#[test]
fn a_poll_with_all_responses_ends_with_an_exhausted_roster() {
    let winner = polled(3, 3, &[Some(0), Some(1), Some(1)]);
    assert_eq!(decided(&winner, 0.95), (RosterExhausted, Some(1), 0.0));
    let tie = polled(2, 4, &[Some(0), Some(1), Some(1), Some(0)]);
    assert_eq!(decided(&tie, 0.95), (RosterExhausted, None, 0.0));
    assert!(!decide(&tie, &rule(0.95), false).unwrap().differs_from_tally());
    let no_votes = polled(2, 3, &[None; 3]);
    assert_eq!(decided(&no_votes, 0.95), (RosterExhausted, None, 1.0));
    assert_eq!(decided(&polled(2, 0, &[]), 0.95), (RosterExhausted, None, 1.0));
    assert_eq!(decide(&winner, &rule(0.95), true).unwrap().reason, RosterExhausted);
}

#[test]
fn the_decision_reports_a_prefix_that_differs_from_the_tally() {
    // The first six members choose 0, but the last of them responds after seven later members chose 1.
    let mut responses = Responses::new(2, 40);
    (0..13).for_each(|_| _ = responses.launch());
    (0..5).for_each(|position| assert!(responses.record(position, Some(0))));
    (6..13).for_each(|position| assert!(responses.record(position, Some(1))));
    assert_eq!(decide(&responses, &rule(0.95), false), None);
    responses.record(5, Some(0));
    let end = decide(&responses, &rule(0.95), false).unwrap();
    assert_eq!((end.reason, end.option, end.standing.leader), (Confidence, Some(0), Some(1)));
    assert!(end.differs_from_tally());
}

#[test]
fn reasons_have_their_published_names() {
    for (reason, name) in [
        (MathematicalLock, "mathematical_lock"),
        (Confidence, "confidence"),
        (Budget, "budget"),
        (RosterExhausted, "roster_exhausted"),
    ] {
        assert_eq!(serde_json::to_value(reason).unwrap(), name);
        assert_eq!((reason.to_string().as_str(), reason.as_str()), (name, name));
    }
    assert_eq!(serde_json::to_value(Pace::default()).unwrap(), "balanced");
    assert_eq!(serde_json::from_str::<Pace>("\"thrifty\"").unwrap(), Pace::Thrifty);
}
