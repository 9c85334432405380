//! Notices about a poll, in full sentences.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use ep_kernel::executor::PollState;
use ep_kernel::ports::{Closing, PollRecord};

use super::summary::{Status, Summary};

/// Returns the notices for any reader: about the roster, and about models without a vote.
pub fn notices(state: &PollState, ended: Option<(&Closing, &Summary)>) -> Vec<String> {
    let mut notices = state.record.plan.notices.clone();
    let Some((closing, summary)) = ended else { return notices };
    let &Summary { status, counted, succeeded, unheard, skipped, .. } = summary;
    let why = reasons(state);
    match status {
        Status::Partial => {
            let silent = counted - succeeded;
            notices.push(format!("{silent} of the {counted} models that counted gave no vote ({why})"));
        }
        Status::Failed if counted > 0 => {
            notices.push(format!("none of {counted} models gave a vote ({why})"));
        }
        Status::Failed => {
            notices.push("the poll ended before any model had responded".to_owned());
        }
        Status::Success | Status::Running | Status::Queued => {}
    }
    if closing.reason.is_none() {
        notices.push(
            "the poll was cancelled, or interrupted until its deadline passed; it ended with the votes received so far"
                .to_owned(),
        );
    }
    if unheard > 0 {
        let heard = counted - unheard;
        let roster = state.record.plan.roster.len();
        let counts = if unheard == 1 { "counts" } else { "count" };
        let rest = match skipped {
            0 => String::new(),
            rest => format!("; the other {rest} were not needed or not asked"),
        };
        notices.push(format!(
            "{heard} of the roster's {roster} models responded; {unheard} did not and {counts} for the runner-up in the confidence{rest}"
        ));
    }
    notices
}

/// Returns the notices for the poll's owner, including limits on its cost.
pub fn owner_notices(state: &PollState, ended: Option<(&Closing, &Summary)>) -> Vec<String> {
    let mut notices = notices(state, ended);
    let PollRecord { plan, held, .. } = &*state.record;
    let wanted = plan.at_most();
    if let Some(held) = held.filter(|held| *held < wanted) {
        notices.push(format!(
            "the available balance limits this poll to {held}, not max_cost_usd ({}): its models could cost up to {wanted}",
            plan.budget.amount()
        ));
    }
    notices
}

/// Lists the reasons for missing votes with their counts, most frequent first.
fn reasons(state: &PollState) -> String {
    let mut counts: BTreeMap<&str, u32> = BTreeMap::new();
    for no_vote in state.ballots.iter().filter_map(|ballot| ballot.vote.as_ref().err()) {
        *counts.entry(no_vote.reason.as_str()).or_default() += 1;
    }
    let mut counts: Vec<_> = counts.into_iter().collect();
    counts.sort_by_key(|(_, count)| Reverse(*count));
    counts
        .iter()
        .map(|(reason, count)| format!("{count} {}", reason.replace('_', " ")))
        .collect::<Vec<_>>()
        .join(", ")
}
