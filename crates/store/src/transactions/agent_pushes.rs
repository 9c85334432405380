//! Push configs for the ends of agent tasks.

use std::time::Duration;

use crate::ids::UserId;
use crate::records::{AgentPush, AttemptOutcome, MAX_PUSHES, StoreError};

use super::webhooks::outcome;
use crate::connection::Durability;
use crate::handles::Store;
use crate::statements as sql;
use crate::value::{json, values};

/// Stores push notification configs and their delivery state.
impl Store {
    /// Stores a config for a task of its owner. Replaces a config with the same id, which is notified again.
    /// Returns `false` if the task already has [`MAX_PUSHES`] other configs or does not exist.
    pub async fn set_push(&self, push: &AgentPush) -> Result<bool, StoreError> {
        let AgentPush { id, task, config, owner, url, version, secrets } = push;
        let url = url.as_str();
        let values = values![&**id, &**task, &**config, *owner, url, &**version, &**secrets, MAX_PUSHES];
        Ok(self.0.engine.execute(Durability::PowerLoss, sql::SET_PUSH, values).await? == 1)
    }

    /// Returns the configs of a task of this owner, ordered by id.
    pub async fn pushes_of_task(&self, owner: UserId, task: &str) -> Result<Vec<AgentPush>, StoreError> {
        let pushes: Vec<(AgentPush, u32)> =
            self.0.engine.fetch_all(sql::PUSHES_OF_TASK, values![owner, task]).await?;
        Ok(pushes.into_iter().map(|(push, _)| push).collect())
    }

    /// Deletes a config.
    pub async fn delete_push(&self, owner: UserId, task: &str, config: &str) -> Result<(), StoreError> {
        let values = values![owner, task, config];
        self.0.engine.execute(Durability::PowerLoss, sql::DELETE_PUSH, values).await.map(drop)
    }

    /// Claims up to `limit` due configs of ended tasks, at most `per_account` per account and none of `busy`
    /// accounts. Counts an attempt for each and returns it with the number of attempts. Other workers
    /// cannot claim them until `lasts` has passed.
    pub async fn due_pushes(
        &self,
        limit: u32,
        per_account: u32,
        busy: &[UserId],
        lasts: Duration,
    ) -> Result<Vec<(AgentPush, u32)>, StoreError> {
        let busy = json(&busy)?;
        let values = values![limit, per_account, lasts, busy];
        self.0.engine.fetch_changed(Durability::ProcessCrash, sql::by_engine::DUE_PUSHES, values).await
    }

    /// Stores the outcome of an attempt.
    pub async fn push_attempted(&self, id: &str, attempted: &AttemptOutcome) -> Result<(), StoreError> {
        let (state, error, after) = outcome(attempted);
        let values = values![id, state, error, after];
        self.0.engine.execute(Durability::ProcessCrash, sql::PUSH_ATTEMPTED, values).await.map(drop)
    }
}
