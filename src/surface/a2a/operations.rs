//! The operations: sending a message, reading a task, cancelling one.

use std::time::Duration;

use ep_kernel::answer::Answer;
use ep_kernel::fault::Kind;
use ep_kernel::tool::{Entry, Task};
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use super::dialect::Dialect;
use super::errors::Refusal;
use super::message::{ask, member, skill_for};
use super::request::AgentRequest;
use super::task::{Frame, History};

/// What a message is answered with.
pub(super) enum Reply {
    Task(Value),
    /// Of what is no task and cannot be asked for again.
    Message(Value),
}

/// `SendMessage`, `message/send`, `tasks/send`.
pub(super) async fn send(agent: &AgentRequest, params: &Value, dialect: Dialect) -> Result<Reply, Refusal> {
    let message = params.get("message").unwrap_or(&Value::Null);
    let asked = ask(agent.tools(), params, message, dialect)?;
    if dialect != Dialect::Legacy
        && let Some(id) = member(message, "taskId", "task_id").and_then(Value::as_str)
    {
        // A poll takes no further messages: the task is unknown, or it cannot be continued.
        get(agent, id, History::Whole, dialect).await?;
        return Err(Refusal::Unsupported(format!("task {id} takes no further messages; send a new one")));
    }
    let configuration = params.get("configuration").unwrap_or(&Value::Null);
    let at_once = member(configuration, "returnImmediately", "return_immediately")
        == Some(&Value::Bool(true))
        || configuration.get("blocking") == Some(&Value::Bool(false));
    let wait_limit = at_once.then_some(Duration::ZERO);
    let context = match dialect {
        Dialect::Legacy => member(params, "sessionId", "session_id"),
        Dialect::V1 | Dialect::V03 => member(message, "contextId", "context_id"),
    };
    let context_id = context.and_then(Value::as_str);
    let key = member(message, "messageId", "message_id").and_then(Value::as_str);
    let key = key.map(|id| repetition_key(id, asked.entry, &asked.input));
    let history = History::of(configuration);
    let answer = match agent.dispatch(asked.entry, asked.input, key, wait_limit).await {
        Ok(answer) => answer,
        Err(fault) => match fault.poll().filter(|_| fault.kind() == Kind::InProgress) {
            // The same message is being answered at this moment.
            Some(poll) => {
                keep(agent, poll.as_str(), message, context_id).await?;
                return get(agent, poll.as_str(), history, dialect).await.map(Reply::Task);
            }
            None => return Err(fault.into()),
        },
    };
    let Some(id) = answer.presentation.task_id.clone() else {
        let frame = Frame { dialect, context_id, message: None, now: agent.now() };
        let id = member(params, "id", "id").and_then(Value::as_str);
        let fallback_id = id.map_or_else(|| agent.head.request_id.to_string(), str::to_owned);
        return Ok(match dialect {
            // Every answer was a task.
            Dialect::Legacy => Reply::Task(frame.task(&fallback_id, &answer)),
            Dialect::V1 | Dialect::V03 => Reply::Message(frame.message(&fallback_id, &answer)),
        });
    };
    if asked.entry.spec.task == Task::Start {
        keep(agent, &id, message, context_id).await?;
    }
    task(agent, &id, &answer, history, dialect).await.map(Reply::Task)
}

/// Keeps the message that opened a poll, with the name of its conversation.
async fn keep(
    agent: &AgentRequest,
    poll: &str,
    message: &Value,
    context_id: Option<&str>,
) -> Result<(), Refusal> {
    let mut sent = message.clone();
    if let (Some(members), Some(context_id)) = (sent.as_object_mut(), context_id) {
        members.insert("contextId".into(), context_id.into());
    }
    Ok(agent.keep(poll, &sent).await?)
}

/// A key that is the same for a message sent again, with the same content: carried out once.
fn repetition_key(message_id: &str, entry: &Entry, input: &Value) -> String {
    let mut sorted = input.clone();
    sorted.sort_all_objects();
    let sent = json!([message_id, entry.spec.name, sorted]);
    format!("a2a-{}", hex::encode(Sha256::digest(sent.to_string())))
}

/// `GetTask`, `tasks/get`.
pub(super) async fn get(
    agent: &AgentRequest,
    id: &str,
    history: History,
    dialect: Dialect,
) -> Result<Value, Refusal> {
    let answer = on_task(agent, Task::Read, id).await?;
    let answer =
        answer.ok_or_else(|| Refusal::Unsupported("this agent has no operation that reads tasks".into()))?;
    task(agent, id, &answer, history, dialect).await
}

/// `CancelTask`, `tasks/cancel`.
pub(super) async fn cancel(agent: &AgentRequest, id: &str, dialect: Dialect) -> Result<Value, Refusal> {
    let Some(entry) = skill_for(agent.tools(), Task::Cancel) else {
        // An unknown task is reported as such, whether tasks can be cancelled or not.
        get(agent, id, History::Whole, dialect).await?;
        return Err(Refusal::NotCancelable(format!("task {id} cannot be canceled")));
    };
    match agent.dispatch(entry, json!({ "poll_id": id }), None, None).await {
        Ok(_) => get(agent, id, History::Whole, dialect).await,
        Err(fault) if fault.kind() == Kind::Conflict => Err(Refusal::NotCancelable(fault.to_string())),
        Err(fault) => Err(fault.into()),
    }
}

/// The task of an answer, with the message that was kept of it.
async fn task(
    agent: &AgentRequest,
    id: &str,
    answer: &Answer,
    history: History,
    dialect: Dialect,
) -> Result<Value, Refusal> {
    let kept = agent.kept(id).await?;
    let context_id = kept.as_ref().and_then(|kept| member(kept, "contextId", "context_id")?.as_str());
    let message = kept.as_ref().filter(|_| history == History::Whole);
    Ok(Frame { dialect, context_id, message, now: agent.now() }.task(id, answer))
}

/// Calls the operation that does this to a task; `None` where there is none.
async fn on_task(agent: &AgentRequest, task: Task, id: &str) -> Result<Option<Answer>, Refusal> {
    let Some(entry) = skill_for(agent.tools(), task) else { return Ok(None) };
    Ok(Some(agent.dispatch(entry, json!({ "poll_id": id }), None, None).await?))
}
