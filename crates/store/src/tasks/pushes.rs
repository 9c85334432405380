//! Push notification configs of agent tasks.

use crate::connection::Durability;
use crate::handles::Store;
use crate::ids::UserId;
use crate::polls::sql::form_is_known;
use crate::row::from_row;
use crate::statement::{Statement, statement};
use crate::store_error::Result;
use crate::tasks::transactions::form_of_poll_is_known;
use crate::value::values;
use crate::webhooks::transactions::{due_deliveries, outcome};
use crate::webhooks::{AttemptOutcome, ClaimLimits, WebhookUrl};

/// Maximum number of push notification configs of one task.
pub const MAX_PUSHES: u32 = 10;

/// A push notification config of an agent task.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AgentPush {
    /// Its unique id.
    pub id: String,
    /// The task.
    pub task: String,
    /// The config id chosen by the agent, unique within the task.
    pub config: String,
    /// The account.
    pub owner: UserId,
    /// The push URL.
    pub url: WebhookUrl,
    /// The protocol version of the payload.
    pub version: String,
    /// The credentials that prove the sender to the receiver, encrypted.
    pub secrets: String,
}

from_row!(AgentPush { id, task, config, owner, url, version, secrets });

/// $8 is the maximum number of configs per task.
const SET_PUSH: &str = "INSERT INTO a2a_pushes \
     (id, task_id, config_id, user_id, url, version, secrets, next_at) \
     SELECT $1, id, $3, owner, $5, $6, $7, (SELECT now FROM clock) FROM a2a_tasks WHERE id = $2 AND owner = $4 \
         AND (SELECT COUNT(*) FROM a2a_pushes WHERE task_id = $2 AND config_id <> $3) < $8 \
     ON CONFLICT (task_id, config_id) DO UPDATE SET url = excluded.url, version = excluded.version, \
         secrets = excluded.secrets, state = 'waiting', attempts = 0, next_at = excluded.next_at, last_error = NULL, \
         id = excluded.id";
pub(crate) const PUSHES_OF_TASK: &str = "SELECT id, task_id, config_id, user_id, url, version, secrets, attempts \
     FROM a2a_pushes WHERE user_id = $1 AND task_id = $2 ORDER BY config_id";
const DELETE_PUSH: &str = "DELETE FROM a2a_pushes WHERE user_id = $1 AND task_id = $2 AND config_id = $3";
/// Claims due task push notifications.
const DUE_PUSHES: Statement = due_deliveries!(
    "a2a_pushes",
    "id",
    concat!(
        "SELECT 1 FROM a2a_tasks WHERE a2a_tasks.id = a2a_pushes.task_id \
             AND a2a_tasks.state IN ('completed', 'failed', 'canceled') AND ",
        form_of_poll_is_known!()
    ),
    "id, task_id, config_id, user_id, url, version, secrets, attempts"
);
const PUSH_ATTEMPTED: &str = "UPDATE a2a_pushes SET state = $2, last_error = $3, \
     next_at = (SELECT now FROM clock) + $4 WHERE id = $1 AND state = 'waiting'";

/// Stores push notification configs and their delivery state.
impl Store {
    /// Stores a config for a task of its owner. Replaces a config with the same id, which is notified again.
    /// Returns `false` if the task already has [`MAX_PUSHES`] other configs or does not exist.
    pub async fn set_push(&self, push: &AgentPush) -> Result<bool> {
        let AgentPush { id, task, config, owner, url, version, secrets } = push;
        let url = url.as_str();
        let values = values![&**id, &**task, &**config, *owner, url, &**version, &**secrets, MAX_PUSHES];
        Ok(self.0.execute(Durability::PowerLoss, SET_PUSH, values).await? == 1)
    }

    /// Returns the configs of a task of this owner, ordered by id.
    pub async fn pushes_of_task(&self, owner: UserId, task: &str) -> Result<Vec<AgentPush>> {
        let pushes: Vec<(AgentPush, u32)> = self.0.fetch_all(PUSHES_OF_TASK, values![owner, task]).await?;
        Ok(pushes.into_iter().map(|(push, _)| push).collect())
    }

    /// Deletes a config.
    pub async fn delete_push(&self, owner: UserId, task: &str, config: &str) -> Result<()> {
        self.0.execute(Durability::PowerLoss, DELETE_PUSH, values![owner, task, config]).await.map(drop)
    }

    /// Claims due configs of ended tasks. Counts an attempt for each and returns it with the number of attempts.
    pub async fn due_pushes(&self, limits: ClaimLimits<'_>) -> Result<Vec<(AgentPush, u32)>> {
        self.0.fetch_changed(Durability::ProcessCrash, DUE_PUSHES, &limits.values()?).await
    }

    /// Stores the outcome of an attempt.
    pub async fn push_attempted(&self, id: &str, attempted: &AttemptOutcome) -> Result<()> {
        let (state, error, after) = outcome(attempted);
        let values = values![id, state, error, after];
        self.0.execute(Durability::ProcessCrash, PUSH_ATTEMPTED, values).await.map(drop)
    }
}
