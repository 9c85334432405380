//! The operations: sending a message, reading, listing and cancelling tasks.

use std::time::Duration;

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use ep_kernel::dispatch::for_task;
use ep_kernel::{Effect, Fault, Kind, Task};
use ep_polling::Timestamp;
use ep_store::{AgentTask, TaskFilter, TaskState, TaskWork};
use serde::Deserialize;
use serde_json::{Value, json};

use super::conversation::Conversation;
use super::dialect::Dialect;
use super::errors::{Answer, Refusal};
use super::fields::{field_of, identifier, invalid, task_id};
use super::request::AgentRequest;
use super::sending::{SendOutcome, begin};
use super::sent::Sent;
use super::task::{History, View};

/// Result of sending a message.
pub(super) enum Reply {
    Task(Value),
    /// A response without a task, which cannot be fetched again.
    Message(Value),
}

/// `SendMessage`, `message/send`, `tasks/send`.
pub(super) async fn send(agent: &AgentRequest, params: &Value, dialect: Dialect) -> Answer<Reply> {
    let sent = Sent::read(params, dialect)?;
    let view = View { dialect, history: History::of(sent.history_of(), dialect)?, artifacts: true };
    match begin(agent, &sent).await? {
        SendOutcome::Output(output) if dialect == Dialect::Legacy => Ok(Reply::Task(output)),
        SendOutcome::Output(output) => Ok(Reply::Message(output)),
        SendOutcome::Task(conversation) => {
            let wait_limit = sent.at_once().then_some(Duration::ZERO);
            let output = agent.output(&conversation, wait_limit).await?;
            Ok(Reply::Task(view.task(&conversation, output.as_ref())))
        }
    }
}

/// `GetTask`, `tasks/get`.
pub(super) async fn get(agent: &AgentRequest, params: &Value, dialect: Dialect) -> Answer<Value> {
    let id = task_id(params)?;
    let conversation = agent.task(id).await?;
    let dialect = dialect_of(&conversation, id, dialect);
    let view = View { dialect, history: History::of(params, dialect)?, artifacts: true };
    let output = agent.output(&conversation, Some(Duration::ZERO)).await?;
    Ok(view.task(&conversation, output.as_ref()))
}

/// `CancelTask`, `tasks/cancel`.
pub(super) async fn cancel(agent: &AgentRequest, params: &Value, dialect: Dialect) -> Answer<Value> {
    let id = task_id(params)?;
    let conversation = agent.task(id).await?;
    let not_cancelable = || Refusal::NotCancelable(format!("task {id} cannot be canceled: it has ended"));
    match &conversation.task {
        AgentTask { state: TaskState::Completed | TaskState::Failed, .. } => return Err(not_cancelable()),
        AgentTask { work: Some(work), .. } => {
            let (task, input) = match work {
                TaskWork::Poll(poll) => (Task::Cancel, json!({ "poll_id": poll })),
                TaskWork::Batch(batch) => (Task::CancelBatch, json!({ "batch_id": batch })),
            };
            let entry = for_task(agent.tools(), task).ok_or_else(not_cancelable)?;
            match agent.dispatch(entry, input, None, None).await {
                Ok(_) => {}
                Err(fault) if fault.kind() == Kind::Conflict => return Err(not_cancelable()),
                Err(fault) => return Err(fault.into()),
            }
        }
        AgentTask { state: TaskState::Canceled, .. } => {}
        task => {
            agent.check_scope(Effect::Stop)?;
            let cancelled = AgentTask { state: TaskState::Canceled, since: agent.now(), ..task.clone() };
            if !agent.tasks().change_task(&cancelled).await.map_err(Fault::from)? {
                let text = format!("task {id} is being changed; retry the cancellation");
                return Err(Fault::new(Kind::Conflict, text).into());
            }
        }
    }
    get(agent, params, dialect).await
}

/// Returns the dialect for showing a task: a task requested by the client's own id uses the dialect with such ids.
fn dialect_of(conversation: &Conversation, id: &str, dialect: Dialect) -> Dialect {
    let AgentTask { id: own, client_id, .. } = &conversation.task;
    if own != id && client_id.as_deref() == Some(id) { Dialect::Legacy } else { dialect }
}

/// Default page size, in tasks.
const PAGE: u32 = 50;
/// Maximum page size, in tasks.
const MAX_PAGE: u32 = 100;

/// `ListTasks`.
pub(super) async fn list(agent: &AgentRequest, params: &Value, dialect: Dialect) -> Answer<Value> {
    let size = match field_of(params, "pageSize", "page_size") {
        None => PAGE,
        Some(size) => {
            let size = size.as_u64().filter(|size| (1..=u64::from(MAX_PAGE)).contains(size));
            size.ok_or_else(|| invalid("pageSize", &format!("must be 1 to {MAX_PAGE}")))? as u32
        }
    };
    let artifacts = match field_of(params, "includeArtifacts", "include_artifacts") {
        None => false,
        Some(include) => {
            include.as_bool().ok_or_else(|| invalid("includeArtifacts", "must be true or false"))?
        }
    };
    let state = match wanted_state(params, dialect)? {
        StateFilter::Any => None,
        StateFilter::Only(state) => Some(state),
        StateFilter::Never => return Ok(page(&[], "", size, 0)),
    };
    let filter = TaskFilter {
        context: identifier(params, "contextId", ("contextId", "context_id"))?.map(str::to_owned),
        state,
        since: wanted_since(params)?,
        after: wanted_after(params)?,
        limit: size,
    };
    let view = View { dialect, history: History::of(params, dialect)?, artifacts };
    let found = agent.tasks().list_tasks(agent.owner()?, &filter).await.map_err(Fault::from)?;
    let next = match found.tasks.last() {
        Some(last) if found.tasks.len() as u32 == size => {
            URL_SAFE_NO_PAD.encode(json!([last.since.millis(), last.id]).to_string())
        }
        _ => String::new(),
    };
    let mut tasks = Vec::with_capacity(found.tasks.len());
    for task in found.tasks {
        let conversation = Conversation::of(task);
        let output =
            if artifacts { agent.output(&conversation, Some(Duration::ZERO)).await } else { Ok(None) };
        let output = match output {
            // What the task did was deleted after the tasks were listed.
            Err(fault) if fault.kind() == Kind::NotFound => continue,
            output => output?,
        };
        tasks.push(view.task(&conversation, output.as_ref()));
    }
    Ok(page(&tasks, &next, size, found.total))
}

fn page(tasks: &[Value], next: &str, size: u32, total: u64) -> Value {
    json!({ "tasks": tasks, "nextPageToken": next, "pageSize": size, "totalSize": total })
}

/// State filter of a task list.
enum StateFilter {
    Any,
    Only(TaskState),
    /// A state that tasks of this agent never have.
    Never,
}

fn wanted_state(params: &Value, dialect: Dialect) -> Answer<StateFilter> {
    const NEVER: [&str; 8] = [
        "TASK_STATE_SUBMITTED",
        "TASK_STATE_REJECTED",
        "TASK_STATE_AUTH_REQUIRED",
        "submitted",
        "rejected",
        "auth-required",
        "unknown",
        "TASK_STATE_UNKNOWN",
    ];
    let Some(requested) = field_of(params, "status", "status") else { return Ok(StateFilter::Any) };
    let name = requested.as_str().unwrap_or_default();
    if name == "TASK_STATE_UNSPECIFIED" {
        return Ok(StateFilter::Any);
    }
    if let Some(state) = TaskState::ALL.into_iter().find(|state| dialect.state(*state) == name) {
        return Ok(StateFilter::Only(state));
    }
    if NEVER.contains(&name) {
        return Ok(StateFilter::Never);
    }
    let example = dialect.state(TaskState::Completed);
    Err(invalid("status", &format!("must be the state of a task, for example {example}")))
}

fn wanted_since(params: &Value) -> Answer<Option<Timestamp>> {
    let name = ("statusTimestampAfter", "status_timestamp_after");
    let Some(since) = field_of(params, name.0, name.1) else { return Ok(None) };
    let since = Timestamp::deserialize(since);
    since.map(Some).map_err(|_| invalid(name.0, "must be a time such as 2026-01-31T00:00:00Z"))
}

fn wanted_after(params: &Value) -> Answer<Option<(Timestamp, String)>> {
    let Some(token) = identifier(params, "pageToken", ("pageToken", "page_token"))? else { return Ok(None) };
    let read = || {
        let token = URL_SAFE_NO_PAD.decode(token).ok()?;
        let (millis, id): (i64, String) = serde_json::from_slice(&token).ok()?;
        (!id.chars().any(char::is_control)).then_some((Timestamp::from_millis(millis), id))
    };
    read().map(Some).ok_or_else(|| invalid("pageToken", "must be the nextPageToken of a list"))
}
