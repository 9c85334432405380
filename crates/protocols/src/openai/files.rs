//! `/v1/files`: files of requests, and the results of batches as files.

use std::sync::Arc;

use axum::body::{Body, Bytes};
use axum::http::Response;
use axum::http::header::{CACHE_CONTROL, CONTENT_DISPOSITION, CONTENT_TYPE, HeaderValue};
use ep_kernel::batches::no_such_file;
use ep_kernel::guard::Admission;
use ep_kernel::{Fault, ToolPorts};
use ep_site::http::{Exchange, json as json_response};
use ep_store::{BatchRecord, FileId, FileRecord, ListPosition, RowKind, Store, UserId};
use futures::stream;
use serde_json::{Value, json};

use super::lists::{account, page, path_id, query, seconds};

/// Maximum number of files on a page (OpenAI's limit is 10,000).
const MAX_PAGE: u32 = 1000;

/// Lists files: the stored ones, newest first, then the results of ended batches.
pub(super) async fn list(exchange: Exchange, admission: Admission) -> Result<Response<Body>, Fault> {
    let user = account(&admission)?;
    let ToolPorts { batches, store, .. } = &*exchange.state.app.ports;
    let query = query(exchange.request.uri().query());
    let limit = query.limit(MAX_PAGE, MAX_PAGE)?;
    let purpose = query.get("purpose");
    if query.get("order").is_some_and(|order| order != "desc") {
        return Err(Fault::invalid("order", "must be desc: the newest files come first"));
    }
    let after: Option<FileId> =
        query.get("after").map(|id| id.parse().map_err(|_| no_file(id))).transpose()?;
    let mut found: Vec<Value> = Vec::new();
    if matches!(purpose, None | Some("batch")) && matches!(after, None | Some(FileId::Stored(_))) {
        let position = match after {
            Some(id) => Some(ListPosition { at: batches.file(user, id).await?.created_at, id }),
            None => None,
        };
        let files = store.files_of(user, position, limit + 1).await?;
        found.extend(files.iter().map(stored));
    }
    if matches!(purpose, None | Some("batch_output")) && found.len() <= limit as usize {
        let (mut position, mut skip) = (None, None);
        if let Some(id @ (FileId::Output(batch) | FileId::Errors(batch))) = after {
            let batch = batches.batch(user, batch).await.map_err(|_| no_file(&id.to_string()))?;
            // The other file of the same batch can follow.
            found.extend(
                results(store, &batch)
                    .await?
                    .into_iter()
                    .skip_while(|(file, _)| *file != id)
                    .skip(1)
                    .map(|(_, file)| file),
            );
            position = Some(ListPosition { at: batch.created_at, id: batch.id });
            skip = Some(batch.id);
        }
        while found.len() <= limit as usize {
            let some = store.batches_with_results(user, position, BATCHES_TOGETHER).await?;
            let Some(last) = some.last() else { break };
            position = Some(ListPosition { at: last.created_at, id: last.id });
            for batch in some.iter().filter(|batch| Some(batch.id) != skip) {
                found.extend(results(store, batch).await?.into_iter().map(|(_, file)| file));
            }
        }
    }
    Ok(json_response(200, &page(found, limit)))
}

/// Returns one file.
pub(super) async fn read(exchange: Exchange, admission: Admission) -> Result<Response<Body>, Fault> {
    let user = account(&admission)?;
    let file = match find(&exchange.state.app.ports, user, &path_id(&exchange)?).await? {
        Found::Stored(file) => stored(&file),
        Found::Results(batch, kind, bytes) => result_file(&batch, kind, bytes),
    };
    Ok(json_response(200, &file))
}

/// Deletes a file. The results of a batch are deleted before their time.
pub(super) async fn delete(exchange: Exchange, admission: Admission) -> Result<Response<Body>, Fault> {
    let user = account(&admission)?;
    let ports = &exchange.state.app.ports;
    let id = path_id(&exchange)?;
    match find(ports, user, &id).await? {
        Found::Stored(file) => ports.batches.delete_file(user, file.id).await?,
        Found::Results(batch, kind, _) => ports.store.erase_results(batch.id, kind).await?,
    }
    Ok(json_response(200, &json!({ "id": id, "object": "file", "deleted": true })))
}

/// Sends the content of a file, a page at a time.
pub(super) async fn content(exchange: Exchange, admission: Admission) -> Result<Response<Body>, Fault> {
    let user = account(&admission)?;
    let batches = Arc::clone(&exchange.state.app.ports.batches);
    let id = path_id(&exchange)?;
    let source = find(&exchange.state.app.ports, user, &id).await?;
    let pages = stream::try_unfold((batches, source, 0), |(batches, source, after)| async move {
        let lines = match &source {
            Found::Stored(file) => batches.lines(file.id, after).await?,
            Found::Results(batch, kind, _) => {
                let lines = batches.results(batch, *kind, after, u32::MAX).await?;
                lines.into_iter().map(|(number, line)| (number, line + "\n")).collect()
            }
        };
        let Some(last) = lines.last().map(|(number, _)| *number) else { return Ok::<_, Fault>(None) };
        let bytes: String = lines.into_iter().map(|(_, line)| line).collect();
        Ok(Some((Bytes::from(bytes), (batches, source, last))))
    });
    let mut response = Response::new(Body::from_stream(pages));
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/octet-stream"));
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    if let Ok(name) = HeaderValue::try_from(format!("attachment; filename=\"{id}.jsonl\"")) {
        headers.insert(CONTENT_DISPOSITION, name);
    }
    Ok(response)
}

/// A file of an account.
enum Found {
    /// A stored file.
    Stored(FileRecord),
    /// The results of an ended batch, and their size in bytes.
    Results(Box<BatchRecord>, RowKind, u64),
}

/// Finds a file. Results that were deleted are not found.
async fn find(ports: &ToolPorts, user: UserId, text: &str) -> Result<Found, Fault> {
    let id: FileId = text.parse().map_err(|_| no_file(text))?;
    let (batch, kind) = match id {
        FileId::Stored(_) => return Ok(Found::Stored(ports.batches.file(user, id).await?)),
        FileId::Output(batch) => (batch, RowKind::Completed),
        FileId::Errors(batch) => (batch, RowKind::Failed),
    };
    let batch = ports.batches.batch(user, batch).await.map_err(|_| no_file(text))?;
    let bytes = if batch.ended_at.is_some() { ports.store.results_size(batch.id, kind).await? } else { 0 };
    if bytes == 0 {
        return Err(no_file(text));
    }
    Ok(Found::Results(Box::new(batch), kind, bytes))
}

/// Batches that are read together to list their results.
const BATCHES_TOGETHER: u32 = 50;

/// Returns the files of the results of an ended batch.
async fn results(store: &Store, batch: &BatchRecord) -> Result<Vec<(FileId, Value)>, Fault> {
    let kinds = [(batch.output_file(), RowKind::Completed), (batch.error_file(), RowKind::Failed)];
    let mut files = Vec::new();
    for (id, kind) in kinds {
        let Some(id) = id else { continue };
        let bytes = store.results_size(batch.id, kind).await?;
        // Zero if they were deleted.
        if bytes > 0 {
            files.push((id, result_file(batch, kind, bytes)));
        }
    }
    Ok(files)
}

/// Returns a file of results as the API shows it.
fn result_file(batch: &BatchRecord, kind: RowKind, bytes: u64) -> Value {
    let (id, name) = match kind {
        RowKind::Completed => (FileId::Output(batch.id), "output"),
        RowKind::Failed => (FileId::Errors(batch.id), "errors"),
    };
    json!({
        "id": id.to_string(),
        "object": "file",
        "bytes": bytes,
        "created_at": seconds(batch.ended_at.unwrap_or(batch.created_at)),
        "expires_at": batch.deleted_at.map(seconds),
        "filename": format!("{}_{name}.jsonl", batch.id),
        "purpose": "batch_output",
        "status": "processed",
        "status_details": null,
    })
}

/// Returns a stored file as the API shows it.
pub(super) fn stored(file: &FileRecord) -> Value {
    json!({
        "id": file.id.to_string(),
        "object": "file",
        "bytes": file.bytes,
        "created_at": seconds(file.created_at),
        "expires_at": seconds(file.expires_at),
        "filename": file.name,
        "purpose": "batch",
        "status": "processed",
        "status_details": null,
    })
}

fn no_file(id: &str) -> Fault {
    no_such_file(id).with_field("file_id", "not_found")
}
