//! `watch_poll`: streams the events of a poll.

use ep_polling::stopping::MAX_ROSTER;

use super::follow::watch;
use super::get_poll::reply;
use super::reply::PollReply;
use crate::poll_id::poll_id;
use crate::prelude::*;

/// Streams the events of a poll.
pub struct WatchPoll;

/// A poll to watch, from a given vote on.
#[derive(Debug, Deserialize, JsonSchema)]
pub struct WatchedPoll {
    /// The poll's id: EP-<date>-<suffix>.
    pub poll_id: String,
    /// The number of the last vote that was seen.
    #[schemars(range(max = MAX_ROSTER))]
    pub after: Option<u32>,
}

impl Tool for WatchPoll {
    const SPEC: Spec = Spec {
        name: "watch_poll",
        title: "Watch a poll",
        summary: "Streams the events of one of your polls, with costs. Free.",
        manual: include_str!("watch_poll.md"),
        example: r#"{ "poll_id": "EP-20260131-7KQ2M4X9TB" }"#,
        access: Access::ACCOUNT,
        effect: Effect::Read,
        latency: Latency::Models,
        stream: Some(Rest::get("/api/polls/{poll_id}/events")),
        task: Task::Follow,
        intents: &[
            "watch my poll",
            "stream the votes live",
            "follow the events of a running poll",
            "live updates of a poll",
            "listen to the events of a poll",
            "watch votes arrive in real time",
        ],
        faults: &[Kind::NotFound],
        ..Spec::PLAIN
    };
    type Input = WatchedPoll;
    type Output = PollReply;

    async fn call(cx: &Ctx, watched: WatchedPoll) -> Result<PollReply, Fault> {
        let state = cx.polls().owned(&poll_id(cx, &watched.poll_id)?, &cx.caller).await?;
        Ok(reply(cx, &watch(cx, state, watched.after, true).await?))
    }
}
