//! A poll in an export, with every vote.

use ep_kernel::PollState;
use ep_polling::{
    Ballot, OptionProbability, PanelVersion, Plan, PollId, Reason, TerminationReason, Timestamp, Usd,
};
use schemars::JsonSchema;
use serde::Serialize;

use crate::polls::reasons::{VoterReason, reasons};

/// A poll, with every vote.
#[derive(Debug, Serialize, JsonSchema)]
pub struct ExportedPoll {
    /// The poll's id.
    pub poll_id: PollId,
    /// The time it was accepted.
    pub created_at: Timestamp,
    /// The question.
    pub question: String,
    /// The options.
    pub options: Vec<String>,
    /// True if only its owner may read it.
    pub private: bool,
    /// The preset that chose its models; null if the request named them.
    pub preset: Option<String>,
    /// The version of the panel that its models came from; null without a panel.
    pub panel: Option<PanelVersion>,
    /// The confidence at which it could stop early.
    pub confidence_threshold: f64,
    /// The maximum cost, in USD.
    #[schemars(with = "f64")]
    pub max_cost_usd: Usd,
    /// The models on its roster, in roster order.
    pub models: Vec<String>,
    /// The responses, in order of arrival.
    pub votes: Vec<ExportedVote>,
    /// Reasons of voters, requested after the vote; empty unless requested.
    pub reasons: Vec<VoterReason>,
    /// Outcome; null while it runs.
    pub end: Option<ExportedEnd>,
}

/// A model's response.
#[derive(Debug, Serialize, JsonSchema)]
pub struct ExportedVote {
    /// The model that was asked.
    pub model_id: String,
    /// The model that responded, if the upstream names another one.
    pub answered_by: Option<String>,
    /// The chosen option; null without a vote.
    pub option: Option<String>,
    /// The probabilities that a decision model gave to the options, in their order; null for models that chat.
    pub probabilities: Option<Vec<OptionProbability>>,
    /// The reason for the missing vote; null with a vote.
    pub reason: Option<Reason>,
    /// The reason in words.
    pub detail: Option<String>,
    /// The order in which the model saw the options, as zero-based indices into `options`.
    pub option_order: Vec<u32>,
    /// Response time of the model, in milliseconds.
    pub latency_ms: u32,
    /// Time of its response, in milliseconds since the first call.
    pub at_ms: u32,
    /// Cost, in USD.
    #[schemars(with = "f64")]
    pub cost_usd: Usd,
    /// Tokens of its prompts; null if the upstream reports none.
    pub prompt_tokens: Option<u32>,
    /// Tokens of its responses; null if the upstream reports none.
    pub completion_tokens: Option<u32>,
}

/// Outcome of a poll.
#[derive(Debug, Serialize, JsonSchema)]
pub struct ExportedEnd {
    /// Time of its end.
    pub closed_at: Timestamp,
    /// The rule that ended it; null if it was cancelled.
    pub termination_reason: Option<TerminationReason>,
    /// True if its owner cancelled it.
    pub cancelled: bool,
    /// Duration, in milliseconds.
    pub total_ms: u64,
    /// Cost of responses that came too late to count, in USD; null until known.
    #[schemars(with = "Option<f64>")]
    pub unused_calls_cost_usd: Option<Usd>,
}

impl From<&PollState> for ExportedPoll {
    fn from(state: &PollState) -> Self {
        let record = &state.record;
        let plan = &record.plan;
        let end = record.closing.as_ref().map(|closing| ExportedEnd {
            closed_at: closing.closed_at,
            termination_reason: closing.reason,
            cancelled: closing.cancelled,
            total_ms: closing.total_ms,
            unused_calls_cost_usd: closing.unused_calls_cost.map(Usd),
        });
        Self {
            poll_id: record.id.clone(),
            created_at: record.created_at,
            question: plan.question.to_string(),
            options: plan.options.clone(),
            private: plan.private,
            preset: plan.preset.clone(),
            panel: plan.panel.clone(),
            confidence_threshold: plan.threshold.get(),
            max_cost_usd: Usd(plan.budget.amount()),
            models: plan.roster.iter().map(|member| member.model.to_string()).collect(),
            votes: state.ballots.iter().map(|ballot| ExportedVote::new(ballot, plan)).collect(),
            reasons: record.closing.as_ref().map(|closing| reasons(state, closing)).unwrap_or_default(),
            end,
        }
    }
}

impl ExportedVote {
    fn new(ballot: &Ballot, plan: &Plan) -> Self {
        let (option, no_vote) = match &ballot.vote {
            Ok(option) => (plan.options.get(*option).cloned(), None),
            Err(no_vote) => (None, Some(no_vote)),
        };
        Self {
            model_id: plan.model(ballot).to_owned(),
            answered_by: ballot.answered_by.clone(),
            option,
            probabilities: ballot.probabilities.as_ref().map(|given| given.named(&plan.options)),
            reason: no_vote.map(|no_vote| no_vote.reason),
            detail: no_vote.map(|no_vote| no_vote.detail.clone()),
            option_order: plan.option_order(ballot).into_iter().map(|position| position as u32).collect(),
            latency_ms: ballot.latency_ms,
            at_ms: ballot.at_ms,
            cost_usd: Usd(ballot.spend.amount),
            prompt_tokens: ballot.tokens.map(|tokens| tokens.prompt),
            completion_tokens: ballot.tokens.map(|tokens| tokens.completion),
        }
    }
}
