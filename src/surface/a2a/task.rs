//! An answer as a task or as a message, and the message that asked as history.

use ep_kernel::answer::Answer;
use ep_polling::time::Timestamp;
use serde_json::{Map, Value, json};

use super::dialect::{Dialect, Role, State};
use super::message::member;

/// What a task or a message needs to know besides its answer.
pub(super) struct Frame<'a> {
    pub(super) dialect: Dialect,
    /// The conversation, as the client named it.
    pub(super) context_id: Option<&'a str>,
    /// The message that asked, in any dialect, if history is wanted.
    pub(super) message: Option<&'a Value>,
    /// When the answer was made.
    pub(super) now: Timestamp,
}

/// How much of a task's history is wanted. There is one message at most.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum History {
    Whole,
    None,
}

impl History {
    /// As these parameters say (`historyLength`).
    pub(super) fn of(params: &Value) -> Self {
        let length = member(params, "historyLength", "history_length").and_then(Value::as_u64);
        if length == Some(0) { Self::None } else { Self::Whole }
    }
}

/// A client's message as history shows it: in this dialect, whichever the client used.
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
    let agent =
        echo["role"].as_str().is_some_and(|role| role.eq_ignore_ascii_case("agent") || role == "ROLE_AGENT");
    echo["role"] = dialect.role(if agent { Role::Agent } else { Role::User }).into();
    for part in echo["parts"].as_array_mut().into_iter().flatten().filter_map(Value::as_object_mut) {
        in_dialect(part, dialect);
    }
    if dialect == Dialect::V03 {
        echo["kind"] = "message".into();
    }
    echo
}

/// The members of a file: 0.3 has them in an object of their own, 1.0 in the part itself.
const FILE: [(&str, &str); 4] =
    [("bytes", "raw"), ("uri", "url"), ("name", "filename"), ("mimeType", "mediaType")];

/// A part of a message in this dialect.
fn in_dialect(part: &mut Map<String, Value>, dialect: Dialect) {
    part.retain(|name, _| name != "kind" && name != "type");
    match dialect {
        Dialect::V03 => {
            if part.contains_key("raw") || part.contains_key("url") {
                let members =
                    FILE.iter().filter_map(|(old, new)| Some(((*old).to_owned(), part.shift_remove(*new)?)));
                let file: Map<String, Value> = members.collect();
                part.insert("file".into(), file.into());
            }
            part.shift_remove("mediaType");
            if let Some(kind) = ["text", "data", "file"].into_iter().find(|kind| part.contains_key(*kind)) {
                part.insert("kind".into(), kind.into());
            }
        }
        Dialect::V1 | Dialect::Legacy => {
            if let Some(Value::Object(mut file)) = part.shift_remove("file") {
                for (old, new) in FILE {
                    if let Some(value) = file.shift_remove(old) {
                        part.insert(new.into(), value);
                    }
                }
            }
        }
    }
}

impl Frame<'_> {
    /// The task with this id.
    pub(super) fn task(&self, id: &str, answer: &Answer) -> Value {
        let dialect = self.dialect;
        let presentation = &answer.presentation;
        let context = self.context_id.unwrap_or(id);
        let state = match presentation.interim {
            Some(_) => State::Working,
            None if presentation.cancelled => State::Cancelled,
            None if presentation.failed => State::Failed,
            None => State::Completed,
        };
        let since = presentation.since.unwrap_or(self.now);
        let mut status = json!({ "state": dialect.state(state), "timestamp": since });
        if let Some(summary) = &presentation.summary {
            let parts = json!([dialect.text_part(summary)]);
            status["message"] = self.says(&format!("{id}-status"), Some(id), Some(context), parts);
        }
        let parts = self.parts(answer);
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
            message["taskId"] = id.into();
            message["contextId"] = context.into();
            task["history"] = json!([message]);
        }
        task
    }

    /// The answer as a message with this id.
    pub(super) fn message(&self, id: &str, answer: &Answer) -> Value {
        self.says(id, None, self.context_id, self.parts(answer))
    }

    fn parts(&self, answer: &Answer) -> Value {
        let data = self.dialect.data_part(&answer.value);
        let text = answer.presentation.summary.as_ref().map(|summary| self.dialect.text_part(summary));
        [Some(data), text].into_iter().flatten().collect()
    }

    fn says(&self, id: &str, task: Option<&str>, context: Option<&str>, parts: Value) -> Value {
        let dialect = self.dialect;
        let mut message = json!({ "role": dialect.role(Role::Agent), "parts": parts });
        if dialect != Dialect::Legacy {
            message["messageId"] = id.into();
            for (name, value) in [("taskId", task), ("contextId", context)] {
                if let Some(value) = value {
                    message[name] = value.into();
                }
            }
        }
        if dialect == Dialect::V03 {
            message["kind"] = "message".into();
        }
        message
    }
}
