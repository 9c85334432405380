//! Push configs for the ends of agent tasks.

use std::time::Duration;

use async_trait::async_trait;

use crate::ids::UserId;
use crate::ports::{AgentPush, AgentPushes, AttemptOutcome, MAX_PUSHES, StoreError};

use super::Database;
use super::webhooks::outcome;
use crate::engine::Durability;
use crate::rows::{self, PushRow};
use crate::statements as sql;
use crate::value::values;

#[async_trait]
impl AgentPushes for Database {
    async fn set(&self, push: &AgentPush) -> Result<bool, StoreError> {
        let AgentPush { id, task, config, owner, url, version, secrets } = push;
        let url = url.as_str();
        let values = values![&**id, &**task, &**config, *owner, url, &**version, &**secrets, MAX_PUSHES];
        Ok(self.0.execute(Durability::PowerLoss, sql::SET_PUSH, values).await? == 1)
    }

    async fn of_task(&self, owner: UserId, task: &str) -> Result<Vec<AgentPush>, StoreError> {
        let rows: Vec<PushRow> = self.0.fetch_all(sql::PUSHES_OF_TASK, values![owner, task]).await?;
        rows.into_iter().map(|row| <(AgentPush, u32)>::try_from(row).map(|(push, _)| push)).collect()
    }

    async fn delete(&self, owner: UserId, task: &str, config: &str) -> Result<(), StoreError> {
        let values = values![owner, task, config];
        self.0.execute(Durability::PowerLoss, sql::DELETE_PUSH, values).await.map(drop)
    }

    async fn due_pushes(
        &self,
        limit: u32,
        per_account: u32,
        busy: &[UserId],
        lasts: Duration,
    ) -> Result<Vec<(AgentPush, u32)>, StoreError> {
        let busy = rows::json(&busy)?;
        let values = values![limit, per_account, lasts, busy];
        let due: Vec<PushRow> =
            self.0.fetch_changed(Durability::ProcessCrash, sql::by_engine::DUE_PUSHES, values).await?;
        due.into_iter().map(TryInto::try_into).collect()
    }

    async fn push_attempted(&self, id: &str, attempted: &AttemptOutcome) -> Result<(), StoreError> {
        let (state, error, after) = outcome(attempted);
        let values = values![id, state, error, after];
        self.0.execute(Durability::ProcessCrash, sql::PUSH_ATTEMPTED, values).await.map(drop)
    }
}
