//! The output of an operation, and its presentation by surfaces.

use std::time::Duration;

use ep_polling::Timestamp;
use schemars::JsonSchema;
use secrecy::SecretString;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::fault::{Fault, Result};

/// The output of an operation.
pub trait ToolOutput: Serialize + JsonSchema + Send + 'static {
    /// The short form for agents, which pay for every token.
    const BRIEF: Brief = Brief::WHOLE;
    /// Returns the presentation; by default JSON that must not be cached.
    fn presentation(&self) -> Presentation {
        Presentation::default()
    }
    /// Adds notices about arguments without effect. An output without a field for them drops them.
    fn add_notices(&mut self, _notices: Vec<String>) {}
}

/// The short form of an output for models, which pay for every token and may see only its fields.
#[derive(Debug, Clone, Copy)]
pub struct Brief {
    /// Fields to leave out: they repeat the request, or can be read later.
    pub without: &'static [&'static str],
    /// Fields that a schema for models names; empty for all.
    pub named: &'static [&'static str],
    /// Value of the field [`Brief::CAVEAT`], if any.
    pub caveat: Option<&'static str>,
    /// Outputs without this field stay unchanged.
    pub only_with: &'static str,
    /// Shortens the remaining fields.
    pub shorten: fn(&mut Map<String, Value>),
}

impl Brief {
    /// Name of the field that holds [`Brief::caveat`].
    pub const CAVEAT: &str = "caveat";
    /// The output, unchanged.
    pub const WHOLE: Self = Self { without: &[], named: &[], caveat: None, only_with: "", shorten: |_| {} };

    /// Shortens an output.
    pub fn apply(&self, output: &mut Value) {
        let Some(fields) = output.as_object_mut().filter(|fields| fields.contains_key(self.only_with)) else {
            return;
        };
        fields.retain(|name, _| !self.without.contains(&name.as_str()));
        (self.shorten)(fields);
        if let Some(caveat) = self.caveat {
            fields.insert(Self::CAVEAT.to_owned(), caveat.into());
        }
    }
}

/// The output of one call, to be presented by a surface.
#[derive(Debug, Clone)]
pub struct CallOutput {
    /// The output as JSON, sent by MCP and A2A.
    pub value: Value,
    /// The presentation by surfaces.
    pub presentation: Presentation,
}

impl CallOutput {
    /// Converts the JSON to the type of the operation's output. A stored output of an identical request is JSON, too, and
    /// fields that the type does not have are ignored.
    pub fn typed<O: DeserializeOwned>(self) -> Result<Typed<O>> {
        let output = serde_json::from_value(self.value).map_err(Fault::internal)?;
        Ok(Typed { output, presentation: self.presentation })
    }
}

/// The output of one call as the operation's own type, for callers inside the program.
#[derive(Debug)]
pub struct Typed<O> {
    /// The output.
    pub output: O,
    /// The presentation by surfaces.
    pub presentation: Presentation,
}

impl From<Value> for CallOutput {
    fn from(value: Value) -> Self {
        Self { value, presentation: Presentation::default() }
    }
}

/// The properties of an output besides its value.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct Presentation {
    /// Cache policy.
    pub cache: Cache,
    /// Set if the output is not final: the time to wait before the next request.
    pub interim: Option<Duration>,
    /// The output in one sentence, for people and for agents that read prose.
    pub summary: Option<String>,
    /// Further facts for models, in a few plain lines after the summary.
    pub facts: Option<String>,
    /// Id of the task, if the protocol has tasks.
    pub task_id: Option<String>,
    /// The time when the task entered the shown state.
    pub since: Option<Timestamp>,
    /// True if the task goes on, although the output is final: it shows the present state.
    #[serde(default)]
    pub running: bool,
    /// True if the task ended without a result.
    #[serde(default)]
    pub failed: bool,
    /// True if the owner cancelled the task.
    #[serde(default)]
    pub cancelled: bool,
    /// URL of the created resource (`Location`).
    pub location: Option<String>,
    /// Starts or ends the caller's browser session. Never stored.
    #[serde(skip)]
    pub session: Option<SessionChange>,
    /// Value for repetitions of the request, if it differs: without a secret that is shown once.
    #[serde(skip)]
    pub repeated: Option<Value>,
    /// True if this repeats the output of an earlier, identical request. Never stored.
    #[serde(skip)]
    pub replayed: bool,
    /// True if the output holds a secret in plain text: its idempotency record is encrypted, and it is never
    /// logged.
    pub sensitive: bool,
    /// The REST body.
    pub body: Body,
}

/// The cache policy of an output.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Cache {
    /// No caching: the output can change at any moment.
    #[default]
    NoStore,
    /// Cacheable by anyone for this time.
    Shared(Duration),
    /// Cacheable by anyone. It never changes, but its owner can delete it.
    Immutable,
}

/// A change of the browser session.
#[derive(Debug, Clone)]
pub enum SessionChange {
    /// Sets the session cookie.
    Start {
        /// The cookie's value.
        token: SecretString,
        /// Lifetime of the cookie in the browser.
        lifetime: Duration,
    },
    /// Clears the session cookie.
    End,
}

/// The REST body of an output.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Body {
    /// The value, or the field of it that the REST binding names.
    #[default]
    Json,
    /// This text, in the media type that the REST binding names.
    Text(String),
}

impl Presentation {
    /// Returns a presentation that anyone may cache for this time.
    pub fn shared(time: Duration) -> Self {
        Self { cache: Cache::Shared(time), ..Self::default() }
    }

    /// Returns a presentation of an output that never changes, but can be deleted.
    pub fn immutable() -> Self {
        Self { cache: Cache::Immutable, ..Self::default() }
    }

    /// Returns a presentation of an interim output, with the time to wait before the next request.
    pub fn interim(wait: Duration) -> Self {
        Self { interim: Some(wait), ..Self::default() }
    }

    /// Sets the summary.
    pub fn summary(mut self, summary: impl Into<String>) -> Self {
        self.summary = Some(summary.into());
        self
    }

    /// Sets the further facts for models.
    pub fn facts(mut self, facts: impl Into<String>) -> Self {
        self.facts = Some(facts.into());
        self
    }

    /// Sets the id of the task, and the time when it entered the shown state.
    pub fn task(mut self, id: impl ToString, since: Timestamp) -> Self {
        self.task_id = Some(id.to_string());
        self.since = Some(since);
        self
    }

    /// True if the task goes on.
    pub const fn is_running(&self) -> bool {
        self.interim.is_some() || self.running
    }

    /// Sets whether the task goes on, although the output is final.
    pub fn running(mut self, running: bool) -> Self {
        self.running = running;
        self
    }

    /// Sets whether the owner cancelled the task.
    pub fn cancelled(mut self, cancelled: bool) -> Self {
        self.cancelled = cancelled;
        self
    }

    /// Sets whether the task ended without a result.
    pub fn failed(mut self, failed: bool) -> Self {
        self.failed = failed;
        self
    }

    /// Sets this text as the REST body.
    pub fn text(mut self, text: impl Into<String>) -> Self {
        self.body = Body::Text(text.into());
        self
    }
}
