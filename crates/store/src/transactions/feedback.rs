//! Feedback of accounts on polls.

use ep_polling::poll_id::PollId;
use futures::FutureExt;

use super::reputation;
use crate::connection::{Connection, Durability};
use crate::handles::Store;
use crate::ids::{FeedbackId, UserId};
use crate::records::{MAX_LISTED_FEEDBACK, NewFeedback, OwnFeedback, PollFeedback, StoreError};
use crate::statements as sql;
use crate::value::values;

/// Stores feedback: one entry per poll and paying account. A pre-funded key gives feedback for the account
/// that funds it.
impl Store {
    /// Stores an entry and returns its id. Replaces an earlier entry of the account and keeps its id.
    /// Acknowledged once a power loss cannot undo it. [`StoreError::NotFound`] for an unknown account, or a
    /// poll that has not ended.
    pub async fn submit_feedback(&self, feedback: &NewFeedback) -> Result<FeedbackId, StoreError> {
        let feedback = feedback.clone();
        self.0
            .engine
            .transact(Durability::PowerLoss, move |db| async move { submit(db, &feedback).await }.boxed())
            .await
    }

    /// Returns the feedback on a poll.
    pub async fn feedback_on(&self, poll: &PollId) -> Result<PollFeedback, StoreError> {
        let counts = self.0.engine.fetch_optional(sql::COUNT_FEEDBACK, values![poll]).await?;
        let (total, correct, incorrect) = counts.unwrap_or_default();
        let newest = values![poll, MAX_LISTED_FEEDBACK];
        let entries = self.0.engine.fetch_all(sql::NEWEST_FEEDBACK, newest).await?;
        Ok(PollFeedback { total, correct, incorrect, entries })
    }

    /// Returns an account's feedback, oldest first.
    pub async fn feedback_of(&self, user: UserId) -> Result<Vec<OwnFeedback>, StoreError> {
        self.0.engine.fetch_all(sql::FEEDBACK_OF, values![user]).await
    }
}

async fn submit(db: &mut Connection<'_>, feedback: &NewFeedback) -> Result<FeedbackId, StoreError> {
    let NewFeedback { id, poll, user, entry } = feedback;
    // The poll is not deleted meanwhile.
    db.execute(sql::LOCK_POLL, values![poll]).await?;
    if db.execute(sql::POLL_REVISED, values![poll]).await? == 0 {
        return Err(StoreError::NotFound("ended poll"));
    }
    let correct = entry.outcome_correct.map(i64::from);
    let row = values![*id, poll, *user, correct, entry.confidence, entry.notes.as_deref(), entry.created_at];
    db.fetch_optional(sql::SUBMIT_FEEDBACK, row).await?.ok_or(StoreError::NotFound("account"))
}

/// Deletes the feedback of an account. The affected polls are recounted without it.
pub(super) async fn erase(db: &mut Connection<'_>, user: UserId) -> Result<(), StoreError> {
    // The lock prevents a deadlock between two concurrent deletions.
    reputation::lock(db).await?;
    db.execute(sql::REVISE_POLLS_OF, values![user]).await?;
    db.execute(sql::ERASE_FEEDBACK, values![user]).await.map(drop)
}
