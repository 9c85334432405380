//! Evaluations of models that accounts store.

use ep_polling::Timestamp;

use crate::accounts::account;
use crate::connection::Durability;
use crate::database::exactly_one;
use crate::handles::Store;
use crate::ids::{UserId, prefixed_id};
use crate::row::from_row;
use crate::store_error::{Result, StoreError};
use crate::value::values;

prefixed_id! {
    /// A stored evaluation: `eval_` and 32 hexadecimal digits.
    EvaluationId: "eval_", NotAnEvaluationId
}

/// The error of reading an id.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("is no id of an evaluation")]
pub struct NotAnEvaluationId;

/// Maximum number of evaluations per account.
pub const MAX_EVALUATIONS: u32 = 100;

/// Maximum size of the reports of an account, together, in bytes.
pub const MAX_EVALUATION_BYTES: u64 = 8 << 20;

/// A stored evaluation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EvaluationRecord {
    /// Its id.
    pub id: EvaluationId,
    /// Its name.
    pub name: String,
    /// The report, as JSON; empty in lists.
    pub report: String,
    /// True if everyone with the link may read it.
    pub shared: bool,
    /// The time when it was stored.
    pub created_at: Timestamp,
}

from_row!(EvaluationRecord { id, name, report, shared, created_at });

const EVALUATIONS_OF_ACCOUNT: &str = "SELECT COUNT(*) AS count, \
         CAST(COALESCE(SUM(octet_length(report)), 0) AS BIGINT) AS bytes FROM evaluations WHERE user_id = $1";
const ADD_EVALUATION: &str =
    "INSERT INTO evaluations (id, user_id, name, report, created_at) VALUES ($1, $2, $3, $4, $5)";
const EVALUATION: &str =
    "SELECT id, name, report, shared, created_at FROM evaluations WHERE user_id = $1 AND id = $2";
const SHARED_EVALUATION: &str = "SELECT id, name, report, shared, created_at FROM evaluations WHERE id = $1 AND shared = 1 \
     AND NOT EXISTS (SELECT 1 FROM accounts WHERE id = evaluations.user_id AND deleted_at IS NOT NULL)";
pub(crate) const EVALUATIONS: &str = "SELECT id, name, '' AS report, shared, created_at FROM evaluations \
     WHERE user_id = $1 ORDER BY created_at DESC, id DESC LIMIT $2";
const SHARE_EVALUATION: &str = "UPDATE evaluations SET shared = $3 WHERE user_id = $1 AND id = $2";
const DELETE_EVALUATION: &str = "DELETE FROM evaluations WHERE user_id = $1 AND id = $2";

/// Stores the evaluations of accounts. Changes are acknowledged once a power loss cannot undo them.
impl Store {
    /// Stores an evaluation, unless the account would have more than [`MAX_EVALUATIONS`] or [`MAX_EVALUATION_BYTES`]:
    /// [`StoreError::Conflict`].
    /// [`StoreError::NotFound`] for an unknown or deleted account.
    pub async fn add_evaluation(&self, user: UserId, evaluation: &EvaluationRecord) -> Result<()> {
        let EvaluationRecord { id, name, report, created_at, .. } = evaluation.clone();
        transact!(self.0, PowerLoss, |db| {
            // Those of an account are counted one after the other.
            account::lock_live(db, user).await?;
            let (count, bytes): (u32, u64) = db.fetch_one(EVALUATIONS_OF_ACCOUNT, values![user]).await?;
            if count >= MAX_EVALUATIONS {
                return Err(StoreError::Conflict(
                    "this account has 100 evaluations; delete one with delete_evaluation",
                ));
            }
            if bytes + report.len() as u64 > MAX_EVALUATION_BYTES {
                return Err(StoreError::Conflict(
                    "the evaluations of this account would take more than 8 MiB; delete one with delete_evaluation",
                ));
            }
            exactly_one(db.execute(ADD_EVALUATION, values![id, user, &*name, &*report, created_at]).await?)
        })
    }

    /// Returns an evaluation of an account.
    pub async fn evaluation(&self, user: UserId, id: EvaluationId) -> Result<Option<EvaluationRecord>> {
        self.0.fetch_by_key(EVALUATION, values![user, id]).await
    }

    /// Returns an evaluation that is shared.
    pub async fn shared_evaluation(&self, id: EvaluationId) -> Result<Option<EvaluationRecord>> {
        self.0.fetch_by_key(SHARED_EVALUATION, values![id]).await
    }

    /// Returns up to `limit` evaluations of an account without their reports, newest first.
    pub async fn evaluations_of(&self, user: UserId, limit: u32) -> Result<Vec<EvaluationRecord>> {
        self.0.fetch_all(EVALUATIONS, values![user, limit]).await
    }

    /// Lets everyone with the link read an evaluation, or only its owner. Returns `false` if the account has no such
    /// evaluation.
    pub async fn share_evaluation(&self, user: UserId, id: EvaluationId, shared: bool) -> Result<bool> {
        Ok(self.0.execute(Durability::PowerLoss, SHARE_EVALUATION, values![user, id, shared]).await? > 0)
    }

    /// Deletes an evaluation. Returns `false` if the account has no such evaluation.
    pub async fn delete_evaluation(&self, user: UserId, id: EvaluationId) -> Result<bool> {
        Ok(self.0.execute(Durability::PowerLoss, DELETE_EVALUATION, values![user, id]).await? > 0)
    }
}
