//! A budget is never exceeded at any charges within the price lists.

use ep_polling::{MicroUsd, Pace, TerminationReason};
use proptest::prelude::*;

use super::scripted::{Case, finish_and_drain};

#[tokio::test(start_paused = true)]
async fn a_poll_stops_before_a_call_that_might_exceed_the_budget() {
    let votes: Vec<Option<usize>> = (0..50).map(|i| Some(i % 2)).collect();
    let mut case = Case::new(&votes);
    let worst = case.plan().worst_case(0);
    case.costs = worst;
    case.budget = MicroUsd::new(worst.micro() * 21 / 2);
    let (finished, _, _) = case.run().await;
    assert_eq!((finished.decision.reason, finished.ballots.len()), (TerminationReason::Budget, 10));
}

#[tokio::test(start_paused = true)]
async fn cheap_votes_leave_budget_for_more_calls_than_the_worst_case() {
    let votes: Vec<Option<usize>> = (0..50).map(|i| Some(i % 2)).collect();
    let mut case = Case::new(&votes);
    case.threshold = 1.0;
    case.budget = MicroUsd::new(case.plan().worst_case(0).micro() * 5);
    case.costs = MicroUsd::new(1);
    let (finished, _, _) = case.run().await;
    assert_eq!((finished.decision.reason, finished.ballots.len()), (TerminationReason::RosterExhausted, 50));
}

#[tokio::test(start_paused = true)]
async fn unknown_prices_do_not_limit_a_poll() {
    let mut case = Case::new(&vec![Some(0); 50]);
    (case.price, case.budget) = (None, MicroUsd::new(1));
    let (finished, _, _) = case.run().await;
    assert_eq!(finished.decision.reason, TerminationReason::Confidence);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]
    /// Spent, in flight and unused amounts together never exceed the ceiling, at any pace, price and claimed
    /// cost.
    #[test]
    fn the_ceiling_holds(
        votes in prop::collection::vec(prop::option::weighted(0.9, 0_usize..3), 5..60),
        share in 0.0_f64..4.0,
        calls in 0.0_f64..80.0,
        pace in prop::sample::select(vec![Pace::Thrifty, Pace::Balanced, Pace::Fast]),
        seed in any::<[u8; 32]>(),
        threshold in prop::sample::select(vec![0.5, 0.9, 0.95, 1.0]),
    ) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build().unwrap();
        runtime.block_on(async {
            let mut case = Case::new(&votes);
            (case.options, case.pace, case.seed, case.threshold) = (3, pace, seed, threshold);
            let worst = case.plan().worst_case(0);
            case.costs = MicroUsd::new((worst.micro() as f64 * share) as i64);
            case.budget = MicroUsd::new(((worst.micro() as f64 * calls) as i64).max(1));
            let plan = case.plan();
            let script = std::sync::Arc::new(case.script());
            let (finished, unused) = finish_and_drain(&plan, &script, Vec::new(), plan.budget.amount()).await;
            let spent: MicroUsd = finished.ballots.iter().map(|ballot| ballot.spend.amount).sum();
            assert!(spent.plus(unused) <= plan.budget.amount(), "{spent} and {unused} of {}", plan.budget.amount());
            let called = script.called.lock().unwrap().len();
            assert_eq!(spent.plus(unused).micro(), case.costs.min(worst).micro() * called as i64);
        });
    }
}
