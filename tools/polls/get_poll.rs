//! `get_poll`: reads a poll with the fields for its owner.

use ep_kernel::PollState;

use super::poll_query::PollQuery;
use super::reply::{PollReply, PollResponse, RunningPoll};
use crate::poll_id::poll_id;
use crate::prelude::*;
use crate::result_link::result_url;

/// Reads a poll with the fields for its owner.
pub struct GetPoll;

/// Returns a poll's response, or its progress while it runs.
pub fn reply(cx: &Ctx, state: &PollState) -> PollReply {
    let url = result_url(cx, &state.record.id);
    if let Some(closing) = &state.record.closing {
        PollReply::Complete(Box::new(PollResponse::new(state, closing, url)))
    } else {
        PollReply::Running(RunningPoll::new(state, cx.polls().position(&state.record), url))
    }
}

impl Tool for GetPoll {
    const SPEC: Spec = Spec {
        name: "get_poll",
        title: "Get your poll",
        summary: "Returns one of your polls with every vote and its cost, or its progress while it runs. Free.",
        manual: include_str!("get_poll.md"),
        example: r#"{ "poll_id": "EP-20260131-7KQ2M4X9TB" }"#,
        access: Access::ACCOUNT,
        effect: Effect::Read,
        rest: Some(Rest::get("/api/polls/{poll_id}/result").accepted_until_final()),
        intents: &[
            "what did my poll cost",
            "how much did I spend on that poll",
            "cost of each vote in my poll",
            "my poll with every vote and its cost",
            "show the costs of my finished poll",
        ],
        faults: &[Kind::NotFound],
        ..Spec::PLAIN
    };
    type Input = PollQuery;
    type Output = PollReply;

    async fn call(cx: &Ctx, query: PollQuery) -> Result<PollReply, Fault> {
        Ok(reply(cx, &cx.polls().owned(&poll_id(cx, &query.poll_id)?, &cx.caller).await?))
    }
}
