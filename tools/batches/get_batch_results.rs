//! `get_batch_results`: reads the results of a batch, in pages.

use ep_store::{BatchId, BatchStatus, RowKind};
use serde_json::{Map, Value};

use super::own_batch;
use crate::paging::{MAX_LIMIT, check_limit, default_limit};
use crate::prelude::*;

/// Reads the results of a batch.
pub struct GetBatchResults;

/// The page of results to read.
#[derive(Debug, Deserialize, JsonSchema)]
pub struct BatchResultsPage {
    /// The batch's id.
    #[schemars(with = "BatchId")]
    pub batch_id: String,
    /// True for the rows with an error, false for those with a result.
    #[serde(default)]
    #[schemars(extend("default" = false))]
    pub errors: bool,
    /// `next_after` of the page before.
    #[serde(default)]
    pub after: u32,
    /// Maximum number of rows.
    #[serde(default = "default_limit")]
    #[schemars(range(min = 1, max = MAX_LIMIT))]
    pub limit: u32,
}

/// A page of results.
#[derive(Debug, Serialize, JsonSchema)]
pub struct BatchResults {
    /// The state of the batch. Until it has ended, more rows can follow.
    pub status: BatchStatus,
    /// The results, in the order of the rows: `custom_id`, and `response` with `status_code` and `body`, or `error`.
    pub results: Vec<Map<String, Value>>,
    /// The `after` of the next page; null if there is none yet.
    pub next_after: Option<u32>,
}

impl ToolOutput for BatchResults {}

impl Tool for GetBatchResults {
    const SPEC: Spec = Spec {
        name: "get_batch_results",
        title: "Read the results of a batch",
        summary: "Returns the results of one of your batches, a page at a time, also while it runs. Free.",
        manual: include_str!("get_batch_results.md"),
        example: r#"{ "batch_id": "batch_3f2b8c1e5d4a4f6b9a7c8e1d2f3a4b5c", "limit": 20 }"#,
        access: Access::ACCOUNT,
        effect: Effect::Read,
        rest: Some(Rest::get("/api/batches/{batch_id}/results")),
        agents: Agents::Set(ToolSet::Labels),
        intents: &["results of my batch", "read the labels of a batch", "which rows of a batch failed"],
        faults: &[Kind::NotFound],
        ..Spec::PLAIN
    };
    type Input = BatchResultsPage;
    type Output = BatchResults;
    const NEEDS_ACCOUNT: bool = true;

    async fn call(cx: &Ctx, page: BatchResultsPage) -> Result<BatchResults, Fault> {
        check_limit(page.limit)?;
        let batch = own_batch(cx, &page.batch_id).await?;
        let kind = if page.errors { RowKind::Failed } else { RowKind::Completed };
        let found = cx.batches().results(&batch, kind, page.after, page.limit).await?;
        let next_after = found.last().map(|(number, _)| *number);
        let results = found.iter().map(|(_, line)| serde_json::from_str(line).map_err(Fault::internal));
        Ok(BatchResults { status: batch.status, results: results.collect::<Result<_, _>>()?, next_after })
    }
}
