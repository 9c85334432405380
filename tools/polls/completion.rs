//! What an account is told of a poll that has ended.

use ep_kernel::executor::PollState;
use ep_kernel::links::Links;
use ep_polling::poll_id::PollId;
use ep_polling::stopping::TerminationReason;
use ep_polling::tally::NamedTally;
use ep_polling::time::Timestamp;
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::Value;

use super::summary::{Status, Summary};
use crate::results::url_of;

/// A notification (Standard Webhooks 1.0.0, "Payload structure").
#[derive(Debug, Serialize, JsonSchema)]
pub struct PollCompleted {
    /// What has happened.
    #[serde(rename = "type")]
    #[schemars(extend("const" = Self::NAME))]
    pub kind: &'static str,
    /// When the poll ended.
    pub timestamp: Timestamp,
    /// The poll.
    pub data: CompletedPoll,
}

/// A poll that has ended, in short.
#[derive(Debug, Serialize, JsonSchema)]
pub struct CompletedPoll {
    /// Its id.
    pub poll_id: PollId,
    /// Whether all, some or none of the models that counted voted.
    pub status: Status,
    /// The winning option, or the literal `tie`, or the literal `no_votes`.
    pub outcome: String,
    /// The option with the most votes; null on a tie or without votes.
    pub winning_option: Option<String>,
    /// Whether two or more options share the highest count.
    pub is_tie: bool,
    /// Votes per option.
    pub tally: NamedTally,
    /// Confidence that the whole roster would give this outcome; not a probability of being right.
    pub confidence: f64,
    /// Why the poll ended; null where it was cancelled.
    pub termination_reason: Option<TerminationReason>,
    /// URL of the result; public, unless the poll is private.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String")]
    pub result_url: Option<String>,
}

impl PollCompleted {
    /// What it says has happened.
    pub const NAME: &str = "poll.completed";

    /// What is told of this poll; `None` while it runs.
    pub fn of(links: &Links, state: &PollState) -> Option<Self> {
        let closing = state.record.closing.as_ref()?;
        let Summary { status, outcome, winning_option, is_tie, tally, confidence, .. } =
            Summary::new(state, closing);
        let data = CompletedPoll {
            poll_id: state.record.id.clone(),
            status,
            outcome,
            winning_option,
            is_tie,
            tally,
            confidence,
            termination_reason: closing.reason,
            result_url: url_of(links, &state.record.id),
        };
        Some(Self { kind: Self::NAME, timestamp: closing.closed_at, data })
    }

    /// The same in JSON.
    pub fn json(links: &Links, state: &PollState) -> Option<Value> {
        serde_json::to_value(Self::of(links, state)?).ok()
    }
}
