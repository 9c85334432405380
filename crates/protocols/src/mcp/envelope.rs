//! JSON-RPC errors in place of the transport's plain-text errors and misleading statuses.

use axum::body::{Body, Bytes};
use axum::http::header::{ACCEPT, CONTENT_TYPE, HeaderValue};
use axum::http::request::Parts;
use axum::http::{Response, StatusCode};
use ep_kernel::reading::MAX_READ_HERE;
use ep_site::http::json;
use serde_json::{Map, Value};

/// A JSON-RPC message, as the transport receives it.
pub(super) struct ReceivedMessage {
    /// The message, without the arguments below.
    pub(super) message: Map<String, Value>,
    /// The same as text.
    pub(super) bytes: Bytes,
    /// The arguments of a long call of a tool. The transport, which parses on an async worker, does not receive them.
    pub(super) arguments: Option<Map<String, Value>>,
}

impl ReceivedMessage {
    /// Reads a message, or returns the error response. Boxed, because a response is large.
    pub(super) fn read(bytes: Bytes) -> Result<Self, Box<Response<Body>>> {
        let mut message = read_message(&bytes)?;
        if bytes.len() <= MAX_READ_HERE {
            return Ok(Self { message, bytes, arguments: None });
        }
        let is_call = message.get("method").is_some_and(|method| method == "tools/call");
        let arguments = message.get_mut("params").filter(|_| is_call);
        let arguments = arguments.and_then(|params| params.get_mut("arguments")?.as_object_mut());
        let arguments = arguments.map(std::mem::take);
        let bytes = serde_json::to_vec(&message).unwrap_or_default();
        if bytes.len() > MAX_READ_HERE {
            let id = message.get("id").unwrap_or(&Value::Null);
            let text = format!(
                "the request has more than {MAX_READ_HERE} bytes besides the arguments of a tool; shorten it"
            );
            return Err(Box::new(rpc_error(400, id, -32600, &text)));
        }
        Ok(Self { message, bytes: bytes.into(), arguments })
    }
}

fn read_message(bytes: &[u8]) -> Result<Map<String, Value>, Box<Response<Body>>> {
    let refused = |code, message| Err(Box::new(rpc_error(400, &Value::Null, code, message)));
    let message = match serde_json::from_slice(bytes) {
        Ok(Value::Object(message)) => message,
        Ok(Value::Array(_)) => {
            return refused(-32600, "batches are not supported; send one JSON-RPC request");
        }
        Ok(_) => return refused(-32600, "the body is not a JSON object; send one JSON-RPC request"),
        Err(_) => return refused(-32700, "the body is not valid JSON; send one JSON-RPC request"),
    };
    if message.get("jsonrpc").and_then(Value::as_str) != Some("2.0") {
        return refused(-32600, "jsonrpc must be \"2.0\"");
    }
    if !message.get("method").is_some_and(Value::is_string) {
        let response = message.contains_key("result") || message.contains_key("error");
        let advice = if response {
            "this is a JSON-RPC response; send one JSON-RPC request"
        } else {
            "method is missing; send one JSON-RPC request"
        };
        return refused(-32600, advice);
    }
    let id = message.get("id");
    if !id.is_none_or(|id| id.is_string() || id.is_i64()) {
        return refused(-32600, "id must be a string or an integer; only notifications have no id");
    }
    if !message.get("params").is_none_or(|params| params.is_object() || params.is_null()) {
        let id = id.unwrap_or(&Value::Null);
        return Err(Box::new(rpc_error(400, id, -32602, "params must be an object")));
    }
    let meta = message.get("params").and_then(|params| params.get("_meta"));
    if !meta.is_none_or(|meta| meta.is_object() || meta.is_null()) {
        let id = id.unwrap_or(&Value::Null);
        return Err(Box::new(rpc_error(400, id, -32602, "params._meta must be an object")));
    }
    Ok(message)
}

fn rpc_error(status: u16, id: &Value, code: i32, message: &str) -> Response<Body> {
    json(
        status,
        &serde_json::json!({ "jsonrpc": "2.0", "id": id, "error": { "code": code, "message": message } }),
    )
}

/// The forms of response that a client accepts.
#[derive(Debug, Clone, Copy)]
pub(super) struct Accepted {
    /// True for an event stream.
    pub(super) streams: bool,
    /// True for a JSON document.
    pub(super) json: bool,
}

/// Adds the headers that the transport requires and plain HTTP clients omit. Returns the forms of response that the client
/// accepts.
pub(super) fn complete_headers(parts: &mut Parts) -> Accepted {
    let accepts: Vec<&str> =
        parts.headers.get_all(ACCEPT).iter().filter_map(|value| value.to_str().ok()).collect();
    let accepts = accepts.join(",");
    let anything = accepts.trim().is_empty() || accepts.contains("*/*");
    let streams = anything || accepts.contains("text/event-stream");
    let json = anything || accepts.contains("application/json") || accepts.contains("application/*");
    if streams || json {
        parts.headers.insert(ACCEPT, HeaderValue::from_static("application/json, text/event-stream"));
    }
    if !parts.headers.contains_key(CONTENT_TYPE) {
        parts.headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    }
    Accepted { streams, json }
}

/// Converts a plain-text error of the transport to a JSON-RPC error.
pub(super) async fn plain_errors_as_json(response: Response<Body>) -> Response<Body> {
    let plain =
        response.headers().get(CONTENT_TYPE).is_none_or(|kind| kind.as_bytes().starts_with(b"text/plain"));
    if response.status().as_u16() < 400 || !plain {
        return response;
    }
    let status = response.status();
    let text = match axum::body::to_bytes(response.into_body(), 4096).await {
        Ok(bytes) => String::from_utf8_lossy(&bytes).trim().to_owned(),
        Err(_) => String::new(),
    };
    // The body has the right media type but invalid content.
    let no_message = text.starts_with("fail to deserialize");
    let status = if no_message { StatusCode::BAD_REQUEST } else { status };
    let message = match status {
        _ if no_message => {
            "the body is not a JSON-RPC request or notification: each field may appear only once, \
                            and params must be an object"
                .to_owned()
        }
        StatusCode::NOT_ACCEPTABLE => {
            "send Accept: application/json, or application/json, text/event-stream for progress".to_owned()
        }
        StatusCode::UNSUPPORTED_MEDIA_TYPE => "send Content-Type: application/json".to_owned(),
        _ if text.is_empty() => status.canonical_reason().unwrap_or("refused").to_owned(),
        _ => text,
    };
    let code = if status == StatusCode::FORBIDDEN { 40300 } else { -32600 };
    rpc_error(status.as_u16(), &Value::Null, code, &message)
}
