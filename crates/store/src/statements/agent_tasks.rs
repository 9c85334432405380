//! Agent tasks.

/// The columns of [`crate::records::AgentTask`].
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

pub(crate) const ADD_TASK: &str = "INSERT INTO a2a_tasks \
     (id, owner, context_id, client_id, opened_by, poll_id, batch_id, state, status_at, content) \
     VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10) ON CONFLICT DO NOTHING";
/// Prefers the task with the matching id.
pub(crate) const FIND_TASK: &str = concat!(
    "SELECT ",
    task_columns!(),
    " FROM a2a_tasks WHERE owner = $1 AND (id = $2 OR client_id = $2) \
     ORDER BY CASE id WHEN $2 THEN 0 ELSE 1 END LIMIT 1"
);
pub(crate) const TASK_OPENED_BY: &str =
    concat!("SELECT ", task_columns!(), " FROM a2a_tasks WHERE owner = $1 AND opened_by = $2");
pub(crate) const TASKS_OF_USER: &str = concat!(
    tasks_of_user!(task_columns!()),
    " AND (status_at, id) < ($5, $6) ORDER BY status_at DESC, id DESC LIMIT $7"
);
pub(crate) const COUNT_TASKS: &str = tasks_of_user!("COUNT(*) AS count");
pub(crate) const CHANGE_TASK: &str = "UPDATE a2a_tasks SET poll_id = $4, batch_id = $5, state = $6, status_at = $7, \
     content = $8, revision = revision + 1 \
     WHERE id = $1 AND owner = $2 AND revision = $3 AND poll_id IS NULL AND batch_id IS NULL";
/// Locks a poll of this owner, so that it cannot end.
pub(crate) const LOCK_POLL_OF: &str = "UPDATE polls SET settled = settled WHERE id = $1 AND owner = $2 \
     AND deleted_at IS NULL";
/// Locks a batch of this owner, so that it cannot end.
pub(crate) const LOCK_BATCH_OF: &str = "UPDATE batches SET leased = leased WHERE id = $1 AND user_id = $2";
pub(crate) const END_TASK_OF_BATCH: &str =
    "UPDATE a2a_tasks SET state = $2, status_at = $3 WHERE batch_id = $1 AND state = 'working'";
/// A poll without votes has failed.
pub(crate) const END_TASK: &str = "UPDATE a2a_tasks SET status_at = $2, state = CASE WHEN $3 = 1 THEN 'canceled' \
     WHEN EXISTS (SELECT 1 FROM votes WHERE poll = (SELECT number FROM polls WHERE id = $1) AND choice IS NOT NULL) THEN 'completed' \
     ELSE 'failed' END WHERE poll_id = $1";
/// The tasks of an account without work, except the newest $2.
pub(crate) const DELETE_SURPLUS_TASKS: &str = "DELETE FROM a2a_tasks WHERE owner = $1 AND poll_id IS NULL AND batch_id IS NULL \
     AND (status_at, id) <= (SELECT status_at, id FROM a2a_tasks \
         WHERE owner = $1 AND poll_id IS NULL AND batch_id IS NULL ORDER BY status_at DESC, id DESC LIMIT 1 OFFSET $2)";
pub(crate) const DELETE_ABANDONED_TASKS: &str =
    "DELETE FROM a2a_tasks WHERE poll_id IS NULL AND batch_id IS NULL AND status_at < $1";

macro_rules! due_pushes {
    ($busy:literal, $lock:literal) => {
        due_deliveries!(
            "a2a_pushes",
            "id",
            concat!(
                "SELECT 1 FROM a2a_tasks WHERE a2a_tasks.id = a2a_pushes.task_id \
                     AND a2a_tasks.state IN ('completed', 'failed', 'canceled') AND ",
                form_of_poll_is_known!()
            ),
            "id, task_id, config_id, user_id, url, version, secrets, attempts",
            $busy,
            $lock
        )
    };
}

/// $8 is the maximum number of configs per task.
pub(crate) const SET_PUSH: &str = "INSERT INTO a2a_pushes \
     (id, task_id, config_id, user_id, url, version, secrets, next_at) \
     SELECT $1, id, $3, owner, $5, $6, $7, (SELECT now FROM clock) FROM a2a_tasks WHERE id = $2 AND owner = $4 \
         AND (SELECT COUNT(*) FROM a2a_pushes WHERE task_id = $2 AND config_id <> $3) < $8 \
     ON CONFLICT (task_id, config_id) DO UPDATE SET url = excluded.url, version = excluded.version, \
         secrets = excluded.secrets, state = 'waiting', attempts = 0, next_at = excluded.next_at, last_error = NULL, \
         id = excluded.id";
pub(crate) const PUSHES_OF_TASK: &str = "SELECT id, task_id, config_id, user_id, url, version, secrets, attempts \
     FROM a2a_pushes WHERE user_id = $1 AND task_id = $2 ORDER BY config_id";
pub(crate) const DELETE_PUSH: &str =
    "DELETE FROM a2a_pushes WHERE user_id = $1 AND task_id = $2 AND config_id = $3";
pub(crate) const DUE_PUSHES: &str = due_pushes!("SELECT value FROM json_each($4)", "");
pub(crate) const DUE_PUSHES_POSTGRES: &str =
    due_pushes!("SELECT json_array_elements_text($4::json)", " FOR UPDATE SKIP LOCKED");
pub(crate) const PUSH_ATTEMPTED: &str = "UPDATE a2a_pushes SET state = $2, last_error = $3, \
     next_at = (SELECT now FROM clock) + $4 WHERE id = $1 AND state = 'waiting'";
