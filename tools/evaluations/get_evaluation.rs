//! `get_evaluation`: reads a stored evaluation.

use ep_polling::evaluation::report::Evaluation;
use ep_store::EvaluationId;

use super::view::{StoredEvaluation, id_of, not_found};
use crate::prelude::*;

/// Reads an evaluation.
pub struct GetEvaluation;

/// The evaluation to read.
#[derive(Debug, Deserialize, JsonSchema)]
pub struct EvaluationToRead {
    /// The evaluation's id.
    #[schemars(with = "EvaluationId")]
    pub evaluation_id: String,
}

/// A stored evaluation with its report.
#[derive(Debug, Serialize, JsonSchema)]
pub struct ReadEvaluation {
    /// The evaluation.
    #[serde(flatten)]
    pub stored: StoredEvaluation,
    /// True if the caller owns it.
    pub own: bool,
    /// The report.
    pub report: Evaluation,
}

impl ToolOutput for ReadEvaluation {}

impl Tool for GetEvaluation {
    const SPEC: Spec = Spec {
        name: "get_evaluation",
        title: "Read an evaluation",
        summary: "Returns the report of one of your evaluations, or of a shared one: how often models and panels are right on \
                  labelled rows. Free.",
        manual: include_str!("get_evaluation.md"),
        example: r#"{ "evaluation_id": "eval_3f2b8c1e5d4a4f6b9a7c8e1d2f3a4b5c" }"#,
        access: Access::PUBLIC,
        effect: Effect::Read,
        rate: Rate::Results,
        rest: Some(Rest::get("/api/evaluations/{evaluation_id}")),
        agents: Agents::Set(ToolSet::Labels),
        intents: &["read an evaluation of models", "how accurate are the models on my labels"],
        faults: &[Kind::NotFound],
        ..Spec::PLAIN
    };
    type Input = EvaluationToRead;
    type Output = ReadEvaluation;

    async fn call(cx: &Ctx, input: EvaluationToRead) -> Result<ReadEvaluation, Fault> {
        let id = id_of(&input.evaluation_id)?;
        let own = match cx.caller.user() {
            Some(user) => cx.store().evaluation(user, id).await?,
            None => None,
        };
        let is_own = own.is_some();
        let record = if is_own { own } else { cx.store().shared_evaluation(id).await? };
        let record = record.ok_or_else(|| not_found(&input.evaluation_id))?;
        let report = serde_json::from_str(&record.report).map_err(Fault::internal)?;
        Ok(ReadEvaluation { stored: StoredEvaluation::of(cx, &record), own: is_own, report })
    }
}
