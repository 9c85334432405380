//! Batches: many questions in one request, answered in the background.

mod answer;
mod batch_state;
mod cancel_batch;
mod create_batch;
mod get_batch;
mod get_batch_results;
mod get_batch_review;
mod list_batches;
mod review_batch_row;
mod share_batch;

use ep_kernel::batches::no_such_batch;
use ep_kernel::fault::shown;
use ep_kernel::tool::Method;
use ep_kernel::{Ctx, Effect, Entry, Fault, Kind, Latency};
use ep_store::{BatchId, BatchRecord};
use serde_json::{Map, Value};

pub use answer::answer_of;
pub use batch_state::{BATCH_PAGE, BatchState, status_text};
pub use cancel_batch::CancelBatch;
pub use create_batch::{CreateBatch, MAX_BODY, MAX_INLINE_ROWS, has_models, labels};
pub use get_batch::GetBatch;
pub use get_batch_results::GetBatchResults;
pub use get_batch_review::{BatchReview, GetBatchReview, ReviewRow};
pub use list_batches::{BatchList, ListBatches};
pub use review_batch_row::ReviewBatchRow;
pub use share_batch::ShareBatch;

/// Returns the operation that the rows of a batch can call at this path: one that asks models and waits for them.
pub fn operation_of_rows(path: &str) -> Option<&'static Entry> {
    operations_of_rows().find(|entry| entry.spec.rest.is_some_and(|rest| rest.path == path))
}

/// Returns the paths of all operations that rows can call.
pub fn batch_endpoints() -> impl Iterator<Item = &'static str> {
    operations_of_rows().filter_map(|entry| entry.spec.rest.map(|rest| rest.path))
}

fn operations_of_rows() -> impl Iterator<Item = &'static Entry> {
    crate::TOOLS.iter().filter(|entry| {
        let spec = &entry.spec;
        let is_post = spec.rest.is_some_and(|rest| rest.method == Method::Post);
        is_post && spec.effect == Effect::Consult && spec.latency == Latency::Models && spec.access.key
    })
}

/// Arguments that name the models. A row has one of them.
const MODELS: [&str; 3] = ["panel", "preset", "models"];

/// Returns the arguments of a batch without those that name models, which are long.
fn without_models(mut defaults: Map<String, Value>) -> Map<String, Value> {
    for name in MODELS {
        defaults.remove(name);
    }
    defaults
}

/// Returns the arguments of a row: those of its batch, unless the row has its own.
pub fn with_defaults(mut defaults: Map<String, Value>, row: Map<String, Value>) -> Map<String, Value> {
    if MODELS.iter().any(|name| row.contains_key(*name)) {
        defaults = without_models(defaults);
    }
    // The median of a scale is never tied.
    if row.contains_key("scale") {
        defaults.remove("on_tie");
    }
    defaults.extend(row);
    defaults
}

/// Returns the batch with this id if the caller may read its page: its owner, or everyone if it is shared.
async fn readable_batch(cx: &Ctx, id: &str) -> Result<BatchRecord, Fault> {
    let missing = || {
        let id = shown(id, 64);
        Fault::new(Kind::NotFound, format!("there is no batch {id} that you may read"))
    };
    let batch: BatchId = id.parse().map_err(|_| missing())?;
    if let Some(user) = cx.caller.user() {
        match cx.batches().batch(user, batch).await {
            Err(fault) if fault.kind() == Kind::NotFound => {}
            own => return own,
        }
    }
    cx.store().shared_batch(batch).await?.ok_or_else(missing)
}

/// Returns the caller's batch with this id.
async fn own_batch(cx: &Ctx, id: &str) -> Result<BatchRecord, Fault> {
    // An invalid id names no batch.
    let batch = id.parse().map_err(|_| no_such_batch(id))?;
    cx.batches().batch(cx.account()?, batch).await
}
