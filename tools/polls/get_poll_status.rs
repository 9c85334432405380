//! `get_poll_status`: reads the progress of a poll.

use std::time::Duration;

use ep_kernel::PollState;
use ep_polling::{NamedTally, PollId, ScaleResult, TerminationReason, Timestamp};

use super::poll_query::PollQuery;
use super::reply::{POLL_AFTER_MS, RunningPoll};
use super::summary::{Status, Summary};
use crate::poll_id::poll_id;
use crate::prelude::*;

/// Reads the progress of a poll.
pub struct GetPollStatus;

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
    /// Confidence so far that the whole roster would give this outcome (with a pass mark: pass or fail likewise): agreement
    /// among these models, not truth.
    pub confidence: f64,
    /// The votes so far on a scale, beside the fields about options; absent if the options are no levels.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "ScaleResult")]
    pub scale: Option<ScaleResult>,
    /// Number of models that responded or failed to.
    pub answered: u32,
    /// Number of models that may be asked.
    pub roster_size: u32,
    /// True if its owner cancelled it.
    pub cancelled: bool,
    /// The reason why it ended; null while it runs, or if it was cancelled.
    pub termination_reason: Option<TerminationReason>,
    /// The time it was accepted.
    pub created_at: Timestamp,
    /// The time it ended; null while it runs.
    pub ended_at: Option<Timestamp>,
}

impl PollStatus {
    /// Returns the progress of this poll.
    pub fn of(cx: &Ctx, state: &PollState) -> Self {
        let record = &state.record;
        let Some(closing) = &record.closing else {
            let poll = RunningPoll::new(state, cx.polls().position(record), None);
            return Self {
                poll_id: poll.poll_id,
                status: poll.status,
                queue_position: poll.queue_position,
                outcome: None,
                tally: poll.tally,
                confidence: poll.confidence,
                scale: poll.scale,
                answered: poll.answered,
                roster_size: poll.roster_size,
                cancelled: false,
                termination_reason: None,
                created_at: record.created_at,
                ended_at: None,
            };
        };
        let summary = Summary::new(state, closing);
        Self {
            poll_id: record.id.clone(),
            status: summary.status,
            queue_position: None,
            outcome: Some(summary.outcome),
            tally: summary.tally,
            confidence: summary.confidence,
            scale: summary.scale,
            answered: summary.models.counted(),
            roster_size: summary.models.roster(),
            cancelled: closing.cancelled,
            termination_reason: closing.reason,
            created_at: record.created_at,
            ended_at: Some(closing.closed_at),
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
        summary: "Returns the status of one of your polls. Free.",
        manual: include_str!("get_poll_status.md"),
        example: r#"{ "poll_id": "EP-20260131-7KQ2M4X9TB" }"#,
        access: Access::ACCOUNT,
        effect: Effect::Read,
        rest: Some(Rest::get("/api/polls/{poll_id}/status")),
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
        ..Spec::PLAIN
    };
    type Input = PollQuery;
    type Output = PollStatus;

    async fn call(cx: &Ctx, query: PollQuery) -> Result<PollStatus, Fault> {
        Ok(PollStatus::of(cx, &cx.polls().owned(&poll_id(cx, &query.poll_id)?, &cx.caller).await?))
    }
}
