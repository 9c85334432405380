//! The envelopes: JSON-RPC 2.0, and the bare body of `tasks/send`.

use axum::body::Body;
use axum::extract::{Request, State};
use axum::http::header::{CONTENT_TYPE, HeaderValue};
use axum::http::{HeaderMap, Response};
use ep_kernel::admission::{Refused, account, count};
use ep_kernel::dispatch::Dispatched;
use ep_kernel::fault::Fault;
use ep_kernel::ports::Allowance;
use ep_kernel::tool::{Answered, Freshness};
use serde_json::{Value, json};

use super::dialect::Dialect;
use super::errors::Refusal;
use super::message::member;
use super::send::{Outcome, Session, cancel, get, send};
use crate::surface::http::{Gate, Incoming, answer, fault, read_json, wrong_method};

/// `POST /api/a2a`.
pub(super) async fn serve(State(gate): State<Gate>, request: Request) -> Response<Body> {
    let (parts, body) = request.into_parts();
    let incoming = Incoming::read(&gate, &parts);
    // Who has no account is told at the HTTP level, before JSON-RPC.
    let caller = match account(&gate.app, incoming.credential.clone(), incoming.address).await {
        Ok(caller) => caller,
        Err(refused) => return fault(&gate, &incoming.shown, &refused.fault, refused.allowance.as_ref()),
    };
    let envelope = match read_json(&parts.headers, body).await {
        Ok(envelope) => envelope,
        Err(refusal) => return reply(&gate, &incoming, &Value::Null, Dialect::V1, Err(refusal.into()), None),
    };
    let session = Session { gate: &gate, incoming: &incoming, caller };
    let id = id_of(&envelope);
    let (dialect, outcome) = route(&session, &parts.headers, &envelope, id.as_ref()).await;
    let WrappedOutcome { task, dispatched } = outcome;
    let allowance = match counted(&session, dispatched).await {
        Ok(allowance) => allowance,
        Err(refused) => return fault(&gate, &incoming.shown, &refused.fault, refused.allowance.as_ref()),
    };
    let id = id.unwrap_or_default();
    let result = task.map(|(task, wrapped)| if wrapped { json!({ "task": task }) } else { task });
    reply(&gate, &incoming, &id, dialect, result, allowance.as_ref())
}

/// `POST /api/a2a/tasks/send`: bare, or in a JSON-RPC envelope; the reply comes in the same.
pub(super) async fn serve_tasks_send(State(gate): State<Gate>, request: Request) -> Response<Body> {
    let (parts, body) = request.into_parts();
    let incoming = Incoming::read(&gate, &parts);
    let shown = &incoming.shown;
    let caller = match account(&gate.app, incoming.credential.clone(), incoming.address).await {
        Ok(caller) => caller,
        Err(refused) => return fault(&gate, shown, &refused.fault, refused.allowance.as_ref()),
    };
    let sent = match read_json(&parts.headers, body).await {
        Ok(sent) => sent,
        Err(refusal) => return fault(&gate, shown, &refusal, None),
    };
    let session = Session { gate: &gate, incoming: &incoming, caller };
    let enveloped = sent.get("jsonrpc").is_some() || sent.get("method").is_some();
    let params = if enveloped { sent.get("params").cloned().unwrap_or_default() } else { sent.clone() };
    let Outcome { task, dispatched } = send(&session, &params, written_in(&params)).await;
    let allowance = match counted(&session, dispatched).await {
        Ok(allowance) => allowance,
        Err(refused) => return fault(&gate, shown, &refused.fault, refused.allowance.as_ref()),
    };
    let wrap = |key: &str, value: Value| json!({ "jsonrpc": "2.0", "id": id_of(&sent).unwrap_or_default(), key: value });
    match task {
        Ok(task) => {
            let value = if enveloped { wrap("result", task) } else { task };
            answer(shown, 200, &live(value), allowance.as_ref())
        }
        Err(refusal) => {
            let mut response = fault(&gate, shown, &refusal.as_fault(), allowance.as_ref());
            if enveloped {
                let error = refusal.error(Dialect::Legacy, &gate.app.settings.base_url);
                let json = HeaderValue::from_static("application/json");
                response.headers_mut().insert(CONTENT_TYPE, json);
                *response.body_mut() = Body::from(wrap("error", error).to_string());
            }
            response
        }
    }
}

/// What is left of the caller's allowance; a request that reached no operation is counted here.
async fn counted(
    session: &Session<'_>,
    dispatched: Option<Dispatched>,
) -> Result<Option<Allowance>, Refused> {
    match dispatched {
        Some(dispatched) => Ok(dispatched.allowance),
        None => count(&session.gate.app, &session.caller).await,
    }
}

/// The dialect of a body sent to the old path: newer clients may write their own there.
fn written_in(params: &Value) -> Dialect {
    let message = params.get("message");
    let role = message.and_then(|message| message.get("role")).and_then(Value::as_str).unwrap_or("");
    if role.starts_with("ROLE_") { Dialect::V1 } else { Dialect::Legacy }
}

type Routed = (Dialect, WrappedOutcome);

/// An outcome whose task may want the wrapper that 1.0 puts around results of `SendMessage`.
struct WrappedOutcome {
    task: Result<(Value, bool), Refusal>,
    dispatched: Option<Dispatched>,
}

async fn route(session: &Session<'_>, headers: &HeaderMap, envelope: &Value, id: Option<&Value>) -> Routed {
    let refused = |dialect, refusal| (dialect, WrappedOutcome { task: Err(refusal), dispatched: None });
    if envelope.is_array() {
        return refused(
            Dialect::V1,
            Refusal::InvalidRequest("batches are not supported; send one request".into()),
        );
    }
    let version = headers.get("a2a-version").and_then(|value| value.to_str().ok()).unwrap_or("").trim();
    let Some(method) = envelope.get("method").and_then(Value::as_str) else {
        return refused(
            Dialect::V1,
            Refusal::InvalidRequest("method is missing; send a JSON-RPC 2.0 request".into()),
        );
    };
    let dialect = if method.contains('/') { Dialect::V03 } else { Dialect::V1 };
    if envelope.get("jsonrpc").and_then(Value::as_str) != Some("2.0") {
        return refused(dialect, Refusal::InvalidRequest("jsonrpc must be \"2.0\"".into()));
    }
    if id.is_none() {
        return refused(dialect, Refusal::InvalidRequest("id must be a string, a number or null".into()));
    }
    if !(version.is_empty()
        || version == "0.3"
        || version == "1"
        || version.starts_with("1.")
        || version.starts_with("0.3."))
    {
        let shown: String = version.chars().take(16).collect();
        return refused(
            dialect,
            Refusal::Version(format!("A2A version {shown} is not spoken here; send 1.0 or 0.3")),
        );
    }
    let params = envelope.get("params").cloned().unwrap_or_else(|| json!({}));
    let (dialect, outcome, wrapped) = match method {
        "SendMessage" => (Dialect::V1, send(session, &params, Dialect::V1).await, true),
        "message/send" => (Dialect::V03, send(session, &params, Dialect::V03).await, false),
        "tasks/send" => (Dialect::Legacy, send(session, &params, Dialect::Legacy).await, false),
        "GetTask" | "tasks/get" => match member(&params, "id", "name").and_then(Value::as_str) {
            Some(task) => (dialect, get(session, task, dialect).await, false),
            None => return refused(dialect, no_task_named()),
        },
        "CancelTask" | "tasks/cancel" => match member(&params, "id", "name").and_then(Value::as_str) {
            Some(task) => (dialect, cancel(session, task, dialect).await, false),
            None => return refused(dialect, no_task_named()),
        },
        known if UNSUPPORTED.contains(&known) => {
            let advice = format!("{known} is not offered; {}", dialect.offered());
            return refused(dialect, Refusal::Unsupported(advice));
        }
        push if push.to_ascii_lowercase().contains("pushnotificationconfig") => {
            let advice = format!("this agent sends no push notifications; {}", dialect.offered());
            return refused(dialect, Refusal::NoPush(advice));
        }
        unknown => {
            let shown: String = unknown.chars().take(64).collect();
            let advice = format!("there is no method {shown}; {}", dialect.offered());
            return refused(dialect, Refusal::MethodNotFound(advice));
        }
    };
    let task = outcome.task.map(|task| (task, wrapped));
    (dialect, WrappedOutcome { task, dispatched: outcome.dispatched })
}

/// Methods of the protocol that the agent card says are not offered.
const UNSUPPORTED: &[&str] = &[
    "SendStreamingMessage",
    "ListTasks",
    "SubscribeToTask",
    "GetExtendedAgentCard",
    "message/stream",
    "tasks/list",
    "tasks/resubscribe",
    "agent/getAuthenticatedExtendedCard",
];

fn no_task_named() -> Refusal {
    Fault::invalid("id", "id is missing: name the task").into()
}

/// The request's id as it came: null where it is missing, none where it is of a kind that no id has.
fn id_of(envelope: &Value) -> Option<Value> {
    match envelope.get("id") {
        None => Some(Value::Null),
        Some(id @ (Value::Null | Value::String(_) | Value::Number(_))) => Some(id.clone()),
        Some(_) => None,
    }
}

/// A JSON-RPC reply. Errors ride on status 200 too: common clients lose the body of any other.
fn reply(
    gate: &Gate,
    incoming: &Incoming,
    id: &Value,
    dialect: Dialect,
    result: Result<Value, Refusal>,
    allowance: Option<&Allowance>,
) -> Response<Body> {
    let value = match result {
        Ok(result) => json!({ "jsonrpc": "2.0", "id": id, "result": result }),
        Err(refusal) => {
            json!({ "jsonrpc": "2.0", "id": id, "error": refusal.error(dialect, &gate.app.settings.base_url) })
        }
    };
    answer(&incoming.shown, 200, &live(value), allowance)
}

fn live(value: Value) -> Answered {
    Answered { value, freshness: Freshness::Live, headline: None, handle: None }
}

pub(super) async fn not_posted(State(gate): State<Gate>, request: Request) -> Response<Body> {
    wrong_method(&gate, &request.into_parts().0, "POST, OPTIONS")
}
