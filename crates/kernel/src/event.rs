//! Progress events of a running poll.
//!
//! Nothing here is stored: events are computed from the poll's plan and its ballots, so a client that
//! connects late, or after a crash, receives the same events with the same ids.

use std::sync::Arc;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use ep_polling::money::Usd;
use ep_polling::poll_id::PollId;
use ep_polling::stopping::MAX_ROSTER;
use ep_polling::tally::NamedTally;

/// The most events of one poll: one per model, the start and the end.
pub const MAX_EVENTS: usize = MAX_ROSTER + 2;

/// One event of a running poll.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum PollEvent {
    /// A model has voted or failed.
    Vote(VoteEvent),
    /// The poll has begun.
    Started(StartedEvent),
}

/// The poll has begun.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct StartedEvent {
    /// The poll.
    pub poll_id: PollId,
    /// URL of the poll and its result; if the poll is private, only its owner can read it. Absent where nothing
    /// is served.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String")]
    pub result_url: Option<String>,
    /// The question.
    pub question: String,
    /// What can be chosen.
    pub options: Vec<String>,
    /// How many models may be asked.
    pub roster_size: u32,
    /// Whether the voters are simulated.
    pub simulated: bool,
}

impl StartedEvent {
    /// The event's name.
    pub const NAME: &str = "started";
}

impl VoteEvent {
    /// The event's name.
    pub const NAME: &str = "vote";
}

/// A model has voted or failed.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct VoteEvent {
    /// Its number, from 1.
    pub seq: u32,
    /// Who answered.
    pub model_id: String,
    /// The option chosen; null if the model failed to vote.
    pub chosen_option: Option<String>,
    /// Why there is no vote.
    pub error: Option<String>,
    /// From request to final answer, in milliseconds.
    pub latency_ms: u32,
    /// Votes so far.
    pub tally: NamedTally,
    /// The option with strictly the most votes so far; null if there is none.
    pub leader: Option<String>,
    /// Confidence so far that the whole roster, all of it heard, would choose the leader: agreement, not truth. 0 while
    /// it is too early to say.
    pub confidence: f64,
    /// Cost so far; absent for who has not asked the poll.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Usd")]
    pub cost_so_far: Option<Usd>,
    /// Members with a final answer.
    pub answered: u32,
    /// How many models may be asked.
    pub roster_size: u32,
}

/// One step of a call's progress, ready for a surface: an SSE event, an MCP progress notification.
#[derive(Debug, Clone)]
pub struct Progress {
    /// The event's name.
    pub event: &'static str,
    /// Its number within the call, from 0.
    pub id: u64,
    /// Its data.
    pub data: Value,
    /// Steps done.
    pub done: u32,
    /// Steps in all, at most.
    pub total: u32,
    /// The step in a sentence.
    pub message: String,
}

/// Where a tool reports its progress. A full or closed sink loses nothing but the report.
#[derive(Clone)]
pub struct ProgressSink(Arc<dyn Fn(Progress) + Send + Sync>);

impl ProgressSink {
    /// A sink that hands every step on.
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
