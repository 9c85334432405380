//! Feedback of accounts on polls.

use ep_polling::{PollId, Timestamp};
use serde::Serialize;

use super::sql;
use crate::connection::Connection;
use crate::handles::Store;
use crate::ids::{FeedbackId, UserId};
use crate::reputation::transactions as reputation;
use crate::row::from_row;
use crate::store_error::{Result, StoreError};
use crate::value::values;

/// Maximum number of entries listed per poll.
pub const MAX_LISTED_FEEDBACK: u32 = 100;

/// The feedback of an account on a poll.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct FeedbackEntry {
    /// True if the account considers the outcome correct.
    pub outcome_correct: Option<bool>,
    /// The account's confidence in this, from 0 to 1.
    pub confidence: Option<f64>,
    /// Free text.
    pub notes: Option<String>,
    /// The time of submission.
    pub created_at: Timestamp,
}

/// New feedback of an account on a poll.
#[derive(Debug, Clone)]
pub struct NewFeedback {
    /// The id of the entry, if this is the account's first feedback on the poll.
    pub id: FeedbackId,
    /// The poll.
    pub poll: PollId,
    /// The account.
    pub user: UserId,
    /// The feedback.
    pub entry: FeedbackEntry,
}

/// The feedback on a poll.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct PollFeedback {
    /// Number of entries.
    pub total: u64,
    /// Number of entries that consider the outcome correct.
    pub correct: u64,
    /// Number of entries that consider it incorrect.
    pub incorrect: u64,
    /// The newest [`MAX_LISTED_FEEDBACK`] entries, newest first.
    pub entries: Vec<FeedbackEntry>,
}

/// An account's feedback with its poll.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct OwnFeedback {
    /// The poll.
    pub poll_id: PollId,
    /// The feedback.
    #[serde(flatten)]
    pub entry: FeedbackEntry,
}

from_row!(FeedbackEntry { outcome_correct, confidence, notes, created_at });
from_row!(OwnFeedback { poll_id, entry });

/// Marks an ended poll for a recount. A new revision is a time, so that it differs from every earlier one.
const POLL_REVISED: &str = "INSERT INTO reputation_polls (poll_id, revision, counted_revision) \
     SELECT id, now, now - 1 FROM polls, clock WHERE id = $1 AND closing IS NOT NULL AND deleted_at IS NULL \
     ON CONFLICT (poll_id) DO UPDATE SET revision = reputation_polls.revision + 1";
/// Submits feedback under the paying account.
const SUBMIT_FEEDBACK: &str = "INSERT INTO feedback \
     (id, poll_id, user_id, outcome_correct, confidence, notes, created_at) \
     SELECT $1, $2, COALESCE(funder, id), $4, $5, $6, $7 FROM accounts WHERE id = $3 \
     ON CONFLICT (poll_id, user_id) DO UPDATE SET outcome_correct = excluded.outcome_correct, \
         confidence = excluded.confidence, notes = excluded.notes, created_at = excluded.created_at RETURNING id";
const COUNT_FEEDBACK: &str = "SELECT count(*) AS total, \
     CAST(COALESCE(SUM(CASE outcome_correct WHEN 1 THEN 1 ELSE 0 END), 0) AS BIGINT) AS correct, \
     CAST(COALESCE(SUM(CASE outcome_correct WHEN 0 THEN 1 ELSE 0 END), 0) AS BIGINT) AS incorrect \
     FROM feedback WHERE poll_id = $1";
pub(crate) const NEWEST_FEEDBACK: &str = "SELECT outcome_correct, confidence, notes, created_at \
     FROM feedback WHERE poll_id = $1 ORDER BY created_at DESC, id DESC LIMIT $2";
/// A poll without judgements needs no recount.
const REVISE_POLLS_OF: &str = "UPDATE reputation_polls SET revision = revision + 1 \
     WHERE poll_id IN (SELECT poll_id FROM feedback WHERE user_id = $1)";
const ERASE_FEEDBACK: &str = "DELETE FROM feedback WHERE user_id = $1";

/// Stores feedback: one entry per poll and paying account. A pre-funded key gives feedback for the account
/// that funds it.
impl Store {
    /// Stores an entry and returns its id. Replaces an earlier entry of the account and keeps its id.
    /// Acknowledged once a power loss cannot undo it. [`StoreError::NotFound`] for an unknown account, or a
    /// poll that has not ended.
    pub async fn submit_feedback(&self, feedback: &NewFeedback) -> Result<FeedbackId> {
        let NewFeedback { id, poll, user, entry } = feedback.clone();
        transact!(self.0, PowerLoss, |db| {
            // The poll is not deleted meanwhile.
            db.execute(sql::LOCK_POLL, values![&poll]).await?;
            if db.execute(POLL_REVISED, values![&poll]).await? == 0 {
                return Err(StoreError::NotFound("ended poll"));
            }
            let FeedbackEntry { outcome_correct, confidence, notes, created_at } = entry;
            let correct = outcome_correct.map(i64::from);
            let row = values![id, &poll, user, correct, confidence, notes.as_deref(), created_at];
            db.fetch_optional(SUBMIT_FEEDBACK, row).await?.ok_or(StoreError::NotFound("account"))
        })
    }

    /// Returns the feedback on a poll.
    pub async fn feedback_on(&self, poll: &PollId) -> Result<PollFeedback> {
        let counts = self.0.fetch_optional(COUNT_FEEDBACK, values![poll]).await?;
        let (total, correct, incorrect) = counts.unwrap_or_default();
        let entries = self.0.fetch_all(NEWEST_FEEDBACK, values![poll, MAX_LISTED_FEEDBACK]).await?;
        Ok(PollFeedback { total, correct, incorrect, entries })
    }
}

/// Deletes the feedback of an account. The affected polls are recounted without it.
pub(crate) async fn erase(db: &mut Connection<'_>, user: UserId) -> Result<()> {
    // The lock prevents a deadlock between two concurrent deletions.
    reputation::lock(db).await?;
    db.execute(REVISE_POLLS_OF, values![user]).await?;
    db.execute(ERASE_FEEDBACK, values![user]).await.map(drop)
}
