//! Notices about a poll.

use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::sync::Arc;

use ep_kernel::PollState;
use ep_polling::counted::counted;
use ep_polling::{Ballot, NoAnswer, TieRule};
use ep_store::{Closing, PollRecord};

use super::audience::Audience;
use super::reasons::missing_reasons;
use super::sentences::EndedPoll;
use super::summary::{PollDecision, Summary};

/// Returns the notices about a poll for its readers.
pub fn notices(state: &PollState, ended: Option<(&Closing, &Summary)>, audience: Audience) -> Vec<String> {
    let mut notices = match audience {
        Audience::Owner => owner_notices(&state.record),
        Audience::Everybody => Vec::new(),
    };
    notices
        .extend(ended.into_iter().flat_map(|(closing, summary)| of_votes(state, closing, summary, audience)));
    notices
}

/// Returns the notices about an ended poll's votes.
fn of_votes(state: &PollState, closing: &Closing, summary: &Summary, audience: Audience) -> Vec<String> {
    let mut notices = Vec::new();
    let poll = EndedPoll::new(state, closing, summary);
    if poll.lacks_votes() || summary.models.counted() == 0 {
        notices.push(poll.counts());
    }
    if poll.lacks_votes() {
        notices.push(format!("no vote: {}", failures(state)));
    }
    let was_asked_again = |ballot: &&Arc<Ballot>| ballot.casting.is_some_and(|casting| casting.asked_again);
    let again = state.ballots.iter().filter(|ballot| ballot.vote.is_ok()).filter(was_asked_again).count();
    if again > 0 {
        notices.push(format!("{} took a second request", counted(again as u64, "vote")));
    }
    let is_tie = summary.is_tie && summary.no_answer != Some(NoAnswer::Unsupported);
    let decision = summary.decision.as_ref().filter(|_| is_tie);
    notices.extend(decision.map(|decision| of_a_tie(state.record.plan.on_tie, decision)));
    if closing.reason.is_none() {
        notices.push(poll.stopped());
    }
    notices.extend(missing_reasons(state, closing, audience));
    notices
}

/// Tells what follows from a tie.
fn of_a_tie(rule: TieRule, decision: &PollDecision) -> String {
    match (&decision.option, rule) {
        (Some(option), _) => {
            format!("the vote is tied; the strongest model that voted for a tied option decides: {option}")
        }
        (None, TieRule::Strongest) => {
            "the vote is tied, and not every model counted: nothing decides".to_owned()
        }
        (None, TieRule::Report | TieRule::Review) => "the vote is tied, and a person decides".to_owned(),
    }
}

/// Returns the notices for the poll's owner: about its roster, and about a balance that limits its cost.
fn owner_notices(record: &PollRecord) -> Vec<String> {
    let PollRecord { plan, held, .. } = record;
    let requested = plan.at_most();
    let limited = held.filter(|held| *held < requested).map(|held| {
        format!(
            "the available balance limits this poll to {held}, not max_cost_usd ({}): its models could cost up to {requested}",
            plan.budget.amount()
        )
    });
    plan.notices.for_owner().iter().cloned().chain(limited).collect()
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
