//! `poll_question`: the main job.

use std::time::Duration;

use ep_kernel::ctx::Ctx;
use ep_kernel::fault::{Fault, Kind};
use ep_kernel::tool::{Access, Agents, Cost, Effect, Latency, Rate, Rest, Spec, Task, Tool};

use super::draft::{MAX_WAIT_MS, PollRequest, plan};
use super::estimate::DryRun;
use super::follow::follow;
use super::reply::{PollReply, PollResponse, RunningPoll};
use crate::results::result_url;

/// Asks a roster of models one question.
pub struct PollQuestion;

impl Tool for PollQuestion {
    const SPEC: Spec = Spec {
        name: "poll_question",
        title: "Poll many AI models",
        summary: "Asks up to 100 AI models one multiple-choice question, one vote each, first past the post, and \
                  stops early once the outcome is settled. Costs about $0.01-0.50 of your balance; takes seconds to \
                  a minute. The result stays readable by its poll_id (get_poll_result). It tells what models agree \
                  on, not what is true.",
        manual: include_str!("poll_question.md"),
        example: include_str!("poll_question.example.json"),
        access: Access::ACCOUNT,
        effect: Effect::Consult,
        cost: Cost::Metered,
        latency: Latency::Models,
        rate: Rate::Default,
        rest: Some(Rest::post("/api/poll")),
        stream: Some(Rest::post("/api/poll/stream").only(Access::KEY)),
        agents: Agents::Core,
        task: Task::Start,
        intents: &[
            "ask several models",
            "get a second opinion from many models",
            "let models vote on this",
            "how much do models agree on this",
        ],
        faults: &[
            Kind::InvalidPreset,
            Kind::InsufficientBalance,
            Kind::PollFailed,
            Kind::NotConfigured,
            Kind::Unavailable,
        ],
    };
    type Input = PollRequest;
    type Output = PollReply;

    async fn call(cx: &Ctx, request: PollRequest) -> Result<PollReply, Fault> {
        if request.wait_ms.is_some_and(|wait| wait > MAX_WAIT_MS) {
            return Err(Fault::invalid("wait_ms", format!("must be at most {MAX_WAIT_MS}")));
        }
        // An event stream is followed to its end; elsewhere the caller's wait limit applies.
        let streamed = cx.is_watched() && cx.wait_limit.is_none();
        let wait = request.wait_ms.filter(|_| !streamed);
        let wait_limit = wait.map(|wait| Duration::from_millis(u64::from(wait))).or(cx.wait_limit);
        let dry_run = request.dry_run;
        let plan = plan(cx, request.draft()?).await?;
        if dry_run {
            return Ok(PollReply::DryRun(DryRun::valid(cx, &plan)));
        }
        let owner = cx.caller.user();
        let billed = cx.settings().billing && owner.is_some();
        let id = cx.polls().open(plan, owner, billed, cx.request_ref.clone()).await?;
        let state = follow(cx, &id, wait_limit).await?;
        let url = result_url(cx, &id);
        Ok(match &state.record.closing {
            Some(closing) => PollReply::Complete(Box::new(PollResponse::new(&state, closing, url))),
            None => PollReply::Running(RunningPoll::new(&state, url)),
        })
    }
}
