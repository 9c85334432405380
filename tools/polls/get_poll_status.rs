//! `get_poll_status`: reads the progress of a poll.

use std::time::Duration;

use ep_kernel::ctx::Ctx;
use ep_kernel::executor::{EventProjection, PollState};
use ep_kernel::fault::{Fault, Kind};
use ep_kernel::tool::{
    Access, Agents, Cost, Effect, Latency, Presentation, Rate, Rest, Spec, Task, Tool, ToolOutput,
};
use ep_polling::poll_id::PollId;
use ep_polling::stopping::TerminationReason;
use ep_polling::tally::NamedTally;
use ep_polling::time::Timestamp;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::reply::POLL_AFTER_MS;
use super::summary::{Status, Summary};
use crate::results::owned;

/// Reads the progress of a poll.
pub struct GetPollStatus;

/// Which poll.
#[derive(Debug, Deserialize, JsonSchema)]
pub struct PollQuery {
    /// The poll's id: EP-<date>-<suffix>.
    pub poll_id: String,
}

/// The progress of a poll.
#[derive(Debug, Serialize, JsonSchema)]
pub struct PollStatus {
    /// Its id.
    pub poll_id: PollId,
    /// The status: `queued` or `running`; then all, some or none of the models that counted voted.
    pub status: Status,
    /// Maximum position in the queue, from 1; absent unless it is queued.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub queue_position: Option<u32>,
    /// The winning option, or the literal `tie`, or the literal `no_votes`; null while it runs.
    pub outcome: Option<String>,
    /// Votes so far.
    pub tally: NamedTally,
    /// Confidence so far that the whole roster would give this outcome: agreement among these models,
    /// not truth.
    pub confidence: f64,
    /// Number of models that responded or failed to.
    pub answered: u32,
    /// Number of models that may be asked.
    pub roster_size: u32,
    /// True if its owner cancelled it.
    pub cancelled: bool,
    /// The reason why it ended; null while it runs, or if it was cancelled.
    pub termination_reason: Option<TerminationReason>,
    /// When it was accepted.
    pub created_at: Timestamp,
    /// When it ended; null while it runs.
    pub ended_at: Option<Timestamp>,
}

impl PollStatus {
    /// Returns the progress of this poll.
    pub fn of(cx: &Ctx, state: &PollState) -> Self {
        let record = &state.record;
        let running = Self {
            poll_id: record.id.clone(),
            status: Status::Running,
            queue_position: None,
            outcome: None,
            tally: state.tally().named(&record.plan.options),
            confidence: 0.0,
            answered: state.ballots.len() as u32,
            roster_size: record.plan.roster.len() as u32,
            cancelled: false,
            termination_reason: None,
            created_at: record.created_at,
            ended_at: None,
        };
        let Some(closing) = &record.closing else {
            let mut projection = EventProjection::new(record);
            state.ballots.iter().for_each(|ballot| projection.add(ballot));
            let queue_position = cx.polls().position(record);
            let status = if queue_position.is_some() { Status::Queued } else { Status::Running };
            return Self { status, queue_position, confidence: projection.confidence(), ..running };
        };
        let summary = Summary::new(state, closing);
        Self {
            status: summary.status,
            outcome: Some(summary.outcome),
            confidence: summary.confidence,
            cancelled: closing.cancelled,
            termination_reason: closing.reason,
            ended_at: Some(closing.closed_at),
            ..running
        }
    }
}

impl ToolOutput for PollStatus {
    fn presentation(&self) -> Presentation {
        match self.ended_at {
            Some(_) => Presentation::default().cancelled(self.cancelled),
            None => Presentation::interim(Duration::from_millis(POLL_AFTER_MS.into())),
        }
    }
}

impl Tool for GetPollStatus {
    const SPEC: Spec = Spec {
        name: "get_poll_status",
        title: "Get a poll's status",
        summary: "Reads how far one of your polls is. Free.",
        manual: include_str!("get_poll_status.md"),
        example: r#"{ "poll_id": "EP-20260131-7KQ2M4X9TB" }"#,
        access: Access::ACCOUNT,
        effect: Effect::Read,
        cost: Cost::Free,
        latency: Latency::Instant,
        rate: Rate::Default,
        rest: Some(Rest::get("/api/polls/{poll_id}/status")),
        stream: None,
        agents: Agents::None,
        task: Task::None,
        intents: &[
            "how far is my poll",
            "is my poll done",
            "how much longer will my poll take",
            "is the poll still running",
            "status and progress of my poll",
            "how many models have answered",
            "is it done yet",
            "where is my poll in the queue",
        ],
        faults: &[Kind::NotFound],
    };
    type Input = PollQuery;
    type Output = PollStatus;

    async fn call(cx: &Ctx, query: PollQuery) -> Result<PollStatus, Fault> {
        Ok(PollStatus::of(cx, &owned(cx, &query.poll_id).await?))
    }
}
