//! Idempotency names of messages: the same message begins one task.

use ep_kernel::canonical;
use ep_kernel::{Entry, ParsedInput};
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use super::fields::field_of;
use super::fixtures;
use super::message_form::stored;
use super::request::AgentRequest;
use super::sent::Sent;

/// Idempotency names of a message.
pub(super) struct Names {
    /// Name of the message that opens a task.
    pub(super) opening: Option<String>,
    /// Idempotency key of the operation.
    pub(super) key: Option<String>,
    /// Name of the message.
    pub(super) message: Option<String>,
    /// The client's own task id.
    pub(super) client_id: Option<String>,
    pub(super) context: Option<String>,
}

impl Names {
    pub(super) fn of(agent: &AgentRequest, sent: &Sent<'_>, entry: &Entry, understood: &ParsedInput) -> Self {
        let input = match understood {
            ParsedInput::Input(input) => input,
            ParsedInput::Missing { known, .. } => known,
        };
        let of_message = sent.client_id.or(sent.id).filter(|_| !fixtures::is_fixture(sent.message));
        let of_message = of_message.map(|id| digest(&json!([id, entry.spec.name, input])));
        Self {
            opening: opening_name(agent, sent).or_else(|| sent.client_id.and(of_message.clone())),
            key: of_message,
            message: message_name(sent),
            client_id: sent.client_id.map(str::to_owned),
            context: sent.context.map(str::to_owned),
        }
    }
}

/// Returns the name of a message that opens a task: its id and content, unless the client sends a key or a task id.
pub(super) fn opening_name(agent: &AgentRequest, sent: &Sent<'_>) -> Option<String> {
    if agent.head.idempotency_key.is_some() || sent.client_id.is_some() || fixtures::is_fixture(sent.message)
    {
        return None;
    }
    message_name(sent)
}

pub(super) fn message_name(sent: &Sent<'_>) -> Option<String> {
    let parts = stored(sent.message, None, sent.dialect);
    let mut parts = field_of(&parts, "parts", "content").cloned().unwrap_or_default();
    // The same content in another dialect gets the same name.
    for part in parts.as_array_mut().into_iter().flatten().filter_map(Value::as_object_mut) {
        part.retain(|name, _| matches!(name.as_str(), "text" | "data"));
    }
    sent.client_id.or(sent.id).map(|id| digest(&json!([id, parts])))
}

pub(super) fn digest(value: &Value) -> String {
    format!("a2a-{}", hex::encode(Sha256::digest(canonical::text(value))))
}
