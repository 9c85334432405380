//! `review_batch_row`: stores the choice of a person for a row of a batch.

use ep_kernel::batches::{MAX_ROWS, no_such_row};
use ep_store::BatchId;

use super::own_batch;
use crate::prelude::*;

/// Reviews a row.
pub struct ReviewBatchRow;

/// The choice to store.
#[derive(Debug, Deserialize, JsonSchema)]
pub struct RowToReview {
    /// The batch's id.
    #[schemars(with = "BatchId")]
    pub batch_id: String,
    /// The number of the row.
    #[schemars(range(min = 1, max = MAX_ROWS))]
    pub row: u32,
    /// One of the row's options. Without one, the review is removed.
    pub option: Option<String>,
}

/// A reviewed row.
#[derive(Debug, Serialize, JsonSchema)]
pub struct ReviewedRow {
    /// The batch's id.
    pub batch_id: BatchId,
    /// The number of the row.
    pub row: u32,
    /// The option that a person chose; null without a review.
    pub reviewed: Option<String>,
}

impl ToolOutput for ReviewedRow {}

impl Tool for ReviewBatchRow {
    const SPEC: Spec = Spec {
        name: "review_batch_row",
        title: "Review a row of a batch",
        summary: "Stores the option that a person chose for a row of one of your batches, beside the answer of the models. Free.",
        manual: include_str!("review_batch_row.md"),
        example: r#"{ "batch_id": "batch_3f2b8c1e5d4a4f6b9a7c8e1d2f3a4b5c", "row": 1, "option": "Positive" }"#,
        access: Access::ACCOUNT,
        effect: Effect::Write { idempotent: true },
        rest: Some(Rest::post("/api/batches/{batch_id}/review")),
        agents: Agents::Set(ToolSet::Labels),
        intents: &[
            "correct the answer of a row",
            "store my review of a batch row",
            "label a row of my batch by hand",
        ],
        faults: &[Kind::NotFound],
        ..Spec::PLAIN
    };
    type Input = RowToReview;
    type Output = ReviewedRow;
    const NEEDS_ACCOUNT: bool = true;

    async fn call(cx: &Ctx, input: RowToReview) -> Result<ReviewedRow, Fault> {
        let RowToReview { batch_id, row, option } = input;
        let batch = own_batch(cx, &batch_id).await?;
        if let Some(option) = &option {
            check(cx, batch.id, row, option).await?;
        }
        cx.batches().review(&batch, row, option.as_deref()).await?;
        Ok(ReviewedRow { batch_id: batch.id, row, reviewed: option })
    }
}

/// Rejects a choice that is none of the row's options.
async fn check(cx: &Ctx, batch: BatchId, row: u32, option: &str) -> Result<(), Fault> {
    let poll = cx.polls().only_poll_of(&batch.reference(row)).await?;
    let poll = poll.ok_or_else(|| no_such_row(batch, row))?;
    let options = &poll.record.plan.options;
    if options.iter().any(|known| known == option) {
        return Ok(());
    }
    Err(Fault::invalid("option", format!("must be one of {}", options.join(", "))))
}
