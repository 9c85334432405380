//! Everything that can go wrong, in one typed error with a stable code.
//!
//! A [`Fault`] is made where something fails and is shown by whichever surface the caller came
//! through: as `{error}`, as problem details (RFC 9457), as an MCP tool error, as an A2A error, as an
//! exit code. What differs between kinds is in one table, [`Kind::row`].

mod kind;
mod problem;

use std::error::Error;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use crate::api_key::without_keys;
use crate::key_terms::KeyScope;
use ep_polling::money::MicroUsd;
use ep_polling::poll_id::PollId;
use serde::{Deserialize, Serialize};

pub use kind::{ADD_FUNDS, Kind, Recovery, Row};
pub use problem::{ErrorBody, Problem, RecoveryAction};

/// A failure as its caller sees it. The source, if any, goes to the log and is never shown.
#[derive(Clone)]
pub struct Fault {
    kind: Kind,
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
    lacks: Option<MicroUsd>,
    actions: Vec<RecoveryAction>,
}

/// Which member of the input is wrong, and how.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct FieldFault {
    /// The member, as a path: `options[1]`.
    pub field: String,
    /// What is wrong with it.
    pub detail: String,
}

impl FieldFault {
    /// A sentence that names the member.
    pub fn message(&self) -> String {
        let Self { field, detail } = self;
        // Messages of our own types already name their member.
        let named = detail.starts_with(field.split(['.', '[']).next().unwrap_or(field));
        if named { detail.clone() } else { format!("{field} {detail}") }
    }
}

/// A wait as `Retry-After` and the `RateLimit` headers show it: whole seconds, rounded up, at least one.
pub fn whole_seconds(wait: Duration) -> u64 {
    u64::try_from(wait.as_millis().div_ceil(1000)).unwrap_or(u64::MAX).max(1)
}

impl Fault {
    /// A failure of this kind. The message is a sentence that tells the caller what to do next.
    pub fn new(kind: Kind, message: impl Into<String>) -> Self {
        Self {
            kind,
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

    /// A credential that is wrong, expired or revoked, in contrast to one that is not accepted here.
    pub fn wrong_credential(message: impl Into<String>) -> Self {
        Self { rejects_credential: true, ..Self::new(Kind::Unauthenticated, message) }
    }

    /// A credential that is missing, or is not accepted here.
    pub fn needs_credential(message: impl Into<String>) -> Self {
        Self { asks_for_credential: true, ..Self::new(Kind::Unauthenticated, message) }
    }

    /// An access token whose scope does not reach as far as this.
    pub fn insufficient_scope(needed: KeyScope) -> Self {
        let scopes = needed.token_scopes().join(" ");
        let message =
            format!("the scope of this access token does not reach that far; authorize it for {scopes}");
        Self { missing_scope: Some(needed), ..Self::new(Kind::Forbidden, message) }
    }

    /// Input that breaks a rule.
    pub fn invalid(field: impl Into<String>, detail: impl Into<String>) -> Self {
        let wrong = FieldFault { field: field.into(), detail: detail.into() };
        let fault = Self::new(Kind::InvalidInput, wrong.message());
        if wrong.field.is_empty() { fault } else { fault.with_field(wrong.field, wrong.detail) }
    }

    /// An id that names no poll that the caller may read. At most 40 characters of it are shown.
    pub fn no_such_poll(id: &str) -> Self {
        let shown: String = id.chars().filter(|c| !c.is_control()).take(40).collect();
        Self::new(Kind::NotFound, format!("there is no poll {shown}; ids look like EP-20260131-7KQ2M4X9TB"))
    }

    /// Something of our own failed. The caller learns that it did; the log learns why.
    pub fn internal(source: impl Into<Box<dyn Error + Send + Sync>>) -> Self {
        Self::new(
            Kind::Internal,
            "something failed on our side; try again, and report the request id if it persists",
        )
        .caused_by(source)
    }

    /// Names a member of the input that is wrong.
    pub fn with_field(mut self, field: impl Into<String>, detail: impl Into<String>) -> Self {
        self.fields.push(FieldFault { field: field.into(), detail: without_keys(detail.into()) });
        self
    }

    /// Adds the message and the members of another fault, unless this one already names them.
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

    /// Says when to try again.
    pub fn retry_after(mut self, wait: Duration) -> Self {
        self.retry_after = Some(wait);
        self
    }

    /// Names the poll that it is about, whose result can be read.
    pub fn about(mut self, poll: PollId) -> Self {
        self.about.get_or_insert_default().poll = Some(poll);
        self
    }

    /// Says how much the account lacks.
    pub fn lacking(mut self, amount: MicroUsd) -> Self {
        self.about.get_or_insert_default().lacks = Some(amount);
        self
    }

    /// Adds a recovery action of this occurrence, shown before those of its kind.
    pub fn with_action(mut self, action: RecoveryAction) -> Self {
        self.about.get_or_insert_default().actions.push(action);
        self
    }

    /// Keeps the cause for the log.
    pub fn caused_by(mut self, source: impl Into<Box<dyn Error + Send + Sync>>) -> Self {
        self.source = Some(Arc::from(source.into()));
        self
    }

    /// Its kind.
    pub const fn kind(&self) -> Kind {
        self.kind
    }

    /// What the caller reads.
    pub fn message(&self) -> &str {
        &self.message
    }

    /// The members of the input that are wrong.
    pub fn fields(&self) -> &[FieldFault] {
        &self.fields
    }

    /// The poll that it is about.
    pub fn poll(&self) -> Option<&PollId> {
        self.about.as_ref()?.poll.as_ref()
    }

    /// How much the account lacks for it, where a balance does not suffice.
    pub fn lacks(&self) -> Option<MicroUsd> {
        self.about.as_ref()?.lacks
    }

    /// The recovery actions of this occurrence.
    pub fn actions(&self) -> &[RecoveryAction] {
        self.about.as_ref().map_or(&[], |about| &about.actions)
    }

    /// When to try again, if waiting helps. Shown in whole seconds, rounded up.
    pub const fn wait(&self) -> Option<Duration> {
        self.retry_after
    }

    /// [`Fault::wait`] as the `Retry-After` header shows it (RFC 9110 §10.2.3).
    pub fn retry_after_seconds(&self) -> Option<u64> {
        self.retry_after.map(whole_seconds)
    }

    /// Whether it repeats the reply to an earlier, identical request.
    pub const fn is_replayed(&self) -> bool {
        self.replayed
    }

    /// Whether the credential that was sent is wrong, expired or revoked.
    pub const fn rejects_credential(&self) -> bool {
        self.rejects_credential
    }

    /// Whether another credential is needed than the one that was sent, if any.
    pub const fn asks_for_credential(&self) -> bool {
        self.asks_for_credential
    }

    /// The scope that an access token would need.
    pub const fn missing_scope(&self) -> Option<KeyScope> {
        self.missing_scope
    }

    /// The chain of causes, for the log.
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

/// A fault as an idempotency record stores it: what the caller saw, without its cause.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct StoredFault {
    code: String,
    message: String,
    fields: Vec<FieldFault>,
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
    fn from(kept: StoredFault) -> Self {
        let kind = Kind::from_code(&kept.code).unwrap_or(Kind::Internal);
        Self {
            kind,
            message: kept.message.into(),
            fields: kept.fields,
            retry_after: None,
            about: None,
            source: None,
            replayed: true,
            rejects_credential: false,
            asks_for_credential: false,
            missing_scope: None,
        }
    }
}
