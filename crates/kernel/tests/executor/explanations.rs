//! Voters are asked for explanations after the decision, each at most once, within the budget and the time limit.

use std::collections::HashSet;
use std::sync::Arc;
use std::time::Duration;

use ep_kernel::testing::until;
use ep_kernel::{Billing, Opener};
use ep_polling::explanation::TIME_LIMIT;
use ep_polling::{Explanation, ExplanationCount, MicroUsd, Plan, PollId, Spend, TerminationReason};
use tokio::time::Instant;

use super::memory::{Database, LEASE, Replica};
use super::scripted::{Case, EXPLANATION, Script};

/// Returns a poll of models that disagree, with two explanations for each of two options.
fn case() -> Case {
    let votes: Vec<Option<usize>> = (0..30).map(|i| [Some(0), Some(1), Some(0), None][i % 4]).collect();
    Case { explanations: ExplanationCount::new(2).ok(), threshold: 1.0, ..Case::new(&votes) }
}

async fn open(replica: &Replica, plan: Plan) -> PollId {
    let opener = Opener { billing: Billing::Owner, ..Opener::default() };
    replica.executor.open(plan, opener).await.unwrap()
}

fn texts(explanations: &[Explanation]) -> usize {
    explanations.iter().filter(|explanation| explanation.text.is_some()).count()
}

fn explained(script: &Script) -> Vec<String> {
    script.explained.lock().unwrap().clone()
}

/// Waits until this many voters were asked for explanations.
async fn asked(script: &Script, count: usize) {
    until("they are asked", async || explained(script).len(), |asked| *asked >= count).await;
}

#[tokio::test(start_paused = true)]
async fn drawn_voters_explain_a_decided_poll_and_their_cost_is_charged() {
    let (case, database) = (case(), Arc::<Database>::default());
    let (plan, script) = (case.plan(), Arc::new(case.script()));
    let replica = Replica::new(1, &database, &script);
    let id = open(&replica, plan.clone()).await;
    asked(&script, 4).await;
    let decided = Instant::now();
    let closing = replica.ended(&id).await;
    assert!(decided.elapsed() < Duration::from_secs(1), "{:?}", decided.elapsed());
    let row = database.row(&id);
    let drawn: HashSet<usize> =
        plan.explainers(&row.ballots).iter().map(|explainer| explainer.position).collect();
    let stored: HashSet<usize> = closing.explanations.iter().map(|given| given.position as usize).collect();
    assert_eq!((stored, texts(&closing.explanations)), (drawn, 4));
    for explanation in &closing.explanations {
        let ballot = row.ballots.iter().find(|ballot| ballot.position == explanation.position).unwrap();
        let text = explanation.text.as_ref().unwrap().as_str();
        let option = ballot.vote.clone().unwrap();
        assert_eq!(text, format!("Option {option} is better for {}.", plan.model(ballot)));
    }
    let votes: MicroUsd = row.ballots.iter().map(|ballot| ballot.spend.amount).sum();
    let explanations: MicroUsd = [EXPLANATION; 4].into_iter().sum();
    assert_eq!(row.captured, Some(votes.plus(explanations)));
    assert!(row.record.decided.is_none());
}

#[tokio::test(start_paused = true)]
async fn a_resumed_poll_keeps_its_decision_and_asks_nobody_again() {
    let (case, database) = (case(), Arc::<Database>::default());
    let plan = case.plan();
    let mut script = case.script();
    // All but one voter take long to explain.
    script.explaining = (1..30).map(|i| (format!("m{i}"), Duration::from_secs(15))).collect();
    let script = Arc::new(script);
    let first = Replica::new(1, &database, &script);
    let id = open(&first, plan.clone()).await;
    asked(&script, 4).await;
    tokio::time::sleep(Duration::from_secs(1)).await;
    let before = database.row(&id);
    let decided = before.record.decided.clone().unwrap();
    // The process crashes.
    first.store.stalled.send_replace(true);
    tokio::time::sleep(LEASE * 2).await;
    let second = Replica::new(2, &database, &script);
    second.resumes();
    let closing = second.ended(&id).await;
    assert_eq!(explained(&script).len(), 4);
    assert_eq!((closing.reason, closing.explanations.clone()), (decided.reason, decided.explanations));
    assert_eq!(database.row(&id).ballots, before.ballots);
    // Missing explanations are charged at their estimate.
    let missing = closing.explanations.iter().find(|explanation| explanation.text.is_none()).unwrap();
    assert_eq!(missing.spend, plan.charged(missing.position as usize, Spend::UNKNOWN));
    let spent: MicroUsd = before.ballots.iter().map(|ballot| ballot.spend.amount).sum();
    let unused = closing.unused_calls_cost.unwrap();
    assert_eq!(database.row(&id).captured, Some(spent.plus(closing.explanations_cost()).plus(unused)));
}

#[tokio::test(start_paused = true)]
async fn interruptions_of_the_database_repeat_no_question() {
    for fails_every in 1..8 {
        let (case, database) = (case(), Arc::<Database>::default());
        let script = Arc::new(case.script());
        let replica = Replica::new(fails_every.into(), &database, &script);
        let id = open(&replica, case.plan()).await;
        replica.store.fails_every.store(fails_every + 1, std::sync::atomic::Ordering::SeqCst);
        let closing = replica.ended(&id).await;
        let explained = explained(&script);
        let distinct: HashSet<&String> = explained.iter().collect();
        assert_eq!(distinct.len(), explained.len(), "asked twice: {explained:?}");
        assert!(closing.explanations.len() <= 4 && closing.reason.is_some());
    }
}

#[tokio::test(start_paused = true)]
async fn a_poll_closes_without_late_explanations_and_at_once_when_cancelled() {
    for cancelled in [false, true] {
        let (case, database) = (case(), Arc::<Database>::default());
        let mut script = case.script();
        script.explaining = (0..30).map(|i| (format!("m{i}"), TIME_LIMIT * 10)).collect();
        let script = Arc::new(script);
        let replica = Replica::new(1, &database, &script);
        let id = open(&replica, case.plan()).await;
        asked(&script, 4).await;
        let decided = Instant::now();
        assert!(database.row(&id).record.closing.is_none());
        if cancelled {
            replica.executor.cancel(&id).await.unwrap();
        }
        let closing = replica.ended(&id).await;
        let limit = if cancelled { Duration::from_secs(1) } else { TIME_LIMIT + Duration::from_secs(1) };
        assert!(decided.elapsed() <= limit, "{:?}", decided.elapsed());
        assert_eq!((closing.cancelled, texts(&closing.explanations)), (cancelled, 0));
        assert!(closing.reason.is_some());
    }
}

#[tokio::test(start_paused = true)]
async fn the_budget_limits_votes_and_explanations_together() {
    for budget in [20_000, 30_000, 34_000, 60_000] {
        let (mut case, database) = (case(), Arc::<Database>::default());
        (case.budget, case.costs) = (MicroUsd::new(budget), MicroUsd::new(1_000));
        let script = Arc::new(case.script());
        let replica = Replica::new(1, &database, &script);
        let id = open(&replica, case.plan()).await;
        let closing = replica.ended(&id).await;
        let row = database.row(&id);
        assert!(row.captured.unwrap() <= case.budget);
        let asked = closing.explanations.len();
        let expected = match closing.reason {
            Some(TerminationReason::Budget) => 0..=0,
            _ if budget >= 60_000 => 4..=4,
            _ => 0..=4,
        };
        assert!(expected.contains(&asked), "{asked} with {budget}");
    }
}
