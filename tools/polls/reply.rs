//! What a poll answers: the interface's poll response, its vote results, and how far a running poll is.

use std::collections::HashMap;
use std::time::Duration;

use ep_kernel::executor::{EventProjection, PollState};
use ep_kernel::ports::{Closing, PollRecord};
use ep_kernel::tool::{Presentation, ToolOutput};
use ep_polling::ballot::{Ballot, BallotMode, Reason};
use ep_polling::money::{MicroUsd, SpendBasis, Usd};
use ep_polling::poll_id::PollId;
use ep_polling::stopping::{Pace, TerminationReason};
use ep_polling::tally::{NamedTally, Outcome};
use ep_polling::time::Timestamp;
use schemars::JsonSchema;
use serde::Serialize;

use super::draft::PollType;
use super::estimate::DryRun;

/// How a poll went.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(inline)]
pub enum Status {
    /// Every recorded answer is a vote.
    Success,
    /// Some models voted and some failed.
    Partial,
    /// No model voted.
    Failed,
}

/// What `poll_question` answers.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(untagged)]
pub enum PollReply {
    /// The poll has ended.
    Complete(Box<PollResponse>),
    /// It still runs.
    Running(RunningPoll),
    /// It was only checked and priced.
    DryRun(DryRun),
}

impl ToolOutput for PollReply {
    fn presentation(&self) -> Presentation {
        match self {
            Self::Running(running) => running.presentation(),
            Self::Complete(response) => {
                Presentation::default().summary(response.headline()).task(&response.poll_id)
            }
            Self::DryRun(_) => Presentation::default(),
        }
    }
}

/// A poll that has ended.
#[derive(Debug, Serialize, JsonSchema)]
pub struct PollResponse {
    /// The result's id.
    pub poll_id: PollId,
    /// Whether all, some or none of the recorded answers are votes.
    pub status: Status,
    /// The winning option, or the literal `tie`, or the literal `no_votes`.
    pub outcome: String,
    /// The question.
    pub question: String,
    /// What could be chosen.
    pub options: Vec<String>,
    /// How votes became the outcome.
    pub poll_type: PollType,
    /// The option with the most votes; null on a tie or without votes.
    pub winning_option: Option<String>,
    /// Whether two or more options share the highest count.
    pub is_tie: bool,
    /// The confidence at which the poll could stop early.
    pub confidence_threshold: f64,
    /// The most the poll could spend, in USD.
    pub max_cost_usd: Usd,
    /// Whether the poll ended before every model had answered.
    pub early_terminated: bool,
    /// Why the poll ended; null where it was cancelled.
    pub termination_reason: Option<TerminationReason>,
    /// Models without a recorded answer when the poll ended.
    pub models_skipped: u32,
    /// Votes per option.
    pub tally: NamedTally,
    /// Every answer, in the order in which they came.
    pub votes: Vec<VoteResult>,
    /// How long it took.
    pub timing: Timing,
    /// What it cost.
    pub costs: Costs,
    /// Confidence that asking the whole roster would give this outcome: agreement of models, not truth. 0 where
    /// nothing can be said.
    pub confidence: f64,
    /// How the votes spread over model families.
    pub families: Families,
    /// Which models were asked.
    pub preset: String,
    /// How many calls could be in flight.
    pub pace: Pace,
    /// Whether the voters are simulated.
    pub simulated: bool,
    /// What to know about this roster.
    pub notices: Vec<String>,
    /// URL of the result; public, unless the poll is private.
    pub result_url: String,
    /// When the poll was accepted.
    pub created_at: Timestamp,
}

/// One model's answer.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct VoteResult {
    /// Who was asked.
    pub model_id: String,
    /// Whether it voted.
    pub success: bool,
    /// The option it chose; null if it cast no vote.
    pub chosen_option: Option<String>,
    /// Always `vote`; kept for compatibility.
    #[schemars(extend("const" = "vote"))]
    pub transition: &'static str,
    /// From request to answer, in milliseconds.
    pub latency_ms: u32,
    /// Cost in USD; `cost_basis` says whether it is reported, computed or unknown.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Usd")]
    pub estimated_cost: Option<Usd>,
    /// How the cost was determined. If it is unknown, an amount of 0 does not mean that the answer was free.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "SpendBasis")]
    pub cost_basis: Option<SpendBasis>,
    /// Why there is no vote.
    pub error: Option<String>,
    /// Machine-readable reason why there is no vote.
    pub error_code: Option<Reason>,
    /// Models that share makers and training; their votes are correlated.
    pub family: String,
    /// The order in which this model saw the options, as zero-based indices into `options`.
    pub option_order: Vec<usize>,
    /// The model that answered, if it is not the one that was asked.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String")]
    pub answered_by: Option<String>,
    /// The form in which the model answered; absent if it did not answer.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "BallotMode")]
    pub ballot_mode: Option<BallotMode>,
    /// Whether the model reasoned before it answered; absent if that is not known.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "bool")]
    pub reasoned: Option<bool>,
}

/// How long a poll took.
#[derive(Debug, Clone, Copy, Serialize, JsonSchema)]
pub struct Timing {
    /// From the first call to the last answer that counted, in milliseconds.
    pub gather_ms: u64,
    /// From acceptance to the end, in milliseconds.
    pub total_ms: u64,
}

/// What a poll cost.
#[derive(Debug, Clone, Copy, Serialize, JsonSchema)]
pub struct Costs {
    /// What the answers cost, in USD.
    pub total_estimated_cost: Usd,
    /// Cost of the calls that were still in flight when the poll ended, in USD; null until they have finished.
    pub unused_calls_cost: Option<Usd>,
    /// Number of answers with an unknown cost; not included in the total.
    pub unknown_cost_calls: u32,
}

/// Distribution of the votes over model families. Models of one family make correlated errors, so this
/// shows better than the number of votes how independent they are.
#[derive(Debug, Clone, Copy, Serialize, JsonSchema)]
pub struct Families {
    /// Families with at least one vote.
    pub heard: u32,
    /// Effective number of families: the inverse Simpson index of the votes per family.
    pub effective: f64,
}

/// A poll that still runs.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct RunningPoll {
    /// The result's id: ask for it later.
    pub poll_id: PollId,
    /// Always `running`.
    #[schemars(extend("const" = "running"))]
    pub status: &'static str,
    /// The question.
    pub question: String,
    /// Votes so far.
    pub tally: NamedTally,
    /// The option with strictly the most votes so far; null if there is none.
    pub leader: Option<String>,
    /// Confidence so far that the whole roster would elect the leader; 0 while the evidence favours another
    /// option.
    pub confidence: f64,
    /// Models with a final answer.
    pub answered: u32,
    /// Models that may be asked.
    pub roster_size: u32,
    /// Wait this many milliseconds, then call get_poll_result again.
    pub poll_after_ms: u32,
    /// Where the result will be.
    pub result_url: String,
}

impl ToolOutput for RunningPoll {
    fn presentation(&self) -> Presentation {
        let Self { poll_id, answered, roster_size, .. } = self;
        Presentation::interim(Duration::from_millis(u64::from(self.poll_after_ms)))
            .summary(format!(
                "Poll {poll_id} is still running: {answered} of up to {roster_size} models have answered."
            ))
            .task(poll_id)
    }
}

impl RunningPoll {
    /// How far a poll is.
    pub fn new(state: &PollState, result_url: String) -> Self {
        let plan = &state.record.plan;
        let mut projection = EventProjection::new(&state.record);
        state.ballots.iter().for_each(|ballot| projection.add(ballot));
        let tally = state.tally();
        Self {
            poll_id: state.record.id.clone(),
            status: "running",
            question: plan.question.to_string(),
            tally: tally.named(&plan.options),
            leader: tally.leader().map(|option| plan.options[option].clone()),
            confidence: projection.confidence(),
            answered: state.ballots.len() as u32,
            roster_size: plan.roster.len() as u32,
            poll_after_ms: 2_000,
            result_url,
        }
    }
}

/// What a poll came to: what its response and its public result share.
pub struct Summary {
    /// Whether all, some or none of the recorded answers are votes.
    pub status: Status,
    /// The winning option, or the literal `tie`, or the literal `no_votes`.
    pub outcome: String,
    /// The winning option.
    pub winning_option: Option<String>,
    /// Whether the highest count is shared.
    pub is_tie: bool,
    /// Votes per option.
    pub tally: NamedTally,
    /// Number of recorded answers, failures included.
    pub requested: u32,
    /// Number of recorded answers that are votes.
    pub succeeded: u32,
    /// Models without a recorded answer when the poll ended.
    pub skipped: u32,
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
        let (requested, succeeded) = (state.ballots.len() as u32, tally.votes());
        let status = match succeeded {
            0 => Status::Failed,
            all if all == requested => Status::Success,
            _ => Status::Partial,
        };
        let (outcome, winner, is_tie) = match tally.outcome() {
            Outcome::Winner(option) => {
                (plan.options[option].clone(), Some(plan.options[option].clone()), false)
            }
            Outcome::Tie => ("tie".to_owned(), None, true),
            Outcome::NoVotes => ("no_votes".to_owned(), None, false),
        };
        Self {
            status,
            outcome,
            winning_option: winner,
            is_tie,
            tally: tally.named(&plan.options),
            requested,
            succeeded,
            skipped: plan.roster.len() as u32 - requested,
            confidence: 1.0 - closing.p_value,
            families: families(state),
        }
    }
}

/// What a poll came to, in one sentence.
pub fn headline(
    outcome: &str,
    winner: Option<&str>,
    tally: &NamedTally,
    confidence: f64,
    url: &str,
) -> String {
    let votes: u32 = tally.0.iter().map(|(_, votes)| votes).sum();
    match winner {
        Some(option) => {
            let won = tally.0.iter().find(|(name, _)| name == option).map_or(0, |(_, votes)| *votes);
            // Rounded down: a figure shown must not promise more than was reached.
            let percent = (confidence * 1000.0).floor() / 10.0;
            format!("“{option}” won {won} of {votes} votes (confidence {percent} %): {url}")
        }
        None if outcome == "tie" => format!("The lead is shared after {votes} votes: {url}"),
        None => format!("No model produced a vote: {url}"),
    }
}

impl PollResponse {
    /// What the poll came to, in one sentence.
    pub fn headline(&self) -> String {
        headline(
            &self.outcome,
            self.winning_option.as_deref(),
            &self.tally,
            self.confidence,
            &self.result_url,
        )
    }

    /// The response of a closed poll.
    pub fn new(state: &PollState, closing: &Closing, result_url: String) -> Self {
        let PollRecord { id, plan, created_at, .. } = &*state.record;
        let summary = Summary::new(state, closing);
        let spent: MicroUsd = state.ballots.iter().map(|ballot| ballot.spend.amount).sum();
        let unknown = state.ballots.iter().filter(|ballot| ballot.spend.basis == SpendBasis::Unknown).count();
        Self {
            poll_id: id.clone(),
            status: summary.status,
            outcome: summary.outcome,
            question: plan.question.to_string(),
            options: plan.options.clone(),
            poll_type: PollType::Fptp,
            winning_option: summary.winning_option,
            is_tie: summary.is_tie,
            confidence_threshold: plan.threshold.get(),
            max_cost_usd: Usd(plan.budget.amount()),
            early_terminated: summary.skipped > 0,
            termination_reason: closing.reason,
            models_skipped: summary.skipped,
            tally: summary.tally,
            votes: votes(state, true),
            timing: Timing { gather_ms: closing.gather_ms, total_ms: closing.total_ms },
            costs: Costs {
                total_estimated_cost: Usd(spent),
                unused_calls_cost: closing.unused_calls_cost.map(Usd),
                unknown_cost_calls: unknown as u32,
            },
            confidence: summary.confidence,
            families: summary.families,
            preset: plan.preset.clone(),
            pace: plan.pace,
            simulated: plan.simulated,
            notices: plan.notices.clone(),
            result_url,
            created_at: *created_at,
        }
    }
}

/// Every answer of a poll, in the order in which they came.
pub fn votes(state: &PollState, with_costs: bool) -> Vec<VoteResult> {
    state.ballots.iter().map(|ballot| vote(&state.record, ballot, with_costs)).collect()
}

fn vote(record: &PollRecord, ballot: &Ballot, with_costs: bool) -> VoteResult {
    let plan = &record.plan;
    let text = |option: usize| plan.options.get(option).cloned();
    let no_vote = ballot.vote.as_ref().err();
    VoteResult {
        model_id: ballot.model.to_string(),
        success: ballot.vote.is_ok(),
        chosen_option: ballot.vote.as_ref().ok().copied().and_then(text),
        transition: "vote",
        latency_ms: ballot.latency_ms,
        estimated_cost: with_costs.then_some(Usd(ballot.spend.amount)),
        cost_basis: with_costs.then_some(ballot.spend.basis),
        error: no_vote.map(|no_vote| no_vote.detail.clone()),
        error_code: no_vote.map(|no_vote| no_vote.reason),
        family: family(record, ballot).to_owned(),
        option_order: ballot.option_order.clone(),
        answered_by: ballot.answered_by.clone(),
        ballot_mode: ballot.casting.map(|casting| casting.mode),
        reasoned: ballot.casting.and_then(|casting| casting.reasoned),
    }
}

fn family<'a>(record: &'a PollRecord, ballot: &Ballot) -> &'a str {
    record.plan.roster.get(ballot.position as usize).map_or("", |member| &member.family)
}

fn families(state: &PollState) -> Families {
    let mut sizes: HashMap<&str, u32> = HashMap::new();
    for ballot in state.ballots.iter().filter(|ballot| ballot.vote.is_ok()) {
        *sizes.entry(family(&state.record, ballot)).or_default() += 1;
    }
    let votes: f64 = sizes.values().copied().map(f64::from).sum();
    let squares: f64 = sizes.values().map(|&size| f64::from(size).powi(2)).sum();
    let effective = if squares > 0.0 { (votes * votes / squares * 100.0).round() / 100.0 } else { 0.0 };
    Families { heard: sizes.len() as u32, effective }
}
