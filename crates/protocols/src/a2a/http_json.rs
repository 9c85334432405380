//! The HTTP+JSON binding of specification 1.0 (section 11), and of 0.3 below its `v1` paths.

use axum::body::Body;
use axum::extract::RawPathParams;
use axum::http::header::{ACCEPT, CACHE_CONTROL, CONTENT_TYPE, HeaderValue, RETRY_AFTER};
use axum::http::{HeaderMap, Response, StatusCode};
use axum::response::sse::Event;
use ep_kernel::guard::Admission;
use ep_kernel::{Calls, Fault};
use ep_site::http::{Exchange, PathParams, event_stream, json as json_response, read_json};
use futures::StreamExt;
use serde_json::{Map, Value, json};

use super::dialect::Dialect;
use super::envelope::check_version;
use super::errors::{Answer, Refusal};
use super::events;
use super::events::Events;
use super::fields::{field_of, invalid};
use super::methods;
use super::methods::Action;
use super::pushes::PushAction;
use super::request::{AgentParts, AgentRequest};
use super::skill_calls::SkillCalls;

/// An operation of the binding.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HttpOperation {
    /// `POST /message:send`
    Send,
    /// `POST /message:stream`
    Stream,
    /// `GET /tasks`
    List,
    /// `GET /tasks/{id}`, and `GET /tasks/{id}:subscribe`
    Read,
    /// `POST /tasks/{id}:cancel` and `POST /tasks/{id}:subscribe`
    Act,
    /// `POST /tasks/{id}/pushNotificationConfigs`
    CreatePush,
    /// `GET /tasks/{id}/pushNotificationConfigs`
    ListPushes,
    /// `GET /tasks/{id}/pushNotificationConfigs/{config}`
    GetPush,
    /// `DELETE /tasks/{id}/pushNotificationConfigs/{config}`
    DeletePush,
    /// `GET /extendedAgentCard`
    ExtendedCard,
}

/// Handles a request of the binding; `older` selects version 0.3.
pub(super) async fn handle(
    exchange: Exchange,
    admission: Admission,
    operation: HttpOperation,
    older: bool,
    agent_parts: AgentParts,
) -> Result<Response<Body>, Fault> {
    let Exchange { state, head, params, request, max_body } = exchange;
    let (parts, body) = request.into_parts();
    let agent = AgentRequest::new(state, head, admission, &parts.headers, agent_parts).await?;
    let mut dialect = if older { Dialect::V03Rest } else { Dialect::V1 };
    let answered = async {
        check_version(&parts.headers)?;
        let mut sent = from_query(parts.uri.query().unwrap_or_default());
        let body = read_json(&parts.headers, body, max_body).await?;
        let Value::Object(body) = body else { return Err(invalid("", "the body must be a JSON object")) };
        sent.extend(body);
        let verb = from_path(&params, &mut sent)?;
        let sent = Value::Object(sent);
        if older && has_kinds(&sent) {
            dialect = Dialect::V03;
        }
        run(&agent, operation, verb.as_deref(), &sent, dialect).await
    };
    let answered = answered.await;
    agent.check_caller()?;
    let mut response = match answered {
        Ok(HttpOutput::Value(value)) => respond(&parts.headers, 200, &value),
        Ok(HttpOutput::Events(events)) => stream(events, agent.calls()),
        Err(refusal) => refuse(&parts.headers, &refusal, &agent.calls()),
    };
    agent.confirm_payments(&parts.headers, &mut response);
    Ok(response)
}

enum HttpOutput {
    Value(Value),
    Events(Events),
}

async fn run(
    agent: &AgentRequest,
    operation: HttpOperation,
    verb: Option<&str>,
    sent: &Value,
    dialect: Dialect,
) -> Answer<HttpOutput> {
    let action = match (operation, verb) {
        (HttpOperation::Stream, _) => {
            return events::send(agent, sent, dialect).await.map(HttpOutput::Events);
        }
        (HttpOperation::Read | HttpOperation::Act, Some("subscribe")) => {
            return events::subscribe(agent, sent, dialect).await.map(HttpOutput::Events);
        }
        (HttpOperation::Send, _) => Action::Send,
        (HttpOperation::List, _) => Action::List,
        (HttpOperation::Read, None) => Action::Get,
        (HttpOperation::Act, Some("cancel")) => Action::Cancel,
        (HttpOperation::Read | HttpOperation::Act, _) => {
            let text = "use GET to read a task, or POST …:cancel or …:subscribe".to_owned();
            return Err(Refusal::MethodNotFound(text));
        }
        (HttpOperation::CreatePush, _) => Action::Push(PushAction::Create),
        (HttpOperation::ListPushes, _) => Action::Push(PushAction::List),
        (HttpOperation::GetPush, _) => Action::Push(PushAction::Get),
        (HttpOperation::DeletePush, _) => Action::Push(PushAction::Delete),
        (HttpOperation::ExtendedCard, _) => Action::ExtendedCard,
    };
    methods::act(agent, action, sent, dialect).await.map(HttpOutput::Value)
}

/// Returns the fields of a query. Numbers and booleans stay text.
fn from_query(query: &str) -> Map<String, Value> {
    let field = |(name, value): (std::borrow::Cow<'_, str>, std::borrow::Cow<'_, str>)| {
        let read = match name.as_ref() {
            "historyLength" | "history_length" | "pageSize" | "page_size" => {
                value.parse::<i64>().ok().map(Value::from)
            }
            "includeArtifacts" | "include_artifacts" => value.parse::<bool>().ok().map(Value::from),
            _ => None,
        };
        (name.into_owned(), read.unwrap_or_else(|| Value::String(value.into_owned())))
    };
    url::form_urlencoded::parse(query.as_bytes()).map(field).collect()
}

/// Adds the path parameters; returns the verb after a task's id.
fn from_path(params: &PathParams, sent: &mut Map<String, Value>) -> Answer<Option<String>> {
    let params: &RawPathParams = params
        .as_ref()
        .map_err(|_| invalid("id", "the path contains percent-encoding that is not valid UTF-8"))?;
    let mut verb = None;
    for (name, value) in params {
        let value = match value.rsplit_once(':') {
            Some((id, found)) if name == "task" => {
                verb = Some(found.to_owned());
                id
            }
            _ => value,
        };
        let name = match name {
            "task" => "id",
            other => other,
        };
        sent.insert(name.to_owned(), value.into());
    }
    Ok(verb)
}

/// True if a 0.3 message has the form of its JSON-RPC binding, which some clients send.
fn has_kinds(sent: &Value) -> bool {
    let message = field_of(sent, "message", "request");
    let role = message.and_then(|message| message.get("role")).and_then(Value::as_str);
    matches!(role, Some("user" | "agent"))
}

/// Returns a response in the protocol's media type, or in plain JSON if the client accepts only that. Errors are
/// plain JSON, unless the client accepts the protocol's type.
fn respond(request: &HeaderMap, status: u16, body: &Value) -> Response<Body> {
    let mut response = json_response(status, body);
    let accepted = request.get(ACCEPT).and_then(|accept| accept.to_str().ok()).unwrap_or_default();
    let asked_for = accepted.contains("application/a2a+json");
    let plain = status != 200 || accepted.contains("application/json");
    let headers = response.headers_mut();
    if asked_for || !plain {
        headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/a2a+json"));
    }
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    response
}

fn refuse(request: &HeaderMap, refusal: &Refusal, calls: &dyn Calls) -> Response<Body> {
    let (status, body) = refusal.status(calls);
    let mut response = respond(request, status, &body);
    *response.status_mut() = StatusCode::from_u16(status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    if let Some(seconds) = refusal.as_fault().retry_after_seconds() {
        response.headers_mut().insert(RETRY_AFTER, seconds.into());
    }
    response
}

fn stream(events: Events, calls: SkillCalls) -> Response<Body> {
    let event = move |result: Answer<Value>| match result {
        Ok(value) => Event::default().data(value.to_string()),
        Err(refusal) => Event::default().event("error").data(refusal.status(&calls).1.to_string()),
    };
    event_stream(events.map(event))
}

impl Refusal {
    /// The HTTP status and body of the refusal (section 11.6).
    fn status(&self, calls: &dyn Calls) -> (u16, Value) {
        let http = match self {
            Self::Fault(fault) => fault.kind().row().http,
            Self::MethodNotFound(_) => 404,
            _ => 400,
        };
        let status = match (self, http) {
            (
                Self::NotCancelable(_) | Self::Unsupported(_) | Self::NoExtendedCard(_) | Self::Version(_),
                _,
            )
            | (_, 402) => "FAILED_PRECONDITION",
            (_, 401) => "UNAUTHENTICATED",
            (_, 403) => "PERMISSION_DENIED",
            (_, 404) => "NOT_FOUND",
            (_, 409) => "ABORTED",
            (_, 408 | 504) => "DEADLINE_EXCEEDED",
            (_, 429) => "RESOURCE_EXHAUSTED",
            (_, 500) => "INTERNAL",
            (_, 503) => "UNAVAILABLE",
            _ => "INVALID_ARGUMENT",
        };
        let details = self.details(calls);
        let body = json!({ "code": http, "status": status, "message": self.message(), "details": details });
        (http, json!({ "error": body }))
    }
}
