//! Rows of tasks of agents.

use ep_kernel::ports::{AgentTask, StoreError};
use ep_polling::time::Timestamp;

use super::{from_name, poll_id, unreadable, user_id};

row! {
    /// A task of an agent.
    TaskRow {
        id: String,
        owner: String,
        context_id: String,
        client_id: Option<String>,
        opened_by: Option<String>,
        poll_id: Option<String>,
        state: String,
        status_at: i64,
        revision: i64,
        content: String,
    }
}

impl TryFrom<TaskRow> for AgentTask {
    type Error = StoreError;

    fn try_from(row: TaskRow) -> Result<Self, StoreError> {
        Ok(Self {
            id: row.id,
            owner: user_id(&row.owner)?,
            context: row.context_id,
            client_id: row.client_id,
            opened_by: row.opened_by,
            poll: row.poll_id.as_deref().map(poll_id).transpose()?,
            state: from_name(&row.state).ok_or_else(|| unreadable("the state of a task"))?,
            since: Timestamp::from_millis(row.status_at),
            revision: row.revision as u32,
            content: row.content,
        })
    }
}

row! {
    /// How many rows there are.
    CountRow { count: i64 }
}
