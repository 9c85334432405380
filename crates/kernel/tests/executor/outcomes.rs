//! The ends of polls, and the number of models they call.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use ep_kernel::PollExecutor;
use ep_polling::{Decision, MicroUsd, Outcome, Pace, Tally, TerminationReason};

use super::scripted::{Case, Script, finish};

#[tokio::test(start_paused = true)]
async fn unanimity_stops_by_confidence_after_the_fewest_calls() {
    let (finished, script, _) = Case::new(&vec![Some(1); 50]).run().await;
    assert_eq!(finished.decision.reason, TerminationReason::Confidence);
    assert_eq!(finished.decision.option, Some(1));
    assert_eq!(script.called.lock().unwrap().len(), 7, "the first wave for 50 models at 0.95");
    assert_eq!(finished.unused_calls, 0);
    assert!(finished.decision.confidence() >= 0.95);
}

#[tokio::test(start_paused = true)]
async fn full_confidence_requires_a_lock() {
    let mut case = Case::new(&vec![Some(0); 20]);
    case.threshold = 1.0;
    let (finished, _, _) = case.run().await;
    assert_eq!(finished.decision.reason, TerminationReason::MathematicalLock);
    assert_eq!((finished.ballots.len(), finished.decision.p), (11, 0.0));
}

#[tokio::test(start_paused = true)]
async fn a_complete_poll_asks_every_model() {
    for pace in [Pace::Thrifty, Pace::Fast] {
        let mut case = Case::new(&[vec![Some(1); 19], vec![None]].concat());
        (case.complete, case.pace) = (true, pace);
        let (finished, script, plan) = case.run().await;
        assert_eq!(finished.decision.reason, TerminationReason::RosterExhausted, "{pace:?}");
        assert_eq!((script.called.lock().unwrap().len(), finished.unused_calls), (20, 0));
        assert_eq!((finished.ballots.len(), finished.decision.p), (20, 0.0));
        // The hold covers the whole panel from the start.
        let hold = plan.hold(PollExecutor::first_wave(&plan));
        assert_eq!(hold.at_least, hold.at_most);
    }
}

#[tokio::test(start_paused = true)]
async fn a_complete_poll_ends_at_its_budget() {
    let mut case = Case::new(&vec![Some(0); 20]);
    let worst = case.plan().worst_case(0);
    (case.complete, case.costs, case.budget) = (true, worst, MicroUsd::new(worst.micro() * 12));
    let (finished, _, _) = case.run().await;
    assert_eq!(finished.ballots.len(), 12);
}

#[tokio::test(start_paused = true)]
async fn a_tie_calls_every_model_at_every_pace() {
    let votes: Vec<Option<usize>> = (0..30).map(|i| Some(i % 2)).collect();
    for pace in [Pace::Thrifty, Pace::Balanced, Pace::Fast] {
        let mut case = Case::new(&votes);
        (case.threshold, case.pace) = (1.0, pace);
        let (finished, script, _) = case.run().await;
        assert_eq!(finished.decision.reason, TerminationReason::RosterExhausted);
        assert_eq!(finished.ballots.len(), 30);
        let tally = Tally::of(2, finished.ballots.iter().map(|ballot| ballot.vote.as_ref().ok().copied()));
        assert_eq!(tally.outcome(), Outcome::Tie);
        let most = script.most_in_flight.load(Ordering::SeqCst);
        // The lock needs 16 of 30 votes, and no stop is possible before.
        assert_eq!(most, if pace == Pace::Thrifty { 16 } else { 30 }, "{pace:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn the_ballots_that_decide_are_left_for_the_close() {
    let votes: Vec<Option<usize>> = (0..30).map(|i| Some(i % 2)).collect();
    // All responses arrive at once, or the last one alone.
    for (pace, recorded) in [(Pace::Fast, 0), (Pace::Thrifty, 29)] {
        let mut case = Case::new(&votes);
        (case.threshold, case.pace) = (1.0, pace);
        let (finished, _, _) = case.run().await;
        assert_eq!((finished.ballots.len(), finished.recorded), (30, recorded), "{pace:?}");
        let seqs: Vec<u32> = finished.ballots.iter().map(|ballot| ballot.seq).collect();
        assert_eq!(seqs, (1..=30).collect::<Vec<u32>>());
    }
}

#[tokio::test(start_paused = true)]
async fn without_votes_the_roster_is_exhausted_without_confidence() {
    let (finished, _, _) = Case::new(&[None; 12]).run().await;
    assert_eq!(finished.decision.reason, TerminationReason::RosterExhausted);
    assert_eq!((finished.decision.option, finished.decision.p), (None, 1.0));
    assert_eq!(finished.ballots.len(), 12);
}

#[tokio::test(start_paused = true)]
async fn models_without_a_response_leave_no_confidence() {
    let case = Case::new(&vec![Some(0); 50]);
    let plan = case.plan();
    for responding in [1, 20, 26, 50] {
        let mut script = case.script();
        for line in plan.roster.iter().skip(responding).map(|member| member.model.as_str()) {
            script.lines.get_mut(line).unwrap().takes = Duration::from_secs(10_000);
        }
        let models: Arc<Script> = Arc::new(script);
        let finished = finish(&plan, &models, Vec::new(), plan.budget.amount()).await;
        let votes = finished.ballots.iter().filter(|ballot| ballot.vote.is_ok()).count();
        let Decision { reason, option, p, standing } = finished.decision;
        assert_eq!(standing.leader, Some(0));
        match responding {
            1 => {
                assert_eq!((reason, option, p, votes), (TerminationReason::RosterExhausted, Some(0), 1.0, 1));
            }
            _ => assert!(reason == TerminationReason::Confidence && p <= 0.05, "{responding}: {reason}, {p}"),
        }
    }
}

#[tokio::test(start_paused = true)]
async fn unneeded_calls_are_counted_separately() {
    let mut case = Case::new(&vec![Some(1); 50]);
    case.pace = Pace::Fast;
    let plan = case.plan();
    let mut script = case.script();
    for member in plan.roster.iter().skip(10) {
        script.lines.get_mut(member.model.as_str()).unwrap().takes = Duration::from_secs(100);
    }
    let script = Arc::new(script);
    let finished = finish(&plan, &script, Vec::new(), plan.budget.amount()).await;
    assert_eq!(script.called.lock().unwrap().len(), 50);
    assert_eq!((finished.ballots.len(), finished.unused_calls), (10, 40));
}

#[tokio::test(start_paused = true)]
async fn models_are_called_strictly_in_the_drawn_order() {
    let votes: Vec<Option<usize>> = (0..40).map(|i| Some(i % 2)).collect();
    let (_, script, plan) = Case::new(&votes).run().await;
    let order: Vec<String> = plan.roster.iter().map(|member| member.model.to_string()).collect();
    let called = script.called.lock().unwrap().clone();
    assert_eq!(called, order[..called.len()]);
    assert_ne!(called[..10], (0..10).map(|i| format!("m{i}")).collect::<Vec<_>>()[..], "the order is drawn");
}

#[tokio::test(start_paused = true)]
async fn calls_in_flight_at_the_stop_are_charged_but_do_not_count() {
    let mut case = Case::new(&vec![Some(0); 50]);
    case.pace = Pace::Fast;
    let plan = case.plan();
    let mut script = case.script();
    // All models after the first seven are slow.
    for member in plan.roster.iter().skip(7) {
        script.lines.get_mut(member.model.as_str()).unwrap().takes = std::time::Duration::from_secs(5);
    }
    let script = std::sync::Arc::new(script);
    let (finished, unused) =
        super::scripted::finish_and_drain(&plan, &script, Vec::new(), plan.budget.amount()).await;
    assert_eq!((finished.ballots.len(), finished.decision.reason), (7, TerminationReason::Confidence));
    assert_eq!((finished.unused_calls, unused.micro()), (43, 43 * 50));
}
