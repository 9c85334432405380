//! Batches: many questions in one request, answered in the background.

mod batch_state;
mod cancel_batch;
mod create_batch;
mod get_batch;
mod get_batch_results;
mod list_batches;

use ep_kernel::batches::no_such_batch;
use ep_kernel::ctx::Ctx;
use ep_kernel::fault::Fault;
use ep_kernel::ports::BatchRecord;
use ep_kernel::tool::{Effect, Entry, Latency, Method};
use serde_json::{Map, Value};

pub use batch_state::BatchState;
pub use cancel_batch::CancelBatch;
pub use create_batch::{CreateBatch, has_models, labels};
pub use get_batch::GetBatch;
pub use get_batch_results::GetBatchResults;
pub use list_batches::ListBatches;

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

/// Returns the arguments of a row: those of its batch, unless the row has its own.
pub fn with_defaults(mut defaults: Map<String, Value>, row: Map<String, Value>) -> Map<String, Value> {
    /// Arguments that name the models. A row has one of them.
    const MODELS: [&str; 3] = ["panel", "preset", "models"];
    if MODELS.iter().any(|name| row.contains_key(*name)) {
        for name in MODELS {
            defaults.remove(name);
        }
    }
    // The median of a scale is never tied.
    if row.contains_key("scale") {
        defaults.remove("on_tie");
    }
    defaults.extend(row);
    defaults
}

/// Returns the caller's batch with this id.
async fn own_batch(cx: &Ctx, id: &str) -> Result<BatchRecord, Fault> {
    // An invalid id names no batch.
    let batch = id.parse().map_err(|_| no_such_batch(id))?;
    cx.batches().batch(cx.account()?, batch).await
}
