//! `list_evaluations`: lists the evaluations of the caller's account.

use ep_store::MAX_EVALUATIONS;

use super::view::StoredEvaluation;
use crate::prelude::*;

/// Lists evaluations.
pub struct ListEvaluations;

/// The evaluations of an account.
#[derive(Debug, Serialize, JsonSchema)]
pub struct EvaluationList {
    /// The evaluations, newest first.
    pub evaluations: Vec<StoredEvaluation>,
}

impl ToolOutput for EvaluationList {}

impl Tool for ListEvaluations {
    const SPEC: Spec = Spec {
        name: "list_evaluations",
        title: "List your evaluations",
        summary: "Lists the evaluations of models that your account has stored, newest first, without their reports. Free.",
        manual: "Lists the stored evaluations of your account, at most 100. `get_evaluation` returns a report.",
        access: Access::ACCOUNT,
        effect: Effect::Read,
        rest: Some(Rest::get("/api/evaluations")),
        agents: Agents::Set(ToolSet::Labels),
        intents: &["list my evaluations", "which evaluations of models do I have"],
        ..Spec::PLAIN
    };
    type Input = Nothing;
    type Output = EvaluationList;
    const NEEDS_ACCOUNT: bool = true;

    async fn call(cx: &Ctx, _: Nothing) -> Result<EvaluationList, Fault> {
        let found = cx.store().evaluations_of(cx.account()?, MAX_EVALUATIONS).await?;
        Ok(EvaluationList {
            evaluations: found.iter().map(|record| StoredEvaluation::of(cx, record)).collect(),
        })
    }
}
