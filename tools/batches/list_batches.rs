//! `list_batches`: lists the batches of an account, in pages.

use ep_store::{BatchRecord, ListPosition};

use super::batch_state::BatchState;
use crate::paging::{self, BatchCursor, MAX_LIMIT, check_limit, default_limit};
use crate::prelude::*;

/// Lists batches.
pub struct ListBatches;

/// The page to list.
#[derive(Debug, Deserialize, JsonSchema)]
pub struct BatchPage {
    /// Maximum number of batches.
    #[serde(default = "default_limit")]
    #[schemars(range(min = 1, max = MAX_LIMIT))]
    pub limit: u32,
    /// `next_cursor` of the page before.
    #[schemars(transform = BatchCursor::describe)]
    pub cursor: Option<String>,
}

/// A page of an account's batches.
#[derive(Debug, Serialize, JsonSchema)]
pub struct BatchList {
    /// The batches, newest first.
    pub batches: Vec<BatchState>,
    /// Cursor of the next page; null on the last one.
    pub next_cursor: Option<String>,
}

impl ToolOutput for BatchList {}

impl Tool for ListBatches {
    const SPEC: Spec = Spec {
        name: "list_batches",
        title: "List your batches",
        summary: "Lists your batches of the last 30 days with their states and costs, newest first. Free.",
        manual: include_str!("list_batches.md"),
        example: r#"{ "limit": 10 }"#,
        access: Access::ACCOUNT,
        effect: Effect::Read,
        rest: Some(Rest::get("/api/batches")),
        agents: Agents::Set(ToolSet::Labels),
        intents: &["list my batches", "which batches are running", "show my batches"],
        ..Spec::PLAIN
    };
    type Input = BatchPage;
    type Output = BatchList;
    const NEEDS_ACCOUNT: bool = true;

    async fn call(cx: &Ctx, page: BatchPage) -> Result<BatchList, Fault> {
        check_limit(page.limit)?;
        let after: Option<BatchCursor> = page.cursor.map(|cursor| cursor.parse()).transpose()?;
        let after = after.map(|BatchCursor { at, id }| ListPosition { at, id });
        let found = cx.store().batches_of(cx.account()?, after, page.limit + 1).await?;
        let cursor = |batch: &BatchRecord| BatchCursor { at: batch.created_at, id: batch.id };
        let (found, next_cursor) = paging::page(found, page.limit, cursor);
        Ok(BatchList { batches: found.iter().map(|batch| BatchState::of(cx, batch)).collect(), next_cursor })
    }
}
