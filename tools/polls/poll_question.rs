//! `poll_question`: asks a roster of models one question.

use std::time::Duration;

use ep_kernel::{Billing, MessageContent, Opener, ParsedInput};
use ep_polling::{MicroUsd, Plan, PollId};
use ep_store::WebhookUrl;
use serde_json::{Map, Value};
use tokio::time::Instant;

use super::draft::{PollRequest, WaitMs, affordable, plan};
use super::estimate::DryRun;
use super::follow::follow;
use super::free_form;
use super::get_poll::reply;
use super::reply::PollReply;
use super::selection::NamedModels;
use crate::prelude::*;

/// Asks a roster of models one question.
pub struct PollQuestion;

impl Tool for PollQuestion {
    const SPEC: Spec = Spec {
        name: "poll_question",
        title: "Poll many AI models",
        summary: "Asks up to 150 AI models one multiple-choice question, one vote each, first past the post; stops \
                  early once confident enough. Costs at most max_cost_usd ($1 by default), usually less than half; \
                  takes seconds to a minute. Anyone with the poll_id can read the result (get_poll_result), unless \
                  private is true. Status partial: some models gave no vote. It tells what models agree on, not what is \
                  true.",
        manual: include_str!("poll_question.md"),
        example: include_str!("poll_question.example.json"),
        access: Access::ACCOUNT,
        effect: Effect::Consult,
        cost: Cost::Metered,
        latency: Latency::Models,
        rest: Some(Rest::post("/api/poll")),
        stream: Some(Rest::post("/api/poll/stream").only(Access::KEY)),
        agents: Agents::Core,
        task: Task::Start,
        intents: &[
            "ask several models",
            "take a vote",
            "let models vote on this",
            "get a second opinion from many models",
            "how much do models agree on this",
            "which is better, this or that?",
            "what do most AI models think or say",
            "create a poll with multiple choice options",
            "consensus of many LLMs",
            "check an answer or a claim with other models",
            "have AI models vote yes or no",
            "do a survey among AI models",
            "get models to weigh in where I cannot decide",
            "majority vote of different models",
            "break a tie between two options",
            "what would models answer",
        ],
        faults: &[
            Kind::InvalidPreset,
            Kind::InsufficientBalance,
            Kind::Busy,
            Kind::PollFailed,
            Kind::NotConfigured,
            Kind::Unavailable,
        ],
        ..Spec::PLAIN
    };
    type Input = PollRequest;
    type Output = PollReply;

    fn parse_input(known: &Map<String, Value>, content: MessageContent<'_>) -> Option<ParsedInput> {
        Some(free_form::parse_input(known, content))
    }

    fn check(input: Value) -> Result<(), Fault> {
        PollRequest::check(input)
    }

    async fn other_mistakes(cx: &Ctx, input: &Value) -> Option<Fault> {
        NamedModels::mistakes(cx, input).await
    }

    async fn at_most(cx: &Ctx, request: PollRequest) -> Result<MicroUsd, Fault> {
        Ok(plan(cx, request.resolve(cx).await?).await?.at_most())
    }

    async fn call(cx: &Ctx, request: PollRequest) -> Result<PollReply, Fault> {
        // An event stream is followed to its end, and a caller that does not wait at all gets no wait.
        // Otherwise the caller's wait limit applies.
        let streamed = cx.is_watched() && cx.wait_limit.is_none();
        let wait = request.wait_ms.filter(|_| !streamed && cx.wait_limit != Some(Duration::ZERO));
        let wait_limit = wait.map(|WaitMs(wait)| Duration::from_millis(u64::from(wait))).or(cx.wait_limit);
        let called_at = Instant::now();
        let dry_run = request.dry_run;
        let lasts = cx.request_ref.is_some() || request.notify_url.is_some();
        let planned = PlannedPoll::new(cx, request).await?;
        if dry_run {
            return Ok(PollReply::DryRun(DryRun::of(cx, &planned.plan)));
        }
        let id = planned.open(cx).await?;
        let wait_limit = wait_limit.map(|limit| limit.saturating_sub(called_at.elapsed()));
        tokio::select! {
            state = follow(cx, &id, wait_limit) => Ok(reply(cx, &state?)),
            // The client has cancelled and will not read the response.
            () = cx.cancelled(), if !lasts => {
                cx.polls().cancel(&id).await?;
                let message = format!("the request was cancelled; poll {id} ends with the votes received so far");
                Err(Fault::new(Kind::PollFailed, message).about(id))
            }
        }
    }
}

/// A planned poll that is not open yet.
pub struct PlannedPoll {
    plan: Plan,
    notify: Option<WebhookUrl>,
}

impl PlannedPoll {
    /// Validates a request and plans its poll.
    pub async fn new(cx: &Ctx, request: PollRequest) -> Result<Self, Fault> {
        let notify = notify(cx, request.notify_url.as_deref());
        let plan = match request.resolve(cx).await {
            Ok(draft) => plan(cx, draft).await,
            Err(fault) => Err(fault),
        };
        match (plan, notify) {
            (Ok(plan), Ok(notify)) => Ok(Self { plan, notify }),
            (Err(plan), Err(notify)) => Err(notify.and(plan)),
            (Err(fault), Ok(_)) | (Ok(_), Err(fault)) => Err(fault),
        }
    }

    /// Opens the poll for the caller.
    pub async fn open(self, cx: &Ctx) -> Result<PollId, Fault> {
        let Self { plan, notify } = self;
        affordable(&plan)?;
        cx.open_poll(plan, opener(cx, notify)).await
    }
}

/// Returns the caller as the opener of polls.
pub(super) fn opener(cx: &Ctx, notify: Option<WebhookUrl>) -> Opener {
    let billing = match (cx.settings().billing && cx.caller.user().is_some(), cx.caller.capped_key()) {
        (false, _) => Billing::None,
        (true, None) => Billing::Owner,
        (true, Some(key)) => Billing::Capped(key),
    };
    let request_ref = cx.request_ref.clone();
    Opener { owner: cx.caller.user(), billing, request_ref, notify, batch: cx.caller.batch() }
}

/// Returns the URL to notify when the poll ends.
fn notify(cx: &Ctx, url: Option<&str>) -> Result<Option<WebhookUrl>, Fault> {
    let Some(url) = url else { return Ok(None) };
    if cx.caller.user().is_none() {
        return Err(Fault::invalid("notify_url", "needs an account: leave it out, and wait for the result"));
    }
    cx.webhooks().check("notify_url", url).map(Some)
}

#[cfg(test)]
mod tests {
    use ep_kernel::tool::Cache;
    use serde_json::json;

    use super::*;
    use crate::testing::Service;

    #[tokio::test]
    async fn the_response_of_a_poll_is_not_cached() {
        let service = Service::start().await;
        let input = json!({ "question": "Which of the two is better?", "options": ["Alpha", "Beta"] });
        let answer = service.call::<PollQuestion>(&service.user().await, input).await.unwrap();
        assert_eq!((&answer.value["simulated"], answer.presentation.cache), (&json!(true), Cache::NoStore));
        assert_eq!(answer.presentation.task_id.as_deref(), answer.value["poll_id"].as_str());
        let url = answer.value["result_url"].as_str().unwrap();
        assert!(url.starts_with("https://polls.example.com/api/results/EP-20261121-"), "{url}");
    }

    #[tokio::test]
    async fn a_wait_of_zero_returns_the_running_poll_at_once() {
        let service = Service::start().await;
        let input =
            json!({ "question": "Which of the two is better?", "options": ["Alpha", "Beta"], "wait_ms": 0 });
        let answer = service.call::<PollQuestion>(&service.user().await, input).await.unwrap();
        assert_eq!(answer.value["status"], "running");
        assert!(answer.presentation.interim.is_some());
    }

    #[tokio::test]
    async fn the_old_name_of_the_question_is_accepted_and_a_missing_question_is_rejected() {
        let service = Service::start().await;
        let user = service.user().await;
        let call = |members: serde_json::Value| service.call::<PollQuestion>(&user, members);
        let old =
            json!({ "prompt": "Which of the two is better?", "options": ["Alpha", "Beta"], "dry_run": true });
        assert_eq!(call(old).await.unwrap().value["valid"], true);
        let refused = call(json!({ "options": ["Alpha", "Beta"] })).await.unwrap_err();
        assert_eq!((refused.kind(), refused.fields()[0].field.as_str()), (Kind::InvalidInput, "question"));
    }
}
