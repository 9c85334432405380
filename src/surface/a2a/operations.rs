//! The operations: sending a message, reading a task, cancelling one.

use std::time::Duration;

use ep_kernel::answer::Answer;
use ep_kernel::tool::Task;
use serde_json::{Value, json};

use super::dialect::Dialect;
use super::errors::Refusal;
use super::message::{ask, member, skill_for};
use super::request::AgentRequest;
use super::task::Frame;

/// `SendMessage`, `message/send`, `tasks/send`.
pub(super) async fn send(agent: &AgentRequest, params: &Value, dialect: Dialect) -> Result<Value, Refusal> {
    let message = params.get("message").unwrap_or(&Value::Null);
    let asked = ask(agent.tools(), params, message, dialect)?;
    if dialect != Dialect::Legacy
        && let Some(id) = member(message, "taskId", "task_id").and_then(Value::as_str)
    {
        // A poll takes no further messages: the task is unknown, or it cannot be continued.
        get(agent, id, dialect).await?;
        return Err(Refusal::Unsupported(format!("task {id} takes no further messages; send a new one")));
    }
    let configuration = params.get("configuration").unwrap_or(&Value::Null);
    let at_once = member(configuration, "returnImmediately", "return_immediately")
        == Some(&Value::Bool(true))
        || configuration.get("blocking") == Some(&Value::Bool(false));
    let wait_limit = at_once.then_some(Duration::ZERO);
    let answer = agent.dispatch(asked.entry, asked.input, wait_limit).await?;
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
            .map_or_else(|| agent.head.request_id.to_string(), str::to_owned),
        context_id: context.and_then(Value::as_str),
        message: keeps_history.then_some(message),
        now: agent.now(),
    };
    Ok(frame.task(&answer))
}

/// `GetTask`, `tasks/get`.
pub(super) async fn get(agent: &AgentRequest, id: &str, dialect: Dialect) -> Result<Value, Refusal> {
    let answer = on_task(agent, Task::Read, id).await?;
    let answer = answer.ok_or_else(|| Refusal::Unsupported("tasks cannot be read here".into()))?;
    let fallback_id = id.to_owned();
    let frame = Frame { dialect, fallback_id, context_id: None, message: None, now: agent.now() };
    Ok(frame.task(&answer))
}

/// `CancelTask`, `tasks/cancel`.
pub(super) async fn cancel(agent: &AgentRequest, id: &str, dialect: Dialect) -> Result<Value, Refusal> {
    // An unknown task is reported as such, whether tasks can be cancelled or not.
    get(agent, id, dialect).await?;
    match on_task(agent, Task::Cancel, id).await? {
        Some(_) => get(agent, id, dialect).await,
        None => Err(Refusal::NotCancelable(format!(
            "task {id} cannot be canceled: a poll cannot be stopped once it has started"
        ))),
    }
}

/// Calls the operation that does this to a task; `None` where there is none.
async fn on_task(agent: &AgentRequest, task: Task, id: &str) -> Result<Option<Answer>, Refusal> {
    let Some(entry) = skill_for(agent.tools(), task) else { return Ok(None) };
    Ok(Some(agent.dispatch(entry, json!({ "poll_id": id }), None).await?))
}
