//! `cancel_batch`: ends a batch early.

use super::batch_state::BatchState;
use super::get_batch::BatchToRead;
use super::own_batch;
use crate::prelude::*;

/// Cancels a batch.
pub struct CancelBatch;

impl Tool for CancelBatch {
    const SPEC: Spec = Spec {
        name: "cancel_batch",
        title: "Cancel a batch",
        summary: "Ends one of your batches early. Rows that were begun are finished; the others are not asked.",
        manual: include_str!("cancel_batch.md"),
        example: r#"{ "batch_id": "batch_3f2b8c1e5d4a4f6b9a7c8e1d2f3a4b5c" }"#,
        access: Access::ACCOUNT,
        effect: Effect::Stop,
        rest: Some(Rest::post("/api/batches/{batch_id}/cancel")),
        agents: Agents::Set(ToolSet::Labels),
        task: Task::CancelBatch,
        intents: &["cancel my batch", "stop a batch", "end a batch early"],
        faults: &[Kind::NotFound, Kind::Conflict],
        ..Spec::PLAIN
    };
    type Input = BatchToRead;
    type Output = BatchState;
    const NEEDS_ACCOUNT: bool = true;

    async fn call(cx: &Ctx, input: BatchToRead) -> Result<BatchState, Fault> {
        let batch = own_batch(cx, &input.batch_id).await?;
        let cancelled = cx.batches().cancel(batch.user, batch.id).await?;
        Ok(BatchState::of(cx, &cancelled))
    }
}
