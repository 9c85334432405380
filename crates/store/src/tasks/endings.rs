//! The ends of tasks, with those of their polls and batches.

use ep_polling::{PollId, Timestamp};

use crate::batches::{BatchId, BatchStatus};
use crate::connection::Connection;
use crate::polls::Closing;
use crate::store_error::Result;
use crate::tasks::TaskState;
use crate::value::values;

const END_TASK_OF_BATCH: &str =
    "UPDATE a2a_tasks SET state = $2, status_at = $3 WHERE batch_id = $1 AND state = 'working'";
/// A poll without votes has failed.
const END_TASK: &str = "UPDATE a2a_tasks SET status_at = $2, state = CASE WHEN $3 = 1 THEN 'canceled' \
     WHEN EXISTS (SELECT 1 FROM votes WHERE poll = (SELECT number FROM polls WHERE id = $1) AND choice IS NOT NULL) THEN 'completed' \
     ELSE 'failed' END WHERE poll_id = $1";

/// Ends the task of an ended batch, if it has one.
pub(crate) async fn end_of_batch(
    db: &mut Connection<'_>,
    batch: BatchId,
    status: BatchStatus,
    at: Timestamp,
) -> Result<()> {
    let state = TaskState::of_batch(status).as_str();
    db.execute(END_TASK_OF_BATCH, values![batch, state, at]).await.map(drop)
}

/// Ends the task of a poll, if it has one.
pub(crate) async fn end(db: &mut Connection<'_>, poll: &PollId, closing: &Closing) -> Result<()> {
    db.execute(END_TASK, values![poll, closing.closed_at, closing.cancelled]).await.map(drop)
}
