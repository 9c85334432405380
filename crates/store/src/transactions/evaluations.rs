//! Evaluations of accounts.

use futures::FutureExt;

use crate::evaluation_id::EvaluationId;
use crate::ids::UserId;
use crate::records::{EvaluationRecord, MAX_EVALUATION_BYTES, MAX_EVALUATIONS, StoreError};

use super::{accounts, exactly_one};
use crate::connection::{Connection, Durability};
use crate::handles::Store;
use crate::statements as sql;
use crate::value::values;

/// Stores the evaluations of accounts. Changes are acknowledged once a power loss cannot undo them.
impl Store {
    /// Stores an evaluation, unless the account would have more than [`MAX_EVALUATIONS`] or [`MAX_EVALUATION_BYTES`]:
    /// [`StoreError::Conflict`].
    /// [`StoreError::NotFound`] for an unknown or deleted account.
    pub async fn add_evaluation(
        &self,
        user: UserId,
        evaluation: &EvaluationRecord,
    ) -> Result<(), StoreError> {
        let evaluation = evaluation.clone();
        self.0
            .engine
            .transact(Durability::PowerLoss, move |db| {
                async move { add(db, user, &evaluation).await }.boxed()
            })
            .await
    }

    /// Returns an evaluation of an account.
    pub async fn evaluation(
        &self,
        user: UserId,
        id: EvaluationId,
    ) -> Result<Option<EvaluationRecord>, StoreError> {
        self.0.engine.fetch_by_key(sql::EVALUATION, values![user, id]).await
    }

    /// Returns an evaluation that is shared.
    pub async fn shared_evaluation(&self, id: EvaluationId) -> Result<Option<EvaluationRecord>, StoreError> {
        self.0.engine.fetch_by_key(sql::SHARED_EVALUATION, values![id]).await
    }

    /// Returns up to `limit` evaluations of an account without their reports, newest first.
    pub async fn evaluations_of(
        &self,
        user: UserId,
        limit: u32,
    ) -> Result<Vec<EvaluationRecord>, StoreError> {
        self.0.engine.fetch_all(sql::EVALUATIONS, values![user, limit]).await
    }

    /// Lets everyone with the link read an evaluation, or only its owner. Returns `false` if the account has no such
    /// evaluation.
    pub async fn share_evaluation(
        &self,
        user: UserId,
        id: EvaluationId,
        shared: bool,
    ) -> Result<bool, StoreError> {
        let values = values![user, id, i64::from(shared)];
        Ok(self.0.engine.execute(Durability::PowerLoss, sql::SHARE_EVALUATION, values).await? > 0)
    }

    /// Deletes an evaluation. Returns `false` if the account has no such evaluation.
    pub async fn delete_evaluation(&self, user: UserId, id: EvaluationId) -> Result<bool, StoreError> {
        let values = values![user, id];
        Ok(self.0.engine.execute(Durability::PowerLoss, sql::DELETE_EVALUATION, values).await? > 0)
    }
}

async fn add(db: &mut Connection<'_>, user: UserId, evaluation: &EvaluationRecord) -> Result<(), StoreError> {
    // Those of an account are counted one after the other.
    accounts::lock_live(db, user).await?;
    let (count, bytes): (u32, u64) = db.fetch_one(sql::EVALUATIONS_OF_ACCOUNT, values![user]).await?;
    if count >= MAX_EVALUATIONS {
        return Err(StoreError::Conflict(
            "this account has 100 evaluations; delete one with delete_evaluation",
        ));
    }
    let EvaluationRecord { id, name, report, created_at, .. } = evaluation;
    if bytes + report.len() as u64 > MAX_EVALUATION_BYTES {
        return Err(StoreError::Conflict(
            "the evaluations of this account would take more than 8 MiB; delete one with delete_evaluation",
        ));
    }
    let values = values![*id, user, &**name, &**report, *created_at];
    exactly_one(db.execute(sql::ADD_EVALUATION, values).await?)
}
