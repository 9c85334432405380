//! The bodies in which a fault is shown.

use ep_polling::poll_id::PollId;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{Fault, FieldFault, Recovery};
use crate::links::{Links, Way};
use crate::method::Method;

/// The default error body.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct ErrorBody {
    /// What went wrong and what to do next.
    pub error: String,
    /// The poll that it is about, if there is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "PollId")]
    pub poll_id: Option<PollId>,
}

/// Problem details (RFC 9457) with our extensions: `code` and `recovery_actions`.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct Problem {
    /// A URI that names the kind of problem and resolves to its description.
    #[serde(rename = "type")]
    pub kind: String,
    /// The kind in a few words.
    pub title: String,
    /// The HTTP status.
    pub status: u16,
    /// What went wrong and what to do next.
    pub detail: String,
    /// This occurrence: the id of the request.
    pub instance: String,
    /// The kind's stable code.
    pub code: String,
    /// Whether the same request may succeed later, unchanged.
    pub retryable: bool,
    /// The poll that it is about, if there is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "PollId")]
    pub poll_id: Option<PollId>,
    /// Which members of the input are wrong.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub errors: Vec<FieldFault>,
    /// What the caller can do.
    pub recovery_actions: Vec<RecoveryAction>,
}

/// One recovery action.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct RecoveryAction {
    /// A stable word for the action.
    pub action: String,
    /// The action in a sentence.
    pub description: String,
    /// HTTP method, if the action is to send a request or to open a page.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String")]
    pub method: Option<String>,
    /// URL, if the action is to send a request or to open a page.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String")]
    pub href: Option<String>,
    /// An example of the request's JSON body.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "serde_json::Map<String, Value>")]
    pub example: Option<Value>,
    /// Seconds to wait first.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "u64")]
    pub retry_after: Option<u64>,
}

impl RecoveryAction {
    /// An action that is a request, or advice alone.
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

    /// The actions of a row as callers see them: one, or one for each way that this service offers.
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

impl From<Way> for RecoveryAction {
    fn from(way: Way) -> Self {
        Self { example: way.example, ..Self::new(way.action, way.description, way.request) }
    }
}

impl Fault {
    /// The default error body.
    pub fn body(&self) -> ErrorBody {
        ErrorBody { error: self.message().to_owned(), poll_id: self.poll().cloned() }
    }

    /// The same failure as problem details, for this request.
    pub fn problem(&self, links: &Links, request_id: &str) -> Problem {
        let row = self.kind().row();
        let wait = self.retry_after_seconds();
        let read = self.poll().map(|poll| {
            let url = links.url("get_poll_result", &[("poll_id", poll.as_str())]);
            RecoveryAction::new("read_result", "Read how far the poll is.", Some((Method::Get, url)))
        });
        let own = self.actions().iter().cloned();
        let known = row.recovery.iter().flat_map(|recovery| RecoveryAction::of(recovery, links, wait));
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
            recovery_actions: read.into_iter().chain(own).chain(known).collect(),
        }
    }
}
