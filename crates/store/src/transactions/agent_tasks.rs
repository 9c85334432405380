//! Agent tasks.

use ep_polling::poll_id::PollId;
use ep_polling::time::Timestamp;
use futures::FutureExt;

use super::polls::StoredPoll;
use super::rosters::RosterCache;
use crate::batch_id::BatchId;
use crate::connection::{Connection, Durability};
use crate::handles::Store;
use crate::ids::UserId;
use crate::records::{
    AgentTask, BatchRecord, BatchStatus, Closing, MAX_TASKS_WITHOUT_WORK, PollRecord, StoreError, TaskFilter,
    TaskPage, TaskState, TaskWork,
};
use crate::statements as sql;
use crate::value::values;

/// Stores tasks. Writes are acknowledged once a crash of the process cannot undo them.
impl Store {
    /// Adds a task. Its state and time are those of its work, if it has some. Returns `false` if a task with
    /// its id, opening key or agent id exists; [`StoreError::NotFound`] if its work does not belong to its
    /// owner. Of the owner's tasks without work, only the newest [`MAX_TASKS_WITHOUT_WORK`] remain.
    pub async fn add_task(&self, task: &AgentTask) -> Result<bool, StoreError> {
        let (task, rosters) = (task.clone(), self.0.rosters.clone());
        self.0
            .engine
            .transact(Durability::ProcessCrash, move |db| {
                async move { add(db, &rosters, &task).await }.boxed()
            })
            .await
    }

    /// Returns the task of this owner with this id, or with this id chosen by the agent.
    pub async fn task(&self, owner: UserId, id: &str) -> Result<Option<AgentTask>, StoreError> {
        self.0.engine.fetch_optional(sql::FIND_TASK, values![owner, id]).await
    }

    /// Returns the task of this owner with this opening key.
    pub async fn task_opened_by(
        &self,
        owner: UserId,
        opening: &str,
    ) -> Result<Option<AgentTask>, StoreError> {
        self.0.engine.fetch_optional(sql::TASK_OPENED_BY, values![owner, opening]).await
    }

    /// Lists tasks of this owner.
    pub async fn list_tasks(&self, owner: UserId, filter: &TaskFilter) -> Result<TaskPage, StoreError> {
        let TaskFilter { context, state, since, after, limit } = filter;
        let (context, state) = (context.as_deref(), state.map(TaskState::as_str));
        let since = since.map_or(i64::MIN, Timestamp::millis);
        let (at, id) = after.as_ref().map_or((i64::MAX, ""), |(at, id)| (at.millis(), id));
        let values = values![owner, context, state, since, at, id, *limit];
        let tasks = self.0.engine.fetch_all(sql::TASKS_OF_USER, values).await?;
        let values = values![owner, context, state, since];
        let total = self.0.engine.fetch_optional(sql::COUNT_TASKS, values).await?;
        Ok(TaskPage { tasks, total: total.unwrap_or_default() })
    }

    /// Stores state, time and content of a task without work, and its work if it now has some, which then
    /// decides state and time. Returns `false` if the stored task has another revision or has work.
    pub async fn change_task(&self, task: &AgentTask) -> Result<bool, StoreError> {
        let (task, rosters) = (task.clone(), self.0.rosters.clone());
        self.0
            .engine
            .transact(Durability::ProcessCrash, move |db| {
                async move { change(db, &rosters, &task).await }.boxed()
            })
            .await
    }

    /// Deletes tasks without work that have not changed since this time.
    pub async fn delete_abandoned_tasks(&self, before: Timestamp) -> Result<u64, StoreError> {
        self.0.engine.execute(Durability::ProcessCrash, sql::DELETE_ABANDONED_TASKS, values![before]).await
    }
}

async fn add(db: &mut Connection<'_>, rosters: &RosterCache, task: &AgentTask) -> Result<bool, StoreError> {
    let work = lock_work(db, rosters, task).await?;
    let AgentTask { id, owner, context, client_id, opened_by, content, .. } = task;
    let (poll, batch) = ids(task);
    let (state, since) = opening(task, work.as_ref());
    let (client_id, opened_by) = (client_id.as_deref(), opened_by.as_deref());
    let (id, context, content) = (&**id, &**context, &**content);
    let row =
        values![id, *owner, context, client_id, opened_by, poll, batch.as_deref(), state, since, content];
    let added = db.execute(sql::ADD_TASK, row).await? == 1;
    if added && work.is_none() {
        db.execute(sql::DELETE_SURPLUS_TASKS, values![*owner, MAX_TASKS_WITHOUT_WORK]).await?;
    } else if added {
        end_with(db, work).await?;
    }
    Ok(added)
}

async fn change(
    db: &mut Connection<'_>,
    rosters: &RosterCache,
    task: &AgentTask,
) -> Result<bool, StoreError> {
    let work = lock_work(db, rosters, task).await?;
    let (poll, batch) = ids(task);
    let (state, since) = opening(task, work.as_ref());
    let row =
        values![&*task.id, task.owner, task.revision, poll, batch.as_deref(), state, since, &*task.content];
    let changed = db.execute(sql::CHANGE_TASK, row).await? == 1;
    if changed {
        end_with(db, work).await?;
    }
    Ok(changed)
}

/// The work of a task as stored.
enum StoredWork {
    Poll(PollRecord),
    Batch(BatchRecord),
}

/// Locks the work of a task, so that it cannot end before the transaction does.
async fn lock_work(
    db: &mut Connection<'_>,
    rosters: &RosterCache,
    task: &AgentTask,
) -> Result<Option<StoredWork>, StoreError> {
    match &task.work {
        None => Ok(None),
        Some(TaskWork::Poll(poll)) => {
            if db.execute(sql::LOCK_POLL_OF, values![poll, task.owner]).await? == 0 {
                return Err(StoreError::NotFound("poll"));
            }
            let poll: StoredPoll = db.fetch_one(sql::POLL, values![poll]).await?;
            let members = rosters.members(db, &poll.plan).await?;
            poll.record(members).map(|poll| Some(StoredWork::Poll(poll)))
        }
        Some(TaskWork::Batch(batch)) => {
            if db.execute(sql::LOCK_BATCH_OF, values![*batch, task.owner]).await? == 0 {
                return Err(StoreError::NotFound("batch"));
            }
            let batch = db.fetch_one(sql::BATCH, values![task.owner, *batch]).await?;
            Ok(Some(StoredWork::Batch(batch)))
        }
    }
}

/// Returns the ids of the poll and the batch of a task.
fn ids(task: &AgentTask) -> (Option<&str>, Option<String>) {
    match &task.work {
        Some(TaskWork::Poll(poll)) => (Some(poll.as_str()), None),
        Some(TaskWork::Batch(batch)) => (None, Some(batch.to_string())),
        None => (None, None),
    }
}

/// Returns state and time of a task as stored before the end of its work.
const fn opening(task: &AgentTask, work: Option<&StoredWork>) -> (&'static str, Timestamp) {
    match work {
        Some(StoredWork::Poll(poll)) => (TaskState::Working.as_str(), poll.created_at),
        Some(StoredWork::Batch(batch)) => (TaskState::Working.as_str(), batch.created_at),
        None => (task.state.as_str(), task.since),
    }
}

/// Ends the task of work that ended before the task was stored.
async fn end_with(db: &mut Connection<'_>, work: Option<StoredWork>) -> Result<(), StoreError> {
    match work {
        Some(StoredWork::Poll(PollRecord { id, closing: Some(closing), .. })) => end(db, &id, &closing).await,
        Some(StoredWork::Batch(BatchRecord { id, status, ended_at: Some(at), .. })) => {
            end_of_batch(db, id, status, at).await
        }
        _ => Ok(()),
    }
}

/// Ends the task of an ended batch, if it has one.
pub(super) async fn end_of_batch(
    db: &mut Connection<'_>,
    batch: BatchId,
    status: BatchStatus,
    at: Timestamp,
) -> Result<(), StoreError> {
    let state = TaskState::of_batch(status).as_str();
    db.execute(sql::END_TASK_OF_BATCH, values![batch, state, at]).await.map(drop)
}

/// Ends the task of a poll, if it has one.
pub(super) async fn end(db: &mut Connection<'_>, poll: &PollId, closing: &Closing) -> Result<(), StoreError> {
    db.execute(sql::END_TASK, values![poll, closing.closed_at, closing.cancelled]).await.map(drop)
}
