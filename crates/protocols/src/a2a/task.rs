//! Tasks and messages in each dialect.

use ep_kernel::CallOutput;
use ep_polling::Timestamp;
use ep_store::TaskState;
use serde_json::{Value, json};

use super::conversation::Conversation;
use super::dialect::Dialect;
use super::errors::Answer;
use super::fields::{field_of, invalid};
use super::fixtures;
use super::message_form::{echo, says};
use super::modes::Modes;

/// Presentation of a task.
#[derive(Debug, Clone, Copy)]
pub(super) struct View {
    pub(super) dialect: Dialect,
    pub(super) history: History,
    /// True if results are included.
    pub(super) artifacts: bool,
}

/// Requested length of a task's history.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum History {
    Whole,
    Last(usize),
}

impl History {
    /// Reads the length from the parameters (`historyLength`).
    pub(super) fn of(params: &Value, dialect: Dialect) -> Answer<Self> {
        match field_of(params, "historyLength", "history_length") {
            // The legacy protocol shows history only on request.
            None if dialect == Dialect::Legacy => Ok(Self::Last(0)),
            None => Ok(Self::Whole),
            Some(length) => {
                let length = length.as_u64().and_then(|length| usize::try_from(length).ok());
                let length =
                    length.ok_or_else(|| invalid("historyLength", "must be a whole number from 0"))?;
                Ok(Self::Last(length))
            }
        }
    }
}

impl View {
    /// Returns the task id in this dialect.
    pub(super) fn id<'a>(&self, conversation: &'a Conversation) -> &'a str {
        let task = &conversation.task;
        let clients = task.client_id.as_deref().filter(|_| self.dialect == Dialect::Legacy);
        clients.unwrap_or(&task.id)
    }

    /// Returns a task, with the output of its operation if it has one.
    pub(super) fn task(&self, conversation: &Conversation, output: Option<&CallOutput>) -> Value {
        let Self { dialect, .. } = *self;
        let Conversation { task, content } = conversation;
        let id = self.id(conversation);
        let mut shown = json!({ "id": id, "status": self.status(conversation, output) });
        let context_name = if dialect == Dialect::Legacy { "sessionId" } else { "contextId" };
        shown[context_name] = task.context.as_str().into();
        if let Some(output) = output.filter(|_| self.artifacts) {
            shown["artifacts"] = json!([self.artifact(conversation, output)]);
        }
        if dialect == Dialect::V03 {
            shown["kind"] = "task".into();
        }
        let count = match self.history {
            History::Whole => content.messages.len(),
            History::Last(count) => count.min(content.messages.len()),
        };
        let last = content.messages.iter().skip(content.messages.len() - count);
        let history: Vec<Value> = last.map(|message| echo(message, id, &task.context, dialect)).collect();
        if !history.is_empty() {
            shown["history"] = history.into();
        }
        shown
    }

    /// Returns the status of a task.
    pub(super) fn status(&self, conversation: &Conversation, output: Option<&CallOutput>) -> Value {
        let Self { dialect, .. } = *self;
        let Conversation { task, content } = conversation;
        let (state, since) = match output.map(|output| &output.presentation) {
            None => (task.state, task.since),
            Some(shown) => {
                let state = match shown {
                    shown if shown.is_running() => TaskState::Working,
                    shown if shown.cancelled => TaskState::Canceled,
                    shown if shown.failed => TaskState::Failed,
                    _ => TaskState::Completed,
                };
                (state, shown.since.unwrap_or(task.since))
            }
        };
        let mut status = json!({ "state": dialect.state(state), "timestamp": since });
        let id = self.id(conversation);
        if state == TaskState::InputRequired {
            status["message"] = content
                .messages
                .last()
                .map_or(Value::Null, |message| echo(message, id, &task.context, dialect));
        } else if let Some(summary) = output.and_then(|output| output.presentation.summary.as_ref()) {
            let parts = json!([dialect.text_part(summary)]);
            status["message"] =
                says(dialect, &format!("{id}-status"), (Some(id), Some(&task.context)), parts);
        }
        if state != TaskState::InputRequired
            && let Some(metadata) = content.payments.metadata()
        {
            if status.get("message").is_none() {
                let parts = json!([dialect.text_part("The payment is settled.")]);
                status["message"] =
                    says(dialect, &format!("{id}-status"), (Some(id), Some(&task.context)), parts);
            }
            status["message"]["metadata"] = metadata;
        }
        status
    }

    /// Returns the status of a working task, with a text about a step.
    pub(super) fn working(&self, conversation: &Conversation, step: &str, number: u64) -> Value {
        let Self { dialect, .. } = *self;
        let task = &conversation.task;
        let id = self.id(conversation);
        let parts = json!([dialect.text_part(step)]);
        let message = says(dialect, &format!("{id}-{number}"), (Some(id), Some(&task.context)), parts);
        json!({ "state": dialect.state(TaskState::Working), "timestamp": task.since, "message": message })
    }

    /// Returns an output as the single artifact of a task.
    pub(super) fn artifact(&self, conversation: &Conversation, output: &CallOutput) -> Value {
        let prescribed = fixtures::parts(conversation, self.dialect);
        let own = || parts(self.dialect, conversation.content.modes, output);
        self.artifact_of(if prescribed.is_empty() { own() } else { prescribed })
    }

    fn artifact_of(&self, parts: Vec<Value>) -> Value {
        match self.dialect {
            Dialect::Legacy => json!({ "name": "result", "index": 0, "parts": parts }),
            _ => json!({ "artifactId": "result", "name": "result", "parts": parts }),
        }
    }
}

/// Returns an output without a task as a message with this id.
pub(super) fn message(
    dialect: Dialect,
    modes: Modes,
    id: &str,
    context: Option<&str>,
    output: &CallOutput,
) -> Value {
    says(dialect, id, (None, context), parts(dialect, modes, output).into())
}

/// Returns an output without a task in the legacy protocol, where every result is a task.
pub(super) fn legacy_task(
    id: &str,
    modes: Modes,
    context: &str,
    output: &CallOutput,
    now: Timestamp,
) -> Value {
    let view = View { dialect: Dialect::Legacy, history: History::Last(0), artifacts: true };
    let state = Dialect::Legacy.state(TaskState::Completed);
    let since = output.presentation.since.unwrap_or(now);
    json!({
        "id": id,
        "sessionId": context,
        "status": { "state": state, "timestamp": since },
        "artifacts": [view.artifact_of(parts(Dialect::Legacy, modes, output))],
    })
}

fn parts(dialect: Dialect, modes: Modes, output: &CallOutput) -> Vec<Value> {
    let shown = &output.presentation;
    let data = (modes.json || shown.summary.is_none()).then(|| dialect.data_part(&output.value));
    // The facts repeat the data.
    let facts = shown.facts.iter().filter(|_| !modes.json);
    let text = shown.summary.as_ref().filter(|_| modes.text).map(|summary| {
        let lines: Vec<&str> = std::iter::once(summary).chain(facts).map(String::as_str).collect();
        dialect.text_part(&lines.join("\n"))
    });
    [data, text].into_iter().flatten().collect()
}
