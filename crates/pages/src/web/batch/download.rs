//! Downloads of a batch for its owner: its answers as comma-separated values, and its results and errors as lines of JSON.

use std::collections::HashMap;
use std::sync::Arc;

use axum::body::{Body, Bytes};
use axum::http::Response;
use axum::http::header::{CACHE_CONTROL, CONTENT_DISPOSITION, CONTENT_TYPE, HeaderValue};
use ep_kernel::batches::line::custom_id_of_result;
use ep_kernel::batches::no_such_batch;
use ep_kernel::{Batches, Fault};
use ep_site::http::protect;
use ep_store::{AnswerRecord, BatchRecord, RowKind};
use futures::stream;

use crate::web::account::Visitor;
use crate::web::result::plain_cell;

/// A file to download.
#[derive(Clone, Copy)]
pub(super) enum Download {
    /// The answers, with the choices of a person.
    Answers,
    /// The results or the errors.
    Lines(RowKind),
}

/// The columns: number and name of the row, final label, answer of the models, choice of a person, and the contested mark.
/// The final label is the choice of a person, or else the answer.
const HEADER: [&str; 6] = ["row", "id", "label", "answer", "reviewed", "contested"];

/// Sends a file of the visitor's batch, a part at a time.
pub(super) async fn send(visitor: &Visitor<'_>, id: &str, file: Download) -> Result<Response<Body>, Fault> {
    let batches = Arc::clone(&visitor.state.app.ports.batches);
    let parsed = id.parse().map_err(|_| no_such_batch(id))?;
    let batch = batches.batch(visitor.account()?, parsed).await?;
    let (media_type, suffix, first) = match file {
        Download::Answers => ("text/csv; charset=utf-8", "csv", csv([HEADER.map(str::to_owned)])?),
        Download::Lines(RowKind::Completed) => ("application/jsonl", "jsonl", Vec::new()),
        Download::Lines(RowKind::Failed) => ("application/jsonl", "errors.jsonl", Vec::new()),
    };
    let name = format!("attachment; filename=\"{}.{suffix}\"", batch.id);
    let parts =
        stream::try_unfold((batches, batch, first, 0), move |(batches, batch, begun, after)| async move {
            let Some((part, last)) = file.part(&batches, &batch, after).await? else {
                let end = Some((Bytes::from(begun), (batches, batch, Vec::new(), u32::MAX)));
                return Ok::<_, Fault>(end.filter(|(bytes, _)| !bytes.is_empty()));
            };
            Ok(Some((Bytes::from([begun, part].concat()), (batches, batch, Vec::new(), last))))
        });
    let mut response = Response::new(Body::from_stream(parts));
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static(media_type));
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    headers.insert(CONTENT_DISPOSITION, HeaderValue::try_from(name).map_err(Fault::internal)?);
    protect(headers);
    Ok(response)
}

impl Download {
    /// Returns some lines after a row, and the number of the last one; `None` after the last row.
    async fn part(
        self,
        batches: &Batches,
        batch: &BatchRecord,
        after: u32,
    ) -> Result<Option<(Vec<u8>, u32)>, Fault> {
        match self {
            Self::Answers => answers(batches, batch, after).await,
            Self::Lines(kind) => {
                let lines = batches.results(batch, kind, after, u32::MAX).await?;
                let last = lines.last().map(|(number, _)| *number);
                let text: String = lines.into_iter().map(|(_, line)| line + "\n").collect();
                Ok(last.map(|last| (text.into_bytes(), last)))
            }
        }
    }
}

async fn answers(
    batches: &Batches,
    batch: &BatchRecord,
    after: u32,
) -> Result<Option<(Vec<u8>, u32)>, Fault> {
    let answers = batches.answers(batch, after).await?;
    let Some(last) = answers.last().map(|answer| answer.number) else { return Ok(None) };
    let mut names = names(batches, batch, after, last).await?;
    let records = answers.into_iter().map(|record| {
        let name = names.remove(&record.number).unwrap_or_default();
        cells(record, &name)
    });
    Ok(Some((csv(records)?, last)))
}

/// Returns the custom ids of the completed rows after a row, up to another one.
async fn names(
    batches: &Batches,
    batch: &BatchRecord,
    mut after: u32,
    last: u32,
) -> Result<HashMap<u32, String>, Fault> {
    let mut names = HashMap::new();
    while after < last {
        let results = batches.results(batch, RowKind::Completed, after, u32::MAX).await?;
        let Some(end) = results.last().map(|(number, _)| *number) else { break };
        after = end;
        let named =
            results.into_iter().filter_map(|(number, line)| Some((number, custom_id_of_result(&line)?)));
        names.extend(named);
    }
    Ok(names)
}

fn cells(record: AnswerRecord, name: &str) -> [String; 6] {
    let AnswerRecord { number, answer, reviewed } = record;
    let option = answer.option.unwrap_or_default();
    let contested = if answer.contested { "yes" } else { "no" };
    let label = reviewed.as_ref().unwrap_or(&option);
    let reviewed = reviewed.as_deref().unwrap_or_default();
    [&number.to_string(), name, label, &option, reviewed, contested].map(plain_cell)
}

fn csv(records: impl IntoIterator<Item = [String; 6]>) -> Result<Vec<u8>, Fault> {
    let mut lines = csv::Writer::from_writer(Vec::new());
    for record in records {
        lines.write_record(record).map_err(Fault::internal)?;
    }
    lines.into_inner().map_err(|error| Fault::internal(error.into_error()))
}
