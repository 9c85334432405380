//! `decide_free`: asks several questions at once without an account.

use ep_kernel::ctx::Ctx;
use ep_kernel::executor::Opener;
use ep_kernel::fault::{Fault, Kind};
use ep_kernel::tool::{Access, Agents, Cost, Effect, Latency, Rate, Rest, Spec, Task, Tool};
use ep_polling::budget::Budget;
use ep_polling::options::FreeOptions;
use ep_polling::plan::Draft;
use ep_polling::question::FreeQuestion;
use ep_polling::roster::ModelChoice;
use ep_polling::stopping::Pace;
use ep_polling::threshold::Threshold;
use schemars::JsonSchema;
use serde::Deserialize;

use super::decide::{Decision, Decisions, counted, decide};
use super::draft::plan;
use super::poll_free::FREE_PRESET;

/// Asks several questions at once without an account.
pub struct DecideFree;

/// Questions that the free models are asked together.
#[derive(Debug, Deserialize, JsonSchema)]
pub struct FreeDecisionRequest {
    /// 1 to 8 questions.
    #[schemars(length(min = 1, max = 8))]
    pub questions: Vec<Decision>,
}

impl Tool for DecideFree {
    const SPEC: Spec = Spec {
        name: "decide_free",
        title: "Decide several questions with the free models",
        summary: "Asks 1 to 8 multiple-choice questions at once, without an account, of models that charge nothing.",
        manual: include_str!("decide_free.md"),
        example: include_str!("decide_free.example.json"),
        access: Access::ANONYMOUS,
        effect: Effect::Consult,
        cost: Cost::Free,
        latency: Latency::Models,
        rate: Rate::Free,
        rest: Some(Rest::post("/api/decide")),
        stream: None,
        agents: Agents::None,
        task: Task::Decide,
        intents: &["decide several questions for free without a key"],
        faults: &[Kind::Busy, Kind::PollFailed, Kind::NotConfigured, Kind::Unavailable],
    };
    type Input = FreeDecisionRequest;
    type Output = Decisions;

    async fn call(cx: &Ctx, request: FreeDecisionRequest) -> Result<Decisions, Fault> {
        counted(&request.questions)?;
        let mut plans = Vec::with_capacity(request.questions.len());
        for (index, asked) in request.questions.iter().enumerate() {
            let at = |name: &str| format!("questions[{index}].{name}");
            let question = FreeQuestion::new(asked.question.as_str())
                .map_err(|rule| Fault::invalid(at("question"), rule.to_string()))?;
            let choices: Vec<String> = asked.choices(index)?.into();
            let options = FreeOptions::new(&choices)
                .map_err(|rule| Fault::invalid(at("options"), format!("without an account: {rule}")))?;
            let draft = Draft {
                question: question.into(),
                options: options.into(),
                models: ModelChoice::preset(FREE_PRESET),
                threshold: Threshold::DEFAULT,
                budget: Budget::DEFAULT,
                pace: Pace::Fast,
                private: false,
                explanations: None,
                complete: asked.is_complete(),
            };
            plans.push(plan(cx, draft).await?);
        }
        let opener = Opener { request_ref: cx.request_ref.clone(), ..Opener::default() };
        decide(cx, plans, opener).await
    }
}
