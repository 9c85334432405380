//! Poll responses: the interface's poll response, vote results, and the progress of a running poll.

use std::borrow::Cow;
use std::time::Duration;

use ep_kernel::tool::{Brief, Presentation, ToolOutput};
use ep_kernel::{EventProjection, PollState};
use ep_polling::ballot::first_reader;
use ep_polling::{
    Ballot, BallotMode, MicroUsd, ModelCounts, NamedTally, NoAnswer, OptionProbability, Pace, PanelVersion,
    PollId, Reason, ScaleResult, SpendBasis, TerminationReason, Timestamp, Usd,
};
use ep_store::{Closing, PollRecord};
use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::audience::Audience;
use super::brief;
use super::draft::PollType;
use super::estimate::DryRun;
use super::facts::{self, ResultText};
use super::notices::notices;
use super::reasons::{VoterReason, reasons};
use super::summary::{FamilySpread, PollDecision, Status, Summary, family};

/// The response of `poll_question`.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum PollReply {
    /// The poll has ended.
    Complete(Box<PollResponse>),
    /// It is still running.
    Running(RunningPoll),
    /// It was only validated and priced.
    DryRun(DryRun),
}

impl ToolOutput for PollReply {
    const BRIEF: Brief = brief::ASKED;

    fn presentation(&self) -> Presentation {
        match self {
            Self::Running(running) => running.presentation(),
            Self::Complete(response) => match &response.text {
                Some(text) => text.present(Presentation::default(), &response.poll_id),
                None => Presentation::default(),
            },
            Self::DryRun(_) => Presentation::default(),
        }
    }

    fn add_notices(&mut self, notices: Vec<String>) {
        match self {
            Self::Complete(response) => response.notices.extend(notices),
            Self::Running(running) => running.notices.extend(notices),
            Self::DryRun(dry_run) => dry_run.add_notices(notices),
        }
    }
}

/// A poll that has ended.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub struct PollResponse {
    /// The result's id.
    pub poll_id: PollId,
    /// The status: all, some or none of the models that counted voted.
    pub status: Status,
    /// The winning option, or the literal `tie`, or the literal `no_votes`.
    pub outcome: String,
    /// The question.
    pub question: String,
    /// The options.
    pub options: Vec<String>,
    /// The voting rule.
    pub poll_type: PollType,
    /// The option with the most votes; null on a tie or without votes.
    pub winning_option: Option<String>,
    /// True if two or more options share the highest count.
    pub is_tie: bool,
    /// True if the result is contested: options tie, the winner has less than two thirds of the votes (of a complete poll: of
    /// all models), or the strongest model that voted chose another option (of models with an order of strength). On a scale,
    /// the winner is the median, or the pass or fail.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "bool")]
    pub contested: Option<bool>,
    /// The votes on a scale, beside the fields about options; absent if the options are no levels.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "ScaleResult")]
    pub scale: Option<ScaleResult>,
    /// The decision by the tie rule; absent unless requested by `on_tie`.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "PollDecision")]
    pub decision: Option<PollDecision>,
    /// The reason why the votes give no answer; absent if they give one. `no_votes`; `tie`; or `unsupported`: too few votes,
    /// so that the missing ones could give another outcome.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String")]
    pub no_answer: Option<NoAnswer>,
    /// The confidence at which the poll could stop early.
    pub confidence_threshold: f64,
    /// The maximum cost of the poll, in USD.
    pub max_cost_usd: Usd,
    /// True if the poll ended before every model of the roster counted.
    pub early_terminated: bool,
    /// The reason why the poll ended; null if it was cancelled.
    pub termination_reason: Option<TerminationReason>,
    /// The numbers of models.
    #[serde(flatten)]
    pub models: ModelCounts,
    /// Votes per option.
    pub tally: NamedTally,
    /// Every response, in order of arrival.
    pub votes: Vec<VoteResult>,
    /// Reasons of some voters, requested after the vote and no part of it. Absent unless requested by `reasons`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub reasons: Vec<VoterReason>,
    /// The duration of the poll.
    pub timing: Timing,
    /// The cost of the poll.
    pub costs: Costs,
    /// Confidence that the whole roster would give this outcome (with a pass mark: pass or fail likewise): agreement among
    /// these models, not truth. Models that did not respond count against it. 0 if it cannot be computed.
    pub confidence: f64,
    /// Distribution of the votes over model families: a weak proxy for independence.
    pub families: FamilySpread,
    /// The preset that chose the models; null if the request named them.
    pub preset: Option<String>,
    /// The version of your panel that the models came from; absent without a panel.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "PanelVersion")]
    pub panel: Option<PanelVersion>,
    /// The pace, which sets the number of calls in flight.
    pub pace: Pace,
    /// The version of the reader that found the votes in the responses.
    #[serde(default = "first_reader")]
    pub reader: u32,
    /// True if the voters are simulated.
    pub simulated: bool,
    /// Notices about this poll: its roster, models that gave no vote or did not respond, and its limits.
    pub notices: Vec<String>,
    /// URL of the result; public, unless the poll is private.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String")]
    pub result_url: Option<String>,
    /// The time the poll was accepted.
    pub created_at: Timestamp,
    #[serde(skip)]
    text: Option<ResultText>,
}

/// One model's response.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct VoteResult {
    /// The model that was asked.
    pub model_id: String,
    /// True if it voted.
    pub success: bool,
    /// The option it chose; null if it cast no vote.
    pub chosen_option: Option<String>,
    /// The probabilities that a decision model gave to the options, in their order: its own weights, not the chance of being
    /// right, and without effect on the outcome. Its vote is the option with the greatest one; equal greatest ones are no
    /// vote. Absent for models that chat.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Vec<OptionProbability>")]
    pub probabilities: Option<Vec<OptionProbability>>,
    /// Always `vote`, for compatibility.
    #[schemars(extend("const" = "vote"))]
    pub transition: Cow<'static, str>,
    /// Time from request to response, in milliseconds.
    pub latency_ms: u32,
    /// Cost in USD; `cost_basis` says whether it is reported, computed or unknown.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Usd")]
    pub estimated_cost: Option<Usd>,
    /// Source of the cost. If it is unknown, an amount of 0 does not mean that the response was free.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "SpendBasis")]
    pub cost_basis: Option<SpendBasis>,
    /// Error message if there is no vote.
    pub error: Option<String>,
    /// Machine-readable reason for the missing vote.
    pub error_code: Option<Reason>,
    /// The model's maker and product line, derived from its id.
    pub family: String,
    /// The order in which this model saw the options, as zero-based indices into `options`.
    pub option_order: Vec<usize>,
    /// The model that responded, if it is not the one that was asked.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String")]
    pub answered_by: Option<String>,
    /// The form of the response; absent without one, and for decision models.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "BallotMode")]
    pub ballot_mode: Option<BallotMode>,
    /// True if the model reasoned before it voted; absent if unknown.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "bool")]
    pub reasoned: Option<bool>,
    /// True if its first response declared no vote, and this is the second one; absent otherwise.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub asked_again: bool,
}

/// One model's response without its cost, which only the poll's owner can request.
pub struct PublicVote;

impl JsonSchema for PublicVote {
    fn schema_name() -> Cow<'static, str> {
        "PublicVote".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let mut schema = VoteResult::json_schema(generator);
        if let Some(Value::Object(members)) = schema.get_mut("properties") {
            members.retain(|name, _| !["estimated_cost", "cost_basis"].contains(&name.as_str()));
        }
        schema
    }
}

/// The duration of a poll.
#[derive(Debug, Clone, Copy, Serialize, Deserialize, JsonSchema)]
pub struct Timing {
    /// From the first call to the last response that counted, in milliseconds.
    pub gather_ms: u64,
    /// From acceptance to the end, in milliseconds.
    pub total_ms: u64,
}

/// The cost of a poll.
#[derive(Debug, Clone, Copy, Serialize, Deserialize, JsonSchema)]
pub struct Costs {
    /// The total cost, in USD: responses that counted, reasons and, once known, unused calls.
    pub total_estimated_cost: Usd,
    /// The part for unused calls (`models_unused`). While null they are still running, and the total can
    /// rise: get_poll_result with `costs: true` returns the final cost.
    pub unused_calls_cost: Option<Usd>,
    /// Number of responses with an unknown cost, which is not in the total.
    pub unknown_cost_calls: u32,
}

/// A poll that is queued or running.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[schemars(transform = ep_kernel::schema::interim)]
pub struct RunningPoll {
    /// The result's id, to request it later.
    pub poll_id: PollId,
    /// `queued` until it starts, then `running`.
    #[schemars(extend("enum" = ["queued", "running"]))]
    pub status: Status,
    /// Maximum position in the queue, from 1; absent unless it is queued.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub queue_position: Option<u32>,
    /// The question.
    pub question: String,
    /// Votes so far.
    pub tally: NamedTally,
    /// The option with strictly the most votes so far; null if there is none.
    pub leader: Option<String>,
    /// Confidence so far that the whole roster would choose the leader (with a pass mark: pass or fail likewise): agreement,
    /// not truth. 0 while it is too early to say.
    pub confidence: f64,
    /// The votes so far on a scale, beside the fields about options; absent if the options are no levels.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "ScaleResult")]
    pub scale: Option<ScaleResult>,
    /// Number of models that responded or failed to.
    pub answered: u32,
    /// Number of models that may be asked.
    pub roster_size: u32,
    /// Notices about this poll.
    pub notices: Vec<String>,
    /// Wait this many milliseconds, then call get_poll_result again.
    pub poll_after_ms: u32,
    /// URL of the future result.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String")]
    pub result_url: Option<String>,
    /// The time it was accepted, for the presentation.
    #[serde(skip)]
    created_at: Option<Timestamp>,
}

impl ToolOutput for RunningPoll {
    fn presentation(&self) -> Presentation {
        let Self { poll_id, answered, roster_size, .. } = self;
        let summary = match self.queue_position {
            Some(position) => format!("Poll {poll_id} is queued: number {position} in line."),
            None => format!(
                "Poll {poll_id} is still running: {answered} of up to {roster_size} models have responded."
            ),
        };
        let votes = facts::counts(&self.tally, facts::ROOM);
        let presentation = Presentation::interim(Duration::from_millis(u64::from(self.poll_after_ms)))
            .summary(summary)
            .facts(format!(
                "Votes so far: {votes}. Call get_poll_result with this poll_id again in {} ms.",
                self.poll_after_ms
            ));
        Presentation { task_id: Some(poll_id.to_string()), since: self.created_at, ..presentation }
    }
}

impl RunningPoll {
    /// Returns the progress of a poll. `queue_position` is its position in the queue, if it is queued.
    pub fn new(state: &PollState, queue_position: Option<u32>, result_url: Option<String>) -> Self {
        let plan = &state.record.plan;
        let mut projection = EventProjection::new(&state.record);
        state.ballots.iter().for_each(|ballot| projection.add(ballot));
        let tally = state.tally();
        Self {
            poll_id: state.record.id.clone(),
            status: if queue_position.is_some() { Status::Queued } else { Status::Running },
            queue_position,
            question: plan.question.to_string(),
            tally: tally.named(&plan.options),
            leader: tally.leader().map(|option| plan.options[option].clone()),
            confidence: projection.confidence(),
            scale: projection.scale(),
            answered: state.ballots.len() as u32,
            roster_size: plan.roster.len() as u32,
            notices: notices(state, None, Audience::Owner),
            poll_after_ms: POLL_AFTER_MS,
            result_url,
            created_at: Some(state.record.created_at),
        }
    }
}

/// The delay before a caller polls again, in milliseconds.
pub const POLL_AFTER_MS: u32 = 2_000;

impl PollResponse {
    /// Builds the response of a closed poll.
    pub fn new(state: &PollState, closing: &Closing, result_url: Option<String>) -> Self {
        let PollRecord { id, plan, created_at, .. } = &*state.record;
        let summary = Summary::new(state, closing);
        let (costs, notices) =
            (Costs::new(state, closing), notices(state, Some((closing, &summary)), Audience::Owner));
        let cost = Some(costs.total_estimated_cost);
        Self {
            text: Some(ResultText::new(state, closing, &summary, result_url.as_deref(), &notices, cost)),
            poll_id: id.clone(),
            status: summary.status,
            outcome: summary.outcome,
            question: plan.question.to_string(),
            options: plan.options.clone(),
            poll_type: PollType::Fptp,
            winning_option: summary.winning_option,
            is_tie: summary.is_tie,
            contested: Some(summary.contested),
            scale: summary.scale,
            decision: summary.decision,
            confidence_threshold: plan.threshold.get(),
            max_cost_usd: Usd(plan.budget.amount()),
            no_answer: summary.no_answer,
            early_terminated: !summary.models.is_complete(),
            termination_reason: closing.reason,
            models: summary.models,
            tally: summary.tally,
            votes: votes(state, true),
            reasons: reasons(state, closing),
            timing: Timing { gather_ms: closing.gather_ms, total_ms: closing.total_ms },
            costs,
            confidence: summary.confidence,
            families: summary.families,
            preset: plan.preset.clone(),
            panel: plan.panel.clone(),
            pace: plan.pace,
            reader: closing.reader,
            simulated: plan.simulated,
            notices,
            result_url,
            created_at: *created_at,
        }
    }
}

impl VoteResult {
    /// True if the model gave no complete response.
    pub fn has_failed(&self) -> bool {
        !self.success && !self.error_code.is_some_and(Reason::is_final_response)
    }
}

/// Returns the numbers of complete responses without a vote, and of calls without a complete response.
pub fn missing(votes: &[VoteResult]) -> (u32, u32) {
    let missing = votes.iter().filter(|vote| !vote.success).count();
    let failed = votes.iter().filter(|vote| vote.has_failed()).count();
    ((missing - failed) as u32, failed as u32)
}

impl Costs {
    /// Computes the cost of a closed poll, as far as it is known.
    pub fn new(state: &PollState, closing: &Closing) -> Self {
        let votes = state.ballots.iter().map(|ballot| ballot.spend);
        let spends = votes.chain(closing.explanations.iter().map(|explanation| explanation.spend));
        let spent: MicroUsd = spends.clone().map(|spend| spend.amount).sum();
        let unknown = spends.filter(|spend| spend.basis == SpendBasis::Unknown).count();
        Self {
            total_estimated_cost: Usd(spent.plus(closing.unused_calls_cost.unwrap_or_default())),
            unused_calls_cost: closing.unused_calls_cost.map(Usd),
            unknown_cost_calls: unknown as u32,
        }
    }
}

/// Returns every response of a poll, in order of arrival.
pub fn votes(state: &PollState, with_costs: bool) -> Vec<VoteResult> {
    state.ballots.iter().map(|ballot| vote(&state.record, ballot, with_costs)).collect()
}

fn vote(record: &PollRecord, ballot: &Ballot, with_costs: bool) -> VoteResult {
    let plan = &record.plan;
    let text = |option: usize| plan.options.get(option).cloned();
    let no_vote = ballot.vote.as_ref().err();
    VoteResult {
        model_id: plan.model(ballot).to_owned(),
        success: ballot.vote.is_ok(),
        chosen_option: ballot.vote.as_ref().ok().copied().and_then(text),
        probabilities: ballot.probabilities.as_ref().map(|given| given.named(&plan.options)),
        transition: "vote".into(),
        latency_ms: ballot.latency_ms,
        estimated_cost: with_costs.then_some(Usd(ballot.spend.amount)),
        cost_basis: with_costs.then_some(ballot.spend.basis),
        error: no_vote.map(|no_vote| no_vote.detail.clone()),
        error_code: no_vote.map(|no_vote| no_vote.reason),
        family: family(record, ballot).to_owned(),
        option_order: plan.option_order(ballot),
        answered_by: ballot.answered_by.clone(),
        ballot_mode: ballot.casting.map(|casting| casting.mode),
        reasoned: ballot.casting.and_then(|casting| casting.reasoned),
        asked_again: ballot.casting.is_some_and(|casting| casting.asked_again),
    }
}
