//! `share_batch`: lets everyone with the link read the page of a batch.

use ep_store::BatchId;

use super::batch_state::BatchState;
use super::own_batch;
use crate::prelude::*;

/// Shares a batch.
pub struct ShareBatch;

/// The batch to share.
#[derive(Debug, Deserialize, JsonSchema)]
pub struct BatchToShare {
    /// The batch's id.
    #[schemars(with = "BatchId")]
    pub batch_id: String,
    /// True for everyone with the link; false for its owner alone.
    pub shared: bool,
}

impl Tool for ShareBatch {
    const SPEC: Spec = Spec {
        name: "share_batch",
        title: "Share a batch",
        summary: "Lets everyone with the link read the page of one of your batches, or only you. Free.",
        manual: include_str!("share_batch.md"),
        example: r#"{ "batch_id": "batch_3f2b8c1e5d4a4f6b9a7c8e1d2f3a4b5c", "shared": true }"#,
        access: Access::ACCOUNT,
        effect: Effect::Write { idempotent: true },
        rest: Some(Rest::post("/api/batches/{batch_id}/share")),
        agents: Agents::Set(ToolSet::Labels),
        intents: &["share my batch", "show my batch to a colleague", "make a batch private again"],
        faults: &[Kind::NotFound],
        ..Spec::PLAIN
    };
    type Input = BatchToShare;
    type Output = BatchState;
    const NEEDS_ACCOUNT: bool = true;

    async fn call(cx: &Ctx, input: BatchToShare) -> Result<BatchState, Fault> {
        let batch = own_batch(cx, &input.batch_id).await?;
        let batch = cx.batches().share(batch.user, batch.id, input.shared).await?;
        Ok(BatchState::of(cx, &batch))
    }
}
