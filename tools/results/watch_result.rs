//! `watch_result`: streams the events of a poll that the caller may read.

use ep_polling::stopping::MAX_ROSTER;

use super::get_poll_result::PollResult;
use crate::poll_id::poll_id;
use crate::polls::follow::watch;
use crate::prelude::*;

/// Streams the events of a poll to anyone who may read its result.
pub struct WatchResult;

/// A poll to watch, from a given vote on.
#[derive(Debug, Deserialize, JsonSchema)]
pub struct WatchedResult {
    /// The poll's id: EP-<date>-<suffix>.
    #[serde(alias = "resultId")]
    #[schemars(extend("x-aliases" = ["resultId"]))]
    pub poll_id: String,
    /// The number of the last vote that was seen.
    #[schemars(range(max = MAX_ROSTER))]
    pub after: Option<u32>,
}

impl Tool for WatchResult {
    const SPEC: Spec = Spec {
        name: "watch_result",
        title: "Watch a result",
        summary: "Streams the events of a public poll, without costs. Free.",
        manual: include_str!("watch_result.md"),
        example: r#"{ "poll_id": "EP-20260131-7KQ2M4X9TB" }"#,
        access: Access::PUBLIC,
        effect: Effect::Read,
        latency: Latency::Models,
        rate: Rate::Results,
        stream: Some(Rest::get("/api/results/{poll_id}/events")),
        intents: &["watch somebody's poll", "follow a public result live", "the events of a shared poll"],
        faults: &[Kind::NotFound],
        ..Spec::PLAIN
    };
    type Input = WatchedResult;
    type Output = PollResult;

    async fn call(cx: &Ctx, watched: WatchedResult) -> Result<PollResult, Fault> {
        let state = cx.polls().readable(&poll_id(cx, &watched.poll_id)?, &cx.caller).await?;
        Ok(PollResult::of(cx, &watch(cx, state, watched.after, false).await?, false))
    }
}
