//! An agent's request, after the guard has admitted its caller.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use axum::http::{HeaderMap, Response};
use ep_kernel::dispatch::for_task;
use ep_kernel::dispatch::{dispatch, dispatch_internal};
use ep_kernel::fault;
use ep_kernel::guard::Admission;
use ep_kernel::{Call, CallOutput, Ctx, Effect, Entry, Fault, Kind, ProgressSink, Task, WhileRunning};
use ep_outside::payments::Usdc;
use ep_polling::Timestamp;
use ep_site::Site;
use ep_site::http::{AppState, RequestHead};
use ep_store::{AgentTask, BatchId, Store, TaskWork, UserId};
use serde_json::{Map, Value, json};
use tokio::time::Instant;

use super::conversation::Conversation;
use super::fixtures;
use super::payment_extension;
use super::payment_extension::PaymentSupport;
use super::skill_calls::SkillCalls;

/// Maximum time to wait while the same message opens its poll or batch.
const OPENS_WITHIN: Duration = Duration::from_secs(2);
/// Interval between looks at a task that another process can change.
pub(super) const CHECK_INTERVAL: Duration = Duration::from_secs(1);
/// Time that a client waits for the end of a batch, which can take a day. Afterwards its task is still working. Clients and
/// proxies often end a request after a minute.
const BATCH_WAIT: Duration = Duration::from_secs(45);

/// Renders the agent card with the operations that meet a condition; `true` adds the fields of 0.3.
pub type ExtendedCard = fn(&Site, &dyn Fn(&Entry) -> bool, bool) -> Value;

/// The parts that assembly gives to the protocol.
#[derive(Clone)]
pub struct AgentParts {
    /// The deposits that payments for tasks become; `None` accepts no payments.
    pub payments: Option<Usdc>,
    /// Renders the agent card for callers with a credential.
    pub extended_card: ExtendedCard,
}

/// Context of the protocol's methods.
#[derive(Clone)]
pub(super) struct AgentRequest {
    pub(super) state: AppState,
    pub(super) head: RequestHead,
    pub(super) admission: Admission,
    pub(super) extended_card: ExtendedCard,
    /// True after an operation was called, which has checked the caller's allowance.
    dispatched: Arc<AtomicBool>,
    /// The fault of an access token with insufficient scope.
    narrow: Arc<OnceLock<Fault>>,
    /// Support of payments for tasks.
    pub(super) payments: PaymentSupport,
}

impl AgentRequest {
    pub(super) async fn new(
        state: AppState,
        head: RequestHead,
        admission: Admission,
        headers: &HeaderMap,
        parts: AgentParts,
    ) -> Result<Self, Fault> {
        let admission = fixtures::admitted(&state, admission).await?;
        let AgentParts { payments, extended_card } = parts;
        let payments = PaymentSupport::new(payments, &state, headers);
        Ok(Self {
            state,
            head,
            admission,
            extended_card,
            dispatched: Arc::default(),
            narrow: Arc::default(),
            payments,
        })
    }

    /// Returns the request with payments for tasks, or without them.
    pub(super) fn paying(&self, pays: bool) -> Self {
        let agent = self.clone();
        Self { payments: agent.payments.active(pays), ..agent }
    }

    /// Confirms the active payment extension in a response.
    pub(super) fn confirm_payments<B>(&self, request: &HeaderMap, response: &mut Response<B>) {
        if self.payments.is_active() {
            payment_extension::confirm(request, response);
        }
    }

    /// Returns the callable operations.
    pub(super) fn calls(&self) -> SkillCalls {
        SkillCalls { links: Arc::clone(&self.state.app.ports.links), tools: self.tools() }
    }

    /// Returns all operations.
    pub(super) fn tools(&self) -> &'static [Entry] {
        self.state.tools
    }

    pub(super) fn now(&self) -> Timestamp {
        self.state.app.ports.clock.now()
    }

    /// Returns the caller's account.
    pub(super) fn owner(&self) -> Result<UserId, Fault> {
        let missing = || Fault::new(Kind::Unauthenticated, "tasks belong to accounts: send an API key");
        self.admission.caller.user().ok_or_else(missing)
    }

    pub(super) fn tasks(&self) -> &Store {
        &self.state.app.ports.store
    }

    /// Returns the caller's task with this id.
    pub(super) async fn task(&self, id: &str) -> Result<Conversation, Fault> {
        let found = self.find(id).await?;
        found.map(Conversation::of).ok_or_else(|| {
            let shown = fault::shown(id, 64);
            Fault::new(Kind::NotFound, format!("there is no task {shown} of this account"))
        })
    }

    /// Returns the caller's task with this id, if it exists.
    pub(super) async fn find(&self, id: &str) -> Result<Option<AgentTask>, Fault> {
        if id.chars().any(char::is_control) {
            return Ok(None);
        }
        Ok(self.tasks().task(self.owner()?, id).await?)
    }

    /// Calls an operation; `key` is the idempotency key if there is no `Idempotency-Key` header.
    pub(super) async fn dispatch(
        &self,
        entry: &'static Entry,
        input: Value,
        key: Option<String>,
        wait_limit: Option<Duration>,
    ) -> Result<CallOutput, Fault> {
        self.run(entry, input, Call { wait_limit, ..self.call(key) }).await
    }

    /// Opens a poll or a batch without waiting for it. If the same message is in progress, waits until its work is known.
    pub(super) async fn open(
        &self,
        entry: &'static Entry,
        input: Value,
        key: Option<String>,
    ) -> Result<CallOutput, Fault> {
        let while_running = WhileRunning::AwaitWork(OPENS_WITHIN);
        let call = Call { wait_limit: Some(Duration::ZERO), while_running, ..self.call(key) };
        self.run(entry, input, call).await
    }

    fn call(&self, key: Option<String>) -> Call {
        let request = self.head.admitted("a2a", self.admission.clone());
        Call { idempotency_key: self.head.idempotency_key.clone().or(key), ..Call::new(request) }
    }

    async fn run(&self, entry: &'static Entry, input: Value, call: Call) -> Result<CallOutput, Fault> {
        self.dispatched.store(true, Ordering::Relaxed);
        let done = dispatch(&self.state.app, entry, call, Ok(input)).await.result;
        self.noted(done)
    }

    /// Returns the fault of an input with these mistakes, which also names all other mistakes in it.
    pub(super) async fn refused(
        &self,
        entry: &'static Entry,
        input: Map<String, Value>,
        mistakes: Fault,
    ) -> Fault {
        self.dispatched.store(true, Ordering::Relaxed);
        let call =
            Call { mistakes: Some(mistakes), ..Call::new(self.head.admitted("a2a", self.admission.clone())) };
        let refused = dispatch(&self.state.app, entry, call, Ok(Value::Object(input))).await.result.err();
        refused.unwrap_or_else(|| Fault::internal("a wrong input was accepted"))
    }

    /// Rejects a caller if the scope of its key or token does not cover an effect.
    pub(super) fn check_scope(&self, effect: Effect) -> Result<(), Fault> {
        self.noted(self.admission.check_scope(effect))
    }

    /// Records a fault that must set the response's status.
    fn noted<T>(&self, result: Result<T, Fault>) -> Result<T, Fault> {
        if let Err(fault) = &result
            && fault.missing_scope().is_some()
        {
            // Only the first fault is needed.
            let _ = self.narrow.set(fault.clone());
        }
        result
    }

    /// Returns the operation with this effect on a task.
    pub(super) fn operation(&self, task: Task) -> Result<&'static Entry, Fault> {
        for_task(self.tools(), task).ok_or_else(|| Fault::internal(format!("no operation for {task:?}")))
    }

    /// Follows a poll to its end, or until the wait limit.
    pub(super) async fn watch(
        &self,
        input: Value,
        wait_limit: Option<Duration>,
        progress: Option<ProgressSink>,
    ) -> Result<CallOutput, Fault> {
        let entry = self.operation(Task::Follow)?;
        self.dispatched.store(true, Ordering::Relaxed);
        let request = self.head.admitted("a2a", self.admission.clone());
        let call = Call { wait_limit, progress, ..Call::new(request) };
        dispatch(&self.state.app, entry, call, Ok(input)).await.result
    }

    /// Reads a batch.
    async fn read_batch(&self, batch: BatchId) -> Result<CallOutput, Fault> {
        let entry = self.operation(Task::ReadBatch)?;
        self.dispatch(entry, json!({ "batch_id": batch }), None, None).await
    }

    /// Reads a batch again. This is no request of the client, and is not logged.
    pub(super) async fn look_at_batch(&self, batch: BatchId) -> Result<CallOutput, Fault> {
        let entry = self.operation(Task::ReadBatch)?;
        let ports = Arc::clone(&self.state.app.ports);
        let cx = Ctx::new(ports, self.admission.caller.clone(), self.head.request_id);
        dispatch_internal(entry, cx, json!({ "batch_id": batch })).await
    }

    /// Reads a batch again after checking the credential, which can end while a client follows the batch.
    pub(super) async fn check_and_look_at_batch(&self, batch: BatchId) -> Result<CallOutput, Fault> {
        let entry = self.operation(Task::ReadBatch)?;
        let call = Call::new(self.head.guarded("a2a", self.head.credential.clone()));
        let done = dispatch(&self.state.app, entry, call, Ok(json!({ "batch_id": batch }))).await;
        done.result
    }

    /// Waits for the end of a batch, or until the wait limit.
    async fn await_batch(&self, batch: BatchId, wait_limit: Duration) -> Result<CallOutput, Fault> {
        let until = Instant::now() + wait_limit;
        let stopping = self.state.app.tasks.token();
        let mut output = self.read_batch(batch).await?;
        loop {
            if !output.presentation.is_running() || Instant::now() + CHECK_INTERVAL > until {
                return Ok(output);
            }
            tokio::select! {
                () = tokio::time::sleep(CHECK_INTERVAL) => {}
                () = stopping.cancelled() => return Ok(output),
            }
            output = self.look_at_batch(batch).await?;
        }
    }

    /// Returns the current output for a task; `None` while it has no work.
    pub(super) async fn output(
        &self,
        conversation: &Conversation,
        wait_limit: Option<Duration>,
    ) -> Result<Option<CallOutput>, Fault> {
        match &conversation.task.work {
            Some(TaskWork::Poll(poll)) => {
                self.watch(json!({ "poll_id": poll }), wait_limit, None).await.map(Some)
            }
            Some(TaskWork::Batch(batch)) => {
                self.await_batch(*batch, wait_limit.unwrap_or(BATCH_WAIT)).await.map(Some)
            }
            None => Ok(None),
        }
    }

    /// Rejects a caller without allowance, unless an operation has checked it already. Also rejects an access token
    /// with insufficient scope, because its client reads the response's status (RFC 6750 §3.1).
    pub(super) fn check_caller(&self) -> Result<(), Fault> {
        if let Some(fault) = self.narrow.get() {
            return Err(fault.clone());
        }
        if self.dispatched.load(Ordering::Relaxed) { Ok(()) } else { self.admission.check_allowance() }
    }
}
