//! Evaluations that accounts store.

use async_trait::async_trait;
use ep_polling::time::Timestamp;

use super::StoreError;
use crate::evaluation_id::EvaluationId;
use crate::ids::UserId;

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

/// Stores the evaluations of accounts. Changes are acknowledged once a power loss cannot undo them.
#[async_trait]
pub trait EvaluationStore: Send + Sync {
    /// Stores an evaluation, unless the account would have more than [`MAX_EVALUATIONS`] or [`MAX_EVALUATION_BYTES`]:
    /// [`StoreError::Conflict`].
    /// [`StoreError::NotFound`] for an unknown or deleted account.
    async fn add_evaluation(&self, user: UserId, evaluation: &EvaluationRecord) -> Result<(), StoreError>;

    /// Returns an evaluation of an account.
    async fn evaluation(
        &self,
        user: UserId,
        id: EvaluationId,
    ) -> Result<Option<EvaluationRecord>, StoreError>;

    /// Returns an evaluation that is shared.
    async fn shared_evaluation(&self, id: EvaluationId) -> Result<Option<EvaluationRecord>, StoreError>;

    /// Returns up to `limit` evaluations of an account without their reports, newest first.
    async fn evaluations_of(&self, user: UserId, limit: u32) -> Result<Vec<EvaluationRecord>, StoreError>;

    /// Lets everyone with the link read an evaluation, or only its owner. Returns `false` if the account has no such
    /// evaluation.
    async fn share_evaluation(
        &self,
        user: UserId,
        id: EvaluationId,
        shared: bool,
    ) -> Result<bool, StoreError>;

    /// Deletes an evaluation. Returns `false` if the account has no such evaluation.
    async fn delete_evaluation(&self, user: UserId, id: EvaluationId) -> Result<bool, StoreError>;
}
