//! `/v1/batches`: batches in OpenAI's shape, over the same service as the operations.

use std::time::Duration;

use axum::body::Body;
use axum::http::{HeaderMap, Response};
use ep_kernel::batches::{RETENTION, no_such_batch};
use ep_kernel::guard::Admission;
use ep_kernel::idempotency::check_key;
use ep_kernel::{BatchRequest, BatchRows, CreatedBatch, Fault, Kind};
use ep_polling::{Budget, MicroUsd, Threshold, Usd};
use ep_site::http::{AppState, Exchange, json as json_response, read_json, replayed};
use ep_store::{BatchId, BatchRecord, BatchStatus, BatchTerms, FileId, ListPosition};
use ep_tools::batches::{has_models, labels};
use serde_json::{Map, Value, json};

use super::decide::read_terms;
use super::lists::{account, page, path_id, query, seconds};
use super::request::{object, present};
use super::responses::usage_object;
use super::retries::is_retry;
use super::upload::retention;

/// Maximum number of batches on a page (OpenAI's limit).
const MAX_PAGE: u32 = 100;
/// The usual number of batches on a page (OpenAI's).
const USUAL_PAGE: u32 = 20;
/// Time within which a client repeats a request.
const REPEATED_WITHIN: Duration = Duration::from_mins(10);

/// Creates a batch.
pub(super) async fn create(exchange: Exchange, admission: Admission) -> Result<Response<Body>, Fault> {
    let user = account(&admission)?;
    let Exchange { state, head, request, max_body, .. } = exchange;
    has_models(&*state.app.ports.models).await?;
    let (parts, body) = request.into_parts();
    let body = read_json(&parts.headers, body, max_body).await?;
    let body = object(&body)?;
    let text = |name: &str| present(body, name).and_then(Value::as_str);
    let needed = |name: &str, rule: &str| text(name).ok_or_else(|| Fault::invalid(name, rule));
    let file = needed("input_file_id", "must be the id of a file: upload the requests to /v1/files first")?;
    let file = file.parse().map_err(|_| Fault::invalid("input_file_id", "must be the id of a file"))?;
    if present(body, "completion_window").is_some_and(|window| window != "24h") {
        return Err(Fault::invalid("completion_window", "must be 24h"));
    }
    let endpoint =
        needed("endpoint", "must be the url of the requests, such as /v1/chat/completions")?.to_owned();
    let metadata = match present(body, "metadata") {
        None => Map::new(),
        Some(Value::Object(metadata)) => labels(metadata.clone())?,
        Some(_) => return Err(Fault::invalid("metadata", "must be an object of texts")),
    };
    let keep = match present(body, "output_expires_after") {
        None => RETENTION,
        Some(after) => {
            retention(after["anchor"].as_str(), after["seconds"].as_u64(), "output_expires_after")?
        }
    };
    let (defaults, max_cost) = terms(&parts.headers)?;
    let key = head.idempotency_key.as_deref().map(check_key).transpose()?;
    let request = BatchRequest {
        user,
        key: admission.caller.capped_key().map(|capped| capped.key),
        terms: BatchTerms { endpoint, defaults, max_cost, metadata },
        keep,
        notify: None,
        request_ref: key.map(|key| format!("v1-batch-{user}-{key}")),
    };
    let repeated = if is_retry(&parts.headers) { repeated(&state, &request, file).await? } else { None };
    let CreatedBatch { record, is_repeated } = match repeated {
        Some(record) => CreatedBatch { record, is_repeated: true },
        None => create_new(&state, request, file).await?,
    };
    let mut response = json_response(200, &shown(&record));
    if is_repeated {
        replayed(&mut response);
    }
    Ok(response)
}

/// Creates a batch, or finds the one that an earlier request with the same key has created.
async fn create_new(state: &AppState, request: BatchRequest, file: FileId) -> Result<CreatedBatch, Fault> {
    let terms = request.terms.clone();
    let created = state.app.ports.batches.create(request, BatchRows::File(file)).await?;
    if created.record.file == file && created.record.terms == terms {
        return Ok(created);
    }
    let text = "this Idempotency-Key was used with another request; send the same request, or a new key";
    Err(Fault::new(Kind::IdempotencyMismatch, text))
}

/// Returns the batch that an earlier attempt of the same request has created.
async fn repeated(
    state: &AppState,
    request: &BatchRequest,
    file: FileId,
) -> Result<Option<BatchRecord>, Fault> {
    let since = state.app.ports.clock.now().before(REPEATED_WITHIN);
    let newest = state.app.ports.store.batches_of(request.user, None, USUAL_PAGE).await?;
    let is_same = |batch: &BatchRecord| {
        let is_same = batch.file == file && batch.terms == request.terms;
        is_same && batch.created_at > since && batch.status != BatchStatus::Failed
    };
    Ok(newest.into_iter().find(is_same))
}

/// Reads the headers that set the terms of all rows, and the most to spend for them.
fn terms(headers: &HeaderMap) -> Result<(Map<String, Value>, Option<MicroUsd>), Fault> {
    let mut members = read_terms(headers)?;
    if let Some(threshold) = members.get("confidence_threshold") {
        let checked = serde_json::from_value::<Threshold>(threshold.clone());
        checked.map_err(|rule| Fault::invalid("poll-confidence-threshold", rule.to_string()))?;
    }
    let private = headers.get("poll-private").map(|value| value.to_str().unwrap_or_default().trim());
    if private.is_some_and(|value| !["true", "false"].contains(&&*value.to_ascii_lowercase())) {
        return Err(Fault::invalid("poll-private", "must be true or false"));
    }
    let Some(most) = members.remove("max_cost_usd") else { return Ok((members, None)) };
    let rule = "must be a number of USD greater than 0: the most to spend for the whole batch";
    let most: Budget = serde_json::from_value(most).map_err(|_| Fault::invalid("poll-max-cost-usd", rule))?;
    Ok((members, Some(most.amount())))
}

/// Lists the batches of the account, newest first.
pub(super) async fn list(exchange: Exchange, admission: Admission) -> Result<Response<Body>, Fault> {
    let user = account(&admission)?;
    let batches = &exchange.state.app.ports.batches;
    let query = query(exchange.request.uri().query());
    let limit = query.limit(USUAL_PAGE, MAX_PAGE)?;
    let after = match query.get("after") {
        None => None,
        Some(id) => {
            let id: BatchId = id.parse().map_err(|_| no_such_batch(id))?;
            Some(ListPosition { at: batches.batch(user, id).await?.created_at, id })
        }
    };
    let found = exchange.state.app.ports.store.batches_of(user, after, limit + 1).await?;
    Ok(json_response(200, &page(found.iter().map(shown).collect(), limit)))
}

/// Returns one batch.
pub(super) async fn read(exchange: Exchange, admission: Admission) -> Result<Response<Body>, Fault> {
    let user = account(&admission)?;
    let batch = exchange.state.app.ports.batches.batch(user, batch_of(&exchange)?).await?;
    Ok(json_response(200, &shown(&batch)))
}

/// Cancels a batch.
pub(super) async fn cancel(exchange: Exchange, admission: Admission) -> Result<Response<Body>, Fault> {
    let user = account(&admission)?;
    let batch = exchange.state.app.ports.batches.cancel(user, batch_of(&exchange)?).await?;
    Ok(json_response(200, &shown(&batch)))
}

/// Returns the id of the requested batch.
fn batch_of(exchange: &Exchange) -> Result<BatchId, Fault> {
    let id = path_id(exchange)?;
    id.parse().map_err(|_| no_such_batch(&id))
}

/// Returns a batch as the API shows it.
fn shown(batch: &BatchRecord) -> Value {
    let ended = |status: BatchStatus| batch.ended_at.filter(|_| batch.status == status).map(seconds);
    let errors = (!batch.errors.is_empty()).then(|| json!({ "object": "list", "data": batch.errors }));
    json!({
        "id": batch.id.to_string(),
        "object": "batch",
        "endpoint": batch.terms.endpoint,
        "errors": errors,
        "input_file_id": batch.file.to_string(),
        "completion_window": "24h",
        "status": batch.status,
        "output_file_id": batch.output_file().map(|file| file.to_string()),
        "error_file_id": batch.error_file().map(|file| file.to_string()),
        "created_at": seconds(batch.created_at),
        "in_progress_at": batch.started_at.map(seconds),
        "expires_at": seconds(batch.expires_at),
        "finalizing_at": ended(BatchStatus::Completed),
        "completed_at": ended(BatchStatus::Completed),
        "failed_at": ended(BatchStatus::Failed),
        "expired_at": ended(BatchStatus::Expired),
        "cancelling_at": batch.cancelling_at.map(seconds),
        "cancelled_at": ended(BatchStatus::Cancelled),
        "request_counts": batch.rows,
        "model": batch.model,
        "usage": batch.usage.map(usage_object),
        "metadata": (!batch.terms.metadata.is_empty()).then_some(&batch.terms.metadata),
        "poll": { "cost_usd": Usd(batch.spent), "held_usd": Usd(batch.held) },
    })
}
