//! The versions of the protocol, as far as they differ.

use serde_json::{Value, json};

/// How a request is written, and so its answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Dialect {
    /// Specification 1.0.
    V1,
    /// Specification 0.3: objects carry their `kind`.
    V03,
    /// `tasks/send`, before 0.2.
    Legacy,
}

/// The state of a task.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum State {
    Working,
    Completed,
    Failed,
    Cancelled,
}

/// Who wrote a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Role {
    User,
    Agent,
}

impl Dialect {
    /// The dialect that has a method of this name.
    pub(super) fn of_method(name: &str) -> Self {
        match name {
            "tasks/send" => Self::Legacy,
            name if name.contains('/') => Self::V03,
            _ => Self::V1,
        }
    }

    pub(super) const fn state(self, state: State) -> &'static str {
        match (self, state) {
            (Self::V1, State::Working) => "TASK_STATE_WORKING",
            (Self::V1, State::Completed) => "TASK_STATE_COMPLETED",
            (Self::V1, State::Failed) => "TASK_STATE_FAILED",
            (Self::V1, State::Cancelled) => "TASK_STATE_CANCELED",
            (_, State::Working) => "working",
            (_, State::Completed) => "completed",
            (_, State::Failed) => "failed",
            (_, State::Cancelled) => "canceled",
        }
    }

    /// What to use instead of a method that is unknown or not offered.
    pub(super) const fn offered(self) -> &'static str {
        match self {
            Self::V1 => "use SendMessage and GetTask",
            Self::V03 | Self::Legacy => "use message/send and tasks/get",
        }
    }

    pub(super) const fn role(self, role: Role) -> &'static str {
        match (self, role) {
            (Self::V1, Role::User) => "ROLE_USER",
            (Self::V1, Role::Agent) => "ROLE_AGENT",
            (_, Role::User) => "user",
            (_, Role::Agent) => "agent",
        }
    }

    pub(super) fn text_part(self, text: &str) -> Value {
        match self {
            Self::V1 => json!({ "text": text }),
            Self::V03 => json!({ "kind": "text", "text": text }),
            Self::Legacy => json!({ "type": "text", "text": text }),
        }
    }

    pub(super) fn data_part(self, data: &Value) -> Value {
        match self {
            Self::V1 => json!({ "data": data, "mediaType": "application/json" }),
            Self::V03 => json!({ "kind": "data", "data": data }),
            Self::Legacy => json!({ "type": "data", "data": data }),
        }
    }
}
