//! The contract every operation is written against. Read this first.
//!
//! An operation is a [`Tool`]: a type with a [`Spec`] (its words, access, price, errors and bindings), an
//! input, an output and one function. Nothing about it is written anywhere else. [`entry`] erases the
//! type into an [`Entry`]; the catalogue is a `static` slice of entries. Surfaces (MCP, A2A, REST, SSE,
//! the command line) turn bytes into a JSON value, find the entry and end in
//! [`dispatch`](crate::dispatch::dispatch). Documents are pure functions of the same slice.
//!
//! **Invariant:** a tool never learns which surface it was called through, and never checks access,
//! limits or idempotency itself. Only *ownership* ("is this your poll?") is its own business.

use std::future::Future;
use std::sync::OnceLock;

use futures::FutureExt;
use futures::future::BoxFuture;
use schemars::{JsonSchema, Schema};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

use crate::answer::Answer;
use crate::caller::Caller;
use crate::ctx::Ctx;
use crate::fault::{Fault, Kind};
use crate::key_terms::KeyScope;
use crate::schema;

pub use crate::answer::{Body, Brief, Cache, Presentation, SessionChange, ToolOutput};
pub use crate::method::Method;

/// One operation.
pub trait Tool: 'static {
    /// Everything about it that is not code.
    const SPEC: Spec;
    /// Its input. Newtypes check their rules while decoding; the limits in the schema and in the check
    /// come from the same constants.
    type Input: DeserializeOwned + JsonSchema + Send;
    /// Its output.
    type Output: ToolOutput;
    /// True if the operation needs an account. The operator's own process has none.
    const NEEDS_ACCOUNT: bool = false;
    /// Reads its input from what an agent says, for protocols in which agents write messages. `known` is what it has
    /// said before. `None` if the operation does not understand plain words.
    fn understand(known: &Map<String, Value>, said: Said<'_>) -> Option<Understood> {
        match said {
            Said::Members(said) => Some(Understood::Input(with(known, said))),
            Said::Words(_) => None,
        }
    }
    /// Checks its input as far as that is possible without a caller.
    fn check(input: Value) -> Result<(), Fault> {
        schema::decode::<Self::Input>(input).map(drop)
    }
    /// Carries it out.
    fn call(cx: &Ctx, input: Self::Input) -> impl Future<Output = Result<Self::Output, Fault>> + Send;
}

/// What an agent says in one message.
#[derive(Debug, Clone)]
pub enum Said<'a> {
    /// Members of the input.
    Members(Map<String, Value>),
    /// Plain words.
    Words(&'a str),
}

/// What an operation makes of it.
#[derive(Debug, Clone, PartialEq)]
pub enum Understood {
    /// The input is complete.
    Input(Map<String, Value>),
    /// Something is missing.
    Missing {
        /// What is known so far.
        known: Map<String, Value>,
        /// What to ask the agent for.
        ask: String,
    },
}

/// What was known, and what is said now, which counts more.
pub fn with(known: &Map<String, Value>, said: Map<String, Value>) -> Map<String, Value> {
    let mut all = known.clone();
    // An empty value takes nothing back.
    all.extend(
        said.into_iter().filter(|(name, value)| !(schema::is_empty(value) && known.contains_key(name))),
    );
    all
}

/// The input of an operation that takes nothing.
#[derive(Debug, Clone, Copy, Deserialize, JsonSchema)]
pub struct Nothing {}

/// Everything about an operation that is not code. Every field is required: the compiler is the
/// checklist.
pub struct Spec {
    /// Its name: MCP tool, A2A skill, OpenAPI operation id, command-line verb.
    pub name: &'static str,
    /// Its name for people.
    pub title: &'static str,
    /// What it does, in one or two sentences, from which an agent chooses the tool.
    pub summary: &'static str,
    /// Its manual, in Markdown.
    pub manual: &'static str,
    /// An example of its input, in JSON.
    pub example: &'static str,
    /// Who may call it.
    pub access: Access,
    /// Its side effects.
    pub effect: Effect,
    /// What it costs.
    pub cost: Cost,
    /// How long it takes.
    pub latency: Latency,
    /// Which allowance its calls are counted against.
    pub rate: Rate,
    /// Its REST binding.
    pub rest: Option<Rest>,
    /// Its event stream: the same call, its progress sent as it happens.
    pub stream: Option<Rest>,
    /// Which agents see it.
    pub agents: Agents,
    /// What it does to a task, in protocols that have tasks.
    pub task: Task,
    /// Phrases by which a person would ask for it.
    pub intents: &'static [&'static str],
    /// What can go wrong, beyond what can go wrong everywhere.
    pub faults: &'static [Kind],
}

/// Who may call an operation: any combination of three kinds of caller.
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
    /// Anybody.
    pub const PUBLIC: Self = Self { anonymous: true, cookie: true, key: true };
    /// Only those without credentials.
    pub const ANONYMOUS: Self = Self { anonymous: true, cookie: false, key: false };
    /// Only signed-in browsers.
    pub const COOKIE: Self = Self { anonymous: false, cookie: true, key: false };
    /// Only programs with an API key or an access token.
    pub const KEY: Self = Self { anonymous: false, cookie: false, key: true };
    /// Any account.
    pub const ACCOUNT: Self = Self { anonymous: false, cookie: true, key: true };

    /// What both allow.
    pub const fn and(self, other: Self) -> Self {
        Self {
            anonymous: self.anonymous && other.anonymous,
            cookie: self.cookie && other.cookie,
            key: self.key && other.key,
        }
    }

    /// Whether this caller is admitted. The operator's own process always is.
    pub const fn admits(self, caller: &Caller) -> bool {
        match caller {
            Caller::Anonymous { .. } => self.anonymous,
            Caller::Session { .. } => self.cookie,
            Caller::Key { .. } | Caller::Token { .. } => self.key,
            Caller::Local => true,
        }
    }
}

/// The side effects of an operation; the four MCP hints follow from it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Effect {
    /// It changes nothing.
    Read,
    /// It changes nothing, and reads everything that an account has.
    Disclose,
    /// It calls external models and stores their answers; send an idempotency key with it.
    Consult,
    /// It changes our records.
    Write {
        /// Whether it is idempotent.
        idempotent: bool,
    },
    /// It ends a poll.
    Stop,
    /// It ends something else for good.
    Destroy,
}

impl Effect {
    /// The scope that a key or an access token needs for it.
    pub const fn scope(self) -> KeyScope {
        match self {
            Self::Read => KeyScope::Read,
            Self::Consult | Self::Stop => KeyScope::Polls,
            Self::Disclose | Self::Write { .. } | Self::Destroy => KeyScope::All,
        }
    }
    /// MCP's `readOnlyHint`.
    pub const fn read_only(self) -> bool {
        matches!(self, Self::Read | Self::Disclose)
    }
    /// MCP's `destructiveHint`.
    pub const fn destructive(self) -> bool {
        matches!(self, Self::Stop | Self::Destroy)
    }
    /// MCP's `idempotentHint`: whether a plain repetition changes nothing more.
    pub const fn idempotent(self) -> bool {
        matches!(
            self,
            Self::Read | Self::Disclose | Self::Stop | Self::Destroy | Self::Write { idempotent: true }
        )
    }
    /// MCP's `openWorldHint`: whether it reaches beyond this service.
    pub const fn open_world(self) -> bool {
        matches!(self, Self::Consult)
    }
}

/// What an operation costs its caller.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Cost {
    /// Nothing.
    Free,
    /// What the models charge, never more than the caller's `max_cost_usd`.
    Metered,
}

/// How long an operation takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Latency {
    /// Milliseconds.
    Instant,
    /// As long as the models take: seconds to minutes.
    Models,
}

/// Which allowance requests are counted against.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Rate {
    /// The caller's general allowance.
    Default,
    /// The allowance for free polls, per address.
    Free,
    /// The allowance for attempts to sign in, per address; other credentials do not matter.
    SignIn,
    /// The larger allowance for public results, per address; the general one for callers with an account.
    Results,
    /// The larger allowance for documents and unknown paths, per address.
    Public,
    /// Counted against the public allowance, but never refused.
    Exempt,
}

/// Which agents see an operation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Agents {
    /// Every agent.
    Core,
    /// Agents that ask for all tools.
    Extended,
    /// None.
    None,
}

/// What an operation does to a task (A2A), whose id is its poll's.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Task {
    /// Nothing.
    None,
    /// It starts one.
    Start,
    /// It reads one, by the member `poll_id`.
    Read,
    /// It follows one of the caller's own, by the member `poll_id`, to its end or as long as the caller waits, and
    /// answers what the operation that started it answers; `after` is the last event that was seen.
    Follow,
    /// It cancels one, by the member `poll_id`.
    Cancel,
    /// It lists the caller's own, newest first.
    List,
}

/// A REST binding.
#[derive(Debug, Clone, Copy)]
pub struct Rest {
    /// The method.
    pub method: Method,
    /// The path, with `{placeholders}` that are required members of the input.
    pub path: &'static str,
    /// The status of success.
    pub status: u16,
    /// The status of an answer that is not final yet.
    pub interim: u16,
    /// Callers accepted here; narrows [`Spec::access`].
    pub only: Access,
    /// Whether the operator decides if programs with a key are accepted here, too (`EP_KEYS_READ_ACCOUNT`).
    pub keys_by_setting: bool,
    /// The member of the output that is the body, if it is not the whole output.
    pub member: Option<&'static str>,
    /// The media type of the body; of [`Body::Text`] if it is not JSON.
    pub media_type: &'static str,
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
            member: None,
            media_type: "application/json",
        }
    }
    /// `GET path`, answered 200.
    pub const fn get(path: &'static str) -> Self {
        Self::new(Method::Get, path)
    }
    /// `POST path`, answered 200.
    pub const fn post(path: &'static str) -> Self {
        Self::new(Method::Post, path)
    }
    /// `DELETE path`, answered 200.
    pub const fn delete(path: &'static str) -> Self {
        Self::new(Method::Delete, path)
    }
    /// Answered with another status.
    pub const fn status(mut self, status: u16) -> Self {
        self.status = status;
        self
    }
    /// Answered 202 while the answer is not final.
    pub const fn accepted_until_final(mut self) -> Self {
        self.interim = 202;
        self
    }
    /// Narrows the callers accepted here.
    pub const fn only(mut self, access: Access) -> Self {
        self.only = access;
        self
    }
    /// For signed-in browsers; programs with a key are accepted where the operator allows it
    /// (`EP_KEYS_READ_ACCOUNT`).
    pub const fn keys_by_setting(mut self) -> Self {
        self.keys_by_setting = true;
        self
    }
    /// Sends this member of the output alone, for example an array that MCP needs inside an object.
    pub const fn member(mut self, member: &'static str) -> Self {
        self.member = Some(member);
        self
    }
    /// Sends text of this media type: see [`Presentation::text`].
    pub const fn text(mut self, media_type: &'static str) -> Self {
        self.media_type = media_type;
        self
    }
}

/// An operation without its types: what surfaces and documents work on.
pub struct Entry {
    /// Everything about it that is not code.
    pub spec: Spec,
    /// The form of its output for agents that pay for every token.
    pub brief: Brief,
    /// True if the operation needs an account.
    pub needs_account: bool,
    input: CachedSchema,
    request: CachedSchema,
    output: CachedSchema,
    understand: fn(&Map<String, Value>, Said<'_>) -> Option<Understood>,
    extended: fn() -> Vec<String>,
    check: fn(Value) -> Result<(), Fault>,
    run: fn(Ctx, Value) -> BoxFuture<'static, Result<Answer, Fault>>,
}

/// A schema that is generated at its first use and then kept.
struct CachedSchema {
    generate: fn() -> Schema,
    kept: OnceLock<Schema>,
}

impl CachedSchema {
    const fn new(generate: fn() -> Schema) -> Self {
        Self { generate, kept: OnceLock::new() }
    }

    fn get(&self) -> &Schema {
        self.kept.get_or_init(self.generate)
    }
}

impl std::fmt::Debug for Entry {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Entry({})", self.spec.name)
    }
}

impl Entry {
    /// The schema of its input, as agents see it: see [`schema::input`].
    pub fn input(&self) -> &Schema {
        self.input.get()
    }

    /// The schema of its input, as programs need it: see [`schema::request`].
    pub fn request(&self) -> &Schema {
        self.request.get()
    }

    /// The schema of its output: see [`schema::output`].
    pub fn output(&self) -> &Schema {
        self.output.get()
    }

    /// Removes optional arguments that were sent as `null`, `""` or `[]`: see [`schema::drop_empty`].
    pub fn without_empty(&self, mut input: Value) -> Value {
        if let Value::Object(members) = &mut input {
            schema::drop_empty(self.input(), members);
        }
        input
    }

    /// Refuses arguments that the operation does not have, for callers that can correct themselves at once; REST
    /// ignores them, with a notice where money is at stake. `others` are names that the surface takes itself. The fault
    /// also names what else is wrong with the input.
    pub fn refuse_unknown(&self, input: &Map<String, Value>, others: &[&str]) -> Result<(), Fault> {
        /// Enough to correct a call by.
        const NAMED: usize = 8;
        let (schema, request) = (self.input(), self.request());
        let mut offered = schema::names(schema);
        let is_known = |name: &str| {
            schema::names(schema).contains(&name) || schema::aliases(request).any(|alias| alias == name)
        };
        // Some clients send a placeholder to an operation without arguments.
        if offered.is_empty() || input.keys().all(|name| is_known(name)) {
            return Ok(());
        }
        offered.extend(others);
        offered.retain(|name| !schema::is_deprecated(schema, name));
        let name = self.spec.name;
        let unknown = schema::unknown(&is_known, &offered, input).into_iter().take(NAMED);
        let faults = unknown.map(|unknown| {
            let nearest = &unknown.nearest;
            let advice = if unknown.alike {
                format!("did you mean {nearest}?")
            } else {
                format!("the nearest is {nearest}")
            };
            Fault::invalid(unknown.given, format!("is not an argument of {name}; {advice}"))
        });
        let mut known = input.clone();
        known.retain(|name, _| is_known(name));
        let rest = self.check(&known).err();
        faults.chain(rest).reduce(Fault::and).map_or(Ok(()), Err)
    }

    /// The arguments that are listed only for agents that ask for all tools.
    pub fn extended(&self) -> Vec<String> {
        (self.extended)()
    }

    /// Refuses an input that breaks a rule which needs no caller to be checked.
    pub fn check(&self, input: &Map<String, Value>) -> Result<(), Fault> {
        (self.check)(self.without_empty(Value::Object(input.clone())))
    }

    /// What it makes of what an agent says, after what is known; `None` if it does not understand plain words.
    pub fn understand(&self, known: &Map<String, Value>, said: Said<'_>) -> Option<Understood> {
        (self.understand)(known, said)
    }

    /// Its REST binding and its event stream, as far as it has them.
    pub fn bindings(&self) -> impl Iterator<Item = Rest> + use<> {
        [self.spec.rest, self.spec.stream].into_iter().flatten()
    }

    /// Decodes the input and carries the operation out. Surfaces call
    /// [`dispatch`](crate::dispatch::dispatch) instead, which checks everything else first.
    pub fn run(&self, cx: Ctx, input: Value) -> BoxFuture<'static, Result<Answer, Fault>> {
        (self.run)(cx, input)
    }
}

/// Erases a tool's types. Everything generic ends here.
pub const fn entry<T: Tool>() -> Entry {
    Entry {
        spec: T::SPEC,
        brief: <T::Output as ToolOutput>::BRIEF,
        needs_account: T::NEEDS_ACCOUNT,
        input: CachedSchema::new(schema::input::<T::Input>),
        request: CachedSchema::new(schema::request::<T::Input>),
        output: CachedSchema::new(schema::output::<T::Output>),
        understand: T::understand,
        extended: schema::extended::<T::Input>,
        check: T::check,
        run: run::<T>,
    }
}

fn run<T: Tool>(cx: Ctx, input: Value) -> BoxFuture<'static, Result<Answer, Fault>> {
    async move {
        let output = T::call(&cx, schema::decode::<T::Input>(input)?).await?;
        let value = serde_json::to_value(&output).map_err(Fault::internal)?;
        Ok(Answer { value, presentation: output.presentation() })
    }
    .boxed()
}
