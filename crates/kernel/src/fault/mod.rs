//! The error type of the service: one typed fault with a stable code.
//!
//! A [`Fault`] is created where something fails. The surface that the caller uses renders it: as `{error}`,
//! problem details (RFC 9457), an MCP tool error, an A2A error or an exit code. The properties of each kind
//! are in one table, [`Kind::row`].

mod kind;
mod problem;
mod store_error;

use std::error::Error;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use crate::api_key::without_keys;
use ep_polling::text::is_direction_mark;
use ep_polling::{MicroUsd, PollId};
use ep_store::{BatchId, KeyScope};
use serde::{Deserialize, Serialize};

pub use kind::{ADD_FUNDS, Kind, OperationKind, Recovery, Row};
pub use problem::{ErrorBody, Problem, RecoveryAction};

/// A result of an operation.
pub type Result<T, E = Fault> = std::result::Result<T, E>;

/// A failure as the caller sees it. The source, if any, is logged and never shown.
#[derive(Clone)]
pub struct Fault {
    kind: Kind,
    operation: OperationKind,
    message: Box<str>,
    fields: Vec<FieldFault>,
    retry_after: Option<Duration>,
    about: Option<Box<About>>,
    source: Option<Arc<dyn Error + Send + Sync>>,
    replayed: bool,
    rejects_credential: bool,
    asks_for_credential: bool,
    missing_scope: Option<KeyScope>,
}

/// Rare fields, boxed.
#[derive(Debug, Clone, Default)]
struct About {
    poll: Option<PollId>,
    batch: Option<BatchId>,
    lacks_poll: bool,
    lacks: Option<MicroUsd>,
    actions: Vec<RecoveryAction>,
}

/// An invalid field of the input.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct FieldFault {
    /// Path of the field: `options[1]`.
    pub field: String,
    /// Description of the problem.
    pub detail: String,
}

impl FieldFault {
    /// Returns a sentence that names the field.
    pub fn message(&self) -> String {
        let Self { field, detail } = self;
        // Messages of our own types already name their field.
        let named = detail.starts_with(field.split(['.', '[']).next().unwrap_or(field));
        if named { detail.clone() } else { format!("{field} {detail}") }
    }
}

/// Rounds a wait up to whole seconds, at least one, for `Retry-After` and the `RateLimit` headers.
pub fn whole_seconds(wait: Duration) -> u64 {
    u64::try_from(wait.as_millis().div_ceil(1000)).unwrap_or(u64::MAX).max(1)
}

impl Fault {
    /// Creates a fault of this kind. The message is a sentence that tells the caller what to do next.
    pub fn new(kind: Kind, message: impl Into<String>) -> Self {
        Self {
            kind,
            operation: OperationKind::default(),
            message: without_keys(message.into()).into(),
            fields: Vec::new(),
            retry_after: None,
            about: None,
            source: None,
            replayed: false,
            rejects_credential: false,
            asks_for_credential: false,
            missing_scope: None,
        }
    }

    /// Creates a fault for a credential that is wrong, expired or revoked, as opposed to one not accepted
    /// here.
    pub fn wrong_credential(message: impl Into<String>) -> Self {
        Self { rejects_credential: true, ..Self::new(Kind::Unauthenticated, message) }
    }

    /// Creates a fault for a credential that is missing or not accepted here.
    pub fn needs_credential(message: impl Into<String>) -> Self {
        Self { asks_for_credential: true, ..Self::new(Kind::Unauthenticated, message) }
    }

    /// Creates a fault for an access token with insufficient scope.
    pub fn insufficient_scope(needed: KeyScope) -> Self {
        let scopes = needed.token_scopes().join(" ");
        let message =
            format!("the scope of this access token is insufficient; authorize the token for {scopes}");
        Self { missing_scope: Some(needed), ..Self::new(Kind::Forbidden, message) }
    }

    /// Creates a fault for an invalid field of the input.
    pub fn invalid(field: impl Into<String>, detail: impl Into<String>) -> Self {
        let wrong = FieldFault { field: field.into(), detail: detail.into() };
        let fault = Self::new(Kind::InvalidInput, wrong.message());
        if wrong.field.is_empty() { fault } else { fault.with_field(wrong.field, wrong.detail) }
    }

    /// Creates a fault for an id of no poll that the caller may read. Shows at most 40 characters of the id.
    pub fn no_such_poll(id: &str) -> Self {
        let shown = shown(id, 40);
        let problem = if shown.trim().is_empty() {
            "the poll id is empty".to_owned()
        } else {
            format!("there is no poll {shown}")
        };
        let mut fault = Self::new(Kind::NotFound, format!("{problem}; ids look like EP-20260131-7KQ2M4X9TB"));
        fault.about.get_or_insert_default().lacks_poll = true;
        fault
    }

    /// Creates a fault for an internal error. Only the log shows its cause.
    pub fn internal(source: impl Into<Box<dyn Error + Send + Sync>>) -> Self {
        Self::new(Kind::Internal, "internal error; try again, and report the request id if it persists")
            .caused_by(source)
    }

    /// Adds an invalid field.
    pub fn with_field(mut self, field: impl Into<String>, detail: impl Into<String>) -> Self {
        self.fields.push(FieldFault { field: field.into(), detail: without_keys(detail.into()) });
        self
    }

    /// Adds the message and the fields of another fault, unless this one already contains them.
    pub fn and(mut self, other: Self) -> Self {
        if !self.message.contains(&*other.message) {
            self.message = format!("{}; {}", self.message, other.message).into();
        }
        for field in other.fields {
            if !self.fields.contains(&field) {
                self.fields.push(field);
            }
        }
        self
    }

    /// Sets the kind of the operation that failed, on which recovery actions depend.
    pub fn of_operation(mut self, operation: OperationKind) -> Self {
        self.operation = operation;
        self
    }

    /// Sets the time to wait before a retry.
    pub fn retry_after(mut self, wait: Duration) -> Self {
        self.retry_after = Some(wait);
        self
    }

    /// Sets the poll that the fault is about.
    pub fn about(mut self, poll: PollId) -> Self {
        self.about.get_or_insert_default().poll = Some(poll);
        self
    }

    /// Sets the batch that the fault is about.
    pub fn about_batch(mut self, batch: BatchId) -> Self {
        self.about.get_or_insert_default().batch = Some(batch);
        self
    }

    /// Sets the missing amount of the account's balance.
    pub fn lacking(mut self, amount: MicroUsd) -> Self {
        self.about.get_or_insert_default().lacks = Some(amount);
        self
    }

    /// Adds a recovery action of this occurrence, shown before those of its kind.
    pub fn with_action(mut self, action: RecoveryAction) -> Self {
        self.about.get_or_insert_default().actions.push(action);
        self
    }

    /// Sets the cause, for the log.
    pub fn caused_by(mut self, source: impl Into<Box<dyn Error + Send + Sync>>) -> Self {
        self.source = Some(Arc::from(source.into()));
        self
    }

    /// Returns the kind.
    pub const fn kind(&self) -> Kind {
        self.kind
    }

    /// Returns the kind of the operation that failed.
    pub const fn operation(&self) -> OperationKind {
        self.operation
    }

    /// Returns the message for the caller.
    pub fn message(&self) -> &str {
        &self.message
    }

    /// Returns the invalid fields of the input.
    pub fn fields(&self) -> &[FieldFault] {
        &self.fields
    }

    /// Returns the poll that the fault is about.
    pub fn poll(&self) -> Option<&PollId> {
        self.about.as_ref()?.poll.as_ref()
    }

    /// Returns the batch that the fault is about.
    pub fn batch(&self) -> Option<BatchId> {
        self.about.as_ref()?.batch
    }

    /// True if the caller may read no poll with the requested id.
    pub fn lacks_poll(&self) -> bool {
        self.about.as_ref().is_some_and(|about| about.lacks_poll)
    }

    /// Returns the missing amount, if the balance is insufficient.
    pub fn lacks(&self) -> Option<MicroUsd> {
        self.about.as_ref()?.lacks
    }

    /// Returns the recovery actions of this occurrence.
    pub fn actions(&self) -> &[RecoveryAction] {
        self.about.as_ref().map_or(&[], |about| &about.actions)
    }

    /// Returns the time to wait before a retry, if waiting helps.
    pub const fn wait(&self) -> Option<Duration> {
        self.retry_after
    }

    /// Returns [`Fault::wait`] in seconds, rounded up, as in the `Retry-After` header (RFC 9110 §10.2.3).
    pub fn retry_after_seconds(&self) -> Option<u64> {
        self.retry_after.map(whole_seconds)
    }

    /// True if this repeats the reply to an earlier, identical request.
    pub const fn is_replayed(&self) -> bool {
        self.replayed
    }

    /// True if the credential is wrong, expired or revoked.
    pub const fn rejects_credential(&self) -> bool {
        self.rejects_credential
    }

    /// True if the request needs a credential, or a different one.
    pub const fn asks_for_credential(&self) -> bool {
        self.asks_for_credential
    }

    /// Returns the scope that the access token lacks.
    pub const fn missing_scope(&self) -> Option<KeyScope> {
        self.missing_scope
    }

    /// Returns the chain of causes, for the log.
    pub fn causes(&self) -> String {
        let mut text = String::new();
        let mut cause = self.source.as_deref().map(|source| source as &(dyn Error + 'static));
        while let Some(error) = cause {
            if !text.is_empty() {
                text.push_str(": ");
            }
            text.push_str(&error.to_string());
            cause = error.source();
        }
        text
    }
}

impl fmt::Debug for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Fault({}: {}; caused by {:?})", self.kind.row().code, self.message, self.causes())
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl Error for Fault {}

/// A fault as an idempotency record stores it: without its cause.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct StoredFault {
    code: String,
    message: String,
    fields: Vec<FieldFault>,
}

/// Returns the first characters of a text from a request, for a message, without control characters and those
/// that change the text direction (UAX #9).
pub fn shown(text: &str, most: usize) -> String {
    text.chars().filter(|c| !c.is_control() && !is_direction_mark(*c)).take(most).collect()
}

impl From<&Fault> for StoredFault {
    fn from(fault: &Fault) -> Self {
        Self {
            code: fault.kind.row().code.to_owned(),
            message: fault.message.to_string(),
            fields: fault.fields.clone(),
        }
    }
}

impl From<StoredFault> for Fault {
    fn from(stored: StoredFault) -> Self {
        let kind = Kind::from_code(&stored.code).unwrap_or(Kind::Internal);
        Self { fields: stored.fields, replayed: true, ..Self::new(kind, stored.message) }
    }
}
