//! `POST /v1/files`: receives a file in bounded memory.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::task::{Poll, ready};
use std::time::Duration;

use axum::BoxError;
use axum::body::{Body, Bytes};
use axum::http::Response;
use axum::http::header::CONTENT_TYPE;
use ep_kernel::batches::{MAX_FILE_BYTES, MIN_RETENTION, RETENTION};
use ep_kernel::guard::Admission;
use ep_kernel::idempotency::check_key;
use ep_kernel::{Batches, Fault, FileRequest, Kind, ReceivedFile, Upload, UploadPermit};
use ep_site::http::{Exchange, json as json_response, replayed};
use ep_store::UserId;
use futures::{Stream, StreamExt};
use multer::{Constraints, Multipart, SizeLimit};

use super::files::stored;
use super::lists::account;

/// Maximum size of an upload: the file, and the parts around it.
pub(super) const MAX_UPLOAD: usize = MAX_FILE_BYTES as usize + (64 << 10);
/// Time limit for the next part of an upload to arrive.
const READ_TIMEOUT: Duration = Duration::from_secs(30);
/// Time limit for a whole upload.
const WHOLE_TIMEOUT: Duration = Duration::from_mins(15);
/// Maximum number of fields of a form.
const MAX_FIELDS: usize = 64;
/// Maximum length of a field of a form, in bytes.
const MAX_FIELD: u64 = 1024;
/// Maximum number of bytes between two fields: the rest of a part of the body, and the headers of the next field.
const MAX_BETWEEN: u64 = 256 << 10;
/// Maximum number of bytes that are read at once: far fewer than may be between two fields.
const MAX_PIECE: usize = 16 << 10;

/// The fields of an upload besides the file.
#[derive(Default)]
struct Form {
    purpose: Option<String>,
    anchor: Option<String>,
    seconds: Option<String>,
}

/// The request of an upload, and its parts so far.
struct Receiving<'a> {
    batches: &'a Batches,
    user: UserId,
    permit: UploadPermit,
    request_ref: Option<String>,
    form: Form,
    file: Option<Upload>,
}

/// Receives a file. Its parts can come in any order, so it is stored before its purpose is known.
pub(super) async fn upload(exchange: Exchange, admission: Admission) -> Result<Response<Body>, Fault> {
    let user = account(&admission)?;
    let Exchange { state, head, request, .. } = exchange;
    let batches = &*state.app.ports.batches;
    let key = head.idempotency_key.as_deref().map(check_key).transpose()?;
    let permit = batches.begin_upload(user).await?;
    let (parts, body) = request.into_parts();
    let kind = parts.headers.get(CONTENT_TYPE).and_then(|kind| kind.to_str().ok()).unwrap_or_default();
    let boundary = multer::parse_boundary(kind).map_err(|_| {
        let text = "the body must be a form: send Content-Type: multipart/form-data with the fields purpose and file";
        Fault::new(Kind::UnsupportedMediaType, text)
    })?;
    let sizes = SizeLimit::new().whole_stream(MAX_UPLOAD as u64).per_field(MAX_FIELD);
    let limits = Constraints::new().size_limit(sizes.for_field("file", MAX_FILE_BYTES));
    let left = Arc::new(AtomicU64::new(MAX_BETWEEN));
    let fields = Multipart::with_constraints(metered(body, Arc::clone(&left)), boundary, limits);
    let mut receiving = Receiving {
        batches,
        user,
        permit,
        request_ref: key.map(|key| format!("v1-file-{user}-{key}")),
        form: Form::default(),
        file: None,
    };
    let received = tokio::time::timeout(WHOLE_TIMEOUT, receiving.receive(fields, &left)).await;
    let received = received.unwrap_or_else(|_| {
        let text =
            format!("the upload took more than {} minutes; split the file", WHOLE_TIMEOUT.as_secs() / 60);
        Err(Fault::new(Kind::IncompleteBody, text))
    });
    let Receiving { form, file, .. } = receiving;
    let retention = received.and_then(|()| form.retention());
    let ReceivedFile { record, is_repeated } = match (file, retention) {
        (Some(file), Ok(keep)) => file.complete(keep).await?,
        (Some(file), Err(fault)) => {
            file.abandon().await;
            return Err(fault);
        }
        (None, Err(fault)) => return Err(fault),
        (None, Ok(_)) => {
            let text = "is missing: send the requests in the field file, one on each line";
            return Err(Fault::invalid("file", text));
        }
    };
    let mut response = json_response(200, &stored(&record));
    if is_repeated {
        replayed(&mut response);
    }
    Ok(response)
}

impl Receiving<'_> {
    /// Receives all fields.
    async fn receive(&mut self, mut fields: Multipart<'_>, left: &AtomicU64) -> Result<(), Fault> {
        for _ in 0..MAX_FIELDS {
            left.store(MAX_BETWEEN, Ordering::Relaxed);
            let Some(mut field) = next(&self.permit, fields.next_field()).await? else { return Ok(()) };
            left.store(u64::MAX, Ordering::Relaxed);
            let name = field.name().unwrap_or_default().to_owned();
            if name != "file" {
                let text = next(&self.permit, field.text()).await?;
                if self.form.member(&name).is_some_and(|member| member.replace(text).is_some()) {
                    return Err(Fault::invalid(name, "occurs twice: send it once"));
                }
                continue;
            }
            if self.file.is_some() {
                return Err(Fault::invalid("file", "occurs twice: send one file"));
            }
            let file = self.file.insert(self.batches.receive(FileRequest {
                user: self.user,
                name: field.file_name().unwrap_or("upload").to_owned(),
                request_ref: self.request_ref.take(),
            }));
            while let Some(part) = next(&self.permit, field.chunk()).await? {
                self.permit.received(part.len() as u64);
                file.write(&part).await?;
            }
        }
        Err(Fault::invalid("", format!("the form has more than {MAX_FIELDS} fields: send purpose and file")))
    }
}

/// Waits for a part of an upload, as long as it has its place.
async fn next<T>(
    permit: &UploadPermit,
    part: impl Future<Output = Result<T, multer::Error>>,
) -> Result<T, Fault> {
    tokio::select! {
        biased;
        fault = permit.lost() => Err(fault),
        part = in_time(part) => part,
    }
}

impl Form {
    /// Returns the member for a field.
    fn member(&mut self, name: &str) -> Option<&mut Option<String>> {
        match name {
            "purpose" => Some(&mut self.purpose),
            "expires_after[anchor]" => Some(&mut self.anchor),
            "expires_after[seconds]" => Some(&mut self.seconds),
            _ => None,
        }
    }

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
    if let (Some("created_at"), Some(time)) = (anchor, time) {
        return Ok(time);
    }
    let (least, most) = (MIN_RETENTION.as_secs(), RETENTION.as_secs());
    Err(Fault::invalid(field, format!("must have the anchor created_at, and {least} to {most} seconds")))
}

/// Waits for a part of an upload.
async fn in_time<T>(part: impl Future<Output = Result<T, multer::Error>>) -> Result<T, Fault> {
    match tokio::time::timeout(READ_TIMEOUT, part).await {
        Ok(Ok(part)) => Ok(part),
        Ok(Err(multer::Error::FieldSizeExceeded { field_name: Some(name), .. })) if name != "file" => {
            Err(Fault::invalid(name, format!("is too long: it has at most {MAX_FIELD} bytes")))
        }
        Ok(Err(multer::Error::StreamReadFailed(error))) if error.is::<TooLongHeaders>() => Err(
            Fault::invalid("", "the form has too much text between its fields; send a form as RFC 7578 says"),
        ),
        Ok(Err(multer::Error::FieldSizeExceeded { .. } | multer::Error::StreamSizeExceeded { .. })) => {
            let text =
                format!("the upload is too large: a file has at most {} MiB; split it", MAX_FILE_BYTES >> 20);
            Err(Fault::new(Kind::PayloadTooLarge, text))
        }
        Ok(Err(multer::Error::StreamReadFailed(_))) => {
            Err(Fault::new(Kind::IncompleteBody, "the upload ended early; send it again"))
        }
        Ok(Err(
            multer::Error::IncompleteStream
            | multer::Error::IncompleteHeaders
            | multer::Error::IncompleteFieldData { .. },
        )) => Err(Fault::invalid("", "the form ends before its last boundary; send it again")),
        Ok(Err(error)) => Err(Fault::invalid("", format!("the form cannot be read: {error}"))),
        Err(_) => {
            let text = format!("the upload paused for more than {} s; send it again", READ_TIMEOUT.as_secs());
            Err(Fault::new(Kind::IncompleteBody, text))
        }
    }
}

/// The error of a form with too much text between its fields.
#[derive(Debug, thiserror::Error)]
#[error("too much text between the fields of a form")]
struct TooLongHeaders;

/// Returns the body in pieces, until more bytes were read than are left. A reader of forms reads as long as pieces are ready, and
/// would hold the whole body in memory. So a piece is ready only after the one before was looked at.
fn metered(body: Body, left: Arc<AtomicU64>) -> impl Stream<Item = Result<Bytes, BoxError>> {
    let mut parts = body.into_data_stream();
    let mut part = Bytes::new();
    let mut is_looked_at = true;
    futures::stream::poll_fn(move |cx| {
        if !std::mem::replace(&mut is_looked_at, true) {
            cx.waker().wake_by_ref();
            return Poll::Pending;
        }
        if part.is_empty() {
            part = match ready!(parts.poll_next_unpin(cx)) {
                Some(part) => part?,
                None => return Poll::Ready(None),
            };
        }
        let piece = part.split_to(part.len().min(MAX_PIECE));
        let before = left.load(Ordering::Relaxed);
        // No limit applies while a field is read.
        if before != u64::MAX {
            let after = before.checked_sub(piece.len() as u64).ok_or(TooLongHeaders)?;
            left.store(after, Ordering::Relaxed);
        }
        is_looked_at = false;
        Poll::Ready(Some(Ok(piece)))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A body that has arrived whole is read piece by piece: its file is not counted as text before the file.
    #[tokio::test]
    async fn files_that_have_arrived_are_read_in_pieces() {
        let content = "x".repeat(3 << 20);
        let form = format!(
            "--b\r\nContent-Disposition: form-data; name=\"purpose\"\r\n\r\nbatch\r\n--b\r\nContent-Disposition: \
             form-data; name=\"file\"; filename=\"upload\"\r\n\r\n{content}\r\n--b--\r\n"
        );
        let left = Arc::new(AtomicU64::new(MAX_BETWEEN));
        let mut fields = Multipart::new(metered(Body::from(form), Arc::clone(&left)), "b");
        let purpose = fields.next_field().await.unwrap().unwrap();
        left.store(u64::MAX, Ordering::Relaxed);
        assert_eq!(purpose.text().await.unwrap(), "batch");
        left.store(MAX_BETWEEN, Ordering::Relaxed);
        let mut file = fields.next_field().await.unwrap().unwrap();
        left.store(u64::MAX, Ordering::Relaxed);
        let mut length = 0;
        while let Some(part) = file.chunk().await.unwrap() {
            assert!(part.len() <= 8 * MAX_PIECE, "{}", part.len());
            length += part.len();
        }
        assert_eq!(length, content.len());
    }

    #[tokio::test]
    async fn endless_headers_are_refused() {
        let form = format!("--b\r\nContent-Disposition: {}", "x".repeat(1 << 20));
        let left = Arc::new(AtomicU64::new(MAX_BETWEEN));
        let mut fields = Multipart::new(metered(Body::from(form), left), "b");
        let refused = in_time(fields.next_field()).await.unwrap_err();
        assert!(refused.to_string().contains("too much text between its fields"), "{refused}");
    }
}
