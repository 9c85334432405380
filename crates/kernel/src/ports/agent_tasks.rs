//! Tasks of agents: conversations of which most lead to a poll.

use async_trait::async_trait;
use serde::{Deserialize, Serialize};

use super::StoreError;
use crate::caller::UserId;
use ep_polling::poll_id::PollId;
use ep_polling::time::Timestamp;

/// How far a task is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum TaskState {
    /// Its agent has to say more.
    InputRequired,
    /// Its poll runs.
    Working,
    /// Its poll has ended with votes.
    Completed,
    /// Its poll has ended without any.
    Failed,
    /// Its owner ended it.
    Canceled,
}

impl TaskState {
    /// Every state.
    pub const ALL: [Self; 5] =
        [Self::InputRequired, Self::Working, Self::Completed, Self::Failed, Self::Canceled];

    /// Its name in the database.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::InputRequired => "input-required",
            Self::Working => "working",
            Self::Completed => "completed",
            Self::Failed => "failed",
            Self::Canceled => "canceled",
        }
    }

    /// Whether it never changes again.
    pub const fn is_final(self) -> bool {
        matches!(self, Self::Completed | Self::Failed | Self::Canceled)
    }
}

/// A task.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AgentTask {
    /// Its id: that of its poll, if it began with one.
    pub id: String,
    /// The account whose agent began it. To all others it does not exist.
    pub owner: UserId,
    /// The conversation it belongs to.
    pub context: String,
    /// The id that its agent gave it, in protocols where agents do.
    pub client_id: Option<String>,
    /// What opens it: a name that opens one task of an account only.
    pub opened_by: Option<String>,
    /// Its poll, once there is one.
    pub poll: Option<PollId>,
    /// How far it is. The poll of a task decides, from its opening to its end.
    pub state: TaskState,
    /// Since when.
    pub since: Timestamp,
    /// Counts its changes.
    pub revision: u32,
    /// What was said, in JSON.
    pub content: String,
}

/// Which tasks of an account are listed, newest status first.
#[derive(Debug, Clone, Default)]
pub struct TaskFilter {
    /// Only those of this conversation.
    pub context: Option<String>,
    /// Only those in this state.
    pub state: Option<TaskState>,
    /// Only those whose status is from this time or later.
    pub since: Option<Timestamp>,
    /// Only those that come after the task with this status time and id.
    pub after: Option<(Timestamp, String)>,
    /// How many at most.
    pub limit: u32,
}

/// A page of tasks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TaskPage {
    /// The tasks.
    pub tasks: Vec<AgentTask>,
    /// How many there are on all pages.
    pub total: u64,
}

/// Keeps tasks. What is kept is acknowledged once a crash of the process cannot undo it.
#[async_trait]
pub trait AgentTasks: Send + Sync {
    /// Adds a task, whose state and time are those of its poll if it has one. `false` if there is one with its id, the
    /// same opening or the same id of the agent's; [`StoreError::NotFound`] if its poll is not its owner's.
    async fn add(&self, task: &AgentTask) -> Result<bool, StoreError>;

    /// The task of this owner with this id, or to which its agent gave this id.
    async fn find(&self, owner: UserId, id: &str) -> Result<Option<AgentTask>, StoreError>;

    /// The task of this owner that was opened by this.
    async fn opened_by(&self, owner: UserId, opening: &str) -> Result<Option<AgentTask>, StoreError>;

    /// Tasks of this owner.
    async fn list(&self, owner: UserId, filter: &TaskFilter) -> Result<TaskPage, StoreError>;

    /// Stores state, time and content of a task that has no poll yet, and its poll, if it has one now, which then
    /// decides state and time. `false` if the task is not of this revision any more, or has a poll.
    async fn change(&self, task: &AgentTask) -> Result<bool, StoreError>;

    /// Deletes tasks without a poll that have not changed since a time.
    async fn delete_abandoned(&self, before: Timestamp) -> Result<u64, StoreError>;
}
