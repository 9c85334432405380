//! What an operation answers: a value, and how surfaces present it.

use std::time::Duration;

use ep_polling::time::Timestamp;
use schemars::JsonSchema;
use secrecy::SecretString;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// The output of an operation.
pub trait ToolOutput: Serialize + JsonSchema + Send {
    /// The form for agents that pay for every token.
    const BRIEF: Brief = Brief::WHOLE;
    /// How surfaces present it; by default as JSON that must not be cached.
    fn presentation(&self) -> Presentation {
        Presentation::default()
    }
}

/// The short form of an output, for models: they pay for every token and may see its fields without the text.
#[derive(Debug, Clone, Copy)]
pub struct Brief {
    /// Members that are left out: they repeat the request, or can be read later.
    pub without: &'static [&'static str],
    /// The member [`Brief::CAVEAT`], if any.
    pub caveat: Option<&'static str>,
    /// Outputs without this member stay as they are.
    pub only_with: &'static str,
    /// Changes the members that remain.
    pub shorten: fn(&mut Map<String, Value>),
}

impl Brief {
    /// The member that holds [`Brief::caveat`].
    pub const CAVEAT: &str = "caveat";
    /// Everything, unchanged.
    pub const WHOLE: Self = Self { without: &[], caveat: None, only_with: "", shorten: |_| {} };

    /// The brief form of an output.
    pub fn apply(&self, output: &mut Value) {
        let Some(members) = output.as_object_mut().filter(|members| members.contains_key(self.only_with))
        else {
            return;
        };
        members.retain(|name, _| !self.without.contains(&name.as_str()));
        (self.shorten)(members);
        if let Some(caveat) = self.caveat {
            members.insert(Self::CAVEAT.to_owned(), caveat.into());
        }
    }
}

/// The answer of one call, on its way to a surface.
#[derive(Debug, Clone)]
pub struct Answer {
    /// The output as JSON: what MCP and A2A send.
    pub value: Value,
    /// How surfaces present it.
    pub presentation: Presentation,
}

impl From<Value> for Answer {
    fn from(value: Value) -> Self {
        Self { value, presentation: Presentation::default() }
    }
}

/// Everything about an answer besides its value.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct Presentation {
    /// Who may keep it, and how long.
    pub cache: Cache,
    /// If set, the answer is not final: ask again after this time.
    pub interim: Option<Duration>,
    /// The answer in one sentence, for people and for agents that read prose.
    pub summary: Option<String>,
    /// What else a model should know, in a few lines of plain words; shown after the summary.
    pub facts: Option<String>,
    /// The id of the task it belongs to, if the protocol has tasks.
    pub task_id: Option<String>,
    /// When the task came to the state that the answer shows.
    pub since: Option<Timestamp>,
    /// Whether the task ended without a result.
    #[serde(default)]
    pub failed: bool,
    /// Whether the task was ended by its owner.
    #[serde(default)]
    pub cancelled: bool,
    /// The address of what was created (`Location`).
    pub location: Option<String>,
    /// Starts or ends the caller's browser session. Never stored.
    #[serde(skip)]
    pub session: Option<SessionChange>,
    /// The value for repetitions of the request, where it differs: without a secret that is shown once.
    #[serde(skip)]
    pub repeated: Option<Value>,
    /// Holds a secret in plain text: its idempotency record is encrypted, and it is never logged.
    pub sensitive: bool,
    /// What REST sends as the body.
    pub body: Body,
}

/// Who may keep an answer.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Cache {
    /// Nobody: it may be different the next moment.
    #[default]
    NoStore,
    /// Anyone, this long.
    Shared(Duration),
    /// Anyone: it never changes, but its owner can delete it.
    Immutable,
}

/// A browser session that an answer starts or ends.
#[derive(Debug, Clone)]
pub enum SessionChange {
    /// Sets the session cookie.
    Start {
        /// The cookie's value.
        token: SecretString,
        /// How long the browser keeps it.
        lifetime: Duration,
    },
    /// Clears the session cookie.
    End,
}

/// What REST sends as the body of an answer.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Body {
    /// The value, or the member of it that the REST binding names.
    #[default]
    Json,
    /// This text, in the media type that the REST binding names.
    Text(String),
}

impl Presentation {
    /// Anyone may keep the answer this long.
    pub fn shared(time: Duration) -> Self {
        Self { cache: Cache::Shared(time), ..Self::default() }
    }

    /// An answer that never changes, but can be deleted.
    pub fn immutable() -> Self {
        Self { cache: Cache::Immutable, ..Self::default() }
    }

    /// The answer is not final yet: ask again after this time.
    pub fn interim(wait: Duration) -> Self {
        Self { interim: Some(wait), ..Self::default() }
    }

    /// Adds the answer in one sentence.
    pub fn summary(mut self, summary: impl Into<String>) -> Self {
        self.summary = Some(summary.into());
        self
    }

    /// Adds what else a model should know.
    pub fn facts(mut self, facts: impl Into<String>) -> Self {
        self.facts = Some(facts.into());
        self
    }

    /// Adds the id of the task that it belongs to, and when the task came to the state that it shows.
    pub fn task(mut self, id: impl ToString, since: Timestamp) -> Self {
        self.task_id = Some(id.to_string());
        self.since = Some(since);
        self
    }

    /// Says whether the task was ended by its owner.
    pub fn cancelled(mut self, cancelled: bool) -> Self {
        self.cancelled = cancelled;
        self
    }

    /// Says whether the task ended without a result.
    pub fn failed(mut self, failed: bool) -> Self {
        self.failed = failed;
        self
    }

    /// Sends this text as the REST body.
    pub fn text(mut self, text: impl Into<String>) -> Self {
        self.body = Body::Text(text.into());
        self
    }
}
