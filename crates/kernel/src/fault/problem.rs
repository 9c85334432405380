//! The error bodies of a fault.

use ep_polling::poll_id::PollId;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{Fault, FieldFault, Recovery};
use crate::links::{ActionRequest, Links};
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
            retry_after: None,
        }
    }

    /// Returns the actions of a row: one, or one for each way that this service offers.
    pub fn of(recovery: &Recovery, links: &Links, retry_after: Option<u64>) -> Vec<Self> {
        if let Some(ways) = recovery.request.and_then(|goal| links.ways(goal)) {
            return ways.iter().cloned().map(Self::from).collect();
        }
        let served = recovery.request.filter(|name| links.has(name));
        let action = Self::new(recovery.action, recovery.description, served.map(|name| links.request(name)));
        let retry_after = if recovery.action == "wait" { retry_after } else { None };
        vec![Self { retry_after, ..action }]
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

    /// Returns the fault as problem details for this request.
    pub fn problem(&self, links: &Links, request_id: &str) -> Problem {
        let row = self.kind().row();
        Problem {
            kind: self.kind().uri(links),
            title: row.title.into(),
            status: row.http,
            detail: self.message().to_owned(),
            instance: format!("urn:uuid:{request_id}"),
            code: row.code.into(),
            retryable: row.retryable,
            poll_id: self.poll().cloned(),
            errors: self.fields().to_vec(),
            recovery_actions: self.recovery_actions(links),
        }
    }

    /// Returns the recovery actions of the fault, in the order of their use.
    pub fn recovery_actions(&self, links: &Links) -> Vec<RecoveryAction> {
        let wait = self.retry_after_seconds();
        let read = self.poll().map(|poll| {
            let url = links.url("get_poll_result", &[("poll_id", poll.as_str())]);
            RecoveryAction::new("read_result", "Read the progress of the poll.", Some((Method::Get, url)))
        });
        let own = self.actions().iter().cloned();
        let recovery = self.kind().row().recovery.iter();
        let known = recovery.flat_map(|recovery| RecoveryAction::of(recovery, links, wait));
        read.into_iter().chain(own).chain(known).collect()
    }
}
