//! Asks the panel about one row.

use std::time::Duration;

use ep_kernel::fault::{Fault, Kind};
use ep_kernel::tool::Entry as Operation;
use ep_polling::ballot::Reason;
use ep_polling::money::MicroUsd;
use ep_tools::polls::reply::{PollReply, PollResponse, missing};

use super::failed_rows::Attempts;
use super::journal::{DecidedBy, Entry, EntryVote};
use super::task::{OnTie, Panel, Question, Task};
use crate::cli::target::Target;

/// Attempts to reach a service that is busy.
const MAX_WAITS: u32 = 30;
const SHORTEST_WAIT: Duration = Duration::from_millis(500);
const LONGEST_WAIT: Duration = Duration::from_mins(1);

/// The outcome of a row.
pub(super) struct Labelled {
    pub(super) question: Question,
    /// The cost of this attempt.
    pub(super) cost: MicroUsd,
    pub(super) outcome: Outcome,
}

/// The outcome of asking the panel.
pub(super) enum Outcome {
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
    task: &Task,
    question: Question,
    at_most: MicroUsd,
    earlier: Attempts,
) -> Labelled {
    let reference = format!("label-{}-{}", String::from(question.poll), earlier.count);
    let poll = match ask(target, operation, &question, &task.panel, at_most, &reference).await {
        Ok(poll) => poll,
        Err(fault) => {
            let outcome = if concerns_the_row(&fault) {
                Outcome::Failed(fault.to_string())
            } else {
                Outcome::Stop(fault)
            };
            return Labelled { question, cost: MicroUsd::ZERO, outcome };
        }
    };
    let cost = poll.costs.total_estimated_cost.0;
    let (_, failed) = missing(&poll.votes);
    let unasked = failed + poll.models_skipped;
    let outcome = if unasked == 0 {
        Outcome::Entry(Box::new(entry(&question, &poll, task, earlier.cost.plus(cost))))
    } else {
        Outcome::Failed(unasked_models(&poll))
    };
    Labelled { question, cost, outcome }
}

/// Returns the reason of a row that was not fully asked.
fn unasked_models(poll: &PollResponse) -> String {
    let failed = poll
        .votes
        .iter()
        .filter(|vote| !vote.success && !vote.error_code.is_some_and(Reason::is_final_response));
    let names: Vec<&str> = failed.map(|vote| vote.model_id.as_str()).collect();
    let skipped = match poll.models_skipped {
        0 => String::new(),
        skipped => format!("{skipped} models were not asked"),
    };
    match names.as_slice() {
        [] => skipped,
        [one] => format!("{one} did not respond"),
        [first, others @ ..] => format!("{first} and {} more did not respond", others.len()),
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
    question: &Question,
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
fn entry(question: &Question, poll: &PollResponse, task: &Task, cost: MicroUsd) -> Entry {
    let (label, by) = match &poll.winning_option {
        Some(option) => (Some(option.clone()), DecidedBy::Plurality),
        None => match tie_break(poll, task) {
            Some(option) => (Some(option), DecidedBy::TieBreak),
            None => (None, DecidedBy::None),
        },
    };
    let mut votes: Vec<EntryVote> = poll
        .votes
        .iter()
        .map(|vote| EntryVote {
            model: vote.model_id.clone(),
            vote: vote.chosen_option.clone(),
            ms: vote.latency_ms,
            usd: vote.estimated_cost.map(|cost| cost.0.as_usd()),
        })
        .collect();
    votes.sort_by(|first, second| first.model.cmp(&second.model));
    let for_label = label.as_ref().map_or(0, |label| poll.tally.of(label));
    Entry {
        id: question.id.clone(),
        key: question.key,
        score: f64::from(for_label) / poll.votes.len().max(1) as f64,
        label,
        by,
        votes,
        cost_usd: cost.as_usd(),
        poll_id: poll.poll_id.to_string(),
        simulated: poll.simulated,
    }
}

/// Returns the option of the strongest model that voted for one of the tied options.
fn tie_break(poll: &PollResponse, task: &Task) -> Option<String> {
    let Panel::Models(strongest) = &task.panel else { return None };
    if task.on_tie == OnTie::Report {
        return None;
    }
    let most = poll.tally.0.iter().map(|(_, votes)| *votes).max().filter(|most| *most > 0)?;
    strongest.iter().find_map(|model| {
        let vote = poll.votes.iter().find(|vote| vote.model_id.eq_ignore_ascii_case(model))?;
        vote.chosen_option.clone().filter(|option| poll.tally.of(option) == most)
    })
}
