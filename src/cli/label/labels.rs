//! Asks the panel about one row.

use std::time::Duration;

use ep_kernel::fault::{Fault, Kind};
use ep_kernel::tool::Entry as Operation;
use ep_polling::money::{MicroUsd, Usd};
use ep_tools::polls::reply::{PollReply, PollResponse, VoteResult};

use super::decision::decide;
use super::failed_rows::{Earlier, Failed, MAX_ATTEMPTS};
use super::journal::{Entry, EntryVote};
use super::question::RowQuestion;
use super::settings::{LabelSettings, Panel};
use crate::cli::target::Target;

/// Attempts to reach a service that is busy.
const MAX_WAITS: u32 = 30;
const SHORTEST_WAIT: Duration = Duration::from_millis(500);
const LONGEST_WAIT: Duration = Duration::from_mins(1);

/// The outcome of a row.
pub(super) struct Labelled {
    pub(super) question: RowQuestion,
    /// The cost of this attempt.
    pub(super) cost: MicroUsd,
    pub(super) outcome: RowOutcome,
}

/// The outcome of asking the panel.
pub(super) enum RowOutcome {
    /// The panel was fully asked.
    Entry(Box<Entry>),
    /// It was not.
    Failed(Failed),
    /// Every further row would fail, too.
    Stop(Fault),
}

/// Asks the panel about a row. After an earlier attempt, asks only the models that did not respond.
pub(super) async fn label(
    target: &Target,
    operation: &'static Operation,
    settings: &LabelSettings,
    question: RowQuestion,
    at_most: MicroUsd,
    earlier: Earlier,
) -> Labelled {
    let reference = format!("label-{}-{}", String::from(question.poll), earlier.attempts);
    let panel = left_to_ask(&settings.panel, &earlier.votes);
    let poll = match ask(target, operation, &question, &panel, at_most, &reference).await {
        Ok(poll) => poll,
        Err(fault) => {
            let outcome = if concerns_the_row(&fault) {
                let Earlier { asked_at, votes, .. } = earlier;
                RowOutcome::Failed(Failed { reason: fault.to_string(), asked_at, votes })
            } else {
                RowOutcome::Stop(fault)
            };
            return Labelled { question, cost: MicroUsd::ZERO, outcome };
        }
    };
    let cost = poll.costs.total_estimated_cost.0;
    let votes = all_votes(earlier.votes, &poll);
    let asked_at = earlier.asked_at.unwrap_or(poll.created_at);
    // After the last attempt, a model that does not respond counts as one that does not vote.
    let is_last = earlier.attempts + 1 >= MAX_ATTEMPTS && poll.models_skipped == 0;
    if let Some(reason) = unasked(&votes, poll.models_skipped).filter(|_| !is_last) {
        let outcome = RowOutcome::Failed(Failed { reason, asked_at: Some(asked_at), votes });
        return Labelled { question, cost, outcome };
    }
    let decision = decide(&votes, &settings.panel, votes.len(), settings.on_tie);
    let entry = Entry {
        id: question.id.clone(),
        key: question.key,
        label: decision.label.map(str::to_owned),
        by: decision.by,
        score: decision.share,
        contested: decision.contested,
        cost_usd: Usd(earlier.cost.plus(cost)),
        poll_id: poll.poll_id.to_string(),
        asked_at,
        asked_again_at: (asked_at != poll.created_at).then_some(poll.created_at),
        simulated: poll.simulated,
        votes,
    };
    let outcome = RowOutcome::Entry(Box::new(entry));
    Labelled { question, cost, outcome }
}

/// Returns the models to ask: the whole panel, or those that have not responded. A poll has two models at least.
fn left_to_ask(panel: &Panel, earlier: &[EntryVote]) -> Panel {
    let failed = earlier.iter().filter(|vote| vote.has_failed());
    let mut models: Vec<String> = failed.map(|vote| vote.model.clone()).collect();
    if models.len() == 1 {
        models.extend(earlier.iter().find(|vote| !vote.has_failed()).map(|vote| vote.model.clone()));
    }
    if models.len() < 2 { panel.clone() } else { Panel::Models(models) }
}

/// Adds the votes of a poll to earlier ones, in the order of the models' ids. A model that responded keeps its vote.
fn all_votes(mut votes: Vec<EntryVote>, poll: &PollResponse) -> Vec<EntryVote> {
    votes.retain(|vote| !vote.has_failed());
    for vote in &poll.votes {
        if !votes.iter().any(|known| known.model == vote.model_id) {
            votes.push(entry_vote(vote));
        }
    }
    votes.sort_by(|first, second| first.model.cmp(&second.model));
    votes
}

/// Returns the reason why a panel was not fully asked; `None` if it was.
fn unasked(votes: &[EntryVote], skipped: u32) -> Option<String> {
    let failed = votes.iter().filter(|vote| vote.has_failed());
    let names: Vec<&str> = failed.map(|vote| vote.model.as_str()).collect();
    match (names.as_slice(), skipped) {
        ([], 0) => None,
        ([], skipped) => Some(format!("{skipped} models were not asked")),
        ([one], _) => Some(format!("{one} did not respond")),
        ([first, others @ ..], _) => Some(format!("{first} and {} more did not respond", others.len())),
    }
}

/// True if other rows can succeed after this fault. A poll can have been deleted, or opened at another price.
fn concerns_the_row(fault: &Fault) -> bool {
    matches!(
        fault.kind(),
        Kind::InvalidInput
            | Kind::PollFailed
            | Kind::PayloadTooLarge
            | Kind::NotFound
            | Kind::IdempotencyMismatch
    )
}

/// Asks once, and waits while the service is busy.
async fn ask(
    target: &Target,
    operation: &'static Operation,
    question: &RowQuestion,
    panel: &Panel,
    at_most: MicroUsd,
    reference: &str,
) -> Result<PollResponse, Fault> {
    let (mut wait, mut waits) = (SHORTEST_WAIT, 0);
    loop {
        let reply = target.call_once(operation, question.request(panel, at_most), reference).await;
        let fault = match reply.map(serde_json::from_value) {
            Ok(Ok(PollReply::Complete(poll))) => return Ok(*poll),
            Ok(Ok(PollReply::Running(running))) => {
                Fault::new(Kind::InProgress, format!("poll {} is still running", running.poll_id))
            }
            Ok(Ok(PollReply::DryRun(_))) => return Err(Fault::internal("a poll was only priced")),
            Ok(Err(error)) => return Err(Fault::internal(error)),
            Err(fault) => fault,
        };
        if !fault.kind().row().retryable || waits == MAX_WAITS {
            return Err(fault);
        }
        tokio::time::sleep(fault.wait().map_or(wait, |advised| advised.max(wait))).await;
        (wait, waits) = ((wait * 2).min(LONGEST_WAIT), waits + 1);
    }
}

fn entry_vote(vote: &VoteResult) -> EntryVote {
    EntryVote {
        model: vote.model_id.clone(),
        vote: vote.chosen_option.clone(),
        probabilities: vote.probabilities.clone(),
        error: vote.error_code,
        ms: vote.latency_ms,
        usd: vote.estimated_cost,
        answered_by: vote.answered_by.clone(),
    }
}
