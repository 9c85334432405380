//! Tasks of agents: conversations, most of which lead to a poll.

use async_trait::async_trait;
use serde::{Deserialize, Serialize};

use super::StoreError;
use crate::caller::UserId;
use ep_polling::poll_id::PollId;
use ep_polling::time::Timestamp;

/// The state of a task.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum TaskState {
    /// Waiting for input from the agent.
    InputRequired,
    /// The poll is running.
    Working,
    /// The poll ended with votes.
    Completed,
    /// The poll ended without votes.
    Failed,
    /// Cancelled by the owner.
    Canceled,
}

impl TaskState {
    /// All states.
    pub const ALL: [Self; 5] =
        [Self::InputRequired, Self::Working, Self::Completed, Self::Failed, Self::Canceled];

    /// Returns the name in the database.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::InputRequired => "input-required",
            Self::Working => "working",
            Self::Completed => "completed",
            Self::Failed => "failed",
            Self::Canceled => "canceled",
        }
    }

    /// True if the state is final.
    pub const fn is_final(self) -> bool {
        matches!(self, Self::Completed | Self::Failed | Self::Canceled)
    }
}

/// A task.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AgentTask {
    /// The id: that of its poll, if it started with one.
    pub id: String,
    /// The account of the agent. The task is invisible to all others.
    pub owner: UserId,
    /// The id of the conversation.
    pub context: String,
    /// The id chosen by the agent, in protocols that support this.
    pub client_id: Option<String>,
    /// Key of the request that opens it. Each key opens only one task of an account.
    pub opened_by: Option<String>,
    /// The poll, if any.
    pub poll: Option<PollId>,
    /// The state. Follows the poll while there is one.
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

/// Stores tasks. Writes are acknowledged once a crash of the process cannot undo them.
#[async_trait]
pub trait AgentTasks: Send + Sync {
    /// Adds a task. Its state and time are those of its poll, if it has one. Returns `false` if a task with
    /// its id, opening key or agent id exists; [`StoreError::NotFound`] if its poll does not belong to its
    /// owner.
    async fn add(&self, task: &AgentTask) -> Result<bool, StoreError>;

    /// Returns the task of this owner with this id, or with this id chosen by the agent.
    async fn find(&self, owner: UserId, id: &str) -> Result<Option<AgentTask>, StoreError>;

    /// Returns the task of this owner with this opening key.
    async fn opened_by(&self, owner: UserId, opening: &str) -> Result<Option<AgentTask>, StoreError>;

    /// Lists tasks of this owner.
    async fn list(&self, owner: UserId, filter: &TaskFilter) -> Result<TaskPage, StoreError>;

    /// Stores state, time and content of a task without a poll, and its poll if it now has one, which then
    /// decides state and time. Returns `false` if the stored task has another revision or a poll.
    async fn change(&self, task: &AgentTask) -> Result<bool, StoreError>;

    /// Deletes tasks without a poll that have not changed since this time.
    async fn delete_abandoned(&self, before: Timestamp) -> Result<u64, StoreError>;
}
