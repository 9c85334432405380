//! A poll ends by its deadline even if its models do not respond.

use std::sync::Arc;
use std::time::Duration;

use ep_polling::{Pace, Reason, TerminationReason};
use tokio::time::Instant;

use super::scripted::{Case, finish};

#[tokio::test(start_paused = true)]
async fn silent_models_fail_with_a_reason() {
    let mut case = Case::new(&vec![Some(0); 20]);
    case.takes = Duration::from_secs(10_000);
    let started = Instant::now();
    let (finished, _, _) = case.run().await;
    assert!(started.elapsed() <= Duration::from_secs(183), "{:?}", started.elapsed());
    assert_eq!(finished.decision.reason, TerminationReason::RosterExhausted);
    let reasons: Vec<Reason> =
        finished.ballots.iter().map(|ballot| ballot.vote.as_ref().unwrap_err().reason).collect();
    assert_eq!(reasons, [Reason::Timeout; 20]);
}

#[tokio::test(start_paused = true)]
async fn a_slow_thrifty_poll_launches_all_calls_in_the_second_half_of_its_time() {
    let votes: Vec<Option<usize>> = (0..50).map(|i| Some(i % 2)).collect();
    let mut case = Case::new(&votes);
    (case.takes, case.pace, case.threshold) = (Duration::from_secs(40), Pace::Thrifty, 1.0);
    let started = Instant::now();
    let (finished, _, _) = case.run().await;
    assert!(started.elapsed() <= Duration::from_secs(140), "{:?}", started.elapsed());
    assert_eq!(finished.ballots.iter().filter(|ballot| ballot.vote.is_ok()).count(), 50);
}

#[tokio::test(start_paused = true)]
async fn time_in_flight_is_counted_once_for_concurrent_calls() {
    let mut case = Case::new(&vec![Some(0); 30]);
    (case.pace, case.threshold) = (Pace::Fast, 1.0);
    let plan = case.plan();
    let script = Arc::new(case.script());
    let finished = finish(&plan, &script, Vec::new(), plan.budget.amount()).await;
    assert_eq!(finished.upstream, Duration::from_millis(500));
    assert_eq!(finished.gather, Duration::from_millis(500));
}
