//! What a poll came to: what its response, its public result and their texts share.

use std::collections::HashMap;

use ep_kernel::executor::PollState;
use ep_kernel::ports::{Closing, PastPoll, PollRecord};
use ep_polling::ballot::Ballot;
use ep_polling::stopping::FinalAnswer;
use ep_polling::tally::{NamedTally, Outcome};
use schemars::JsonSchema;
use serde::Serialize;

/// How a poll went.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(inline)]
pub enum Status {
    /// Every model that counted voted.
    Success,
    /// Some voted and some gave no vote: a notice says how many, and why.
    Partial,
    /// No model voted.
    Failed,
    /// The poll still runs.
    Running,
    /// It waits for its turn.
    Queued,
}

impl Status {
    /// How a poll went of whose models so many counted, and so many of these voted.
    pub const fn of(counted: u32, succeeded: u32) -> Self {
        match succeeded {
            0 => Self::Failed,
            all if all == counted => Self::Success,
            _ => Self::Partial,
        }
    }

    /// How a listed poll went, or that it runs.
    pub fn of_listed(poll: &PastPoll) -> Self {
        poll.end.map_or(Self::Running, |_| Self::of(poll.answered, poll.tally.votes()))
    }

    /// The word used in answers.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Success => "success",
            Self::Partial => "partial",
            Self::Failed => "failed",
            Self::Running => "running",
            Self::Queued => "queued",
        }
    }
}

/// Distribution of the votes over model families (maker and product line). It is a weak proxy for independence:
/// models of different families make much the same errors, so many families are still few independent opinions.
#[derive(Debug, Clone, Copy, Serialize, JsonSchema)]
pub struct Families {
    /// Families with at least one vote.
    pub heard: u32,
    /// How evenly the votes spread over families: the inverse Simpson index of the votes per family. Not a number of
    /// independent opinions.
    pub effective: f64,
}

/// The option that won.
pub fn winning_option(outcome: Outcome, options: &[String]) -> Option<String> {
    match outcome {
        Outcome::Winner(option) => options.get(option).cloned(),
        Outcome::Tie | Outcome::NoVotes => None,
    }
}

/// The winning option, or the literal `tie`, or the literal `no_votes`.
pub fn outcome_text(outcome: Outcome, options: &[String]) -> String {
    winning_option(outcome, options)
        .unwrap_or_else(|| if outcome == Outcome::Tie { "tie" } else { "no_votes" }.to_owned())
}

/// What a poll that has ended came to.
pub struct Summary {
    /// Whether all, some or none of the models that counted voted.
    pub status: Status,
    /// The winning option, or the literal `tie`, or the literal `no_votes`.
    pub outcome: String,
    /// The winning option.
    pub winning_option: Option<String>,
    /// Whether the highest count is shared.
    pub is_tie: bool,
    /// Votes per option.
    pub tally: NamedTally,
    /// Number of models that counted: votes, no votes, and models that could not be heard.
    pub counted: u32,
    /// Of these, the votes.
    pub succeeded: u32,
    /// Of these, the models that could not be heard.
    pub unheard: u32,
    /// Models without an answer when the poll ended: never asked, or still in flight.
    pub skipped: u32,
    /// Of the skipped models, those that had been asked: their answers came too late to count.
    pub unused: u32,
    /// Confidence that the whole roster would give this outcome.
    pub confidence: f64,
    /// How the votes spread.
    pub families: Families,
}

impl Summary {
    /// Sums a closed poll up.
    pub fn new(state: &PollState, closing: &Closing) -> Self {
        let plan = &state.record.plan;
        let tally = state.tally();
        let (counted, succeeded) = (state.ballots.len() as u32, tally.votes());
        let outcome = tally.outcome();
        Self {
            status: Status::of(counted, succeeded),
            outcome: outcome_text(outcome, &plan.options),
            winning_option: winning_option(outcome, &plan.options),
            is_tie: outcome == Outcome::Tie,
            tally: tally.named(&plan.options),
            counted,
            succeeded,
            unheard: unheard(state),
            skipped: (plan.roster.len() as u32).saturating_sub(counted),
            unused: closing.unused_calls,
            confidence: 1.0 - closing.p_value,
            families: families(state),
        }
    }
}

fn unheard(state: &PollState) -> u32 {
    state.ballots.iter().filter(|ballot| ballot.answer() == FinalAnswer::Unknown).count() as u32
}

/// The family of the model that cast this ballot.
pub fn family<'a>(record: &'a PollRecord, ballot: &Ballot) -> &'a str {
    record.plan.roster.get(ballot.position as usize).map_or("", |member| &member.family)
}

/// How the votes spread over model families.
pub fn families(state: &PollState) -> Families {
    let mut sizes: HashMap<&str, u32> = HashMap::new();
    for ballot in state.ballots.iter().filter(|ballot| ballot.vote.is_ok()) {
        *sizes.entry(family(&state.record, ballot)).or_default() += 1;
    }
    let votes: f64 = sizes.values().copied().map(f64::from).sum();
    let squares: f64 = sizes.values().map(|&size| f64::from(size).powi(2)).sum();
    let effective = if squares > 0.0 { (votes * votes / squares * 100.0).round() / 100.0 } else { 0.0 };
    Families { heard: sizes.len() as u32, effective }
}
