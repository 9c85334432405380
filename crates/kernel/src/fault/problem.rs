//! The error bodies of a fault.

use ep_polling::PollId;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use super::{Fault, FieldFault, Kind, Recovery};
use crate::links::{ActionCall, ActionRequest, Calls};
use crate::method::Method;

/// The default error body.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct ErrorBody {
    /// The problem and the next step.
    pub error: String,
    /// The poll that the error is about, if any.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "PollId")]
    pub poll_id: Option<PollId>,
}

/// Problem details (RFC 9457) with our extensions: `code` and `recovery_actions`.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct Problem {
    /// URI of the kind of problem; it resolves to a description.
    #[serde(rename = "type")]
    pub kind: String,
    /// Short description of the kind.
    pub title: String,
    /// The HTTP status.
    pub status: u16,
    /// The problem and the next step.
    pub detail: String,
    /// The request id.
    pub instance: String,
    /// Stable code of the kind.
    pub code: String,
    /// True if the same request may succeed later.
    pub retryable: bool,
    /// The poll that the error is about, if any.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "PollId")]
    pub poll_id: Option<PollId>,
    /// The invalid fields of the input.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub errors: Vec<FieldFault>,
    /// Actions that the caller can take.
    pub recovery_actions: Vec<RecoveryAction>,
}

/// One recovery action.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct RecoveryAction {
    /// Stable name of the action.
    pub action: String,
    /// The action as a sentence.
    pub description: String,
    /// HTTP method, if the action is a request or a page to open.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String")]
    pub method: Option<String>,
    /// URL, if the action is a request or a page to open.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String")]
    pub href: Option<String>,
    /// Example of the request's JSON body.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "serde_json::Map<String, Value>")]
    pub example: Option<Value>,
    /// Tool of MCP, if the action is its call.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(skip)]
    pub tool: Option<&'static str>,
    /// Skill of A2A, if the action is its call.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(skip)]
    pub skill: Option<&'static str>,
    /// Arguments of the tool or skill.
    #[serde(skip_serializing_if = "Map::is_empty")]
    #[schemars(skip)]
    pub arguments: Map<String, Value>,
    /// Seconds to wait before the action.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "u64")]
    pub retry_after: Option<u64>,
}

impl RecoveryAction {
    /// Creates an action: advice with an optional request.
    pub fn new(action: &str, description: impl Into<String>, request: Option<(Method, String)>) -> Self {
        Self {
            action: action.into(),
            description: description.into(),
            method: request.as_ref().map(|(method, _)| method.as_str().into()),
            href: request.map(|(_, url)| url),
            example: None,
            tool: None,
            skill: None,
            arguments: Map::new(),
            retry_after: None,
        }
    }

    /// Creates an action with a call in the form of a protocol.
    fn calling(action: &str, description: &str, call: Option<ActionCall>) -> Self {
        match call {
            None => Self::new(action, description, None),
            Some(ActionCall::Request(method, url)) => Self::new(action, description, Some((method, url))),
            Some(ActionCall::Tool(name)) => Self { tool: Some(name), ..Self::new(action, description, None) },
            Some(ActionCall::Skill(name)) => {
                Self { skill: Some(name), ..Self::new(action, description, None) }
            }
        }
    }

    /// Returns the actions of a row: none if the protocol lacks the call, one, or one for each way that this service
    /// offers.
    pub fn of(recovery: &Recovery, calls: &dyn Calls, retry_after: Option<u64>) -> Vec<Self> {
        // No protocol has calls of its own for payments.
        if let Some(ways) = recovery.request.and_then(|goal| calls.links().ways(goal)) {
            return ways.iter().cloned().map(Self::from).collect();
        }
        let call = recovery.request.and_then(|name| calls.call(name));
        if recovery.only_as_call && call.is_none() {
            return Vec::new();
        }
        let action = Self::calling(recovery.action, recovery.description, call);
        let retry_after = if recovery.action == "wait" { retry_after } else { None };
        vec![Self { retry_after, ..action }]
    }

    /// Fills in the id of a poll.
    fn with_poll(self, poll: &PollId) -> Self {
        let fill = |url: String| url.replace("{poll_id}", poll.as_str());
        let mut arguments = Map::new();
        if self.tool.is_some() || self.skill.is_some() {
            arguments.insert("poll_id".to_owned(), json!(poll));
        }
        Self { href: self.href.map(fill), arguments, ..self }
    }
}

impl From<ActionRequest> for RecoveryAction {
    fn from(way: ActionRequest) -> Self {
        Self { example: way.example, ..Self::new(way.action, way.description, way.request) }
    }
}

impl Fault {
    /// Returns the default error body.
    pub fn body(&self) -> ErrorBody {
        ErrorBody { error: self.message().to_owned(), poll_id: self.poll().cloned() }
    }

    /// Reads a fault from the problem details of another server. An unknown code is an internal fault.
    pub fn from_problem(problem: &serde_json::Value) -> Self {
        let text = |name: &str| problem.get(name).and_then(serde_json::Value::as_str).unwrap_or("");
        Self::new(Kind::from_code(text("code")).unwrap_or(Kind::Internal), text("detail"))
    }

    /// Returns the fault as problem details for this request, with recovery actions in the form of this protocol.
    pub fn problem(&self, calls: &dyn Calls, request_id: &str) -> Problem {
        let row = self.kind().row();
        Problem {
            kind: self.kind().uri(calls.links()),
            title: row.title.into(),
            status: row.http,
            detail: self.message().to_owned(),
            instance: format!("urn:uuid:{request_id}"),
            code: row.code.into(),
            retryable: row.retryable,
            poll_id: self.poll().cloned(),
            errors: self.fields().to_vec(),
            recovery_actions: self.recovery_actions(calls),
        }
    }

    /// Returns the recovery actions of the fault that apply to its operation, in the order of their use.
    pub fn recovery_actions(&self, calls: &dyn Calls) -> Vec<RecoveryAction> {
        let wait = self.retry_after_seconds();
        let read = self.poll().map(|poll| {
            let call = calls.call("get_poll_result");
            RecoveryAction::calling("read_result", "Read the progress of the poll.", call).with_poll(poll)
        });
        let own = self.actions().iter().cloned();
        let recovery = self.kind().row().recovery.iter();
        let applicable = recovery.filter(|recovery| recovery.applies_to <= self.operation());
        let known = applicable.flat_map(|recovery| RecoveryAction::of(recovery, calls, wait));
        read.into_iter().chain(own).chain(known).collect()
    }
}
