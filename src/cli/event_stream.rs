//! Client-side event stream of an operation (WHATWG HTML, section 9.2).

use std::fmt::Display;
use std::io;

use axum::body::Bytes;
use ep_kernel::{Fault, Kind};
use futures::{Stream, StreamExt};
use serde_json::Value;
use sse_stream::{Sse, SseStream};

/// Maximum stream length, in bytes: far above any poll's.
const MAX_STREAM: usize = 16 * 1024 * 1024;

/// Reads events until the last one, and returns its data. Passes earlier events to `step`.
pub async fn read_events<E: Display>(
    chunks: impl Stream<Item = Result<Bytes, E>>,
    step: impl Fn(&'static str, Value),
) -> Result<Value, Fault> {
    let mut read = 0;
    let chunks = chunks.map(|chunk| {
        let chunk = chunk.map_err(|error| io::Error::other(error.to_string()))?;
        read += chunk.len();
        if read > MAX_STREAM { Err(io::Error::other("the stream is too long")) } else { Ok(chunk) }
    });
    let mut events = std::pin::pin!(SseStream::from_bytes_stream(chunks));
    while let Some(event) = events.next().await {
        let Sse { event: Some(name), data: Some(data), .. } = event.map_err(|error| broken_off(&error))?
        else {
            continue;
        };
        let data: Value = serde_json::from_str(&data).map_err(|error| broken_off(&error))?;
        match name.as_str() {
            "complete" | "running" => return Ok(data),
            "error" => return Err(Fault::from_problem(&data)),
            "started" => step("started", data),
            "vote" => step("vote", data),
            _ => {}
        }
    }
    Err(Fault::new(
        Kind::Unavailable,
        "the server closed the stream before the poll ended; ask for the result later",
    ))
}

/// Returns the fault for a response that ended early.
pub(super) fn broken_off(error: &impl Display) -> Fault {
    Fault::new(Kind::Unavailable, "the server's response ended early or is not JSON")
        .caused_by(error.to_string())
}
