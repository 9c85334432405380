//! The private polls of batches that are deleted, or whose files have expired.
//!
//! A batch can have 100,000 polls, so its deletion only queues it. Steps of a background job then delete the content of its
//! private polls, oldest first. Public polls stay until their owner deletes them. Stored replies that name a poll expire within a
//! day; a search for each of many polls would read all replies as often.

use ep_polling::Timestamp;
use futures::FutureExt;

use crate::connection::Durability;
use crate::handles::Runtime;
use crate::polls::sql::{form_is_known, of_batch, plan_columns};
use crate::reputation::sql::{all_ended_polls, ended_polls};
use crate::reputation::transactions as reputation;
use crate::store_error::Result;
use crate::value::values;

const ERASED_BATCH: &str = "SELECT batch, at, poll FROM erased_batches ORDER BY batch LIMIT 1";
/// The next polls of a batch, oldest first.
pub(crate) const POLLS_TO_ERASE: &str = concat!(
    "SELECT id, created_at, CAST(CASE WHEN settled = 1 AND ",
    form_is_known!(),
    " THEN 1 ELSE 0 END AS BIGINT) AS settled FROM polls WHERE ",
    of_batch!("$1"),
    "(created_at, id) > ($2, $3) ORDER BY created_at, id LIMIT $4"
);
/// Records the polls of a batch that are deleted, unless another process has.
const POLLS_ERASED: &str =
    "UPDATE erased_batches SET at = $4, poll = $5 WHERE batch = $1 AND at = $2 AND poll = $3";
const DELETE_ERASED_BATCH: &str = "DELETE FROM erased_batches WHERE batch = $1 AND at = $2 AND poll = $3";
/// The polls of a batch after $2 and $3, up to $4 and $5.
pub(crate) const ENDED_POLLS_OF_BATCH: &str = concat!(
    all_ended_polls!(),
    of_batch!("$1"),
    "(created_at, polls.id) > ($2, $3) AND (created_at, polls.id) <= ($4, $5) ORDER BY polls.id"
);

impl Runtime {
    /// Deletes private polls of deleted batches, and of batches whose files have expired: a step over up to `limit` polls in one
    /// transaction. Returns their number; zero if the step must wait, because a poll is not settled or is being counted, and
    /// `None` if no such batch is left.
    pub async fn erase_polls_of_batches(&self, at: Timestamp, limit: u32) -> Result<Option<u64>> {
        let database = &*self.database;
        // The batch, and the last of its polls that are done.
        let queued: Option<(String, Timestamp, String)> =
            database.fetch_optional(ERASED_BATCH, values![]).await?;
        let Some((batch, after, poll)) = queued else { return Ok(None) };
        let next = values![&*batch, after, &*poll, limit];
        // Each with `true` if this program can delete it.
        let next: Vec<(String, Timestamp, bool)> = database.fetch_all(POLLS_TO_ERASE, next).await?;
        if next.is_empty() {
            let done = values![&*batch, after, &*poll];
            database.execute(Durability::ProcessCrash, DELETE_ERASED_BATCH, done).await?;
            return Ok(Some(1));
        }
        let settled = next.iter().take_while(|(_, _, settled)| *settled).count();
        let Some((last_poll, last_at, _)) = next[..settled].last().cloned() else { return Ok(Some(0)) };
        let range = values![&*batch, after, &*poll, last_at, &*last_poll];
        let mut polls = database.ended(ENDED_POLLS_OF_BATCH, range).await?;
        polls.retain(|(poll, _)| poll.plan.private);
        let deleted = reputation::delete_contents(database, polls, at, move |db| {
            async move {
                let step = values![&*batch, after, &*poll, last_at, &*last_poll];
                reputation::unless_counted(db.execute(POLLS_ERASED, step).await? == 1)
            }
            .boxed()
        });
        Ok(Some(if deleted.await? { settled as u64 } else { 0 }))
    }
}
