//! The contract of every operation. Read this first.
//!
//! An operation is a [`Tool`]: a type with a [`Spec`] (its texts, access, price, errors and bindings), an
//! input, an output and one function. It is defined in this one place. [`entry`](crate::dispatch::entry) erases the type into an
//! [`Entry`](crate::Entry); the catalogue is a list of entries, built at its first use (`ep_tools::TOOLS`). Surfaces (MCP, A2A,
//! REST, SSE, the command line) decode bytes into a JSON value, find the entry and call
//! [`dispatch`](crate::dispatch::dispatch). Documents are pure functions of the same list.
//!
//! **Invariant:** a tool does not know the surface of its call, and never checks access, limits or
//! idempotency itself. It checks only *ownership* ("is this your poll?").

use std::future::Future;

use ep_polling::MicroUsd;
use schemars::{JsonSchema, Schema};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

use crate::caller::Caller;
use crate::ctx::Ctx;
use crate::fault::{Fault, Kind, OperationKind, Result};
use crate::schema;
use ep_store::KeyScope;

pub use crate::method::Method;
pub use crate::output::{Body, Brief, Cache, Presentation, SessionChange, ToolOutput};

/// One operation.
pub trait Tool: 'static {
    /// The specification: everything about the operation that is not code.
    const SPEC: Spec;
    /// The input. Newtypes validate while decoding; the schema and the validation use the same constants.
    type Input: DeserializeOwned + JsonSchema + Send + 'static;
    /// The output.
    type Output: ToolOutput;
    /// True if the operation needs an account. The operator's own process has none.
    const NEEDS_ACCOUNT: bool = false;
    /// Reads the input from an agent's message, for protocols with messages. `known` is the input from
    /// earlier messages. Returns `None` if the operation does not understand plain text.
    fn parse_input(known: &Map<String, Value>, content: MessageContent<'_>) -> Option<ParsedInput> {
        match content {
            MessageContent::Fields(content) => Some(ParsedInput::Input(with(known, content))),
            MessageContent::Text(_) => None,
        }
    }
    /// Validates an input as far as possible without a caller.
    fn check(input: Value) -> Result<()> {
        schema::decode::<Self::Input>(input).map(drop)
    }
    /// Returns the mistakes of an invalid input that only the service's data reveal, such as an unknown preset, so that
    /// one fault names them beside the others.
    fn other_mistakes(_: &Ctx, _: &Value) -> impl Future<Output = Option<Fault>> + Send {
        std::future::ready(None)
    }
    /// Returns a notice for each argument without effect, for the [output](ToolOutput::add_notices). By default these
    /// are the unknown ones that look misspelt.
    fn without_effect(schema: &Schema, input: &Map<String, Value>) -> Vec<String> {
        schema::spelling_notices(schema, input)
    }
    /// Runs the operation.
    fn call(cx: &Ctx, input: Self::Input) -> impl Future<Output = Result<Self::Output>> + Send;
    /// Returns the maximum cost of a call. Operations that ask models compute it.
    fn at_most(_: &Ctx, _: Self::Input) -> impl Future<Output = Result<MicroUsd>> + Send {
        std::future::ready(Ok(MicroUsd::ZERO))
    }
}

/// The content of an agent's message.
#[derive(Debug, Clone)]
pub enum MessageContent<'a> {
    /// Fields of the input.
    Fields(Map<String, Value>),
    /// Plain text.
    Text(&'a str),
}

/// The input read from a message.
#[derive(Debug, Clone, PartialEq)]
pub enum ParsedInput {
    /// The input is complete.
    Input(Map<String, Value>),
    /// Fields are missing.
    Missing {
        /// The input so far.
        known: Map<String, Value>,
        /// The question for the agent.
        ask: String,
    },
}

/// Merges the input of a message into the earlier input. New values win.
pub fn with(known: &Map<String, Value>, content: Map<String, Value>) -> Map<String, Value> {
    let mut all = known.clone();
    // An empty value does not remove an earlier one.
    all.extend(
        content.into_iter().filter(|(name, value)| !(schema::is_empty(value) && known.contains_key(name))),
    );
    all
}

/// The input of an operation that takes nothing.
#[derive(Debug, Clone, Copy, Deserialize, JsonSchema)]
pub struct Nothing {}

impl Spec {
    /// The usual values of a specification. It admits nobody and has no binding.
    pub const PLAIN: Self = Self {
        name: "",
        title: "",
        summary: "",
        manual: "",
        example: "{}",
        access: Access { anonymous: false, cookie: false, key: false },
        effect: Effect::Destroy,
        cost: Cost::Free,
        latency: Latency::Instant,
        rate: Rate::Default,
        rest: None,
        stream: None,
        agents: Agents::None,
        task: Task::None,
        intents: &[],
        faults: &[],
    };

    /// True if every surface refuses unknown arguments: ignoring a misspelt one could grant or spend more than was meant.
    /// Other operations name those that look misspelt in their notices, and ignore the rest; a batch has no notices.
    pub const fn refuses_unknown(&self) -> bool {
        let starts_batch = matches!(self.task, Task::StartBatch);
        starts_batch || matches!(self.effect, Effect::Write { .. } | Effect::Stop | Effect::Destroy)
    }

    /// Returns the kind of the operation, on which the recovery actions of its faults depend.
    pub const fn kind(&self) -> OperationKind {
        match (self.cost, self.task) {
            (Cost::Free, _) => OperationKind::Other,
            (Cost::Metered, Task::Decide | Task::StartBatch) => OperationKind::Metered,
            (Cost::Metered, _) => OperationKind::Poll,
        }
    }
}

/// The specification of an operation. Its texts, access and effect are always named (a test checks the texts and the
/// access); the other fields where they differ from [`Spec::PLAIN`].
pub struct Spec {
    /// Name: MCP tool, A2A skill, OpenAPI operation id, command-line verb.
    pub name: &'static str,
    /// Display name.
    pub title: &'static str,
    /// Description in one or two sentences, used by agents to choose the tool.
    pub summary: &'static str,
    /// Manual, in Markdown.
    pub manual: &'static str,
    /// Example input, in JSON.
    pub example: &'static str,
    /// Callers admitted.
    pub access: Access,
    /// Side effects.
    pub effect: Effect,
    /// Cost for the caller.
    pub cost: Cost,
    /// Duration.
    pub latency: Latency,
    /// The allowance that calls count against.
    pub rate: Rate,
    /// REST binding.
    pub rest: Option<Rest>,
    /// Event stream binding: the same call with progress events.
    pub stream: Option<Rest>,
    /// Visibility to agents.
    pub agents: Agents,
    /// Effect on a task, in protocols with tasks.
    pub task: Task,
    /// Up to sixteen phrases that a person would use to request it.
    pub intents: &'static [&'static str],
    /// Possible errors, besides those of every operation.
    pub faults: &'static [Kind],
}

/// The callers of an operation: any combination of three kinds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Access {
    /// Callers without credentials.
    pub anonymous: bool,
    /// Signed-in browsers.
    pub cookie: bool,
    /// Programs with an API key or an access token.
    pub key: bool,
}

impl Access {
    /// Everyone.
    pub const PUBLIC: Self = Self { anonymous: true, cookie: true, key: true };
    /// Only callers without credentials.
    pub const ANONYMOUS: Self = Self { anonymous: true, cookie: false, key: false };
    /// Only signed-in browsers.
    pub const COOKIE: Self = Self { anonymous: false, cookie: true, key: false };
    /// Only programs with an API key or an access token.
    pub const KEY: Self = Self { anonymous: false, cookie: false, key: true };
    /// Any account.
    pub const ACCOUNT: Self = Self { anonymous: false, cookie: true, key: true };

    /// Returns the callers admitted by both.
    pub const fn and(self, other: Self) -> Self {
        Self {
            anonymous: self.anonymous && other.anonymous,
            cookie: self.cookie && other.cookie,
            key: self.key && other.key,
        }
    }

    /// True if this caller is admitted. The operator's own process always is.
    pub const fn admits(self, caller: &Caller) -> bool {
        match caller {
            Caller::Anonymous { .. } => self.anonymous,
            Caller::Session { .. } => self.cookie,
            Caller::Key { .. } | Caller::Token { .. } | Caller::Batch { .. } => self.key,
            Caller::Local => true,
        }
    }
}

/// The side effects of an operation, which determine the four MCP hints.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Effect {
    /// Changes nothing.
    Read,
    /// Changes nothing, and reads everything that an account has.
    Disclose,
    /// Calls external models and stores their responses; needs an idempotency key.
    Consult,
    /// Changes our records.
    Write {
        /// True if it is idempotent.
        idempotent: bool,
    },
    /// Cancels a poll.
    Stop,
    /// Removes something else for good.
    Destroy,
}

impl Effect {
    /// Returns the scope that a key or an access token needs.
    pub const fn scope(self) -> KeyScope {
        match self {
            Self::Read => KeyScope::Read,
            Self::Consult | Self::Stop => KeyScope::Polls,
            Self::Disclose | Self::Write { .. } | Self::Destroy => KeyScope::All,
        }
    }
    /// Returns MCP's `readOnlyHint`.
    pub const fn read_only(self) -> bool {
        matches!(self, Self::Read | Self::Disclose)
    }
    /// Returns MCP's `destructiveHint`.
    pub const fn destructive(self) -> bool {
        matches!(self, Self::Stop | Self::Destroy)
    }
    /// Returns MCP's `idempotentHint`: true if a plain repetition changes nothing more.
    pub const fn idempotent(self) -> bool {
        matches!(
            self,
            Self::Read | Self::Disclose | Self::Stop | Self::Destroy | Self::Write { idempotent: true }
        )
    }
    /// Returns MCP's `openWorldHint`: true if it calls external services.
    pub const fn open_world(self) -> bool {
        matches!(self, Self::Consult)
    }
}

/// The cost of an operation for its caller.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Cost {
    /// Free of charge.
    Free,
    /// The price of the models, at most the caller's `max_cost_usd`.
    Metered,
}

/// The duration of an operation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Latency {
    /// Milliseconds.
    Instant,
    /// The response time of the models: seconds to minutes.
    Models,
}

/// The allowance that requests count against.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Rate {
    /// The caller's general allowance.
    Default,
    /// The allowance for free polls, per address.
    Free,
    /// The allowance for sign-in attempts, per address; credentials are ignored.
    SignIn,
    /// The larger allowance for public results, per address; the general one for callers with an account.
    Results,
    /// The larger allowance for documents and unknown paths, per address.
    Public,
    /// Counted against the public allowance, but never rejected.
    Exempt,
}

/// The visibility of an operation to agents.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Agents {
    /// Every agent.
    Core,
    /// Agents that request this set of tools, or all.
    Set(ToolSet),
    /// No agent.
    None,
}

/// A set of tools for a task.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ToolSet {
    /// Polls, their prices and their voters.
    Polls,
    /// Labels of many rows: batches, panels and their evaluation.
    Labels,
    /// The caller's account.
    Account,
}

impl ToolSet {
    /// All sets.
    pub const ALL: [Self; 3] = [Self::Polls, Self::Labels, Self::Account];

    /// Returns the name that a client requests.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Polls => "polls",
            Self::Labels => "labels",
            Self::Account => "account",
        }
    }
}

/// The effect of an operation on a task (A2A). The id of a task is that of its poll or its batch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Task {
    /// No effect.
    None,
    /// Starts a task.
    Start,
    /// Reads a task by the field `poll_id`.
    Read,
    /// Follows one of the caller's own tasks, by the field `poll_id`, to its end or for as long as the caller
    /// waits. Returns the output of the operation that started it. `after` is the last event received.
    Follow,
    /// Cancels a task by the field `poll_id`.
    Cancel,
    /// Lists the caller's own tasks, newest first.
    List,
    /// Asks several questions at once, which are polls of their own but no task.
    Decide,
    /// Starts a task whose work is a batch.
    StartBatch,
    /// Reads one of the caller's own tasks, by the field `batch_id`. Returns the output of the operation that started
    /// it.
    ReadBatch,
    /// Cancels a task by the field `batch_id`.
    CancelBatch,
}

impl Task {
    /// True if the operation starts a task.
    pub const fn starts(self) -> bool {
        matches!(self, Self::Start | Self::StartBatch)
    }
}

/// A REST binding.
#[derive(Debug, Clone, Copy)]
pub struct Rest {
    /// The method.
    pub method: Method,
    /// The path, with `{placeholders}` for required fields of the input.
    pub path: &'static str,
    /// HTTP status of a success.
    pub status: u16,
    /// HTTP status of an interim output.
    pub interim: u16,
    /// Callers accepted here; narrows [`Spec::access`].
    pub only: Access,
    /// True if a setting of the operator (`EP_KEYS_READ_ACCOUNT`) admits programs with a key, too.
    pub keys_by_setting: bool,
    /// The field of the output to send as the body, if not the whole output.
    pub field: Option<&'static str>,
    /// The media type of the body: of [`Body::Text`] if it is not JSON.
    pub media_type: &'static str,
    /// The maximum size of a request's body, in bytes, if not the usual one.
    pub max_body: Option<usize>,
}

impl Rest {
    const fn new(method: Method, path: &'static str) -> Self {
        Self {
            method,
            path,
            status: 200,
            interim: if matches!(method, Method::Get) { 200 } else { 202 },
            only: Access::PUBLIC,
            keys_by_setting: false,
            field: None,
            media_type: "application/json",
            max_body: None,
        }
    }
    /// Creates a binding for `GET path` with status 200.
    pub const fn get(path: &'static str) -> Self {
        Self::new(Method::Get, path)
    }
    /// Creates a binding for `POST path` with status 200.
    pub const fn post(path: &'static str) -> Self {
        Self::new(Method::Post, path)
    }
    /// Creates a binding for `DELETE path` with status 200.
    pub const fn delete(path: &'static str) -> Self {
        Self::new(Method::Delete, path)
    }
    /// Sets another status.
    pub const fn status(mut self, status: u16) -> Self {
        self.status = status;
        self
    }
    /// Sets status 202 for interim outputs.
    pub const fn accepted_until_final(mut self) -> Self {
        self.interim = 202;
        self
    }
    /// Narrows the callers accepted here.
    pub const fn only(mut self, access: Access) -> Self {
        self.only = access;
        self
    }
    /// Admits signed-in browsers, and programs with a key if the operator allows it (`EP_KEYS_READ_ACCOUNT`).
    pub const fn keys_by_setting(mut self) -> Self {
        self.keys_by_setting = true;
        self
    }
    /// Sends only this field of the output, for example an array that MCP needs inside an object.
    pub const fn field(mut self, field: &'static str) -> Self {
        self.field = Some(field);
        self
    }
    /// Sets the maximum size of a request's body, in bytes.
    pub const fn max_body(mut self, bytes: usize) -> Self {
        self.max_body = Some(bytes);
        self
    }
    /// Sends text of this media type: see [`Presentation::text`].
    pub const fn text(mut self, media_type: &'static str) -> Self {
        self.media_type = media_type;
        self
    }
}
