//! `start_poll`: opens a poll without waiting for it.

use std::time::Duration;

use ep_polling::PollId;
use serde_json::Value;

use super::draft::PollRequest;
use super::poll_question::{PlannedPoll, PollQuestion};
use super::reply::POLL_AFTER_MS;
use super::selection::NamedModels;
use super::{GetPoll, GetPollStatus, WatchPoll};
use crate::prelude::*;

/// Opens a poll without waiting for it.
pub struct StartPoll;

/// A newly opened poll and its URLs.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub struct StartedPoll {
    /// Its id.
    pub poll_id: PollId,
    /// URL of its progress.
    pub status_url: String,
    /// URL of its result.
    pub result_url: String,
    /// URL of its event stream.
    pub events_url: String,
    /// Notices about the request.
    pub notices: Vec<String>,
}

impl ToolOutput for StartedPoll {
    fn presentation(&self) -> Presentation {
        let location = Some(self.status_url.clone());
        Presentation { location, ..Presentation::interim(Duration::from_millis(POLL_AFTER_MS.into())) }
    }

    fn add_notices(&mut self, notices: Vec<String>) {
        self.notices.extend(notices);
    }
}

impl Tool for StartPoll {
    const SPEC: Spec = Spec {
        name: "start_poll",
        title: "Start a poll",
        summary: "Opens a poll and returns the URLs of its status, result and events at once. Costs the same as \
                  poll_question.",
        manual: include_str!("start_poll.md"),
        example: include_str!("poll_question.example.json"),
        access: Access::ACCOUNT,
        effect: Effect::Consult,
        cost: Cost::Metered,
        rest: Some(Rest::post("/api/polls").status(202)),
        intents: &[
            "start a poll and look at it later",
            "start a poll in the background",
            "run a poll in the background and give me its id",
            "do not wait for the answer, start the poll",
            "create a poll without waiting for the result",
            "create a poll asynchronously and return its id at once",
            "submit a poll without blocking",
            "queue a poll and get its status URL",
        ],
        faults: <PollQuestion as Tool>::SPEC.faults,
        ..Spec::PLAIN
    };
    type Input = PollRequest;
    type Output = StartedPoll;

    fn check(input: Value) -> Result<(), Fault> {
        PollRequest::check(input)
    }

    async fn other_mistakes(cx: &Ctx, input: &Value) -> Option<Fault> {
        NamedModels::mistakes(cx, input).await
    }

    async fn call(cx: &Ctx, request: PollRequest) -> Result<StartedPoll, Fault> {
        if request.dry_run {
            return Err(Fault::invalid("dry_run", "is not supported here: call dry_run_poll instead"));
        }
        let poll_id = PlannedPoll::new(cx, request).await?.open(cx).await?;
        let url = |name: &str| cx.links().url(name, &[("poll_id", poll_id.as_str())]);
        Ok(StartedPoll {
            status_url: url(GetPollStatus::SPEC.name),
            result_url: url(GetPoll::SPEC.name),
            events_url: url(WatchPoll::SPEC.name),
            notices: Vec::new(),
            poll_id,
        })
    }
}
