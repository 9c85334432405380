//! Rows of agent tasks.

use ep_polling::time::Timestamp;

use super::{batch_id, from_name, poll_id, unreadable, user_id};
use crate::records::{AgentPush, AgentTask, StoreError, TaskWork};
use crate::webhook_url::WebhookUrl;

row! {
    /// An agent task.
    TaskRow {
        id: String,
        owner: String,
        context_id: String,
        client_id: Option<String>,
        opened_by: Option<String>,
        poll_id: Option<String>,
        batch_id: Option<String>,
        state: String,
        status_at: i64,
        revision: i64,
        content: String,
    }
}

impl TryFrom<TaskRow> for AgentTask {
    type Error = StoreError;

    fn try_from(row: TaskRow) -> Result<Self, StoreError> {
        let work = match (&row.poll_id, &row.batch_id) {
            (Some(poll), _) => Some(TaskWork::Poll(poll_id(poll)?)),
            (None, Some(batch)) => Some(TaskWork::Batch(batch_id(batch)?)),
            (None, None) => None,
        };
        Ok(Self {
            id: row.id,
            owner: user_id(&row.owner)?,
            context: row.context_id,
            client_id: row.client_id,
            opened_by: row.opened_by,
            work,
            state: from_name(&row.state).ok_or_else(|| unreadable("the state of a task"))?,
            since: Timestamp::from_millis(row.status_at),
            revision: row.revision as u32,
            content: row.content,
        })
    }
}

row! {
    /// A push config of a task.
    PushRow {
        id: String,
        task_id: String,
        config_id: String,
        user_id: String,
        url: String,
        version: String,
        secrets: String,
        attempts: i64,
    }
}

impl TryFrom<PushRow> for (AgentPush, u32) {
    type Error = StoreError;

    fn try_from(row: PushRow) -> Result<Self, StoreError> {
        let push = AgentPush {
            id: row.id,
            task: row.task_id,
            config: row.config_id,
            owner: user_id(&row.user_id)?,
            url: WebhookUrl::checked(row.url),
            version: row.version,
            secrets: row.secrets,
        };
        Ok((push, row.attempts as u32))
    }
}

row! {
    /// A number of rows.
    CountRow { count: i64 }
}
