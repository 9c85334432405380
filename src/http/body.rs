//! Reads a JSON body with limits on size and time.

use std::io::Read;
use std::num::NonZeroUsize;
use std::sync::LazyLock;
use std::time::Duration;

use axum::body::{Body, Bytes, HttpBody};
use axum::http::HeaderMap;
use axum::http::header::{CONTENT_ENCODING, CONTENT_TYPE};
use ep_kernel::fault::{Fault, Kind};
use ruzstd::decoding::StreamingDecoder;
use serde_json::{Map, Value};
use tokio::sync::Semaphore;

use super::body_room::NoRoom;

/// Time limit for receiving a body.
const READ_TIMEOUT: Duration = Duration::from_secs(10);

/// Maximum length of a body that is read where it is received, in bytes.
const PARSED_HERE: usize = 16 << 10;
/// Permits to read longer bodies: one for each core.
static PARSERS: LazyLock<Semaphore> =
    LazyLock::new(|| Semaphore::new(std::thread::available_parallelism().map_or(1, NonZeroUsize::get)));

/// Reads a body of at most `max` bytes as JSON. An empty body counts as an empty object.
pub async fn read_json(headers: &HeaderMap, body: Body, max: usize) -> Result<Value, Fault> {
    let bytes = read(headers, body, max).await?;
    if bytes.is_empty() {
        return Ok(Value::Object(Map::new()));
    }
    parse(bytes, |bytes| serde_json::from_slice(bytes).map_err(|error| malformed(&error))).await
}

/// Reads the content of a body. A long one takes milliseconds, so it is read on a thread that may block, by a few at once.
pub async fn parse<T: Send + 'static>(
    bytes: Bytes,
    read: impl FnOnce(&[u8]) -> Result<T, Fault> + Send + 'static,
) -> Result<T, Fault> {
    if bytes.len() <= PARSED_HERE {
        return read(&bytes);
    }
    let permit = PARSERS.acquire().await.map_err(Fault::internal)?;
    let parsed = tokio::task::spawn_blocking(move || {
        // A body that is no longer waited for keeps its permit until it is read.
        let _permit = permit;
        read(&bytes)
    });
    parsed.await.map_err(Fault::internal)?
}

/// Returns the fault for a body that is not JSON.
pub fn malformed(error: &serde_json::Error) -> Fault {
    Fault::new(Kind::MalformedJson, format!("the body is not valid JSON: {error}; send a JSON object"))
}

/// Reads a body of at most `max` bytes, decompressed, and checks that its media type is JSON, unless it is empty.
pub async fn read(headers: &HeaderMap, body: Body, max: usize) -> Result<Bytes, Fault> {
    let bytes = decoded(headers, read_bytes(body, max).await?, max)?;
    if !bytes.is_empty() {
        check_type(headers)?;
    }
    // JSON is UTF-8 (RFC 8259 §8.1), also in ignored fields.
    match std::str::from_utf8(&bytes) {
        Ok(_) => Ok(bytes),
        Err(error) => Err(Fault::new(
            Kind::MalformedJson,
            format!("the body is not valid UTF-8 from byte {} on; send JSON in UTF-8", error.valid_up_to()),
        )),
    }
}

/// Decompresses a body with a content encoding (RFC 9110 §8.4). Some clients compress with zstd (RFC 8878).
fn decoded(headers: &HeaderMap, bytes: Bytes, max: usize) -> Result<Bytes, Fault> {
    let Some(encoding) = headers.get(CONTENT_ENCODING) else { return Ok(bytes) };
    let name = encoding.to_str().unwrap_or("").trim().to_ascii_lowercase();
    match name.as_str() {
        "" | "identity" => return Ok(bytes),
        "zstd" => {}
        _ => {
            let text =
                "the body has a Content-Encoding that is not supported; send it with zstd, or uncompressed";
            return Err(Fault::new(Kind::UnsupportedMediaType, text));
        }
    }
    let damaged = || {
        Fault::new(Kind::MalformedJson, "the body is not valid zstd; send it again, or send it uncompressed")
    };
    let decoder = StreamingDecoder::new(&*bytes).map_err(|_| damaged())?;
    let mut plain = Vec::new();
    decoder.take(max as u64 + 1).read_to_end(&mut plain).map_err(|_| damaged())?;
    if plain.len() > max { Err(too_large(max)) } else { Ok(plain.into()) }
}

fn too_large(max: usize) -> Fault {
    Fault::new(Kind::PayloadTooLarge, format!("the body is larger than {max} bytes; send a shorter one"))
}

/// Reads a body of at most `max` bytes, regardless of its media type.
pub async fn read_bytes(body: Body, max: usize) -> Result<Bytes, Fault> {
    if body.size_hint().lower() > max as u64 {
        return Err(too_large(max));
    }
    match tokio::time::timeout(READ_TIMEOUT, axum::body::to_bytes(body, max)).await {
        Ok(Ok(bytes)) => Ok(bytes),
        Ok(Err(error)) if is_caused_by::<http_body_util::LengthLimitError>(&error) => Err(too_large(max)),
        Ok(Err(error)) if is_caused_by::<NoRoom>(&error) => {
            let text =
                "too many bodies are being received; send a shorter one, or send it again in a few seconds";
            Err(Fault::new(Kind::Busy, text).retry_after(READ_TIMEOUT / 2))
        }
        Ok(Err(_)) => {
            Err(Fault::new(Kind::IncompleteBody, "the request body ended early; send the request again"))
        }
        Err(_) => Err(Fault::new(
            Kind::IncompleteBody,
            format!(
                "the request body did not arrive within {} s; send the request again",
                READ_TIMEOUT.as_secs()
            ),
        )),
    }
}

fn is_caused_by<E: std::error::Error + 'static>(error: &axum::Error) -> bool {
    let mut cause: Option<&(dyn std::error::Error + 'static)> = Some(error);
    while let Some(error) = cause {
        if error.is::<E>() {
            return true;
        }
        cause = error.source();
    }
    false
}

/// Checks for a JSON media type; a missing type counts as JSON.
fn check_type(headers: &HeaderMap) -> Result<(), Fault> {
    let Some(kind) = headers.get(CONTENT_TYPE) else { return Ok(()) };
    if is_json(kind.to_str().unwrap_or("")) {
        Ok(())
    } else {
        Err(Fault::new(
            Kind::UnsupportedMediaType,
            "the body must be JSON: send Content-Type: application/json (with curl: -H 'Content-Type: application/json')",
        ))
    }
}

/// True for a JSON media type.
pub(super) fn is_json(media_type: &str) -> bool {
    let essence = media_type.split(';').next().unwrap_or("").trim().to_ascii_lowercase();
    essence == "application/json" || (essence.starts_with("application/") && essence.ends_with("+json"))
}
