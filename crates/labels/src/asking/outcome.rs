//! The outcome of a row, from the reply of its poll and the votes of earlier attempts.

use ep_kernel::{Fault, Kind};
use ep_polling::ballot::READER;
use ep_polling::counted::{counted, counted_with};
use ep_polling::{MicroUsd, ModelCounts, Timestamp, Usd};
use ep_tools::polls::reply::{PollReply, PollResponse, VoteResult};
use serde_json::Value;

use crate::decision::{LabelRule, decide};
use crate::entry::{DecidedBy, Entry, EntryVote, lack_votes};
use crate::failed_rows::{Earlier, Failed, MAX_ATTEMPTS, is_limited};
use crate::question::RowQuestion;
use crate::settings::Panel;

/// The outcome of a row.
pub(crate) struct Labelled {
    pub(crate) question: RowQuestion,
    /// The cost of this attempt.
    pub(crate) cost: MicroUsd,
    pub(crate) outcome: RowOutcome,
}

/// The outcome of asking the panel.
pub(crate) enum RowOutcome {
    /// The panel was fully asked.
    Entry(Box<Entry>),
    /// It was not.
    Failed(Failed),
    /// Every further row would fail, too.
    Stop(Fault),
}

/// Returns the label of a row without a text: none, because no model is asked.
pub(crate) fn label_of_empty(question: &RowQuestion, now: Timestamp) -> Entry {
    Entry {
        id: question.id.clone(),
        key: question.key,
        label: None,
        by: DecidedBy::None,
        score: 0.0,
        contested: false,
        votes: Vec::new(),
        cost_usd: Usd(MicroUsd::ZERO),
        poll_id: String::new(),
        asked_at: now,
        asked_again_at: None,
        simulated: false,
        reader: READER,
        later_reader: None,
        empty: true,
    }
}

impl LabelRule<'_> {
    /// Returns the outcome of a row after this reply, with the votes of earlier attempts.
    pub(crate) fn labelled(
        self,
        question: RowQuestion,
        earlier: Earlier,
        reply: Result<PollResponse, Fault>,
    ) -> Labelled {
        let poll = match reply {
            Ok(poll) => poll,
            Err(fault) => {
                let outcome = if concerns_the_row(&fault) {
                    let Earlier { asked_at, votes, simulated, reader, .. } = earlier;
                    RowOutcome::Failed(Failed {
                        reason: fault.to_string(),
                        asked_at,
                        votes,
                        simulated,
                        reader,
                    })
                } else {
                    RowOutcome::Stop(fault)
                };
                return Labelled { question, cost: MicroUsd::ZERO, outcome };
            }
        };
        let cost = poll.costs.total_estimated_cost.0;
        let earlier_reader = earlier.reader.filter(|_| earlier.votes.iter().any(|vote| !vote.has_failed()));
        let votes = all_votes(earlier.votes, &poll);
        let asked_at = earlier.asked_at.unwrap_or(poll.created_at);
        let simulated = earlier.simulated || poll.simulated;
        let reader = earlier_reader.map_or(poll.reader, |earlier| earlier.min(poll.reader));
        let later_reader = Some(poll.reader).filter(|later| *later != reader);
        // After the last attempt, a model that does not respond counts as one that does not vote. If too few vote, the others
        // are asked again: one outage can last for several runs.
        let is_last = earlier.attempts - earlier.limited + 1 >= MAX_ATTEMPTS
            && poll.models.is_complete()
            && !lack_votes(&votes)
            && !is_limited(&votes);
        if let Some(reason) = uncounted(&votes, poll.models).filter(|_| !is_last) {
            let outcome = RowOutcome::Failed(Failed {
                reason,
                asked_at: Some(asked_at),
                votes,
                simulated,
                reader: Some(reader),
            });
            return Labelled { question, cost, outcome };
        }
        let decision = decide(&votes, self.panel, votes.len(), self.on_tie);
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
            simulated,
            reader,
            later_reader,
            empty: false,
            votes,
        };
        let outcome = RowOutcome::Entry(Box::new(entry));
        Labelled { question, cost, outcome }
    }
}

/// Returns the models to ask: the whole panel, or those that have not responded. A poll has two models at least.
pub(crate) fn left_to_ask(panel: &Panel, earlier: &[EntryVote]) -> Panel {
    let failed = earlier.iter().filter(|vote| vote.has_failed());
    let mut models: Vec<String> = failed.map(|vote| vote.model.clone()).collect();
    if models.len() == 1 {
        models.extend(earlier.iter().find(|vote| !vote.has_failed()).map(|vote| vote.model.clone()));
    }
    models.sort_by_key(|model| panel.rank(model));
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

/// Returns the reason why not every model of a panel counted; `None` if all did.
fn uncounted(votes: &[EntryVote], models: ModelCounts) -> Option<String> {
    let failed = votes.iter().filter(|vote| vote.has_failed());
    let names: Vec<&str> = failed.map(|vote| vote.model.as_str()).collect();
    match (names.as_slice(), models.skipped()) {
        ([], _) if models.is_complete() => None,
        ([], 0) => Some(format!("{} did not respond in time", counted(models.unused(), "model"))),
        ([], skipped) => Some(format!("{} not asked", counted_with(skipped, "model", ["was", "were"]))),
        ([one], _) => Some(format!("{one} did not respond")),
        ([first, others @ ..], _) => Some(format!("{first} and {} more did not respond", others.len())),
    }
}

/// True if other rows can succeed after this fault. A poll can have been deleted, or opened at another price.
pub(crate) fn concerns_the_row(fault: &Fault) -> bool {
    matches!(
        fault.kind(),
        Kind::InvalidInput
            | Kind::PollFailed
            | Kind::PayloadTooLarge
            | Kind::NotFound
            | Kind::IdempotencyMismatch
    )
}

/// Reads the reply of a poll that has ended.
pub(crate) fn ended_poll(reply: Value) -> Result<PollResponse, Fault> {
    match serde_json::from_value(reply).map_err(Fault::internal)? {
        PollReply::Complete(poll) => Ok(*poll),
        PollReply::Running(running) => {
            Err(Fault::new(Kind::InProgress, format!("poll {} is still running", running.poll_id)))
        }
        PollReply::DryRun(_) => Err(Fault::internal("a poll was only priced")),
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
