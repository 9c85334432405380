//! `get_batch`: reads the state of a batch.

use ep_store::BatchId;

use super::batch_state::BatchState;
use super::own_batch;
use crate::prelude::*;

/// Reads a batch.
pub struct GetBatch;

/// The batch to read.
#[derive(Debug, Deserialize, JsonSchema)]
pub struct BatchToRead {
    /// The batch's id.
    #[schemars(with = "BatchId")]
    pub batch_id: String,
}

impl Tool for GetBatch {
    const SPEC: Spec = Spec {
        name: "get_batch",
        title: "Read a batch",
        summary: "Returns the state of one of your batches: how many rows have a result or an error, and the cost so far. \
                  Free.",
        manual: include_str!("get_batch.md"),
        example: r#"{ "batch_id": "batch_3f2b8c1e5d4a4f6b9a7c8e1d2f3a4b5c" }"#,
        access: Access::ACCOUNT,
        effect: Effect::Read,
        rest: Some(Rest::get("/api/batches/{batch_id}")),
        agents: Agents::Set(ToolSet::Labels),
        task: Task::ReadBatch,
        intents: &["how far is my batch", "state of a batch", "is my batch finished"],
        faults: &[Kind::NotFound],
        ..Spec::PLAIN
    };
    type Input = BatchToRead;
    type Output = BatchState;
    const NEEDS_ACCOUNT: bool = true;

    async fn call(cx: &Ctx, input: BatchToRead) -> Result<BatchState, Fault> {
        Ok(BatchState::of(cx, &own_batch(cx, &input.batch_id).await?))
    }
}
