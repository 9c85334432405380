//! The JSON-RPC 2.0 envelope (jsonrpsee-types).

use std::borrow::Cow;

use axum::http::HeaderMap;
use ep_site::http::malformed_body;
use jsonrpsee_core::server::MethodResponse;
use jsonrpsee_types::{ErrorObjectOwned, Id, Notification, Request};
use serde::Deserialize;
use serde_json::Value;
use serde_json::value::RawValue;

use super::dialect::Dialect;
use super::errors::{Answer, Refusal};

/// An invalid request, as far as it was parsed.
pub(super) struct InvalidRequest {
    pub(super) id: Id<'static>,
    pub(super) dialect: Dialect,
    pub(super) refusal: Refusal,
}

/// Reads a request. A request without an id gets a response with a null id.
pub(super) fn read(body: &[u8]) -> Result<Request<'static>, InvalidRequest> {
    if let Ok(request) = serde_json::from_slice::<Request<'_>>(body) {
        let params = request.params.map(Cow::into_owned);
        return Ok(Request::owned(request.method.into_owned(), params, request.id.into_owned()));
    }
    if let Ok(request) = serde_json::from_slice::<Notification<'_, Option<&RawValue>>>(body)
        && !serde_json::from_slice::<Value>(body).is_ok_and(|value| value.get("id").is_some())
    {
        let params = request.params.map(ToOwned::to_owned);
        return Ok(Request::owned(request.method.into_owned(), params, Id::Null));
    }
    Err(unreadable(body))
}

/// Returns the error of a body that is not a request.
fn unreadable(body: &[u8]) -> InvalidRequest {
    let value: Value = match serde_json::from_slice(body) {
        Ok(value) => value,
        Err(error) => {
            let refusal = malformed_body(&error).into();
            return InvalidRequest { id: Id::Null, dialect: Dialect::V1, refusal };
        }
    };
    let method = value.get("method").and_then(Value::as_str);
    let id = value.get("id").and_then(|id| Id::deserialize(id).ok());
    let advice = if value.is_array() {
        "batches are not supported; send one request"
    } else if method.is_none() {
        "method is missing; send a JSON-RPC 2.0 request"
    } else if value.get("jsonrpc").and_then(Value::as_str) != Some("2.0") {
        "jsonrpc must be \"2.0\""
    } else {
        "id must be a string, a whole number from 0 to 2^64-1, or null"
    };
    InvalidRequest {
        id: id.map_or(Id::Null, Id::into_owned),
        dialect: method.map_or(Dialect::V1, Dialect::of_method),
        refusal: Refusal::InvalidRequest(advice.into()),
    }
}

/// Returns an error response.
pub(super) fn error(id: Id<'_>, error: ErrorObjectOwned) -> Box<RawValue> {
    MethodResponse::error(id, error).into_json()
}

/// Rejects unsupported protocol versions (`A2A-Version`).
pub(super) fn check_version(headers: &HeaderMap) -> Answer<()> {
    let version = headers.get("a2a-version").and_then(|value| value.to_str().ok()).unwrap_or("").trim();
    let supported = version.is_empty()
        || matches!(version, "0.3" | "1")
        || version.starts_with("1.")
        || version.starts_with("0.3.");
    if supported {
        return Ok(());
    }
    let shown: String = version.chars().take(16).collect();
    Err(Refusal::Version(format!("A2A version {shown} is not supported; send 1.0 or 0.3")))
}
