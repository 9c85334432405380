//! The JSON-RPC endpoint, and the endpoint of `tasks/send` with an optional envelope.

use axum::body::Body;
use axum::http::header::{CACHE_CONTROL, CONTENT_TYPE, HeaderValue};
use axum::http::{HeaderMap, Response};
use axum::response::sse::Event;
use ep_kernel::Fault;
use ep_kernel::guard::Admission;
use ep_kernel::reading;
use ep_site::http::{Exchange, event_stream, json as json_response, parse_body, read_body};
use futures::StreamExt;
use jsonrpsee_core::server::{ConnectionId, Extensions, MethodCallback, MethodResponse, ResponsePayload};
use jsonrpsee_types::{Id, Params, Request};
use serde_json::value::RawValue;
use serde_json::{Value, json};

use super::dialect::Dialect;
use super::envelope::{InvalidRequest, check_version, error, read};
use super::errors::{Answer, Refusal};
use super::events;
use super::methods::{METHODS, Streaming, read_params, unknown};
use super::operations::{Reply, send};
use super::request::{AgentParts, AgentRequest};

/// Maximum response size, in bytes: far above any poll's.
const MAX_RESPONSE: usize = 16 * 1024 * 1024;

/// `POST /api/a2a`.
pub(super) async fn serve(
    exchange: Exchange,
    admission: Admission,
    agent_parts: AgentParts,
) -> Result<Response<Body>, Fault> {
    let Exchange { state, head, request, max_body, .. } = exchange;
    let (parts, body) = request.into_parts();
    let agent = AgentRequest::new(state, head, admission, &parts.headers, agent_parts).await?;
    let calls = &agent.calls();
    let body = match read_body(&parts.headers, body, max_body).await {
        Ok(body) => body,
        Err(fault) => {
            let refusal = Refusal::from(fault);
            return Ok(reply(&error(Id::Null, refusal.error(Dialect::V1, calls))));
        }
    };
    let response = match reading::read(body.len(), move || read(&body)).await? {
        Ok(request) if Streaming::of(&request.method).is_some() => {
            let mut response = stream(&agent, &parts.headers, &request).await;
            agent.check_caller()?;
            agent.confirm_payments(&parts.headers, &mut response);
            return Ok(response);
        }
        Ok(request) => match check_version(&parts.headers) {
            Ok(()) => call(&agent, &request).await,
            Err(refusal) => error(request.id(), refusal.error(Dialect::of_method(&request.method), calls)),
        },
        Err(InvalidRequest { id, dialect, refusal }) => error(id, refusal.error(dialect, calls)),
    };
    agent.check_caller()?;
    let mut response = reply(&response);
    agent.confirm_payments(&parts.headers, &mut response);
    Ok(response)
}

/// Calls a method that returns events.
async fn stream(agent: &AgentRequest, headers: &HeaderMap, request: &Request<'static>) -> Response<Body> {
    let dialect = Dialect::of_method(&request.method);
    let (id, calls) = (request.id().into_owned(), agent.calls());
    let frame = move |result: Answer<Value>| match result {
        Ok(result) => {
            MethodResponse::response(id.clone(), ResponsePayload::success(result), MAX_RESPONSE).into_json()
        }
        Err(refusal) => error(id.clone(), refusal.error(dialect, &calls)),
    };
    let begun = async {
        check_version(headers)?;
        let params = read_params(request.params.as_ref().map(|params| params.get())).await?;
        match Streaming::of(&request.method) {
            Some(Streaming::Send) => events::send(agent, &params, dialect).await,
            _ => events::subscribe(agent, &params, dialect).await,
        }
    };
    let event = |frame: Box<RawValue>| Event::default().data(frame.get());
    match begun.await {
        Ok(events) => event_stream(events.map(move |result| event(frame(result)))),
        // Clients of 0.3 accept only events.
        Err(refusal) if dialect == Dialect::V03 => {
            event_stream(futures::stream::iter([event(frame(Err(refusal)))]))
        }
        Err(refusal) => reply(&frame(Err(refusal))),
    }
}

/// Calls a method of the table.
async fn call(agent: &AgentRequest, request: &Request<'static>) -> Box<RawValue> {
    let id = request.id().into_owned();
    let Some(callback) = METHODS.method(&request.method) else {
        let dialect = Dialect::of_method(&request.method);
        return error(id, unknown(&request.method).error(dialect, &agent.calls()));
    };
    let params = Params::new(request.params.as_ref().map(|params| params.get())).into_owned();
    let mut extensions = Extensions::new();
    extensions.insert(agent.clone());
    match callback {
        MethodCallback::Async(method) => {
            method(id, params, ConnectionId(0), MAX_RESPONSE, extensions).await.into_json()
        }
        MethodCallback::Sync(method) => method(id, params, MAX_RESPONSE, extensions).into_json(),
        // The table has no subscriptions, because JSON-RPC over HTTP has no streams.
        MethodCallback::Subscription(_) | MethodCallback::Unsubscription(_) => {
            error(id, unknown(&request.method).error(Dialect::V1, &agent.calls()))
        }
    }
}

/// Returns a JSON-RPC response. Errors have status 200 too, because common clients drop the body of other statuses.
fn reply(body: &RawValue) -> Response<Body> {
    let mut response = Response::new(Body::from(body.get().to_owned()));
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    response
}

/// `POST /api/a2a/tasks/send`: a bare request or a JSON-RPC envelope; the response has the same form.
pub(super) async fn serve_tasks_send(
    exchange: Exchange,
    admission: Admission,
    agent_parts: AgentParts,
) -> Result<Response<Body>, Fault> {
    let Exchange { state, head, request, max_body, .. } = exchange;
    let (parts, body) = request.into_parts();
    let body = read_body(&parts.headers, body, max_body).await?;
    let mut sent = reading::read(body.len(), move || parse_body(&body)).await??;
    let agent = AgentRequest::new(state, head, admission, &parts.headers, agent_parts).await?;
    let enveloped = sent.get("jsonrpc").is_some() || sent.get("method").is_some();
    let id = sent.get("id").filter(|id| id.is_string() || id.is_number()).cloned().unwrap_or_default();
    let params = if enveloped { sent["params"].take() } else { sent };
    let result = send(&agent, &params, written_in(&params)).await;
    agent.check_caller()?;
    let (status, body) = match result {
        Ok(Reply::Task(bare) | Reply::Message(bare)) if !enveloped => (200, bare),
        Ok(Reply::Task(result) | Reply::Message(result)) => {
            (200, json!({ "jsonrpc": "2.0", "id": id, "result": result }))
        }
        Err(refusal) if enveloped => {
            let error = refusal.error(Dialect::Legacy, &agent.calls());
            let status = refusal.as_fault().kind().row().http;
            (status, json!({ "jsonrpc": "2.0", "id": id, "error": error }))
        }
        Err(refusal) => return Err(refusal.as_fault()),
    };
    let mut response = json_response(status, &body);
    response.headers_mut().insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    Ok(response)
}

/// Detects the protocol version of a body sent to `/tasks/send`, because newer clients may send the 1.0 format there.
fn written_in(params: &Value) -> Dialect {
    let message = params.get("message");
    let role = message.and_then(|message| message.get("role")).and_then(Value::as_str).unwrap_or("");
    if role.starts_with("ROLE_") { Dialect::V1 } else { Dialect::Legacy }
}
