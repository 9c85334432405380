//! The notification about a completed poll.

use ep_kernel::{Links, PollState};
use ep_polling::{PollId, TerminationReason, Timestamp};
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::Value;

use super::summary::Summary;
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
    /// Its outcome.
    #[serde(flatten)]
    pub summary: Summary,
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
        let data = CompletedPoll {
            poll_id: state.record.id.clone(),
            summary: Summary::new(state, closing),
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
