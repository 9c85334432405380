//! Tasks of agents: conversations, most of which lead to a poll or a batch.

pub(crate) mod endings;
pub(crate) mod pushes;
mod records;
pub(crate) mod transactions;

pub use self::pushes::{AgentPush, MAX_PUSHES};
pub use self::records::{AgentTask, MAX_TASKS_WITHOUT_WORK, TaskFilter, TaskPage, TaskState, TaskWork};
