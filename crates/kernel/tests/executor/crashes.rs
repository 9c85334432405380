//! A resumed poll calls no model twice and ends as it would have without the crash.

use std::sync::Arc;

use ep_polling::TerminationReason;

use super::scripted::{Case, finish};

#[tokio::test(start_paused = true)]
async fn no_model_is_called_twice() {
    let votes: Vec<Option<usize>> = (0..40).map(|i| if i % 7 == 0 { None } else { Some(i % 2) }).collect();
    let mut case = Case::new(&votes);
    case.threshold = 1.0;
    let plan = case.plan();
    let whole = finish(&plan, &Arc::new(case.script()), Vec::new(), plan.budget.amount()).await;
    for recorded in [0, 1, 5, 13, 39] {
        // The crash also lost some responses in the middle of the order.
        let prior: Vec<_> =
            whole.ballots.iter().take(recorded).filter(|ballot| ballot.position % 5 != 3).cloned().collect();
        let known: Vec<String> = prior.iter().map(|ballot| plan.model(ballot).to_owned()).collect();
        let script = Arc::new(case.script());
        let resumed = finish(&plan, &script, prior.clone(), plan.budget.amount()).await;
        let called = script.called.lock().unwrap().clone();
        assert!(called.iter().all(|model| !known.contains(model)), "after {recorded}");
        assert_eq!(resumed.ballots[..prior.len()], prior[..]);
        assert_eq!(resumed.decision.standing, whole.decision.standing);
        let mut positions: Vec<u32> = resumed.ballots.iter().map(|ballot| ballot.position).collect();
        positions.sort_unstable();
        positions.dedup();
        assert_eq!(positions.len(), resumed.ballots.len());
    }
}

#[tokio::test(start_paused = true)]
async fn a_decided_poll_calls_no_model() {
    let case = Case::new(&vec![Some(0); 30]);
    let plan = case.plan();
    let whole = finish(&plan, &Arc::new(case.script()), Vec::new(), plan.budget.amount()).await;
    let script = Arc::new(case.script());
    let resumed = finish(&plan, &script, whole.ballots.clone(), plan.budget.amount()).await;
    assert_eq!(resumed.decision.reason, TerminationReason::Confidence);
    assert!(script.called.lock().unwrap().is_empty());
}
