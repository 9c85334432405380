//! The notification about a completed poll.

use ep_kernel::{Links, PollState};
use ep_polling::{NamedTally, NoAnswer, PollId, ScaleResult, TerminationReason, Timestamp};
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::Value;

use super::summary::{PollDecision, Status, Summary};
use crate::result_link::url_of;

/// A notification (Standard Webhooks 1.0.0, "Payload structure").
#[derive(Debug, Serialize, JsonSchema)]
pub struct PollCompleted {
    /// The type of the event.
    #[serde(rename = "type")]
    #[schemars(extend("const" = Self::NAME))]
    pub kind: &'static str,
    /// The time the poll ended.
    pub timestamp: Timestamp,
    /// The poll.
    pub data: CompletedPoll,
}

/// A summary of a completed poll.
#[derive(Debug, Serialize, JsonSchema)]
pub struct CompletedPoll {
    /// Its id.
    pub poll_id: PollId,
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
    /// The reason why the poll ended; null if it was cancelled.
    pub termination_reason: Option<TerminationReason>,
    /// URL of the result; public, unless the poll is private.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String")]
    pub result_url: Option<String>,
}

impl PollCompleted {
    /// The event type.
    pub const NAME: &str = "poll.completed";

    /// Builds the notification; `None` while the poll runs.
    pub fn of(links: &Links, state: &PollState) -> Option<Self> {
        let closing = state.record.closing.as_ref()?;
        let Summary {
            status,
            outcome,
            winning_option,
            is_tie,
            contested,
            scale,
            decision,
            no_answer,
            tally,
            confidence,
            ..
        } = Summary::new(state, closing);
        let data = CompletedPoll {
            poll_id: state.record.id.clone(),
            status,
            outcome,
            winning_option,
            is_tie,
            contested,
            scale,
            decision,
            no_answer,
            tally,
            confidence,
            termination_reason: closing.reason,
            result_url: url_of(links, &state.record.id),
        };
        Some(Self { kind: Self::NAME, timestamp: closing.closed_at, data })
    }

    /// Builds the notification as JSON.
    pub fn json(links: &Links, state: &PollState) -> Option<Value> {
        serde_json::to_value(Self::of(links, state)?).ok()
    }
}
