//! The operations of batches at a service.

use std::path::Path;

use ep_kernel::Entry as Operation;
use ep_kernel::{Fault, Kind};
use ep_store::{BatchError, BatchId, BatchStatus};
use ep_tools::batches::{CancelBatch, CreateBatch, GetBatch, GetBatchResults, ListBatches};
use ep_tools::entry_of;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use super::open_batch::{LABEL, OpenBatch};
use crate::asking::patience::patiently;
use crate::operations::Operations;

/// Results that are read together.
pub(crate) const PAGE: usize = 50;
/// The longest name of a batch, in characters.
const LONGEST_NAME: usize = 200;
/// Batches that are listed together.
const LISTED: u32 = 100;

/// The batches of an account at a service.
pub(crate) struct BatchService<'s, O> {
    operations: &'s O,
    /// The URL of the service.
    pub(crate) url: &'s str,
    /// The name of new batches: that of the file of rows.
    pub(crate) name: Option<String>,
    create: &'static Operation,
    get: &'static Operation,
    list: &'static Operation,
    results: &'static Operation,
    cancel: &'static Operation,
}

/// A page of results.
#[derive(Debug, Deserialize)]
pub(crate) struct Page {
    pub(crate) status: BatchStatus,
    pub(crate) results: Vec<RowResult>,
    pub(crate) next_after: Option<u32>,
}

/// The result of a row.
#[derive(Debug, Deserialize)]
pub(crate) struct RowResult {
    pub(crate) custom_id: String,
    pub(crate) response: Option<RowResponse>,
    pub(crate) error: Option<NotAsked>,
}

/// The response to the request of a row.
#[derive(Debug, Deserialize)]
pub(crate) struct RowResponse {
    pub(crate) status_code: u16,
    pub(crate) body: Value,
}

/// The reason why a row was not asked.
#[derive(Debug, Deserialize)]
pub(crate) struct NotAsked {
    pub(crate) message: String,
}

/// The state of a batch.
#[derive(Debug, Deserialize)]
struct State {
    batch_id: BatchId,
    #[serde(default)]
    page_url: Option<String>,
    errors: Vec<BatchError>,
    #[serde(default)]
    metadata: serde_json::Map<String, Value>,
}

#[derive(Debug, Deserialize)]
struct List {
    batches: Vec<State>,
    next_cursor: Option<String>,
}

/// A batch that was created.
pub(crate) struct Created {
    pub(crate) id: BatchId,
    /// True if an earlier request has created it.
    pub(crate) is_old: bool,
    /// The URL of its page.
    pub(crate) page: Option<String>,
}

impl<'s, O: Operations> BatchService<'s, O> {
    pub(crate) fn new(operations: &'s O, url: &'s str, input: &Path) -> anyhow::Result<Self> {
        let name = input.file_name().map(|name| name.to_string_lossy().into_owned());
        let name = name.filter(|name| name != "-" && !name.contains(char::is_control));
        Ok(Self {
            operations,
            url,
            name: name.filter(|name| name.chars().count() <= LONGEST_NAME),
            create: entry_of::<CreateBatch>()?,
            get: entry_of::<GetBatch>()?,
            list: entry_of::<ListBatches>()?,
            results: entry_of::<GetBatchResults>()?,
            cancel: entry_of::<CancelBatch>()?,
        })
    }

    /// Creates a batch, or finds the one of an earlier request.
    pub(crate) async fn create(&self, batch: &OpenBatch) -> Result<Created, Fault> {
        let (request, key) = (batch.request(), &batch.reference);
        let reply =
            patiently(async || self.operations.call_once(self.create, request.clone(), key).await).await?;
        let State { batch_id: id, page_url: page, .. } = decoded(reply.value)?;
        Ok(Created { id, is_old: reply.is_replayed, page })
    }

    /// Finds a batch by its reference. The service forgets an Idempotency-Key earlier than a batch.
    pub(crate) async fn find(&self, reference: &str) -> Result<Option<BatchId>, Fault> {
        let mut cursor: Option<String> = None;
        loop {
            let page = json!({ "limit": LISTED, "cursor": cursor });
            let List { batches, next_cursor } = self.call(self.list, without_null(page)).await?;
            let found =
                batches.iter().find(|batch| batch.metadata.get(LABEL).is_some_and(|name| name == reference));
            match (found, next_cursor) {
                (Some(batch), _) => return Ok(Some(batch.batch_id)),
                (None, Some(next)) => cursor = Some(next),
                (None, None) => return Ok(None),
            }
        }
    }

    /// Reads results of rows with higher numbers than `after`.
    pub(crate) async fn results(&self, id: BatchId, errors: bool, after: u32) -> Result<Page, Fault> {
        let page = json!({ "batch_id": id, "errors": errors, "after": after, "limit": PAGE });
        self.call(self.results, page).await
    }

    /// Returns the first error of a batch that was refused.
    pub(crate) async fn refusal(&self, id: BatchId) -> Result<BatchError, Fault> {
        let State { errors, .. } = self.call(self.get, json!({ "batch_id": id })).await?;
        let first = errors.into_iter().next();
        first.ok_or_else(|| Fault::internal("a batch was refused without a reason"))
    }

    /// Cancels a batch, unless it has ended.
    pub(crate) async fn cancel(&self, id: BatchId) -> Result<(), Fault> {
        match self.call::<Value>(self.cancel, json!({ "batch_id": id })).await {
            Err(fault) if fault.kind() != Kind::Conflict => Err(fault),
            _ => Ok(()),
        }
    }

    async fn call<T: DeserializeOwned>(
        &self,
        operation: &'static Operation,
        input: Value,
    ) -> Result<T, Fault> {
        let reply = patiently(async || self.operations.call(operation, input.clone()).await).await?;
        decoded(reply)
    }
}

fn decoded<T: DeserializeOwned>(reply: Value) -> Result<T, Fault> {
    serde_json::from_value(reply).map_err(Fault::internal)
}

fn without_null(mut input: Value) -> Value {
    if let Value::Object(members) = &mut input {
        members.retain(|_, value| !value.is_null());
    }
    input
}
