//! `/v1/files`: files of requests, and the results of batches as files.

use std::sync::Arc;
use std::time::Duration;

use axum::body::{Body, Bytes};
use axum::http::Response;
use axum::http::header::{CACHE_CONTROL, CONTENT_DISPOSITION, CONTENT_TYPE, HeaderValue};
use ep_kernel::batch_id::FileId;
use ep_kernel::batches::{Batches, MAX_FILE_BYTES, MIN_RETENTION, RETENTION, Upload};
use ep_kernel::caller::UserId;
use ep_kernel::fault::{Fault, Kind};
use ep_kernel::guard::Admission;
use ep_kernel::ports::{BatchRecord, FileRecord, ListPosition, RowKind};
use futures::stream;
use multer::{Constraints, Multipart, SizeLimit};
use serde_json::{Value, json};

use super::lists::{account, page, path_id, query, seconds};
use crate::http::{Exchange, json as json_response};

/// Maximum size of an upload: the file, and the parts around it.
pub(super) const MAX_UPLOAD: usize = MAX_FILE_BYTES as usize + (64 << 10);
/// Time limit for the next part of an upload to arrive.
const READ_TIMEOUT: Duration = Duration::from_secs(30);
/// Maximum length of a field of a form, in bytes.
const MAX_FIELD: u64 = 1024;
/// Maximum number of files on a page (OpenAI's limit is 10,000).
const MAX_PAGE: u32 = 1000;

/// The fields of an upload besides the file.
#[derive(Default)]
struct Form {
    purpose: Option<String>,
    anchor: Option<String>,
    seconds: Option<String>,
}

/// The parts of an upload.
struct Received<'a> {
    form: Form,
    file: Option<(FileId, Upload<'a>)>,
}

/// Receives a file. Its parts can come in any order, so it is stored before its purpose is known.
pub(super) async fn upload(exchange: Exchange, admission: Admission) -> Result<Response<Body>, Fault> {
    let user = account(&admission)?;
    let Exchange { state, request, .. } = exchange;
    let batches = &state.app.ports.batches;
    let (parts, body) = request.into_parts();
    let kind = parts.headers.get(CONTENT_TYPE).and_then(|kind| kind.to_str().ok()).unwrap_or_default();
    let boundary = multer::parse_boundary(kind).map_err(|_| {
        let text = "the body must be a form: send Content-Type: multipart/form-data with the fields purpose and file";
        Fault::new(Kind::UnsupportedMediaType, text)
    })?;
    let sizes = SizeLimit::new().whole_stream(MAX_UPLOAD as u64).per_field(MAX_FIELD);
    let limits = Constraints::new().size_limit(sizes.for_field("file", MAX_FILE_BYTES));
    let mut fields = Multipart::with_constraints(body.into_data_stream(), boundary, limits);
    let mut received = Received { form: Form::default(), file: None };
    let outcome = received.read(batches, user, &mut fields).await;
    let Received { form, file } = received;
    let Some((id, upload)) = file else {
        let missing =
            Fault::invalid("file", "is missing: send the requests in the field file, one on each line");
        return Err(outcome.err().unwrap_or(missing));
    };
    let completing = async {
        outcome?;
        batches.complete_file(user, id, upload, form.retention()?).await
    };
    match completing.await {
        Ok(record) => Ok(json_response(200, &stored(&record))),
        Err(fault) => {
            if let Err(error) = batches.delete_file(user, id).await {
                tracing::warn!(%error, "failed to delete a part of a file; it is deleted within hours");
            }
            Err(fault)
        }
    }
}

impl<'a> Received<'a> {
    async fn read(
        &mut self,
        batches: &'a Batches,
        user: UserId,
        fields: &mut Multipart<'_>,
    ) -> Result<(), Fault> {
        while let Some(mut field) = in_time(fields.next_field()).await? {
            let name = field.name().unwrap_or_default().to_owned();
            let text = match name.as_str() {
                "file" if self.file.is_none() => {
                    let id = batches.begin_file(user, field.file_name().unwrap_or("upload")).await?;
                    let (_, upload) = self.file.insert((id, batches.receive(id)));
                    while let Some(part) = in_time(field.chunk()).await? {
                        upload.write(&part).await?;
                    }
                    continue;
                }
                "file" => return Err(Fault::invalid("file", "occurs twice: send one file")),
                "purpose" => &mut self.form.purpose,
                "expires_after[anchor]" => &mut self.form.anchor,
                "expires_after[seconds]" => &mut self.form.seconds,
                _ => continue,
            };
            *text = Some(in_time(field.text()).await?);
        }
        Ok(())
    }
}

impl Form {
    /// Checks the fields. Returns the time for which the file is stored.
    fn retention(&self) -> Result<Duration, Fault> {
        if self.purpose.as_deref() != Some("batch") {
            return Err(Fault::invalid("purpose", "must be batch: other files are not used here"));
        }
        match (&self.anchor, &self.seconds) {
            (None, None) => Ok(RETENTION),
            (anchor, seconds) => {
                retention(anchor.as_deref(), seconds.as_deref().and_then(|s| s.parse().ok()), "expires_after")
            }
        }
    }
}

/// Returns the time for which a file is stored, as its owner chose it.
pub(super) fn retention(anchor: Option<&str>, seconds: Option<u64>, field: &str) -> Result<Duration, Fault> {
    let time = seconds.map(Duration::from_secs).filter(|time| (MIN_RETENTION..=RETENTION).contains(time));
    match (anchor, time) {
        (Some("created_at"), Some(time)) => Ok(time),
        _ => {
            let (least, most) = (MIN_RETENTION.as_secs(), RETENTION.as_secs());
            let rule = format!("must have the anchor created_at, and {least} to {most} seconds");
            Err(Fault::invalid(field, rule))
        }
    }
}

/// Waits for a part of an upload.
async fn in_time<T>(part: impl Future<Output = Result<T, multer::Error>>) -> Result<T, Fault> {
    match tokio::time::timeout(READ_TIMEOUT, part).await {
        Ok(Ok(part)) => Ok(part),
        Ok(Err(multer::Error::FieldSizeExceeded { .. } | multer::Error::StreamSizeExceeded { .. })) => {
            let text =
                format!("the upload is too large: a file has at most {} MiB; split it", MAX_FILE_BYTES >> 20);
            Err(Fault::new(Kind::PayloadTooLarge, text))
        }
        Ok(Err(multer::Error::StreamReadFailed(_))) => {
            Err(Fault::new(Kind::IncompleteBody, "the upload ended early; send it again"))
        }
        Ok(Err(error)) => Err(Fault::invalid("", format!("the form cannot be read: {error}"))),
        Err(_) => {
            let text = format!("the upload paused for more than {} s; send it again", READ_TIMEOUT.as_secs());
            Err(Fault::new(Kind::IncompleteBody, text))
        }
    }
}

/// Lists files: the stored ones, newest first, then the results of ended batches.
pub(super) async fn list(exchange: Exchange, admission: Admission) -> Result<Response<Body>, Fault> {
    let user = account(&admission)?;
    let batches = &exchange.state.app.ports.batches;
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
        let files = batches.files_of(user, position, limit + 1).await?;
        found.extend(files.iter().map(stored));
    }
    if matches!(purpose, None | Some("batch_output")) && found.len() <= limit as usize {
        let (mut position, mut skip) = (None, None);
        if let Some(id @ (FileId::Output(batch) | FileId::Errors(batch))) = after {
            let batch = batches.batch(user, batch).await?;
            // The other file of the same batch can follow.
            found.extend(
                results(batches, &batch)
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
            let some = batches.batches_of(user, position, BATCHES_TOGETHER).await?;
            let Some(last) = some.last() else { break };
            position = Some(ListPosition { at: last.created_at, id: last.id });
            for batch in some.iter().filter(|batch| Some(batch.id) != skip) {
                found.extend(results(batches, batch).await?.into_iter().map(|(_, file)| file));
            }
        }
    }
    Ok(json_response(200, &page(found, limit)))
}

/// Returns one file.
pub(super) async fn read(exchange: Exchange, admission: Admission) -> Result<Response<Body>, Fault> {
    let user = account(&admission)?;
    let batches = &exchange.state.app.ports.batches;
    let id = file_of(&exchange)?;
    let file = match id {
        FileId::Stored(_) => stored(&batches.file(user, id).await?),
        FileId::Output(batch) | FileId::Errors(batch) => {
            let batch = batches.batch(user, batch).await.map_err(|_| no_file(&id.to_string()))?;
            let found = results(batches, &batch).await?.into_iter().find(|(file, _)| *file == id);
            found.ok_or_else(|| no_file(&id.to_string()))?.1
        }
    };
    Ok(json_response(200, &file))
}

/// Deletes a file. The results of a batch are deleted before their time.
pub(super) async fn delete(exchange: Exchange, admission: Admission) -> Result<Response<Body>, Fault> {
    let user = account(&admission)?;
    let batches = &exchange.state.app.ports.batches;
    let id = file_of(&exchange)?;
    match id {
        FileId::Stored(_) => batches.delete_file(user, id).await?,
        FileId::Output(batch) | FileId::Errors(batch) => {
            let batch = batches.batch(user, batch).await.map_err(|_| no_file(&id.to_string()))?;
            let kind = kind_of(&batch, id).ok_or_else(|| no_file(&id.to_string()))?;
            batches.erase_results(&batch, kind).await?;
        }
    }
    Ok(json_response(200, &json!({ "id": id.to_string(), "object": "file", "deleted": true })))
}

/// Sends the content of a file, a page at a time.
pub(super) async fn content(exchange: Exchange, admission: Admission) -> Result<Response<Body>, Fault> {
    let user = account(&admission)?;
    let batches = Arc::clone(&exchange.state.app.ports.batches);
    let id = file_of(&exchange)?;
    let source = match id {
        FileId::Stored(_) => {
            batches.file(user, id).await?;
            Source::Stored(id)
        }
        FileId::Output(batch) | FileId::Errors(batch) => {
            let batch = batches.batch(user, batch).await.map_err(|_| no_file(&id.to_string()))?;
            let kind = kind_of(&batch, id).ok_or_else(|| no_file(&id.to_string()))?;
            Source::Results(Box::new(batch), kind)
        }
    };
    let pages = stream::try_unfold((batches, source, 0), |(batches, source, after)| async move {
        let lines = match &source {
            Source::Stored(file) => batches.lines(*file, after).await?,
            Source::Results(batch, kind) => {
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

/// The source of a file's lines.
enum Source {
    Stored(FileId),
    Results(Box<BatchRecord>, RowKind),
}

/// Batches that are read together to list their results.
const BATCHES_TOGETHER: u32 = 50;

/// Returns the files of the results of an ended batch.
async fn results(batches: &Batches, batch: &BatchRecord) -> Result<Vec<(FileId, Value)>, Fault> {
    let mut files = Vec::new();
    for id in [batch.output_file(), batch.error_file()].into_iter().flatten() {
        let Some(kind) = kind_of(batch, id) else { continue };
        let bytes = batches.results_size(batch, kind).await?;
        if bytes == 0 {
            // They were deleted.
            continue;
        }
        let name = match kind {
            RowKind::Completed => "output",
            RowKind::Failed => "errors",
        };
        let file = json!({
            "id": id.to_string(),
            "object": "file",
            "bytes": bytes,
            "created_at": seconds(batch.ended_at.unwrap_or(batch.created_at)),
            "expires_at": batch.deleted_at.map(seconds),
            "filename": format!("{}_{name}.jsonl", batch.id),
            "purpose": "batch_output",
            "status": "processed",
            "status_details": null,
        });
        files.push((id, file));
    }
    Ok(files)
}

/// Returns the rows in a file of results; none if the batch has no such file.
fn kind_of(batch: &BatchRecord, id: FileId) -> Option<RowKind> {
    if batch.output_file() == Some(id) {
        Some(RowKind::Completed)
    } else {
        (batch.error_file() == Some(id)).then_some(RowKind::Failed)
    }
}

/// Returns a stored file as the API shows it.
fn stored(file: &FileRecord) -> Value {
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

/// Returns the id of the requested file.
fn file_of(exchange: &Exchange) -> Result<FileId, Fault> {
    let id = path_id(exchange)?;
    id.parse().map_err(|_| no_file(&id))
}

fn no_file(id: &str) -> Fault {
    let id: String = id.chars().filter(|c| !c.is_control()).take(64).collect();
    Fault::new(
        Kind::NotFound,
        format!("you have no file {id}; it was deleted, has expired, or belongs to another account"),
    )
    .with_field("file_id", "not_found")
}
