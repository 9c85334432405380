//! Agent tasks.

use ep_polling::Timestamp;

use crate::batches::BatchRecord;
use crate::connection::{Connection, Durability};
use crate::handles::Store;
use crate::ids::UserId;
use crate::polls::PollRecord;
use crate::polls::rosters::RosterCache;
use crate::polls::sql::form_is_known;
use crate::polls::transactions::StoredPoll;
use crate::store_error::{Result, StoreError};
use crate::tasks::endings::{end, end_of_batch};
use crate::tasks::{AgentTask, MAX_TASKS_WITHOUT_WORK, TaskFilter, TaskPage, TaskState, TaskWork};
use crate::value::values;

/// The columns of [`crate::AgentTask`].
macro_rules! task_columns {
    () => {
        "id, owner, context_id, client_id, opened_by, poll_id, batch_id, state, status_at, revision, content"
    };
}

/// Excludes tasks of polls that a newer version of the program has stored. One lookup by primary key per task.
macro_rules! form_of_poll_is_known {
    () => {
        concat!(
            "NOT EXISTS (SELECT 1 FROM polls WHERE polls.id = a2a_tasks.poll_id AND NOT ",
            form_is_known!(),
            ")"
        )
    };
}
pub(crate) use form_of_poll_is_known;

/// The tasks of an account ($1) from a time ($4) on, optionally filtered by conversation ($2) and state ($3).
macro_rules! tasks_of_user {
    ($what:expr) => {
        concat!(
            "SELECT ",
            $what,
            " FROM a2a_tasks WHERE owner = $1 \
                 AND (CAST($2 AS TEXT) IS NULL OR context_id = $2) \
                 AND (CAST($3 AS TEXT) IS NULL OR state = $3) \
                 AND status_at >= $4 AND ",
            form_of_poll_is_known!()
        )
    };
}

const ADD_TASK: &str = "INSERT INTO a2a_tasks \
     (id, owner, context_id, client_id, opened_by, poll_id, batch_id, state, status_at, content) \
     VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10) ON CONFLICT DO NOTHING";
/// Prefers the task with the matching id.
const FIND_TASK: &str = concat!(
    "SELECT ",
    task_columns!(),
    " FROM a2a_tasks WHERE owner = $1 AND (id = $2 OR client_id = $2) \
     ORDER BY CASE id WHEN $2 THEN 0 ELSE 1 END LIMIT 1"
);
const TASK_OPENED_BY: &str =
    concat!("SELECT ", task_columns!(), " FROM a2a_tasks WHERE owner = $1 AND opened_by = $2");
pub(crate) const TASKS_OF_USER: &str = concat!(
    tasks_of_user!(task_columns!()),
    " AND (status_at, id) < ($5, $6) ORDER BY status_at DESC, id DESC LIMIT $7"
);
const COUNT_TASKS: &str = tasks_of_user!("COUNT(*) AS count");
const CHANGE_TASK: &str = "UPDATE a2a_tasks SET poll_id = $4, batch_id = $5, state = $6, status_at = $7, \
     content = $8, revision = revision + 1 \
     WHERE id = $1 AND owner = $2 AND revision = $3 AND poll_id IS NULL AND batch_id IS NULL";
/// Locks a poll of this owner, so that it cannot end.
const LOCK_POLL_OF: &str = "UPDATE polls SET settled = settled WHERE id = $1 AND owner = $2 \
     AND deleted_at IS NULL";
/// Locks a batch of this owner, so that it cannot end.
const LOCK_BATCH_OF: &str = "UPDATE batches SET leased = leased WHERE id = $1 AND user_id = $2";
/// The tasks of an account without work, except the newest $2.
pub(crate) const DELETE_SURPLUS_TASKS: &str = "DELETE FROM a2a_tasks WHERE owner = $1 AND poll_id IS NULL AND batch_id IS NULL \
     AND (status_at, id) <= (SELECT status_at, id FROM a2a_tasks \
         WHERE owner = $1 AND poll_id IS NULL AND batch_id IS NULL ORDER BY status_at DESC, id DESC LIMIT 1 OFFSET $2)";
const DELETE_ABANDONED_TASKS: &str =
    "DELETE FROM a2a_tasks WHERE poll_id IS NULL AND batch_id IS NULL AND status_at < $1";

/// Stores tasks. Writes are acknowledged once a crash of the process cannot undo them.
impl Store {
    /// Adds a task. Its state and time are those of its work, if it has some. Returns `false` if a task with
    /// its id, opening key or agent id exists; [`StoreError::NotFound`] if its work does not belong to its
    /// owner. Of the owner's tasks without work, only the newest [`MAX_TASKS_WITHOUT_WORK`] remain.
    pub async fn add_task(&self, task: &AgentTask) -> Result<bool> {
        let (task, rosters) = (task.clone(), self.0.rosters.clone());
        transact!(self.0, ProcessCrash, |db| {
            let work = lock_work(db, &rosters, &task).await?;
            let (poll, batch) = ids(&task);
            let (state, since) = opening(&task, work.as_ref());
            let AgentTask { id, owner, context, client_id, opened_by, content, .. } = &task;
            let (client_id, opened_by) = (client_id.as_deref(), opened_by.as_deref());
            let (id, context, content) = (&**id, &**context, &**content);
            let row = values![
                id,
                *owner,
                context,
                client_id,
                opened_by,
                poll,
                batch.as_deref(),
                state,
                since,
                content
            ];
            let added = db.execute(ADD_TASK, row).await? == 1;
            if added && work.is_none() {
                db.execute(DELETE_SURPLUS_TASKS, values![*owner, MAX_TASKS_WITHOUT_WORK]).await?;
            } else if added {
                end_with(db, work).await?;
            }
            Ok(added)
        })
    }

    /// Returns the task of this owner with this id, or with this id chosen by the agent.
    pub async fn task(&self, owner: UserId, id: &str) -> Result<Option<AgentTask>> {
        self.0.fetch_optional(FIND_TASK, values![owner, id]).await
    }

    /// Returns the task of this owner with this opening key.
    pub async fn task_opened_by(&self, owner: UserId, opening: &str) -> Result<Option<AgentTask>> {
        self.0.fetch_optional(TASK_OPENED_BY, values![owner, opening]).await
    }

    /// Lists tasks of this owner.
    pub async fn list_tasks(&self, owner: UserId, filter: &TaskFilter) -> Result<TaskPage> {
        let TaskFilter { context, state, since, after, limit } = filter;
        let (context, state) = (context.as_deref(), state.map(TaskState::as_str));
        let since = since.map_or(i64::MIN, Timestamp::millis);
        let (at, id) = after.as_ref().map_or((i64::MAX, ""), |(at, id)| (at.millis(), id));
        let values = values![owner, context, state, since, at, id, *limit];
        let tasks = self.0.fetch_all(TASKS_OF_USER, values).await?;
        let total = self.0.fetch_optional(COUNT_TASKS, values![owner, context, state, since]).await?;
        Ok(TaskPage { tasks, total: total.unwrap_or_default() })
    }

    /// Stores state, time and content of a task without work, and its work if it now has some, which then
    /// decides state and time. Returns `false` if the stored task has another revision or has work.
    pub async fn change_task(&self, task: &AgentTask) -> Result<bool> {
        let (task, rosters) = (task.clone(), self.0.rosters.clone());
        transact!(self.0, ProcessCrash, |db| {
            let work = lock_work(db, &rosters, &task).await?;
            let (poll, batch) = ids(&task);
            let (state, since) = opening(&task, work.as_ref());
            let AgentTask { id, owner, revision, content, .. } = &task;
            let row = values![&**id, *owner, *revision, poll, batch.as_deref(), state, since, &**content];
            let changed = db.execute(CHANGE_TASK, row).await? == 1;
            if changed {
                end_with(db, work).await?;
            }
            Ok(changed)
        })
    }

    /// Deletes tasks without work that have not changed since this time.
    pub async fn delete_abandoned_tasks(&self, before: Timestamp) -> Result<u64> {
        self.0.execute(Durability::ProcessCrash, DELETE_ABANDONED_TASKS, values![before]).await
    }
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
) -> Result<Option<StoredWork>> {
    match &task.work {
        None => Ok(None),
        Some(TaskWork::Poll(poll)) => {
            if db.execute(LOCK_POLL_OF, values![poll, task.owner]).await? == 0 {
                return Err(StoreError::NotFound("poll"));
            }
            let poll: StoredPoll = db.fetch_one(crate::polls::sql::POLL, values![poll]).await?;
            let members = rosters.members(db, poll.plan.roster).await?;
            poll.record(members).map(|poll| Some(StoredWork::Poll(poll)))
        }
        Some(TaskWork::Batch(batch)) => {
            if db.execute(LOCK_BATCH_OF, values![*batch, task.owner]).await? == 0 {
                return Err(StoreError::NotFound("batch"));
            }
            let batch = db.fetch_one(crate::batches::sql::BATCH, values![task.owner, *batch]).await?;
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
async fn end_with(db: &mut Connection<'_>, work: Option<StoredWork>) -> Result<()> {
    match work {
        Some(StoredWork::Poll(PollRecord { id, closing: Some(closing), .. })) => end(db, &id, &closing).await,
        Some(StoredWork::Batch(BatchRecord { id, status, ended_at: Some(at), .. })) => {
            end_of_batch(db, id, status, at).await
        }
        _ => Ok(()),
    }
}
