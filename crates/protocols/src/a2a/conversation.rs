//! A stored task with its messages.

use ep_store::AgentTask;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use super::fields::field_of;
use super::message_form::stored;
use super::modes::Modes;
use super::payments::Payments;
use super::sent::Sent;

/// A task and its messages.
#[derive(Debug, Clone)]
pub(super) struct Conversation {
    pub(super) task: AgentTask,
    pub(super) content: Content,
}

/// The messages of a task, as stored.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub(super) struct Content {
    /// The messages in order; the client's messages are unchanged.
    pub(super) messages: Vec<Value>,
    /// Poll input collected from messages so far, before the poll is open.
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    pub(super) known: Map<String, Value>,
    /// Accepted output modes of results.
    #[serde(default)]
    pub(super) modes: Modes,
    /// The message that is opening the poll.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) opening: Option<String>,
    /// The payment that the poll requires, and the outcomes of earlier payments.
    #[serde(default, skip_serializing_if = "Payments::is_empty")]
    pub(super) payments: Payments,
}

/// Maximum messages per task.
pub(super) const MAX_MESSAGES: usize = 40;
/// Maximum bytes of a task's messages; a longer task accepts no further message.
pub(super) const MAX_CONTENT: usize = 64 * 1024;

impl Conversation {
    /// Reads a stored task. Unreadable messages are omitted.
    pub(super) fn of(task: AgentTask) -> Self {
        let content = serde_json::from_str(&task.content).unwrap_or_else(|error| {
            tracing::error!(task = task.id, error = %error, "failed to read the messages of a task");
            Content::default()
        });
        Self { task, content }
    }

    /// Returns the task with its messages serialized.
    pub(super) fn to_store(&self) -> AgentTask {
        let content = serde_json::to_string(&self.content).unwrap_or_else(|_| "{\"messages\":[]}".to_owned());
        AgentTask { content, ..self.task.clone() }
    }

    /// True if the task contains this message: by its id, or without ids, if the last message has the same parts.
    pub(super) fn has(&self, sent: &Sent<'_>) -> bool {
        let sent_again = stored(sent.message, None, sent.dialect);
        let same_parts = |message: &Value| {
            field_of(message, "parts", "content") == field_of(&sent_again, "parts", "content")
        };
        if let Some(id) = sent.id {
            let has_id =
                |message| field_of(message, "messageId", "message_id").and_then(Value::as_str) == Some(id);
            return self.content.messages.iter().any(|message| has_id(message) && same_parts(message));
        }
        let users = |message: &&Value| {
            !message["role"].as_str().unwrap_or_default().to_lowercase().ends_with("agent")
        };
        self.content.messages.iter().rfind(users).is_some_and(same_parts)
    }

    /// Adds a question of the service.
    pub(super) fn ask(&mut self, text: &str) {
        self.ask_with(text, Value::Null);
    }

    /// Adds a question of the service with metadata for programs.
    pub(super) fn ask_with(&mut self, text: &str, metadata: Value) {
        let id = format!("{}-{}", self.task.id, self.content.messages.len() + 1);
        let mut message = json!({ "messageId": id, "role": "ROLE_AGENT", "parts": [{ "text": text }] });
        if !metadata.is_null() {
            message["metadata"] = metadata;
        }
        self.content.messages.push(message);
    }
}
