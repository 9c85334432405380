//! `decide_questions`: asks several questions at once, each a poll of its own, all or none.

use ep_kernel::{Opener, PollState};
use ep_polling::{
    Budget, Choices, Draft, Levels, MicroUsd, Options, Pace, PanelRef, Plan, QuestionText, Threshold,
    TokenUsage,
};
use serde_json::Value;

use super::draft::{affordable, plan};
use super::follow::follow;
use super::poll_question::opener;
use super::profile::Profile;
use super::scale;
use super::selection::NamedModels;
use crate::prelude::*;
use crate::results::PollResult;

/// Asks several questions at once.
pub struct DecideQuestions;

/// The maximum number of questions of a request.
pub const MAX_QUESTIONS: usize = 8;

/// A question of any length. Programs ask it, so it needs no minimum.
type DecisionText = QuestionText<1, { usize::MAX }>;

/// Questions that are asked together.
#[derive(Debug, Deserialize, JsonSchema)]
pub struct DecisionRequest {
    /// 1 to 8 questions.
    #[schemars(length(min = 1, max = 8))]
    pub questions: Vec<Decision>,
    /// The preset of models (default fast_and_cheap).
    pub preset: Option<String>,
    /// A panel of yours, as name or name@version, or a preset, instead of preset: its models and its rules.
    pub panel: Option<PanelRef>,
    /// Confidence that an early answer matches the whole roster's (default 0.95).
    pub confidence_threshold: Option<Threshold>,
    /// Most to spend for all questions together, in USD (default 1).
    pub max_cost_usd: Option<Budget>,
    /// thrifty: fewest calls; fast: all at once (default balanced).
    pub pace: Option<Pace>,
    /// Only you can read the results.
    #[serde(default)]
    #[schemars(extend("default" = false, "x-limit" = true))]
    pub private: bool,
}

/// A question with its options, or with the levels of a scale.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(extend("oneOf" = [{ "required": ["options"] }, { "required": ["levels"] }]))]
pub struct Decision {
    /// The question. Models see only it and the options.
    pub question: DecisionText,
    /// 2 to 10 options.
    #[schemars(with = "Options")]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub options: Option<Options>,
    /// The levels of a scale, lowest first, instead of options: 2 to 11. Their median decides.
    #[schemars(with = "Levels")]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub levels: Option<Levels>,
    /// The lowest level that passes, but not the lowest of all. The poll stops once it surely passes or fails; a tie fails.
    #[schemars(with = "String")]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pass: Option<String>,
    /// Asks every model, even after the outcome is certain. Levels without a pass mark are always asked completely.
    #[serde(default)]
    #[schemars(extend("default" = false))]
    pub complete: bool,
}

/// The results of the questions.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub struct Decisions {
    /// The results, in the order of the questions.
    pub results: Vec<PollResult>,
    /// The tokens of all models for all questions, as far as the upstream reports them.
    pub usage: TokenUsage,
}

/// Returns the tokens of all models of polls.
pub fn usage_of(polls: &[PollState]) -> TokenUsage {
    TokenUsage::of(polls.iter().flat_map(|poll| poll.ballots.iter().map(AsRef::as_ref)))
}

impl ToolOutput for Decisions {
    fn add_notices(&mut self, notices: Vec<String>) {
        if let Some(first) = self.results.first_mut() {
            first.notices.extend(notices);
        }
    }
}

/// Returns the options or the levels of a question, which has one of the two; `index` names it in faults.
pub(super) fn one_of(
    options: Option<impl Into<Choices>>,
    levels: Option<impl Into<Levels>>,
    pass: Option<&str>,
    index: usize,
) -> Result<Choices, Fault> {
    let refused = |field: &str, advice| Fault::invalid(format!("questions[{index}]{field}"), advice);
    match (options, levels) {
        (Some(_), None) if pass.is_some() => {
            Err(refused(".pass", "needs levels; send levels instead of options, or leave pass out"))
        }
        (Some(options), None) => Ok(options.into()),
        (None, Some(levels)) => scale::choices(levels.into(), pass, &format!("questions[{index}].pass")),
        _ => Err(refused("", "send options, or levels for a scale: one of the two")),
    }
}

/// Checks the number of questions.
pub(super) fn counted<T>(questions: &[T]) -> Result<(), Fault> {
    if (1..=MAX_QUESTIONS).contains(&questions.len()) {
        return Ok(());
    }
    Err(Fault::invalid("questions", format!("send 1 to {MAX_QUESTIONS} questions")))
}

/// Opens a poll for each plan, all or none, and waits for their ends.
pub(super) async fn decide(cx: &Ctx, plans: Vec<Plan>, opener: Opener) -> Result<Decisions, Fault> {
    let ids = cx.open_polls(plans, opener).await?;
    let mut states = Vec::with_capacity(ids.len());
    for id in &ids {
        states.push(follow(cx, id, None).await?);
    }
    let unfinished = states.iter().find(|state| state.record.closing.is_none());
    if let Some(state) = unfinished {
        let id = state.record.id.clone();
        let message = format!("poll {id} has not ended yet; send the same request again later");
        return Err(Fault::new(Kind::PollFailed, message).about(id));
    }
    let costs = cx.caller.user().is_some();
    Ok(Decisions {
        results: states.iter().map(|state| PollResult::of(cx, state, costs)).collect(),
        usage: usage_of(&states),
    })
}

impl Tool for DecideQuestions {
    const SPEC: Spec = Spec {
        name: "decide_questions",
        title: "Decide several questions",
        summary: "Asks 1 to 8 multiple-choice questions at once, each a poll of its own, under one budget. For programs that \
                  need several decisions about the same text.",
        manual: include_str!("decide_questions.md"),
        example: include_str!("decide_questions.example.json"),
        access: Access::KEY,
        effect: Effect::Consult,
        cost: Cost::Metered,
        latency: Latency::Models,
        rest: Some(Rest::post("/api/decide")),
        task: Task::Decide,
        intents: &["decide several questions in one request"],
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
    type Input = DecisionRequest;
    type Output = Decisions;

    async fn other_mistakes(cx: &Ctx, input: &Value) -> Option<Fault> {
        NamedModels::mistakes(cx, input).await
    }

    async fn at_most(cx: &Ctx, request: DecisionRequest) -> Result<MicroUsd, Fault> {
        Ok(plans(cx, request).await?.iter().map(Plan::at_most).sum())
    }

    async fn call(cx: &Ctx, request: DecisionRequest) -> Result<Decisions, Fault> {
        let plans = plans(cx, request).await?;
        decide(cx, plans, opener(cx, None)).await
    }
}

/// Plans the poll of each question.
async fn plans(cx: &Ctx, request: DecisionRequest) -> Result<Vec<Plan>, Fault> {
    counted(&request.questions)?;
    let DecisionRequest { panel, preset, .. } = request;
    let named = NamedModels { panel, preset, models: None, exclude: None };
    let selection = named.select(cx, &Profile::Balanced.bundle().preset).await?;
    let threshold = request.confidence_threshold.or(selection.threshold).unwrap_or(Threshold::DEFAULT);
    let budget = shared(request.max_cost_usd.unwrap_or_default(), request.questions.len())?;
    let mut plans = Vec::with_capacity(request.questions.len());
    for (index, asked) in request.questions.iter().enumerate() {
        // The median of a scale is never tied.
        let on_tie = selection.on_tie.filter(|_| asked.levels.is_none()).unwrap_or_default();
        let draft = Draft {
            question: asked.question.clone().into(),
            options: one_of(asked.options.clone(), asked.levels.clone(), asked.pass.as_deref(), index)?,
            models: selection.models.clone(),
            panel: selection.panel.clone(),
            threshold,
            budget,
            pace: request.pace.unwrap_or(Pace::Balanced),
            private: request.private,
            explanations: None,
            complete: asked.complete,
            on_tie,
        };
        let plan = plan(cx, draft).await?;
        affordable(&plan)?;
        plans.push(plan);
    }
    Ok(plans)
}

/// Returns the share of a budget for each of these questions.
fn shared(budget: Budget, questions: usize) -> Result<Budget, Fault> {
    let share = MicroUsd::new(budget.amount().micro() / questions as i64);
    Budget::from_amount(share).map_err(|rule| Fault::invalid("max_cost_usd", rule.to_string()))
}

#[cfg(test)]
mod tests {
    use ep_kernel::Caller;
    use serde_json::json;

    use super::*;
    use crate::polls::DecideFreeQuestions;
    use crate::testing::Service;

    #[tokio::test]
    async fn several_questions_are_polls_of_their_own() {
        let service = Service::start().await;
        let user = service.program().await;
        let input = json!({
            "questions": [
                { "question": "Go?", "options": ["Yes", "No"] },
                { "question": "How good?", "levels": ["0", "1", "2", "3", "4", "5", "6", "7", "8", "9", "10"] },
            ],
            "private": true,
        });
        let done = service.call::<DecideQuestions>(&user, input).await.unwrap().value;
        let [choice, score] = done["results"].as_array().unwrap().as_slice() else { panic!("{done}") };
        assert_ne!(choice["poll_id"], score["poll_id"]);
        assert_eq!(choice["max_cost_usd"], 0.5);
        // A score asks the whole panel.
        assert_eq!(
            (&score["models_skipped"], &score["termination_reason"]),
            (&json!(0), &json!("roster_exhausted"))
        );
        assert!(choice["models_skipped"].as_u64().unwrap() > 0, "{choice}");
        assert!(score["costs"].is_object());
        assert!(score["scale"]["median"].is_string() && choice.get("scale").is_none());
        assert!(done["usage"]["prompt_tokens"].as_u64().unwrap() > 1000, "{}", done["usage"]);
    }

    #[tokio::test]
    async fn a_program_that_may_only_read_asks_nothing() {
        let service = Service::start().await;
        let Caller::Token { user, .. } = service.program().await else { panic!("no program") };
        let reader = Caller::Token { user, scope: Some(ep_store::KeyScope::Read) };
        let input = json!({ "questions": [{ "question": "Go?", "options": ["Yes", "No"] }] });
        let refused = service.call::<DecideQuestions>(&reader, input).await.unwrap_err();
        assert_eq!(refused.kind(), Kind::Forbidden);
    }

    #[tokio::test]
    async fn wrong_questions_are_refused() {
        let service = Service::start().await;
        let user = service.program().await;
        let options = ["Yes", "No"];
        let one = json!({ "question": "Go?", "options": options });
        for (questions, field) in [
            (json!([]), "questions"),
            (json!(vec![one.clone(); 9]), "questions"),
            (json!([{ "question": "Go?" }]), "questions[0]"),
            (json!([one, { "question": "Go?", "options": options, "levels": options }]), "questions[1]"),
        ] {
            let refused =
                service.call::<DecideQuestions>(&user, json!({ "questions": questions })).await.unwrap_err();
            assert_eq!((refused.kind(), refused.fields()[0].field.as_str()), (Kind::InvalidInput, field));
        }
    }

    #[tokio::test]
    async fn free_questions_have_the_limits_of_free_polls() {
        let service = Service::start().await;
        let call = |questions| {
            service.call::<DecideFreeQuestions>(const { &Caller::Local }, json!({ "questions": questions }))
        };
        let done = call(json!([{ "question": "Go?", "options": ["Yes", "No"] }])).await.unwrap().value;
        assert_eq!(done["results"][0]["preset"], "free");
        for question in [
            json!({ "question": "Go?", "options": ["1", "2", "3", "4", "5", "6"] }),
            json!({ "question": "Go?", "options": ["1", "2".repeat(51)] }),
            json!({ "question": "x".repeat(1001), "options": ["1", "2"] }),
        ] {
            assert_eq!(call(json!([question])).await.unwrap_err().kind(), Kind::InvalidInput);
        }
    }
}
