//! Messages as sent, validated for their dialects.

use serde_json::Value;

use super::dialect::Dialect;
use super::errors::{Answer, Refusal};
use super::fields::{field_of, identifier, invalid};

/// A message as sent, validated for its dialect.
#[derive(Debug, Clone, Copy)]
pub(super) struct Sent<'a> {
    pub(super) dialect: Dialect,
    pub(super) params: &'a Value,
    pub(super) message: &'a Value,
    pub(super) parts: &'a [Value],
    /// The message's id.
    pub(super) id: Option<&'a str>,
    /// The task of the message.
    pub(super) task: Option<&'a str>,
    /// The client's own task id, in dialects where clients choose ids.
    pub(super) client_id: Option<&'a str>,
    /// The context id.
    pub(super) context: Option<&'a str>,
    pub(super) configuration: &'a Value,
}

/// Default for missing values.
static NOTHING: Value = Value::Null;

impl<'a> Sent<'a> {
    /// Reads the parameters of a method that sends a message.
    pub(super) fn read(params: &'a Value, dialect: Dialect) -> Answer<Self> {
        if !params.is_object() {
            return Err(invalid("params", "params must be an object"));
        }
        let message = match field_of(params, "message", "request") {
            None => return Err(invalid("message", "message is missing")),
            Some(message) if message.is_object() => message,
            Some(other) => {
                let given = json_type(other);
                return Err(invalid(
                    "message",
                    &format!("must be an object with role and parts, not {given}"),
                ));
            }
        };
        let role = message.get("role").and_then(Value::as_str);
        let fits = match dialect {
            Dialect::V1 | Dialect::V03Rest => matches!(role, Some("ROLE_USER" | "ROLE_AGENT")),
            Dialect::V03 => matches!(role, Some("user" | "agent")),
            Dialect::Legacy => matches!(role, None | Some("user" | "agent")),
        };
        if !fits {
            return Err(invalid(
                "message.role",
                &format!("must be {}", dialect.role(super::dialect::Role::User)),
            ));
        }
        let id = identifier(message, "message.messageId", ("messageId", "message_id"))?;
        if id.is_none() && dialect != Dialect::Legacy {
            return Err(invalid("message.messageId", "must be a non-empty string"));
        }
        let parts = match field_of(message, "parts", "content").and_then(Value::as_array) {
            Some(parts) if !parts.is_empty() => parts,
            _ => return Err(invalid("message.parts", "must be a list with at least one part")),
        };
        let configuration = field_of(params, "configuration", "configuration").unwrap_or(&NOTHING);
        if !configuration.is_null() && !configuration.is_object() {
            return Err(invalid("configuration", "must be an object"));
        }
        let (task, client_id, context) = match dialect {
            Dialect::Legacy => (
                None,
                identifier(params, "id", ("id", "id"))?,
                identifier(params, "sessionId", ("sessionId", "session_id"))?,
            ),
            _ => (
                identifier(message, "message.taskId", ("taskId", "task_id"))?,
                None,
                identifier(message, "message.contextId", ("contextId", "context_id"))?,
            ),
        };
        Ok(Self { dialect, params, message, parts, id, task, client_id, context, configuration })
    }

    /// Returns the object with the requested history length.
    pub(super) fn history_of(&self) -> &'a Value {
        if self.dialect == Dialect::Legacy { self.params } else { self.configuration }
    }

    /// True if the client wants the response before the task has ended.
    pub(super) fn at_once(&self) -> bool {
        field_of(self.configuration, "returnImmediately", "return_immediately") == Some(&Value::Bool(true))
            || self.configuration.get("blocking") == Some(&Value::Bool(false))
    }

    /// Rejects a message without any part of a supported kind.
    pub(super) fn understandable(&self) -> Answer<()> {
        let read =
            |part: &Value| !part.is_object() || part.get("text").is_some() || part.get("data").is_some();
        if self.parts.iter().any(read) {
            return Ok(());
        }
        let text = "only text and data parts are supported: send a data part, or a text part holding JSON";
        Err(Refusal::ContentType(text.to_owned()))
    }
}

/// The type of a JSON value, with its article.
const fn json_type(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "a boolean",
        Value::Number(_) => "a number",
        Value::String(_) => "a string",
        Value::Array(_) => "a list",
        Value::Object(_) => "an object",
    }
}
