//! Progress events of a running poll.
//!
//! Events are not stored but computed from the poll's plan and its ballots. A client that connects late, or
//! after a crash, receives the same events with the same ids.

use std::sync::Arc;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use ep_polling::stopping::MAX_ROSTER;
use ep_polling::{NamedTally, OptionProbability, PollId, ScaleResult, Usd};

/// Maximum number of events of a poll: one per model, the start and the end.
pub const MAX_EVENTS: usize = MAX_ROSTER + 2;

/// One event of a running poll.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum PollEvent {
    /// A model voted or failed.
    Vote(VoteEvent),
    /// The poll started.
    Started(StartedEvent),
}

/// The start of a poll.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct StartedEvent {
    /// The poll.
    pub poll_id: PollId,
    /// URL of the poll and its result; only the owner can read a private poll. Absent if no HTTP surface is
    /// served.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String")]
    pub result_url: Option<String>,
    /// The question.
    pub question: String,
    /// The options.
    pub options: Vec<String>,
    /// Number of models in the roster.
    pub roster_size: u32,
    /// True if the voters are simulated.
    pub simulated: bool,
}

impl StartedEvent {
    /// Name of the event.
    pub const NAME: &str = "started";
}

impl VoteEvent {
    /// Name of the event.
    pub const NAME: &str = "vote";
}

/// A vote or the failure of a model.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct VoteEvent {
    /// Sequence number, from 1.
    pub seq: u32,
    /// The model.
    pub model_id: String,
    /// The option chosen; null if the model failed to vote.
    pub chosen_option: Option<String>,
    /// Reason for a missing vote.
    pub error: Option<String>,
    /// The probabilities that a decision model gave to the options, in their order. Absent for models that chat.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Vec<OptionProbability>")]
    pub probabilities: Option<Vec<OptionProbability>>,
    /// Time from request to final response, in milliseconds.
    pub latency_ms: u32,
    /// Votes so far.
    pub tally: NamedTally,
    /// The option with strictly the most votes so far; null in a tie or without votes.
    pub leader: Option<String>,
    /// Confidence so far that the whole roster would choose the leader, or pass or fail likewise: agreement, not truth. 0
    /// while it is too early to say.
    pub confidence: f64,
    /// The votes so far on a scale; absent if the options are no levels.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "ScaleResult")]
    pub scale: Option<ScaleResult>,
    /// Cost so far; absent for anyone but the poll's owner.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Usd")]
    pub cost_so_far: Option<Usd>,
    /// Number of models with a final response.
    pub answered: u32,
    /// Number of models in the roster.
    pub roster_size: u32,
}

/// One progress step of a call, for an SSE event or an MCP progress notification.
#[derive(Debug, Clone)]
pub struct Progress {
    /// Name of the event.
    pub event: &'static str,
    /// Number within the call, from 0.
    pub id: u64,
    /// Payload.
    pub data: Value,
    /// Steps done.
    pub done: u32,
    /// Maximum number of steps.
    pub total: u32,
    /// The step as a sentence.
    pub message: String,
}

/// A receiver of a tool's progress. A full or closed sink loses only the report.
#[derive(Clone)]
pub struct ProgressSink(Arc<dyn Fn(Progress) + Send + Sync>);

impl ProgressSink {
    /// Creates a sink that passes every step to `report`.
    pub fn new(report: impl Fn(Progress) + Send + Sync + 'static) -> Self {
        Self(Arc::new(report))
    }

    /// Reports a step.
    pub fn report(&self, progress: Progress) {
        (self.0)(progress);
    }
}

impl std::fmt::Debug for ProgressSink {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("ProgressSink")
    }
}
