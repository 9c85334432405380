//! Faults as A2A errors (specification 1.0, section 5.4).

use ep_kernel::{Calls, Fault, Kind};
use jsonrpsee_types::ErrorObjectOwned;
use serde_json::{Value, json};

use super::dialect::Dialect;

/// The result of a request, or an A2A error.
pub(super) type Answer<T> = Result<T, Refusal>;

/// An A2A error: an error of the protocol, or a fault of a tool.
#[derive(Debug, Clone)]
pub(super) enum Refusal {
    /// A tool's fault.
    Fault(Fault),
    /// Not a JSON-RPC 2.0 request.
    InvalidRequest(String),
    /// An unknown method.
    MethodNotFound(String),
    /// A method that this agent or this task does not support.
    Unsupported(String),
    /// A task that cannot be cancelled.
    NotCancelable(String),
    /// Message parts of an unsupported kind.
    ContentType(String),
    /// The extended card, for a caller without access to it.
    NoExtendedCard(String),
    /// An unsupported protocol version.
    Version(String),
}

impl From<Fault> for Refusal {
    fn from(fault: Fault) -> Self {
        Self::Fault(fault)
    }
}

impl Refusal {
    fn code(&self) -> i32 {
        match self {
            Self::Fault(fault) => fault.kind().row().a2a,
            Self::InvalidRequest(_) => -32600,
            Self::MethodNotFound(_) => -32601,
            Self::NotCancelable(_) => -32002,
            Self::Unsupported(_) => -32004,
            Self::ContentType(_) => -32005,
            Self::NoExtendedCard(_) => -32007,
            Self::Version(_) => -32009,
        }
    }

    pub(super) fn message(&self) -> &str {
        match self {
            Self::Fault(fault) => fault.message(),
            Self::InvalidRequest(text)
            | Self::MethodNotFound(text)
            | Self::NotCancelable(text)
            | Self::Unsupported(text)
            | Self::ContentType(text)
            | Self::NoExtendedCard(text)
            | Self::Version(text) => text,
        }
    }

    fn reason(&self) -> String {
        match self {
            Self::Fault(fault) if fault.kind() == Kind::NotFound => "TASK_NOT_FOUND".into(),
            // The name that clients expect.
            Self::Fault(_) if self.code() == -32602 => "INVALID_PARAMS".into(),
            Self::Fault(fault) if fault.kind() == Kind::UnsupportedMediaType => {
                "CONTENT_TYPE_NOT_SUPPORTED".into()
            }
            Self::Fault(fault) => fault.kind().row().code.to_uppercase(),
            Self::InvalidRequest(_) => "INVALID_REQUEST".into(),
            Self::MethodNotFound(_) => "METHOD_NOT_FOUND".into(),
            Self::NotCancelable(_) => "TASK_NOT_CANCELABLE".into(),
            Self::Unsupported(_) => "UNSUPPORTED_OPERATION".into(),
            Self::ContentType(_) => "CONTENT_TYPE_NOT_SUPPORTED".into(),
            Self::NoExtendedCard(_) => "EXTENDED_AGENT_CARD_NOT_CONFIGURED".into(),
            Self::Version(_) => "VERSION_NOT_SUPPORTED".into(),
        }
    }

    /// Converts the refusal to a fault, for bindings with an HTTP status.
    pub(super) fn as_fault(&self) -> Fault {
        match self {
            Self::Fault(fault) => fault.clone(),
            other => Fault::invalid("", other.message()),
        }
    }

    /// The JSON-RPC error object. Since 1.0 its data is a list of details, as gRPC has them.
    pub(super) fn error(&self, dialect: Dialect, calls: &dyn Calls) -> ErrorObjectOwned {
        if dialect.is_proto() {
            let details = Value::Array(self.details(calls));
            return ErrorObjectOwned::owned(self.code(), self.message(), Some(details));
        }
        let mut data = json!({ "reason": self.reason() });
        if let Self::Fault(fault) = self {
            data["recovery_actions"] = json!(fault.recovery_actions(calls));
        }
        ErrorObjectOwned::owned(self.code(), self.message(), Some(data))
    }

    /// The details of the refusal, as gRPC has them.
    pub(super) fn details(&self, calls: &dyn Calls) -> Vec<Value> {
        let own = (-32099..=-32000).contains(&self.code()) || (-32768..=-32600).contains(&self.code());
        // Metadata maps strings to strings.
        let metadata = match self {
            Self::Fault(fault) => {
                json!({ "recovery_actions": json!(fault.recovery_actions(calls)).to_string() })
            }
            _ => json!({}),
        };
        let info = json!({
            "@type": "type.googleapis.com/google.rpc.ErrorInfo",
            "reason": self.reason(),
            "domain": if own { "a2a-protocol.org" } else { calls.links().base_url() },
            "metadata": metadata,
        });
        let mut details = vec![info];
        if let Self::Fault(fault) = self {
            if !fault.fields().is_empty() {
                let violations: Vec<Value> = fault
                    .fields()
                    .iter()
                    .map(|f| json!({ "field": f.field, "description": f.detail }))
                    .collect();
                details.push(json!({ "@type": "type.googleapis.com/google.rpc.BadRequest", "fieldViolations": violations }));
            }
            if let Some(seconds) = fault.retry_after_seconds() {
                let delay = format!("{seconds}s");
                details.push(
                    json!({ "@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": delay }),
                );
            }
        }
        details
    }
}
