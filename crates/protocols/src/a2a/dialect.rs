//! Differences between versions of the protocol.

use ep_store::TaskState;
use serde_json::{Value, json};

/// Format of a request and its response.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Dialect {
    /// Specification 1.0.
    V1,
    /// Specification 0.3: objects carry their `kind`.
    V03,
    /// The HTTP+JSON binding of 0.3, with the objects of its protocol buffers.
    V03Rest,
    /// `tasks/send` from versions before 0.2.
    Legacy,
}

/// Author of a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Role {
    User,
    Agent,
}

impl Dialect {
    /// Returns the dialect with this method name.
    pub(super) fn of_method(name: &str) -> Self {
        match name {
            "tasks/send" => Self::Legacy,
            name if name.contains('/') => Self::V03,
            _ => Self::V1,
        }
    }

    /// True if messages are protocol buffers as JSON: enumerations are names, results and events are wrapped, and
    /// error details are a list.
    pub(super) const fn is_proto(self) -> bool {
        matches!(self, Self::V1 | Self::V03Rest)
    }

    pub(super) const fn state(self, state: TaskState) -> &'static str {
        if !self.is_proto() {
            return state.as_str();
        }
        match state {
            TaskState::InputRequired => "TASK_STATE_INPUT_REQUIRED",
            TaskState::Working => "TASK_STATE_WORKING",
            TaskState::Completed => "TASK_STATE_COMPLETED",
            TaskState::Failed => "TASK_STATE_FAILED",
            TaskState::Canceled => match self {
                Self::V03Rest => "TASK_STATE_CANCELLED",
                _ => "TASK_STATE_CANCELED",
            },
        }
    }

    /// Advice for an unknown or unsupported method.
    pub(super) const fn offered(self) -> &'static str {
        match self {
            Self::V1 => "use SendMessage and GetTask",
            Self::V03Rest => "use POST /message:send and GET /tasks/{id}",
            Self::V03 | Self::Legacy => "use message/send and tasks/get",
        }
    }

    pub(super) const fn role(self, role: Role) -> &'static str {
        match (self.is_proto(), role) {
            (true, Role::User) => "ROLE_USER",
            (true, Role::Agent) => "ROLE_AGENT",
            (false, Role::User) => "user",
            (false, Role::Agent) => "agent",
        }
    }

    pub(super) fn text_part(self, text: &str) -> Value {
        match self {
            Self::V1 | Self::V03Rest => json!({ "text": text }),
            Self::V03 => json!({ "kind": "text", "text": text }),
            Self::Legacy => json!({ "type": "text", "text": text }),
        }
    }

    pub(super) fn data_part(self, data: &Value) -> Value {
        match self {
            Self::V1 => json!({ "data": data, "mediaType": "application/json" }),
            Self::V03Rest => json!({ "data": { "data": data } }),
            Self::V03 => json!({ "kind": "data", "data": data }),
            Self::Legacy => json!({ "type": "data", "data": data }),
        }
    }
}
