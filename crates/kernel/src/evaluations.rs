//! Evaluations of models on gold labels that accounts store and share.

use std::sync::Arc;

use crate::fault::Fault;
use crate::ports::{Clock, Entropy};
use ep_store::{EvaluationId, EvaluationRecord, MAX_EVALUATIONS, Store, UserId};

/// Stores, shares and deletes evaluations.
pub struct Evaluations {
    store: Store,
    clock: Arc<dyn Clock>,
    entropy: Arc<dyn Entropy>,
}

impl Evaluations {
    /// Creates the service.
    pub fn new(store: Store, clock: Arc<dyn Clock>, entropy: Arc<dyn Entropy>) -> Self {
        Self { store, clock, entropy }
    }

    /// Stores a report, as JSON, for its account alone.
    pub async fn create(
        &self,
        user: UserId,
        name: String,
        report: String,
    ) -> Result<EvaluationRecord, Fault> {
        let id = EvaluationId::from_random(self.entropy.bytes());
        let record = EvaluationRecord { id, name, report, shared: false, created_at: self.clock.now() };
        self.store.add_evaluation(user, &record).await?;
        Ok(record)
    }

    /// Returns an evaluation of an account.
    pub async fn own(&self, user: UserId, id: EvaluationId) -> Result<Option<EvaluationRecord>, Fault> {
        Ok(self.store.evaluation(user, id).await?)
    }

    /// Returns an evaluation that everyone with the link may read.
    pub async fn shared(&self, id: EvaluationId) -> Result<Option<EvaluationRecord>, Fault> {
        Ok(self.store.shared_evaluation(id).await?)
    }

    /// Returns the evaluations of an account without their reports, newest first.
    pub async fn of(&self, user: UserId) -> Result<Vec<EvaluationRecord>, Fault> {
        Ok(self.store.evaluations_of(user, MAX_EVALUATIONS).await?)
    }

    /// Lets everyone with the link read an evaluation, or only its owner. Returns it, or `None` if the account has no such
    /// evaluation.
    pub async fn share(
        &self,
        user: UserId,
        id: EvaluationId,
        shared: bool,
    ) -> Result<Option<EvaluationRecord>, Fault> {
        self.store.share_evaluation(user, id, shared).await?;
        self.own(user, id).await
    }

    /// Deletes an evaluation. Returns `false` if the account has no such evaluation.
    pub async fn delete(&self, user: UserId, id: EvaluationId) -> Result<bool, Fault> {
        Ok(self.store.delete_evaluation(user, id).await?)
    }
}
