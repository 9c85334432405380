//! `decide_free_questions`: asks several questions at once without an account.

use ep_kernel::Opener;
use ep_polling::{FreeOptions, FreeQuestion};

use super::decide_questions::{Decisions, counted, decide, one_of};
use super::draft::plan;
use super::poll_free::free_draft;
use crate::prelude::*;

/// Asks several questions at once without an account.
pub struct DecideFreeQuestions;

/// Questions that the free models are asked together.
#[derive(Debug, Deserialize, JsonSchema)]
pub struct FreeDecisionRequest {
    /// 1 to 8 questions.
    #[schemars(length(min = 1, max = 8))]
    pub questions: Vec<FreeDecision>,
}

/// A question with its options, or with the levels of a scale, in the limits of free polls.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(extend("oneOf" = [{ "required": ["options"] }, { "required": ["levels"] }]))]
pub struct FreeDecision {
    /// The question. Models see only it and the options.
    pub question: FreeQuestion,
    /// 2 to 5 options of at most 50 characters.
    #[schemars(with = "FreeOptions")]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub options: Option<FreeOptions>,
    /// The levels of a scale, lowest first, instead of options: 2 to 5. Their median decides.
    #[schemars(with = "FreeOptions")]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub levels: Option<FreeOptions>,
    /// The lowest level that passes, but not the lowest of all. A tie fails.
    #[schemars(with = "String")]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pass: Option<String>,
    /// Asks every model, even after the outcome is certain.
    #[serde(default)]
    #[schemars(extend("default" = false))]
    pub complete: bool,
}

impl Tool for DecideFreeQuestions {
    const SPEC: Spec = Spec {
        name: "decide_free_questions",
        title: "Decide several questions with the free models",
        summary: "Asks 1 to 8 multiple-choice questions at once, without an account, of models that charge nothing.",
        manual: include_str!("decide_free_questions.md"),
        example: include_str!("decide_free_questions.example.json"),
        access: Access::ANONYMOUS,
        effect: Effect::Consult,
        latency: Latency::Models,
        rate: Rate::Free,
        rest: Some(Rest::post("/api/decide")),
        task: Task::Decide,
        intents: &["decide several questions for free without a key"],
        faults: &[Kind::Busy, Kind::PollFailed, Kind::NotConfigured, Kind::Unavailable],
        ..Spec::PLAIN
    };
    type Input = FreeDecisionRequest;
    type Output = Decisions;

    async fn call(cx: &Ctx, request: FreeDecisionRequest) -> Result<Decisions, Fault> {
        counted(&request.questions)?;
        let mut plans = Vec::with_capacity(request.questions.len());
        for (index, asked) in request.questions.iter().enumerate() {
            let options = one_of(asked.options.clone(), asked.levels.clone(), asked.pass.as_deref(), index)?;
            plans.push(plan(cx, free_draft(asked.question.clone(), options, asked.complete)).await?);
        }
        let opener = Opener { request_ref: cx.request_ref.clone(), ..Opener::default() };
        decide(cx, plans, opener).await
    }
}
