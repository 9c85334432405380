//! Reads a JSON body with limits on size and time.

use std::io::Read;
use std::time::Duration;

use axum::body::{Body, Bytes, HttpBody};
use axum::http::HeaderMap;
use axum::http::header::{CONTENT_ENCODING, CONTENT_TYPE};
use ep_kernel::reading;
use ep_kernel::{Fault, Kind};
use ruzstd::decoding::StreamingDecoder;
use serde_json::{Map, Value};

use super::body_room::NoRoom;

/// Time limit for receiving a body.
const READ_TIMEOUT: Duration = Duration::from_secs(10);

/// Reads a body of at most `max` bytes as JSON. An empty body counts as an empty object.
pub async fn read_json(headers: &HeaderMap, body: Body, max: usize) -> Result<Value, Fault> {
    let bytes = read(headers, body, max).await?;
    if bytes.is_empty() {
        return Ok(Value::Object(Map::new()));
    }
    reading::read(bytes.len(), move || parse(&bytes)).await?
}

/// Parses JSON of any type.
pub fn parse(bytes: &[u8]) -> Result<Value, Fault> {
    serde_json::from_slice(bytes).map_err(|error| malformed(&error))
}

/// Returns the fault for a body that is not JSON.
pub fn malformed(error: &serde_json::Error) -> Fault {
    Fault::new(Kind::MalformedJson, format!("the body is not valid JSON: {error}; send a JSON object"))
}

/// Reads a body of at most `max` bytes, decompressed, and checks that its media type is JSON, unless it is empty.
pub async fn read(headers: &HeaderMap, body: Body, max: usize) -> Result<Bytes, Fault> {
    let bytes = read_bytes(body, max).await?;
    let is_compressed = is_compressed(headers)?;
    let length = if is_compressed { max } else { bytes.len() };
    let bytes = reading::read(length, move || {
        let bytes = if is_compressed { decompressed(&bytes, max)? } else { bytes };
        // JSON is UTF-8 (RFC 8259 §8.1), also in ignored fields.
        match std::str::from_utf8(&bytes) {
            Ok(_) => Ok(bytes),
            Err(error) => Err(Fault::new(
                Kind::MalformedJson,
                format!(
                    "the body is not valid UTF-8 from byte {} on; send JSON in UTF-8",
                    error.valid_up_to()
                ),
            )),
        }
    });
    let bytes = bytes.await??;
    if !bytes.is_empty() {
        check_type(headers)?;
    }
    Ok(bytes)
}

/// True for a body with a content encoding (RFC 9110 §8.4). Some clients compress with zstd (RFC 8878).
fn is_compressed(headers: &HeaderMap) -> Result<bool, Fault> {
    let encoding = headers.get(CONTENT_ENCODING).map(|value| value.to_str().unwrap_or("").trim());
    match encoding.unwrap_or_default().to_ascii_lowercase().as_str() {
        "" | "identity" => Ok(false),
        "zstd" => Ok(true),
        _ => {
            let text =
                "the body has a Content-Encoding that is not supported; send it with zstd, or uncompressed";
            Err(Fault::new(Kind::UnsupportedMediaType, text))
        }
    }
}

/// Decompresses a body of at most `max` bytes.
fn decompressed(bytes: &[u8], max: usize) -> Result<Bytes, Fault> {
    let damaged = || {
        Fault::new(Kind::MalformedJson, "the body is not valid zstd; send it again, or send it uncompressed")
    };
    let decoder = StreamingDecoder::new(bytes).map_err(|_| damaged())?;
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
