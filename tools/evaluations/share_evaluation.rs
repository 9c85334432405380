//! `share_evaluation`: lets everyone with the link read an evaluation.

use ep_store::EvaluationId;

use super::view::{StoredEvaluation, id_of, not_found};
use crate::prelude::*;

/// Shares an evaluation.
pub struct ShareEvaluation;

/// The evaluation to share.
#[derive(Debug, Deserialize, JsonSchema)]
pub struct EvaluationToShare {
    /// The evaluation's id.
    #[schemars(with = "EvaluationId")]
    pub evaluation_id: String,
    /// True for everyone with the link; false for its owner alone.
    pub shared: bool,
}

impl Tool for ShareEvaluation {
    const SPEC: Spec = Spec {
        name: "share_evaluation",
        title: "Share an evaluation",
        summary: "Lets everyone with the link read one of your evaluations, or only you. Free.",
        manual: "Lets everyone with the link read an evaluation and its page, or only its owner. The report has the questions and \
                 labels of rows on which the panel and the person differ.",
        example: r#"{ "evaluation_id": "eval_3f2b8c1e5d4a4f6b9a7c8e1d2f3a4b5c", "shared": true }"#,
        access: Access::ACCOUNT,
        effect: Effect::Write { idempotent: true },
        rest: Some(Rest::post("/api/evaluations/{evaluation_id}/share")),
        agents: Agents::Set(ToolSet::Labels),
        intents: &["share my evaluation", "show my evaluation of models to a colleague"],
        faults: &[Kind::NotFound],
        ..Spec::PLAIN
    };
    type Input = EvaluationToShare;
    type Output = StoredEvaluation;
    const NEEDS_ACCOUNT: bool = true;

    async fn call(cx: &Ctx, input: EvaluationToShare) -> Result<StoredEvaluation, Fault> {
        let (user, id) = (cx.account()?, id_of(&input.evaluation_id)?);
        cx.store().share_evaluation(user, id, input.shared).await?;
        let record = cx.store().evaluation(user, id).await?;
        let record = record.ok_or_else(|| not_found(&input.evaluation_id))?;
        Ok(StoredEvaluation::of(cx, &record))
    }
}
