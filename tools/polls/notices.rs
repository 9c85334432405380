//! Notices about a poll.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use ep_kernel::executor::PollState;
use ep_kernel::ports::{Closing, PollRecord};
use ep_polling::tie_rule::TieRule;

use super::reasons::missing_reasons;
use super::sentences::EndedPoll;
use super::summary::{PollDecision, Summary};

/// Returns the notices for any reader: about the roster, and about models without a vote.
pub fn notices(state: &PollState, ended: Option<(&Closing, &Summary)>) -> Vec<String> {
    let mut notices = state.record.plan.notices.clone();
    let Some((closing, summary)) = ended else { return notices };
    let poll = EndedPoll::new(state, closing, summary);
    if poll.lacks_votes() || summary.counted == 0 {
        notices.push(poll.counts());
    }
    if poll.lacks_votes() {
        notices.push(format!("no vote: {}", failures(state)));
    }
    let decision = summary.decision.as_ref().filter(|_| summary.is_tie);
    notices.extend(decision.map(|decision| of_a_tie(state.record.plan.on_tie, decision)));
    if closing.reason.is_none() {
        notices.push(poll.stopped());
    }
    notices.extend(missing_reasons(state, closing));
    notices
}

/// Tells what follows from a tie.
fn of_a_tie(rule: TieRule, decision: &PollDecision) -> String {
    match (&decision.option, rule) {
        (Some(option), _) => {
            format!("the vote is tied; the strongest model that voted for a tied option decides: {option}")
        }
        (None, TieRule::Strongest) => {
            "the vote is tied, and not every model was asked: nothing decides".to_owned()
        }
        (None, TieRule::Report | TieRule::Review) => "the vote is tied, and a person decides".to_owned(),
    }
}

/// Returns the notices for the poll's owner, including limits on its cost.
pub fn owner_notices(state: &PollState, ended: Option<(&Closing, &Summary)>) -> Vec<String> {
    let mut notices = notices(state, ended);
    let PollRecord { plan, held, .. } = &*state.record;
    let requested = plan.at_most();
    if let Some(held) = held.filter(|held| *held < requested) {
        notices.push(format!(
            "the available balance limits this poll to {held}, not max_cost_usd ({}): its models could cost up to {requested}",
            plan.budget.amount()
        ));
    }
    notices
}

/// Lists the reasons for missing votes with their counts, most frequent first.
fn failures(state: &PollState) -> String {
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
