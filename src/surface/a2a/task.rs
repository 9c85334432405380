//! An answer as a task.

use ep_kernel::answer::Answer;
use ep_polling::time::Timestamp;
use serde_json::{Value, json};

use super::dialect::{Dialect, State};
use super::message::member;

/// What a task needs to know besides its answer.
pub(super) struct Frame<'a> {
    pub(super) dialect: Dialect,
    /// The task's id where the answer has none of its own.
    pub(super) fallback_id: String,
    /// The conversation, as the client named it.
    pub(super) context_id: Option<&'a str>,
    /// The message that asked, kept as history.
    pub(super) message: Option<&'a Value>,
    /// When the answer was made.
    pub(super) now: Timestamp,
}

/// A client's message as history shows it: in its dialect's names, whichever names the client used.
fn echo(message: &Value, dialect: Dialect) -> Value {
    let mut echo = json!({});
    let members = [
        ("messageId", "message_id"),
        ("role", "role"),
        ("parts", "content"),
        ("metadata", "metadata"),
        ("extensions", "extensions"),
        ("referenceTaskIds", "reference_task_ids"),
    ];
    for (name, other) in members {
        if let Some(value) = member(message, name, other) {
            echo[name] = value.clone();
        }
    }
    for part in echo["parts"].as_array_mut().into_iter().flatten().filter_map(Value::as_object_mut) {
        part.retain(|name, _| name != "kind" && name != "type");
        if dialect == Dialect::V03
            && let Some(kind) = ["text", "data", "file"].into_iter().find(|kind| part.contains_key(*kind))
        {
            part.insert("kind".into(), kind.into());
        }
    }
    if dialect == Dialect::V03 {
        echo["kind"] = "message".into();
    }
    echo
}

impl Frame<'_> {
    /// The task.
    pub(super) fn task(&self, answer: &Answer) -> Value {
        let dialect = self.dialect;
        let presentation = &answer.presentation;
        let id = presentation.task_id.clone().unwrap_or_else(|| self.fallback_id.clone());
        let context = self.context_id.map_or_else(|| id.clone(), str::to_owned);
        let working = presentation.interim.is_some();
        let state = if working { State::Working } else { State::Completed };
        let mut status = json!({ "state": dialect.state(state), "timestamp": self.now });
        if let Some(summary) = &presentation.summary {
            status["message"] = self.says(&id, &context, summary);
        }
        let mut parts = vec![dialect.data_part(&answer.value)];
        if let Some(summary) = &presentation.summary {
            parts.push(dialect.text_part(summary));
        }
        let artifact = match dialect {
            Dialect::Legacy => json!({ "name": "result", "index": 0, "parts": parts }),
            Dialect::V1 | Dialect::V03 => json!({ "artifactId": "result", "name": "result", "parts": parts }),
        };
        let mut task = json!({ "id": id, "status": status, "artifacts": [artifact] });
        let context_name = if dialect == Dialect::Legacy { "sessionId" } else { "contextId" };
        task[context_name] = context.into();
        if dialect == Dialect::V03 {
            task["kind"] = "task".into();
        }
        if let (Some(message), true) = (self.message, dialect != Dialect::Legacy) {
            let mut message = echo(message, dialect);
            message["taskId"] = task["id"].clone();
            message["contextId"] = task[context_name].clone();
            task["history"] = json!([message]);
        }
        task
    }

    fn says(&self, id: &str, context: &str, text: &str) -> Value {
        let dialect = self.dialect;
        let mut message = json!({ "role": dialect.role_agent(), "parts": [dialect.text_part(text)] });
        if dialect != Dialect::Legacy {
            message["messageId"] = format!("{id}-status").into();
            message["taskId"] = id.into();
            message["contextId"] = context.into();
        }
        if dialect == Dialect::V03 {
            message["kind"] = "message".into();
        }
        message
    }
}
