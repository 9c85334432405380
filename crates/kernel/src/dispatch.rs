//! The entrances to every operation, for every surface, and the operation with erased types that they run.
//!
//! - [`dispatch`] passes a call through the guard, idempotency and decoding. [`admit`] is its first half.
//! - [`call`] passes one through the guard, for pages: its input is decoded already, and it has no idempotency key.
//! - [`dispatch_internal`] is for the service itself. It checks access, but counts and logs no request.
//!
//! No surface runs an operation in another way.

mod arguments;

use std::collections::HashSet;
use std::sync::{Arc, LazyLock};
use std::time::Duration;

use futures::FutureExt;
use futures::future::BoxFuture;
use schemars::Schema;
use serde_json::{Map, Value};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;
use tracing::Instrument;

use crate::app::App;
use crate::ctx::{Ctx, ToolPorts};
use crate::event::ProgressSink;
use crate::fault::{Fault, Kind, Result};
use crate::guard::{self, Admission, Admitted, Guarded, INSTANT, Policy, Request, bounded};
use crate::idempotency::{Claimed, fingerprint};
use crate::method::Method;
use crate::output::{Brief, CallOutput, ToolOutput, Typed};
use crate::reading;
use crate::reading::is_long;
use crate::schema;
use crate::tool::{Access, Latency, MessageContent, ParsedInput, Rest, Spec, Task, Tool};
use ep_polling::{MicroUsd, PollId};
use ep_store::PollOpening;

/// The future of a call.
type CallFuture = BoxFuture<'static, Result<CallOutput>>;

/// An operation with erased types, used by surfaces and documents.
pub struct Entry {
    /// The specification.
    pub spec: Spec,
    /// The short form of the output, for agents, which pay for every token.
    pub brief: Brief,
    /// True if the operation needs an account.
    pub needs_account: bool,
    input: LazyLock<Schema>,
    request: LazyLock<Schema>,
    output: LazyLock<Schema>,
    limits: LazyLock<Vec<String>>,
    known: LazyLock<HashSet<String>>,
    parse_input: fn(&Map<String, Value>, MessageContent<'_>) -> Option<ParsedInput>,
    remove_extended: fn(&mut Map<String, Value>),
    check: fn(Value) -> Result<()>,
    without_effect: fn(&Schema, &Map<String, Value>) -> Vec<String>,
    other_mistakes: fn(Ctx, Value) -> BoxFuture<'static, Option<Fault>>,
    run: fn(Ctx, Value, Vec<String>) -> CallFuture,
    at_most: fn(Ctx, Value) -> BoxFuture<'static, Result<MicroUsd>>,
}

impl std::fmt::Debug for Entry {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Entry({})", self.spec.name)
    }
}

impl Entry {
    /// Returns the schema of the input for agents: see [`schema::input`].
    pub fn input(&self) -> &Schema {
        &self.input
    }

    /// Returns the schema of the input for programs: see [`schema::request`].
    pub fn request(&self) -> &Schema {
        &self.request
    }

    /// Returns the names of the fields that a call usually has: the required ones, and those that another field can replace.
    pub fn usual(&self) -> Vec<&str> {
        let required = self.input.get("required").and_then(Value::as_array).into_iter().flatten();
        let replaced = schema::replacements(&self.request).map(|(_, replaced)| replaced);
        required.chain(replaced).filter_map(Value::as_str).collect()
    }

    /// Returns the names of the optional arguments whose absence permits more, such as caps and `private`.
    pub fn limits(&self) -> &[String] {
        &self.limits
    }

    /// Returns the schema of the output: see [`schema::output`].
    pub fn output(&self) -> &Schema {
        &self.output
    }

    /// Removes the arguments listed only for agents that request a set of tools: see [`schema::remove_extended`].
    pub fn remove_extended(&self, input: &mut Map<String, Value>) {
        (self.remove_extended)(input);
    }

    /// Reads the input from an agent's message: see [`Tool::parse_input`].
    pub fn parse_input(
        &self,
        known: &Map<String, Value>,
        content: MessageContent<'_>,
    ) -> Option<ParsedInput> {
        (self.parse_input)(known, content)
    }

    /// Returns the REST binding and the event stream, if any.
    pub fn bindings(&self) -> impl Iterator<Item = Rest> + use<> {
        [self.spec.rest, self.spec.stream].into_iter().flatten()
    }

    /// Decodes the input and runs the operation. The entrances check everything else first.
    fn run(&self, cx: Ctx, input: Value) -> CallFuture {
        let notices = input.as_object().map(|input| (self.without_effect)(self.input(), input));
        (self.run)(cx, input, notices.unwrap_or_default())
    }

    /// Decodes the input and returns the maximum cost of a call with it.
    pub fn at_most(&self, cx: Ctx, input: Value) -> BoxFuture<'static, Result<MicroUsd>> {
        (self.at_most)(cx, input)
    }
}

/// Erases a tool's types. No code beyond this is generic over tools.
pub const fn entry<T: Tool>() -> Entry {
    Entry {
        spec: T::SPEC,
        brief: <T::Output as ToolOutput>::BRIEF,
        needs_account: T::NEEDS_ACCOUNT,
        input: LazyLock::new(schema::input::<T::Input>),
        request: LazyLock::new(request::<T>),
        output: LazyLock::new(schema::output::<T::Output>),
        limits: LazyLock::new(schema::limits_of::<T::Input>),
        known: LazyLock::new(arguments::known::<T>),
        parse_input: T::parse_input,
        remove_extended: schema::remove_extended::<T::Input>,
        check: T::check,
        without_effect: T::without_effect,
        other_mistakes: other_mistakes::<T>,
        run: run::<T>,
        at_most: at_most::<T>,
    }
}

/// Returns the schema of an input for programs. It is closed where unknown arguments are refused.
fn request<T: Tool>() -> Schema {
    let mut schema = schema::request::<T::Input>();
    if T::SPEC.refuses_unknown() && !schema::names(&schema).is_empty() {
        schema.insert("additionalProperties".to_owned(), false.into());
    }
    schema
}

fn at_most<T: Tool>(cx: Ctx, input: Value) -> BoxFuture<'static, Result<MicroUsd>> {
    async move {
        let decoded = reading::read_value(input, schema::decode::<T::Input>).await??;
        T::at_most(&cx, decoded).await
    }
    .boxed()
}

fn other_mistakes<T: Tool>(cx: Ctx, input: Value) -> BoxFuture<'static, Option<Fault>> {
    async move { T::other_mistakes(&cx, &input).await }.boxed()
}

fn run<T: Tool>(cx: Ctx, input: Value, notices: Vec<String>) -> CallFuture {
    async move {
        let (input, decoded) = reading::read_value(input, |mut input| {
            let decoded = schema::decode_from::<T::Input>(&mut input);
            (input, decoded)
        })
        .await?;
        let decoded = match decoded {
            Ok(decoded) => decoded,
            Err(fault) => {
                return Err(T::other_mistakes(&cx, &input).await.into_iter().fold(fault, Fault::and));
            }
        };
        let mut output = T::call(&cx, decoded).await?;
        output.add_notices(notices);
        let value = serde_json::to_value(&output).map_err(Fault::internal)?;
        Ok(CallOutput { value, presentation: output.presentation() })
    }
    .boxed()
}

/// Returns the operation with this effect on tasks. Protocols find operations by it, and name none.
pub fn for_task(entries: &'static [Entry], task: Task) -> Option<&'static Entry> {
    entries.iter().find(|entry| entry.spec.task == task)
}

/// A call from a surface.
pub struct Call {
    /// The request, with its caller and origin.
    pub request: Request,
    /// Callers accepted here; narrows the operation's access.
    pub only: Access,
    /// Value of the `Idempotency-Key` header.
    pub idempotency_key: Option<String>,
    /// Reference of the polls that the call opens, from a surface that recognises repetitions itself. Calls with the same
    /// reference get the same polls.
    pub request_ref: Option<String>,
    /// The behaviour while an earlier call with the idempotency key runs.
    pub while_running: WhileRunning,
    /// Time that the caller waits for models before it prefers an interim result.
    pub wait_limit: Option<Duration>,
    /// True if the caller does not need the single votes of a result.
    pub without_votes: bool,
    /// Mistakes in the arguments that the surface found. The call is refused with them and all others.
    pub mistakes: Option<Fault>,
    /// Receiver of progress reports.
    pub progress: Option<ProgressSink>,
    /// Cancelled when the caller disconnects, if the protocol defines that as cancelling the request.
    pub cancelled: CancellationToken,
}

impl Call {
    /// Creates a call without progress reports, further access limits or cancellation.
    pub fn new(request: Request) -> Self {
        Self {
            request,
            only: Access::PUBLIC,
            idempotency_key: None,
            request_ref: None,
            while_running: WhileRunning::Fail,
            wait_limit: None,
            without_votes: false,
            mistakes: None,
            progress: None,
            cancelled: CancellationToken::new(),
        }
    }
}

/// The behaviour of a call while an earlier one with its idempotency key runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WhileRunning {
    /// Fails with [`Kind::InProgress`].
    Fail,
    /// Waits this long until the poll or batch of the earlier call is known, then fails and names it.
    AwaitWork(Duration),
    /// Waits this long for the output of the earlier call, then fails. A call that takes its place in the end has its own time
    /// limit.
    AwaitOutput(Duration),
}

/// An admitted call that has not run yet.
pub struct AdmittedCall {
    app: Arc<App>,
    entry: &'static Entry,
    admitted: Admitted,
    idempotency_key: Option<String>,
    while_running: WhileRunning,
    mistakes: Option<Fault>,
    cx: Ctx,
}

/// Time that a tool that waits for models may take beyond the poll's own deadline.
const MARGIN: Duration = Duration::from_secs(30);
/// The first and the longest pause before a call is repeated while an earlier one runs. Each is twice as long as the one before.
const PAUSES: [Duration; 2] = [Duration::from_millis(100), Duration::from_secs(2)];
/// The surface of operations that the service calls itself, in metrics.
const INTERNAL: &str = "internal";

/// Runs one call. A surface that could not read the input passes the fault: access and limits are checked
/// first, regardless of the input.
///
/// The future is boxed because protocol servers move the futures that contain it several times.
pub fn dispatch(
    app: &Arc<App>,
    entry: &'static Entry,
    call: Call,
    input: Result<Value>,
) -> BoxFuture<'static, Guarded<CallOutput>> {
    let app = Arc::clone(app);
    // Boxed separately, so that it takes no space while the call runs.
    let admitted = async move { admit(&app, entry, call).await }.boxed();
    async move {
        match admitted.await {
            Ok(call) => call.run(input).await,
            Err(rejected) => rejected,
        }
    }
    .boxed()
}

/// Runs one call of a page, with the types of the operation that `entry` describes. It has no idempotency key, because the
/// outputs of earlier requests are stored as JSON.
pub fn call<T: Tool>(
    app: &Arc<App>,
    entry: &'static Entry,
    call: Call,
    input: T::Input,
) -> BoxFuture<'static, Result<Typed<T::Output>>> {
    let app = Arc::clone(app);
    async move {
        let admitted = match admit(&app, entry, call).await {
            Ok(admitted) => admitted,
            Err(refused) => return Err(refused.fault()),
        };
        admitted.run_typed::<T>(input).await
    }
    .boxed()
}

/// Admits a call without running it, for streaming responses.
pub async fn admit(
    app: &Arc<App>,
    entry: &'static Entry,
    call: Call,
) -> Result<AdmittedCall, Guarded<CallOutput>> {
    let Call { request, only, idempotency_key, request_ref, wait_limit, without_votes, .. } = call;
    let Call { while_running, mistakes, progress, cancelled, .. } = call;
    let deadline = deadline(entry, &app.ports);
    let access = entry.spec.access.and(only);
    let policy = Policy::instant(entry.spec.name, access, entry.spec.rate);
    let policy = Policy { deadline, effect: entry.spec.effect, ..policy };
    let admitted = app.guard.admit(policy, request).await?;
    let cx = Ctx {
        caller: admitted.admission().caller.clone(),
        request_id: admitted.request_id(),
        wait_limit,
        without_votes,
        request_ref,
        ports: Arc::clone(&app.ports),
        progress,
        cancelled,
        upstream_us: admitted.upstream_us(),
    };
    Ok(AdmittedCall { app: Arc::clone(app), entry, admitted, idempotency_key, while_running, mistakes, cx })
}

/// Returns the time limit of an operation.
fn deadline(entry: &Entry, ports: &ToolPorts) -> Duration {
    match entry.spec.latency {
        Latency::Instant => INSTANT,
        Latency::Models => ports.settings.poll_deadline + MARGIN,
    }
}

/// Runs an operation for the service itself: a row of a batch, or another look at one. It is no request of a client, so it counts
/// against no allowance, and only an internal fault has a log line. It has no time limit: a row is leased, and waits for its polls.
pub async fn dispatch_internal(entry: &'static Entry, cx: Ctx, input: Value) -> Result<CallOutput> {
    guard::check(entry.spec.access, entry.spec.effect, &cx.caller, format_args!(""))?;
    let started = Instant::now();
    let result = guard::caught(entry.run(cx, input)).await;
    // Rows wait in line, so the time beyond their models says nothing.
    guard::record(entry.spec.name, INTERNAL, started.elapsed(), Duration::ZERO, &result);
    if let Err(fault) = &result
        && fault.kind() == Kind::Internal
    {
        tracing::error!(
            tool = entry.spec.name,
            causes = fault.causes(),
            "a call of the service failed: {fault}"
        );
    }
    result
}

impl AdmittedCall {
    /// Returns the caller and the remaining allowance.
    pub const fn admission(&self) -> &Admission {
        self.admitted.admission()
    }

    /// Runs the call.
    pub fn run(self, input: Result<Value>) -> BoxFuture<'static, Guarded<CallOutput>> {
        let kind = self.entry.spec.kind();
        let done = self.run_unmarked(input);
        let marked = done.map(move |mut done| {
            done.result = done.result.map_err(|fault| fault.of_operation(kind));
            done
        });
        marked.boxed()
    }

    fn run_unmarked(self, input: Result<Value>) -> BoxFuture<'static, Guarded<CallOutput>> {
        let input = match input {
            Ok(input) => input,
            Err(fault) => return self.refuse(fault),
        };
        let entry = self.entry;
        if !is_long(&input) {
            return self.run_checked(checked(entry, input));
        }
        async move {
            match reading::read_value(input, move |input| checked(entry, input)).await {
                Ok(input) => self.run_checked(input).await,
                Err(fault) => self.refuse(fault).await,
            }
        }
        .boxed()
    }

    /// Runs the call of this operation with its input.
    pub async fn run_typed<T: Tool>(self, input: T::Input) -> Result<Typed<T::Output>> {
        let Self { app, entry, admitted, idempotency_key, mistakes, cx, .. } = self;
        let is_typed = entry.spec.name == T::SPEC.name && idempotency_key.is_none() && mistakes.is_none();
        let work = async move {
            if !is_typed {
                return Err(Fault::internal("an operation was called as another one, or with a key"));
            }
            let output = T::call(&cx, input).await?;
            Ok(Typed { presentation: output.presentation(), output })
        };
        if entry.spec.effect.read_only() {
            return admitted.run(work).await.result.map_err(|fault| fault.of_operation(entry.spec.kind()));
        }
        let work = bounded(admitted.deadline(), work).in_current_span();
        let work =
            async move { app.tasks.spawn(work).await.unwrap_or_else(|error| Err(Fault::internal(error))) };
        admitted.finish(work).await.result.map_err(|fault| fault.of_operation(entry.spec.kind()))
    }

    fn refuse(self, fault: Fault) -> BoxFuture<'static, Guarded<CallOutput>> {
        self.admitted.finish(std::future::ready(Err(fault))).boxed()
    }

    /// Runs the call with an input, and with the mistakes in it.
    fn run_checked(self, (input, found): CheckedInput) -> BoxFuture<'static, Guarded<CallOutput>> {
        let Self { app, entry, admitted, idempotency_key, while_running, mistakes, cx } = self;
        if let Some(fault) = mistakes.into_iter().chain(found).reduce(Fault::and) {
            let refused = async move { Err(entry.with_other_mistakes(cx, input, fault).await) };
            return admitted.run(refused).boxed();
        }
        let reads = entry.spec.effect.read_only();
        // A key applies to any POST, even to one that changes nothing.
        let posted = entry.spec.rest.is_some_and(|rest| rest.method == Method::Post);
        let idempotency_key = idempotency_key.filter(|_| !reads || posted);
        if reads && idempotency_key.is_none() {
            return admitted.run(entry.run(cx, input)).boxed();
        }
        // An operation with side effects or a key runs to its end even if its client disconnects.
        let deadline = admitted.deadline();
        let once = move |cx, input| {
            let tasks = app.tasks.clone();
            let work = once(Arc::clone(&app), entry, cx, idempotency_key.clone(), input, deadline);
            tasks.spawn(work.in_current_span()).map(|done| done.unwrap_or_else(|e| Err(Fault::internal(e))))
        };
        match while_running {
            WhileRunning::Fail => admitted.finish(async move { once(cx, input).await }).boxed(),
            WhileRunning::AwaitWork(limit) => {
                admitted.finish(repeated(once, cx, input, limit.min(deadline), true)).boxed()
            }
            WhileRunning::AwaitOutput(limit) => {
                admitted.finish(repeated(once, cx, input, limit.min(deadline), false)).boxed()
            }
        }
    }
}

/// Repeats a call while an earlier one with its idempotency key runs: at most this long, or until its work is known.
async fn repeated<F: Future<Output = Result<CallOutput>>>(
    once: impl Fn(Ctx, Value) -> F,
    cx: Ctx,
    input: Value,
    limit: Duration,
    for_work: bool,
) -> Result<CallOutput> {
    let until = Instant::now() + limit;
    let [mut pause, longest] = PAUSES;
    loop {
        let fault = match once(cx.clone(), input.clone()).await {
            Err(fault) if fault.kind() == Kind::InProgress => fault,
            done => return done,
        };
        let knows_work = fault.poll().is_some() || fault.batch().is_some();
        if (for_work && knows_work) || Instant::now() + pause > until {
            return Err(fault);
        }
        if let Some(poll) = fault.poll()
            && let Ok(followed) = tokio::time::timeout_at(until, ended(&cx, poll)).await
        {
            followed?;
        }
        tokio::time::sleep(pause).await;
        pause = longest.min(pause * 2);
    }
}

/// Waits until a poll has ended.
async fn ended(cx: &Ctx, poll: &PollId) -> Result<()> {
    if let Some(mut follow) = cx.polls().follow(poll).await? {
        while !follow.next().await?.is_empty() {}
    }
    Ok(())
}

/// An input without empty arguments, and the mistakes in its arguments.
type CheckedInput = (Value, Option<Fault>);

/// Refuses unknown arguments where they are refused on every surface, and removes empty ones. Before the idempotency key
/// is claimed, because a repetition may omit them.
fn checked(entry: &Entry, mut input: Value) -> CheckedInput {
    let known = match &input {
        Value::Object(fields) if entry.spec.refuses_unknown() => entry.refuse_unknown(fields, &[]),
        _ => Ok(()),
    };
    let found = known.and_then(|()| entry.remove_empty(&mut input)).err();
    (input, found)
}

/// Runs an operation once per idempotency key, if one was sent.
async fn once(
    app: Arc<App>,
    entry: &'static Entry,
    mut cx: Ctx,
    key: Option<String>,
    input: Value,
    deadline: Duration,
) -> Result<CallOutput> {
    let Some(key) = key else { return bounded(deadline, entry.run(cx, input)).await };
    let (input, fingerprint) = reading::read_value(input, |input| {
        let fingerprint = fingerprint(&input);
        (input, fingerprint)
    })
    .await?;
    let polls = &app.ports.polls;
    let claiming = app.idempotency.claim(entry.spec.name, &cx.caller, &key, &fingerprint);
    match polls.unless_stalled(claiming).await?? {
        Claimed::New(claim) => {
            cx.request_ref = Some(claim.request_ref().to_owned());
            let work = bounded(deadline, entry.run(cx, input));
            let result = app.idempotency.keep(&claim, work).await;
            if result.is_err() && polls.is_stalled() {
                // A caller that was refused because of it does not wait for it here.
                let (app, result) = (Arc::clone(&app), result.clone());
                app.tasks.clone().spawn(async move { app.idempotency.finish(claim, &result).await });
            } else {
                app.idempotency.finish(claim, &result).await;
            }
            result
        }
        Claimed::Running(request_ref) => Err(still_running(&app, &request_ref).await),
        Claimed::Replay(reply) => reply.map(|mut output| {
            output.presentation.replayed = true;
            output
        }),
    }
}

/// Returns the fault for a request that is still running, with the id of the poll or the batch that it opened.
async fn still_running(app: &App, request_ref: &str) -> Fault {
    let fault = |message: String| Fault::new(Kind::InProgress, message).retry_after(Duration::from_secs(5));
    if let Ok(Some(PollOpening { id: poll, .. })) = app.ports.polls.opened_by(request_ref).await {
        return fault(format!(
            "a request with this Idempotency-Key is still running as poll {poll}; read its progress, or send the \
             request again in a few seconds"
        ))
        .about(poll);
    }
    let running = fault(
        "a request with this Idempotency-Key is still running; send it again in a few seconds".to_owned(),
    );
    match app.ports.store.batch_of_request(request_ref).await {
        Ok(Some(batch)) => running.about_batch(batch),
        _ => running,
    }
}
