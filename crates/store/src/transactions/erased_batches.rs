//! The private polls of batches that are deleted, or whose files have expired.
//!
//! A batch can have 100,000 polls, so its deletion only queues it. Steps of a background job then delete the content of its
//! private polls, oldest first. Public polls stay until their owner deletes them. Stored replies that name a poll expire within a
//! day; a search for each of many polls would read all replies as often.

use ep_polling::time::Timestamp;
use futures::FutureExt;

use super::reputation;
use crate::connection::Durability;
use crate::handles::Runtime;
use crate::records::StoreError;
use crate::rows::{ErasedBatchRow, PollToEraseRow};
use crate::statements as sql;
use crate::value::values;

impl Runtime {
    /// Deletes private polls of deleted batches, and of batches whose files have expired: a step over up to `limit` polls in one
    /// transaction. Returns their number; zero if the step must wait, because a poll is not settled or is being counted, and
    /// `None` if no such batch is left.
    pub async fn erase_polls_of_batches(&self, at: Timestamp, limit: u32) -> Result<Option<u64>, StoreError> {
        let database = &*self.database;
        let queued: Option<ErasedBatchRow> =
            database.engine.fetch_optional(sql::ERASED_BATCH, values![]).await?;
        let Some(ErasedBatchRow { batch, at: after, poll }) = queued else { return Ok(None) };
        let next = values![&*batch, after, &*poll, limit];
        let next: Vec<PollToEraseRow> = database.engine.fetch_all(sql::POLLS_TO_ERASE, next).await?;
        if next.is_empty() {
            let done = values![&*batch, after, &*poll];
            database.engine.execute(Durability::ProcessCrash, sql::DELETE_ERASED_BATCH, done).await?;
            return Ok(Some(1));
        }
        let settled = next.iter().take_while(|poll| poll.settled == 1).count();
        let Some(last) = next[..settled].last() else { return Ok(Some(0)) };
        let (last_at, last_poll) = (last.created_at, last.id.clone());
        let range = values![&*batch, after, &*poll, last_at, &*last_poll];
        let mut polls = database.ended(sql::ENDED_POLLS_OF_BATCH, range).await?;
        polls.retain(|(poll, _)| poll.plan.private);
        let deleted = reputation::delete_contents(database, polls, at, move |db| {
            async move {
                let step = values![&*batch, after, &*poll, last_at, &*last_poll];
                reputation::unless_counted(db.execute(sql::POLLS_ERASED, step).await? == 1)
            }
            .boxed()
        });
        Ok(Some(if deleted.await? { settled as u64 } else { 0 }))
    }
}
