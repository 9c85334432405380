//! A task as it is stored, and what was said in it.

use ep_kernel::ports::AgentTask;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use super::message::{Sent, member};
use super::modes::Modes;
use super::payment::Payments;
use super::task::stored;

/// A task and what was said in it.
#[derive(Debug, Clone)]
pub(super) struct Conversation {
    pub(super) task: AgentTask,
    pub(super) said: Content,
}

/// What was said in a task, as it is stored.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub(super) struct Content {
    /// The messages in order, the client's as they were sent.
    pub(super) messages: Vec<Value>,
    /// What the messages have told so far of a poll that is not open yet.
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    pub(super) known: Map<String, Value>,
    /// The forms in which results are wanted.
    #[serde(default)]
    pub(super) modes: Modes,
    /// The message for which the poll is being opened.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) opening: Option<String>,
    /// The payment that the poll waits for, and what became of others.
    #[serde(default, skip_serializing_if = "Payments::is_empty")]
    pub(super) payments: Payments,
}

/// The most messages of one task.
pub(super) const MAX_MESSAGES: usize = 40;
/// A task whose messages take this many bytes gets no more.
pub(super) const MAX_CONTENT: usize = 64 * 1024;

impl Conversation {
    /// Reads a stored task. What cannot be read is not shown.
    pub(super) fn of(task: AgentTask) -> Self {
        let said = serde_json::from_str(&task.content).unwrap_or_else(|error| {
            tracing::error!(task = task.id, error = %error, "the messages of a task cannot be read");
            Content::default()
        });
        Self { task, said }
    }

    /// The task with what was said written into it.
    pub(super) fn to_store(&self) -> AgentTask {
        let content = serde_json::to_string(&self.said).unwrap_or_else(|_| "{\"messages\":[]}".to_owned());
        AgentTask { content, ..self.task.clone() }
    }

    /// Whether this message is in it already: the one with its id, or, without ids, the last one if it has its parts.
    pub(super) fn has(&self, sent: &Sent<'_>) -> bool {
        let sent_again = stored(sent.message, None, sent.dialect);
        let same_parts =
            |message: &Value| member(message, "parts", "content") == member(&sent_again, "parts", "content");
        if let Some(id) = sent.id {
            let has_id =
                |message| member(message, "messageId", "message_id").and_then(Value::as_str) == Some(id);
            return self.said.messages.iter().any(|message| has_id(message) && same_parts(message));
        }
        let users = |message: &&Value| {
            !message["role"].as_str().unwrap_or_default().to_lowercase().ends_with("agent")
        };
        self.said.messages.iter().rfind(users).is_some_and(same_parts)
    }

    /// Adds a question of the service.
    pub(super) fn ask(&mut self, text: &str) {
        self.ask_with(text, Value::Null);
    }

    /// The same with what is meant for programs.
    pub(super) fn ask_with(&mut self, text: &str, metadata: Value) {
        let id = format!("{}-{}", self.task.id, self.said.messages.len() + 1);
        let mut message = json!({ "messageId": id, "role": "ROLE_AGENT", "parts": [{ "text": text }] });
        if !metadata.is_null() {
            message["metadata"] = metadata;
        }
        self.said.messages.push(message);
    }
}
