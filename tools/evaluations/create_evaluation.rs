//! `create_evaluation`: stores an evaluation of models on gold labels.

use ep_polling::evaluation::report::Evaluation;
use ep_polling::text::single_line;
use ep_store::{EvaluationId, EvaluationRecord};

use super::view::StoredEvaluation;
use crate::prelude::*;

/// Stores an evaluation.
pub struct CreateEvaluation;

/// Maximum size of a request, in bytes.
const MAX_BODY: usize = 1 << 20;
/// Maximum length of a title, in characters.
const LONGEST_TITLE: usize = 200;

/// The evaluation to store.
#[derive(Debug, Deserialize, JsonSchema)]
pub struct EvaluationToStore {
    /// Its title, for example the name of the file of gold rows.
    #[schemars(length(min = 1, max = LONGEST_TITLE))]
    pub title: String,
    /// The report, as `ep panel evaluate --json` prints it.
    pub report: Evaluation,
}

impl Tool for CreateEvaluation {
    const SPEC: Spec = Spec {
        name: "create_evaluation",
        title: "Store an evaluation",
        summary: "Stores a report of `ep panel evaluate`, which judges models on rows that a person labelled, and gives it a \
                  page. Free.",
        manual: include_str!("create_evaluation.md"),
        example: include_str!("create_evaluation.example.json"),
        access: Access::ACCOUNT,
        effect: Effect::Write { idempotent: false },
        rest: Some(Rest::post("/api/evaluations").status(201).max_body(MAX_BODY)),
        intents: &["store an evaluation of models", "publish the report of a panel evaluation"],
        faults: &[Kind::Conflict],
        ..Spec::PLAIN
    };
    type Input = EvaluationToStore;
    type Output = StoredEvaluation;
    const NEEDS_ACCOUNT: bool = true;

    async fn call(cx: &Ctx, input: EvaluationToStore) -> Result<StoredEvaluation, Fault> {
        let user = cx.account()?;
        let title = single_line(&input.title);
        if !(1..=LONGEST_TITLE).contains(&title.chars().count()) {
            return Err(Fault::invalid("title", format!("must have 1 to {LONGEST_TITLE} characters")));
        }
        input
            .report
            .check()
            .map_err(|error| Fault::invalid(format!("report.{}", error.field), error.rule))?;
        let report = serde_json::to_string(&input.report).map_err(Fault::internal)?;
        let id = EvaluationId::from_random(cx.random());
        let created_at = cx.clock().now();
        let record = EvaluationRecord { id, name: title, report, shared: false, created_at };
        cx.store().add_evaluation(user, &record).await?;
        Ok(StoredEvaluation::of(cx, &record))
    }
}
