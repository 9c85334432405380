//! Tasks of agents: conversations, most of which lead to a poll or a batch.

use ep_polling::{PollId, Timestamp};
use serde::{Deserialize, Serialize};

use crate::batches::BatchId;
use crate::batches::BatchStatus;
use crate::ids::UserId;
use crate::row::{Columns, FromRow};
use crate::store_error::Result;

ep_polling::words! {
    /// The state of a task.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
    pub enum TaskState {
        /// Waiting for input from the agent.
        InputRequired = "input-required",
        /// Its work is running.
        Working = "working",
        /// The poll ended with votes, or every row of the batch has ended.
        Completed = "completed",
        /// The poll ended without votes, or the batch without all of its rows.
        Failed = "failed",
        /// Cancelled by the owner.
        Canceled = "canceled",
    }
}

impl TaskState {
    /// Returns the state of the task of a batch in this state.
    pub const fn of_batch(status: BatchStatus) -> Self {
        match status {
            BatchStatus::Validating | BatchStatus::InProgress | BatchStatus::Cancelling => Self::Working,
            BatchStatus::Completed => Self::Completed,
            BatchStatus::Failed | BatchStatus::Expired => Self::Failed,
            BatchStatus::Cancelled => Self::Canceled,
        }
    }

    /// True if the state is final.
    pub const fn is_final(self) -> bool {
        matches!(self, Self::Completed | Self::Failed | Self::Canceled)
    }
}

/// The work of a task.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TaskWork {
    /// A poll.
    Poll(PollId),
    /// A batch.
    Batch(BatchId),
}

impl TaskWork {
    /// Reads the id of a poll or of a batch.
    pub fn of_id(id: &str) -> Option<Self> {
        let poll = id.parse().ok().map(Self::Poll);
        poll.or_else(|| id.parse().ok().map(Self::Batch))
    }

    /// Returns the id of the poll or the batch.
    pub fn id(&self) -> String {
        match self {
            Self::Poll(poll) => poll.to_string(),
            Self::Batch(batch) => batch.to_string(),
        }
    }
}

/// A task.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AgentTask {
    /// The id: that of its poll or batch, if it started with one.
    pub id: String,
    /// The account of the agent. The task is invisible to all others.
    pub owner: UserId,
    /// The id of the conversation.
    pub context: String,
    /// The id chosen by the agent, in protocols that support this.
    pub client_id: Option<String>,
    /// Key of the request that opens it. Each key opens only one task of an account.
    pub opened_by: Option<String>,
    /// The work, once it has begun.
    pub work: Option<TaskWork>,
    /// The state. Follows the work once there is one.
    pub state: TaskState,
    /// The time when the task entered this state.
    pub since: Timestamp,
    /// Number of changes.
    pub revision: u32,
    /// The messages, in JSON.
    pub content: String,
}

/// A filter for listing the tasks of an account, newest status first.
#[derive(Debug, Clone, Default)]
pub struct TaskFilter {
    /// Only tasks of this conversation.
    pub context: Option<String>,
    /// Only tasks in this state.
    pub state: Option<TaskState>,
    /// Only tasks with a status from this time or later.
    pub since: Option<Timestamp>,
    /// Only tasks after the one with this status time and id.
    pub after: Option<(Timestamp, String)>,
    /// Maximum number of tasks.
    pub limit: u32,
}

/// A page of tasks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TaskPage {
    /// The tasks.
    pub tasks: Vec<AgentTask>,
    /// Total number of tasks on all pages.
    pub total: u64,
}

/// Maximum number of tasks of an account that have no work; a further one replaces the oldest.
pub const MAX_TASKS_WITHOUT_WORK: u32 = 200;

impl FromRow for AgentTask {
    fn from_row(columns: &mut Columns<'_>) -> Result<Self> {
        Ok(Self {
            id: columns.get()?,
            owner: columns.get()?,
            context: columns.get()?,
            client_id: columns.get()?,
            opened_by: columns.get()?,
            work: {
                let (poll, batch): (Option<PollId>, Option<BatchId>) = columns.get()?;
                poll.map(TaskWork::Poll).or(batch.map(TaskWork::Batch))
            },
            state: columns.name()?,
            since: columns.get()?,
            revision: columns.get()?,
            content: columns.get()?,
        })
    }
}
