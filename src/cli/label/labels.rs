//! Asks the panel about one row.

use std::time::Duration;

use ep_kernel::fault::{Fault, Kind};
use ep_kernel::tool::Entry as Operation;
use ep_polling::money::{MicroUsd, Usd};
use ep_tools::polls::reply::{PollReply, PollResponse, VoteResult};

use super::decision::{Decision, decide};
use super::failed_rows::{Attempts, MAX_ATTEMPTS};
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
    /// It was not; this is the reason.
    Failed(String),
    /// Every further row would fail, too.
    Stop(Fault),
}

/// Asks the panel about a row, after these attempts.
pub(super) async fn label(
    target: &Target,
    operation: &'static Operation,
    settings: &LabelSettings,
    question: RowQuestion,
    at_most: MicroUsd,
    earlier: Attempts,
) -> Labelled {
    let reference = format!("label-{}-{}", String::from(question.poll), earlier.count);
    let poll = match ask(target, operation, &question, &settings.panel, at_most, &reference).await {
        Ok(poll) => poll,
        Err(fault) => {
            let outcome = if concerns_the_row(&fault) {
                RowOutcome::Failed(fault.to_string())
            } else {
                RowOutcome::Stop(fault)
            };
            return Labelled { question, cost: MicroUsd::ZERO, outcome };
        }
    };
    let cost = poll.costs.total_estimated_cost.0;
    // After the last attempt, a model that does not respond counts as one that does not vote.
    let is_last = earlier.count + 1 >= MAX_ATTEMPTS && poll.models_skipped == 0;
    let outcome = match unasked(&poll).filter(|_| !is_last) {
        Some(reason) => RowOutcome::Failed(reason),
        None => RowOutcome::Entry(Box::new(entry(&question, &poll, settings, earlier.cost.plus(cost)))),
    };
    Labelled { question, cost, outcome }
}

/// Returns the reason why a panel was not fully asked; `None` if it was.
fn unasked(poll: &PollResponse) -> Option<String> {
    let failed = poll.votes.iter().filter(|vote| vote.has_failed());
    let names: Vec<&str> = failed.map(|vote| vote.model_id.as_str()).collect();
    match (names.as_slice(), poll.models_skipped) {
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

/// Builds the line of a row, which cost this much with all its attempts.
fn entry(question: &RowQuestion, poll: &PollResponse, settings: &LabelSettings, cost: MicroUsd) -> Entry {
    let mut votes: Vec<EntryVote> = poll.votes.iter().map(entry_vote).collect();
    votes.sort_by(|first, second| first.model.cmp(&second.model));
    let Decision { label, by, share, .. } = decide(&votes, &settings.panel, votes.len(), settings.on_tie);
    Entry {
        id: question.id.clone(),
        key: question.key,
        label: label.map(str::to_owned),
        by,
        score: share,
        cost_usd: Usd(cost),
        poll_id: poll.poll_id.to_string(),
        asked_at: poll.created_at,
        simulated: poll.simulated,
        votes,
    }
}

fn entry_vote(vote: &VoteResult) -> EntryVote {
    EntryVote {
        model: vote.model_id.clone(),
        vote: vote.chosen_option.clone(),
        error: vote.error_code,
        ms: vote.latency_ms,
        usd: vote.estimated_cost,
        answered_by: vote.answered_by.clone(),
    }
}
