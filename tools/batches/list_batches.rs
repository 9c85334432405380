//! `list_batches`: lists the batches of an account, in pages.

use ep_kernel::batch_id::BatchId;
use ep_kernel::ctx::Ctx;
use ep_kernel::fault::Fault;
use ep_kernel::ports::ListPosition;
use ep_kernel::tool::{Access, Agents, Cost, Effect, Latency, Rate, Rest, Spec, Task, Tool, ToolOutput};
use ep_polling::time::Timestamp;
use schemars::{JsonSchema, Schema};
use serde::{Deserialize, Serialize};

use super::batch_state::BatchState;
use crate::paging::{MAX_LIMIT, check_limit, default_limit, malformed_cursor};

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
    #[serde(default)]
    #[schemars(transform = describe_cursor)]
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
        cost: Cost::Free,
        latency: Latency::Instant,
        rate: Rate::Default,
        rest: Some(Rest::get("/api/batches")),
        stream: None,
        agents: Agents::Extended,
        task: Task::None,
        intents: &["list my batches", "which batches are running", "show my batches"],
        faults: &[],
    };
    type Input = BatchPage;
    type Output = BatchList;
    const NEEDS_ACCOUNT: bool = true;

    async fn call(cx: &Ctx, page: BatchPage) -> Result<BatchList, Fault> {
        check_limit(page.limit)?;
        let after = page.cursor.as_deref().map(position).transpose()?;
        // One extra batch shows that there is a next page.
        let mut found = cx.batches().batches_of(cx.account()?, after, page.limit + 1).await?;
        let more = found.len() > page.limit as usize;
        found.truncate(page.limit as usize);
        let last = found.last().filter(|_| more);
        let next_cursor = last.map(|batch| format!("{}.{}", batch.created_at.millis(), batch.id));
        Ok(BatchList { batches: found.iter().map(|batch| BatchState::of(cx, batch)).collect(), next_cursor })
    }
}

/// Adds the pattern of cursors to their schema.
fn describe_cursor(schema: &mut Schema) {
    let id = BatchId::PATTERN.trim_start_matches('^');
    schema.insert("pattern".to_owned(), format!(r"^[0-9]{{1,15}}\.{id}").into());
}

/// Reads a cursor: the time and the id of a batch.
fn position(cursor: &str) -> Result<ListPosition<BatchId>, Fault> {
    let (at, id) = cursor.split_once('.').ok_or_else(malformed_cursor)?;
    let at = Timestamp::from_millis(at.parse().map_err(|_| malformed_cursor())?);
    Ok(ListPosition { at, id: id.parse().map_err(|_| malformed_cursor())? })
}
