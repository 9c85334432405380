//! The summary of a poll, shared by its response, its public result and their texts.

use std::collections::HashMap;

use ep_kernel::PollState;
use ep_polling::contested::is_contested_for;
use ep_polling::tie_rule;
use ep_polling::{
    Ballot, DecidedBy, EndedVotes, FinalResponse, ModelCounts, NamedTally, NoAnswer, Outcome, ScaleResult,
    Tally, TieRule,
};
use ep_store::{Closing, PastPoll, PollRecord};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

ep_polling::words! {
    /// The status of a poll.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
    #[schemars(inline)]
    pub enum Status {
        /// Every model that counted voted.
        Success = "success",
        /// Some models voted and some did not; a notice gives the numbers and reasons.
        Partial = "partial",
        /// No model voted.
        Failed = "failed",
        /// The poll still runs.
        Running = "running",
        /// The poll waits in the queue.
        Queued = "queued",
    }
}

impl Status {
    /// Returns the status of a closed poll. Models that did not count do not matter, unless the poll was cancelled, or its time
    /// was up: then it lacks votes.
    pub const fn of(models: ModelCounts, by_rule: bool) -> Self {
        match models.succeeded() {
            0 => Self::Failed,
            all if by_rule && all == models.counted() => Self::Success,
            _ => Self::Partial,
        }
    }

    /// Returns the status of a listed poll.
    pub fn of_listed(poll: &PastPoll) -> Self {
        poll.end.map_or(Self::Running, |end| Self::of(poll.models, end.by_rule))
    }

    /// True if the poll has not ended.
    pub const fn is_open(self) -> bool {
        matches!(self, Self::Running | Self::Queued)
    }
}

/// Distribution of the votes over model families (maker and product line). It is a weak proxy for
/// independence, because models of different families often make the same errors.
#[derive(Debug, Clone, Copy, Serialize, Deserialize, JsonSchema)]
pub struct FamilySpread {
    /// Families with at least one vote.
    pub with_votes: u32,
    /// Effective number of families: the inverse Simpson index of votes per family. Not a number of
    /// independent opinions.
    pub effective: f64,
}

/// Returns the option that won.
pub fn winning_option(outcome: Outcome, options: &[String]) -> Option<String> {
    match outcome {
        Outcome::Winner(option) => options.get(option).cloned(),
        Outcome::Tie | Outcome::NoVotes => None,
    }
}

/// Returns the winning option, or the literal `tie`, or the literal `no_votes`.
pub fn outcome_text(outcome: Outcome, options: &[String]) -> String {
    winning_option(outcome, options)
        .unwrap_or_else(|| if outcome == Outcome::Tie { "tie" } else { "no_votes" }.to_owned())
}

/// The summary of a closed poll.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Summary {
    /// The status: all, some or none of the models that counted voted; some also after a cancellation.
    pub status: Status,
    /// The winning option, or the literal `tie`, or the literal `no_votes`.
    pub outcome: String,
    /// The option with the most votes; null on a tie or without votes.
    pub winning_option: Option<String>,
    /// True if two or more options share the highest count.
    pub is_tie: bool,
    /// True if the result is contested: options tie, the winner has less than two thirds of the votes (of a complete poll: of
    /// all models), or the strongest model that voted chose another option (of models with an order of strength). On a scale,
    /// the winner is the median, or the pass or fail.
    pub contested: bool,
    /// The votes on a scale, beside the fields about options; absent if the options are no levels.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "ScaleResult")]
    pub scale: Option<ScaleResult>,
    /// The decision by the tie rule; absent unless requested by `on_tie`.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "PollDecision")]
    pub decision: Option<PollDecision>,
    /// The reason why the votes give no answer; absent if they give one. `no_votes`; `tie`; or `unsupported`: too few votes,
    /// so that the missing ones could give another outcome.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String")]
    pub no_answer: Option<NoAnswer>,
    /// Votes per option.
    pub tally: NamedTally,
    /// Confidence that the whole roster would give this outcome (with a pass mark: pass or fail likewise); not a
    /// probability of being right.
    pub confidence: f64,
    /// The numbers of models.
    #[serde(skip)]
    pub models: ModelCounts,
    /// Number of models that counted but did not respond.
    #[serde(skip)]
    pub failed_calls: u32,
    /// Distribution of the votes over model families.
    #[serde(skip)]
    pub families: FamilySpread,
}

impl Summary {
    /// Summarizes a closed poll.
    pub fn new(state: &PollState, closing: &Closing) -> Self {
        let plan = &state.record.plan;
        let tally = state.tally();
        let models = state.models();
        let outcome = tally.outcome();
        let confidence = 1.0 - closing.p_value;
        let no_answer = no_answer(state, closing);
        Self {
            status: Status::of(models, closing.reason.is_some()),
            outcome: outcome_text(outcome, &plan.options),
            winning_option: winning_option(outcome, &plan.options),
            scale: ScaleResult::of(plan.kind, &plan.options, &tally, confidence),
            is_tie: outcome == Outcome::Tie,
            contested: contested(state, &tally),
            decision: decision(state, &tally, no_answer),
            tally: tally.named(&plan.options),
            models,
            failed_calls: failed_calls(state),
            no_answer,
            confidence,
            families: families(state),
        }
    }
}

/// The decision of a poll with a tie rule. `outcome`, `winning_option` and `is_tie` do not depend on the rule.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct PollDecision {
    /// The option; null if nothing decides, or a person has to.
    pub option: Option<String>,
    /// The rule that decided.
    pub by: DecidedBy,
}

/// Returns the decision of a closed poll, if it has a tie rule.
fn decision(state: &PollState, tally: &Tally, no_answer: Option<NoAnswer>) -> Option<PollDecision> {
    let plan = &state.record.plan;
    if plan.on_tie == TieRule::Report {
        return None;
    }
    if no_answer.is_some() {
        return Some(PollDecision { option: None, by: DecidedBy::None });
    }
    let (option, by) = decided(state, tally);
    Some(PollDecision { option: option.and_then(|option| plan.options.get(option).cloned()), by })
}

/// Returns the option that decides a closed poll, and the rule. A tie is broken only after every model counted.
pub fn decided(state: &PollState, tally: &Tally) -> (Option<usize>, DecidedBy) {
    let plan = &state.record.plan;
    let is_final = state.models().is_complete();
    let ranked = plan.ranked_votes(state.ballots.iter().map(|ballot| &**ballot));
    tie_rule::decide(tally, plan.on_tie, ranked, is_final)
}

/// Returns the reason why a closed poll has no answer; `None` if it has one.
pub fn no_answer(state: &PollState, closing: &Closing) -> Option<NoAnswer> {
    let tally = state.tally();
    let votes = EndedVotes {
        kind: state.record.plan.kind,
        tally: &tally,
        decided: decided(state, &tally).0,
        confidence: 1.0 - closing.p_value,
        missing: failed_calls(state) + state.models().uncounted(),
    };
    votes.no_answer()
}

/// True if the result is contested.
pub fn contested(state: &PollState, tally: &Tally) -> bool {
    let plan = &state.record.plan;
    let of = if plan.complete { plan.roster.len() as u32 } else { tally.votes() };
    is_contested_for(plan.kind, tally, of, plan.strongest_vote(state.ballots.iter().map(|ballot| &**ballot)))
}

fn failed_calls(state: &PollState) -> u32 {
    state.ballots.iter().filter(|ballot| ballot.response() == FinalResponse::Unknown).count() as u32
}

/// Returns the family of the model that cast this ballot.
pub fn family<'a>(record: &'a PollRecord, ballot: &Ballot) -> &'a str {
    record.plan.roster.get(ballot.position as usize).map_or("", |member| &member.family)
}

/// Returns the distribution of the votes over model families.
pub fn families(state: &PollState) -> FamilySpread {
    let mut sizes: HashMap<&str, u32> = HashMap::new();
    for ballot in state.ballots.iter().filter(|ballot| ballot.vote.is_ok()) {
        *sizes.entry(family(&state.record, ballot)).or_default() += 1;
    }
    let votes: f64 = sizes.values().copied().map(f64::from).sum();
    let squares: f64 = sizes.values().map(|&size| f64::from(size).powi(2)).sum();
    let effective = if squares > 0.0 { (votes * votes / squares * 100.0).round() / 100.0 } else { 0.0 };
    FamilySpread { with_votes: sizes.len() as u32, effective }
}
