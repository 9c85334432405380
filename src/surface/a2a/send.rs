//! The operations: sending a message, reading a task.

use std::time::Duration;

use ep_kernel::caller::Caller;
use ep_kernel::caller::Credential;
use ep_kernel::dispatch::{Call, Dispatched, dispatch};
use ep_kernel::tool::{Access, Entry};
use serde_json::{Map, Value};

use super::dialect::Dialect;
use super::errors::Refusal;
use super::message::{ask, by_shape, member};
use super::task::Frame;
use crate::surface::http::{Gate, Incoming};

/// A request whose caller is proven.
pub(super) struct Session<'a> {
    pub(super) gate: &'a Gate,
    pub(super) incoming: &'a Incoming,
    pub(super) caller: Caller,
}

/// What an operation came to, with what HTTP wants to know of it.
pub(super) struct Outcome {
    pub(super) task: Result<Value, Refusal>,
    pub(super) dispatched: Option<Dispatched>,
}

impl Outcome {
    fn refused(refusal: Refusal) -> Self {
        Self { task: Err(refusal), dispatched: None }
    }
}

/// `SendMessage`, `message/send`, `tasks/send`.
pub(super) async fn send(session: &Session<'_>, params: &Value, dialect: Dialect) -> Outcome {
    let null = Value::Null;
    let message = params.get("message").unwrap_or(&null);
    let asked = match ask(session.gate.tools, params, message, dialect) {
        Ok(asked) => asked,
        Err(refusal) => return Outcome::refused(refusal),
    };
    if dialect != Dialect::Legacy
        && let Some(id) = member(message, "taskId", "task_id").and_then(Value::as_str)
    {
        // A poll takes no further messages: the task is unknown, or it cannot be continued.
        return match get(session, id, dialect).await.task {
            Ok(_) => Outcome::refused(Refusal::Unsupported(format!(
                "task {id} takes no further messages; send a new one"
            ))),
            Err(refusal) => Outcome::refused(refusal),
        };
    }
    let configuration = params.get("configuration").unwrap_or(&null);
    let at_once = member(configuration, "returnImmediately", "return_immediately")
        == Some(&Value::Bool(true))
        || configuration.get("blocking") == Some(&Value::Bool(false));
    let wait_limit = at_once.then_some(Duration::ZERO);
    let dispatched = session.dispatch(asked.entry, asked.input, wait_limit).await;
    let keeps_history =
        member(configuration, "historyLength", "history_length").and_then(Value::as_u64) != Some(0);
    let context = match dialect {
        Dialect::Legacy => member(params, "sessionId", "session_id"),
        Dialect::V1 | Dialect::V03 => member(message, "contextId", "context_id"),
    };
    let frame = Frame {
        dialect,
        fallback_id: member(params, "id", "id")
            .and_then(Value::as_str)
            .map_or_else(|| session.id(), str::to_owned),
        context_id: context.and_then(Value::as_str),
        message: keeps_history.then_some(message),
        now: session.gate.app.clock.now(),
    };
    finish(dispatched, &frame)
}

/// `GetTask`, `tasks/get`.
pub(super) async fn get(session: &Session<'_>, id: &str, dialect: Dialect) -> Outcome {
    let input: Map<String, Value> =
        [("poll_id".to_owned(), Value::String(id.to_owned()))].into_iter().collect();
    let entry = match by_shape(session.gate.tools, &input) {
        Ok(entry) => entry,
        Err(refusal) => return Outcome::refused(refusal),
    };
    let dispatched = session.dispatch(entry, Value::Object(input), None).await;
    let now = session.gate.app.clock.now();
    finish(dispatched, &Frame { dialect, fallback_id: id.to_owned(), context_id: None, message: None, now })
}

/// `CancelTask`, `tasks/cancel`: a poll that was begun is carried through.
pub(super) async fn cancel(session: &Session<'_>, id: &str, dialect: Dialect) -> Outcome {
    let mut outcome = get(session, id, dialect).await;
    outcome.task = outcome.task.and_then(|_| {
        Err(Refusal::NotCancelable(format!(
            "task {id} cannot be canceled: a poll once begun is carried through"
        )))
    });
    outcome
}

fn finish(dispatched: Dispatched, frame: &Frame<'_>) -> Outcome {
    let task = match &dispatched.result {
        Ok(answered) => Ok(frame.task(answered)),
        Err(fault) => Err(Refusal::Fault(fault.clone())),
    };
    Outcome { task, dispatched: Some(dispatched) }
}

impl Session<'_> {
    fn id(&self) -> String {
        self.incoming.shown.request_id.to_string()
    }

    async fn dispatch(
        &self,
        entry: &'static Entry,
        input: Value,
        wait_limit: Option<Duration>,
    ) -> Dispatched {
        let call = Call {
            app: self.gate.app.clone(),
            surface: "a2a",
            request_id: self.incoming.shown.request_id,
            credential: Credential::Proven(self.caller.clone()),
            address: self.incoming.address,
            door: Access::PUBLIC,
            idempotency_key: self.incoming.shown.idempotency_key.clone(),
            wait_limit,
            progress: None,
            told: None,
        };
        dispatch(entry, call, Ok(input)).await
    }
}
