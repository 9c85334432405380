//! One request of an agent, whose caller the guard has admitted.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use ep_kernel::answer::Answer;
use ep_kernel::dispatch::{Call, dispatch};
use ep_kernel::fault::Fault;
use ep_kernel::guard::Admission;
use ep_kernel::tool::Entry;
use ep_polling::time::Timestamp;
use serde_json::Value;

use crate::surface::http::{AppState, RequestHead};

/// What the methods of the protocol work with.
#[derive(Clone)]
pub(super) struct AgentRequest {
    pub(super) state: AppState,
    pub(super) head: RequestHead,
    pub(super) admission: Admission,
    /// Whether an operation was called, which then checked the caller's allowance.
    dispatched: Arc<AtomicBool>,
}

impl AgentRequest {
    pub(super) fn new(state: AppState, head: RequestHead, admission: Admission) -> Self {
        Self { state, head, admission, dispatched: Arc::default() }
    }

    /// The operations that may be called.
    pub(super) fn tools(&self) -> &'static [Entry] {
        self.state.tools
    }

    pub(super) fn now(&self) -> Timestamp {
        self.state.app.ports.clock.now()
    }

    /// Keeps the message that opened a poll, unless one is kept already.
    pub(super) async fn keep(&self, poll: &str, message: &Value) -> Result<(), Fault> {
        let Ok(poll) = poll.parse() else { return Ok(()) };
        Ok(self.state.app.agent_messages.keep(&poll, &message.to_string()).await?)
    }

    /// The message that opened a poll of this caller.
    pub(super) async fn kept(&self, poll: &str) -> Result<Option<Value>, Fault> {
        let (Ok(poll), Some(user)) = (poll.parse(), self.admission.caller.user()) else { return Ok(None) };
        let kept = self.state.app.agent_messages.kept(&poll, user).await?;
        kept.map(|kept| serde_json::from_str(&kept).map_err(Fault::internal)).transpose()
    }

    /// Calls an operation. Without an `Idempotency-Key` header, `key` is one.
    pub(super) async fn dispatch(
        &self,
        entry: &'static Entry,
        input: Value,
        key: Option<String>,
        wait_limit: Option<Duration>,
    ) -> Result<Answer, Fault> {
        self.dispatched.store(true, Ordering::Relaxed);
        let call = Call {
            idempotency_key: self.head.idempotency_key.clone().or(key),
            wait_limit,
            ..Call::new(self.head.admitted("a2a", self.admission.clone()))
        };
        dispatch(&self.state.app, entry, call, Ok(input)).await.result.map(|done| done.answer)
    }

    /// Refuses a caller without allowance, where no operation has done so already.
    pub(super) fn check_allowance(&self) -> Result<(), Fault> {
        if self.dispatched.load(Ordering::Relaxed) { Ok(()) } else { self.admission.check_allowance() }
    }
}
