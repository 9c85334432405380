//! The extension `io.modelcontextprotocol/tasks` (SEP-2663): polls as tasks, for clients that declare it.
//!
//! A task is a poll, and has the poll's id. It belongs to the calling account, survives restarts, and is stored as
//! long as its poll.

use ep_kernel::tool::Task as Role;
use ep_kernel::{CallOutput, Fault, Kind};
use rmcp::model::{DetailedTask, ErrorCode, ErrorData, GetTaskResult, Task, TaskPayload, TaskStatus};
use serde_json::{Value, json};

use super::call_result::result;
use super::handler::{Answer, Context, Handler};

/// Returns the state of a task.
pub(super) fn task_of(output: &CallOutput) -> Task {
    let CallOutput { value, presentation } = output;
    let changed = presentation.since.map(|since| since.to_string()).unwrap_or_default();
    let created =
        value.get("created_at").and_then(Value::as_str).map_or_else(|| changed.clone(), str::to_owned);
    let status = match presentation.interim {
        Some(_) => TaskStatus::Working,
        None if presentation.cancelled => TaskStatus::Cancelled,
        None => TaskStatus::Completed,
    };
    let id = presentation.task_id.clone().unwrap_or_default();
    let mut task = Task::new(id, status, created, changed);
    task.poll_interval_ms = presentation.interim.map(|wait| wait.as_millis() as u64);
    task.status_message.clone_from(&presentation.summary);
    task
}

impl Handler {
    /// `tasks/get`.
    pub(super) async fn read_task(&self, id: &str, context: &Context) -> Answer<GetTaskResult> {
        let output = self.on_task(Role::Follow, id, context).await?.map_err(|fault| refused(&fault))?;
        let task = task_of(&output);
        let payload = match task.status {
            TaskStatus::Working => TaskPayload::Working,
            TaskStatus::Cancelled => TaskPayload::Cancelled,
            _ => {
                let entry = self.catalogue.for_task(Role::Follow).ok_or_else(no_tasks)?;
                let result = serde_json::to_value(result(entry, output, false));
                let result = result.map_err(|error| refused(&Fault::internal(error)))?;
                TaskPayload::Completed { result: result.as_object().cloned().unwrap_or_default() }
            }
        };
        Ok(GetTaskResult::new(DetailedTask::new(task, payload)))
    }

    /// `tasks/cancel`: acknowledged even if the task has already ended.
    pub(super) async fn stop_task(&self, id: &str, context: &Context) -> Answer<()> {
        match self.on_task(Role::Cancel, id, context).await? {
            Err(fault) if fault.kind() != Kind::Conflict => Err(refused(&fault)),
            Ok(_) | Err(_) => Ok(()),
        }
    }

    async fn on_task(&self, role: Role, id: &str, context: &Context) -> Answer<Result<CallOutput, Fault>> {
        let source = self.source(context)?;
        let Some(entry) = self.catalogue.for_task(role) else {
            return Err(no_tasks());
        };
        source.toolset.check(entry)?;
        Ok(self.ask(entry, json!({ "poll_id": id }), source.request).await)
    }
}

fn no_tasks() -> ErrorData {
    ErrorData::new(ErrorCode::METHOD_NOT_FOUND, "tasks are not supported here", None)
}

/// Converts a fault to the protocol's error: an unknown task is an invalid parameter.
fn refused(fault: &Fault) -> ErrorData {
    let code = match fault.kind() {
        Kind::NotFound | Kind::InvalidInput => ErrorCode::INVALID_PARAMS,
        kind => ErrorCode(kind.row().mcp),
    };
    ErrorData::new(code, fault.message().to_owned(), None)
}
