//! `delete_evaluation`: deletes a stored evaluation.

use ep_store::EvaluationId;

use super::view::{id_of, not_found};
use crate::prelude::*;

/// Deletes an evaluation.
pub struct DeleteEvaluation;

/// The evaluation to delete.
#[derive(Debug, Deserialize, JsonSchema)]
pub struct EvaluationToDelete {
    /// The evaluation's id.
    #[schemars(with = "EvaluationId")]
    pub evaluation_id: String,
}

/// The response to a deletion.
#[derive(Debug, Serialize, JsonSchema)]
pub struct DeletedEvaluation {
    /// The evaluation's id.
    pub evaluation_id: EvaluationId,
    /// Always true.
    pub deleted: bool,
}

impl ToolOutput for DeletedEvaluation {}

impl Tool for DeleteEvaluation {
    const SPEC: Spec = Spec {
        name: "delete_evaluation",
        title: "Delete an evaluation",
        summary: "Deletes one of your stored evaluations and its page for good. Free.",
        manual: "Deletes a stored evaluation with its report and its page. Your gold rows and votes are not stored here.",
        example: r#"{ "evaluation_id": "eval_3f2b8c1e5d4a4f6b9a7c8e1d2f3a4b5c" }"#,
        access: Access::ACCOUNT,
        effect: Effect::Destroy,
        rest: Some(Rest::delete("/api/evaluations/{evaluation_id}")),
        agents: Agents::Set(ToolSet::Labels),
        intents: &["delete an evaluation", "remove my evaluation of models"],
        faults: &[Kind::NotFound],
        ..Spec::PLAIN
    };
    type Input = EvaluationToDelete;
    type Output = DeletedEvaluation;
    const NEEDS_ACCOUNT: bool = true;

    async fn call(cx: &Ctx, input: EvaluationToDelete) -> Result<DeletedEvaluation, Fault> {
        let evaluation_id = id_of(&input.evaluation_id)?;
        if cx.store().delete_evaluation(cx.account()?, evaluation_id).await? {
            Ok(DeletedEvaluation { evaluation_id, deleted: true })
        } else {
            Err(not_found(&input.evaluation_id))
        }
    }
}
