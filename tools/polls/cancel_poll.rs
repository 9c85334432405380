//! `cancel_poll`: ends a poll early and keeps its votes.

use std::time::Duration;

use super::follow::follow;
use super::get_poll_status::PollStatus;
use super::poll_query::PollQuery;
use crate::poll_id::poll_id;
use crate::prelude::*;

/// Ends a poll early and keeps its votes.
pub struct CancelPoll;

/// Time to wait for the end. The process that runs the poll checks for cancellation twice a second.
const WAIT: Duration = Duration::from_secs(2);

impl Tool for CancelPoll {
    const SPEC: Spec = Spec {
        name: "cancel_poll",
        title: "Cancel a poll",
        summary: "Ends one of your polls with the votes it has; no further model is called.",
        manual: include_str!("cancel_poll.md"),
        example: r#"{ "poll_id": "EP-20260131-7KQ2M4X9TB" }"#,
        access: Access::ACCOUNT,
        effect: Effect::Stop,
        rest: Some(Rest::post("/api/polls/{poll_id}/cancel")),
        agents: Agents::Set(ToolSet::Polls),
        task: Task::Cancel,
        intents: &[
            "cancel my poll",
            "I changed my mind, stop the poll I just started",
            "stop the poll, it is too expensive",
            "cancel EP-20260131-7KQ2M4X9TB",
            "stop that poll",
            "stop asking models",
            "stop the running poll now",
            "end the poll early with the votes it has",
            "abort this poll",
            "no more votes are needed",
        ],
        faults: &[Kind::NotFound, Kind::Conflict],
        ..Spec::PLAIN
    };
    type Input = PollQuery;
    type Output = PollStatus;

    async fn call(cx: &Ctx, query: PollQuery) -> Result<PollStatus, Fault> {
        let state = cx.polls().owned(&poll_id(cx, &query.poll_id)?, &cx.caller).await?;
        if state.record.closing.as_ref().is_some_and(|closing| closing.cancelled) {
            return Ok(PollStatus::of(cx, &state));
        }
        let id = state.record.id.clone();
        if !cx.polls().cancel(&id).await? {
            return Err(Fault::new(Kind::Conflict, format!("poll {id} has ended already; read its result")));
        }
        Ok(PollStatus::of(cx, &follow(cx, &id, Some(WAIT)).await?))
    }
}
