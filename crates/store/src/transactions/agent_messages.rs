//! What agents sent to open polls.

use async_trait::async_trait;

use ep_kernel::caller::UserId;
use ep_kernel::ports::{AgentMessages, StoreError};
use ep_polling::poll_id::PollId;

use super::Database;
use crate::engine::{Durability, Engine};
use crate::rows::MessageRow;
use crate::statements as sql;
use crate::value::values;

#[async_trait]
impl<E: Engine> AgentMessages for Database<E> {
    async fn keep(&self, poll: &PollId, message: &str) -> Result<(), StoreError> {
        self.0.execute(Durability::ProcessCrash, sql::KEEP_MESSAGE, values![poll, message]).await.map(drop)
    }

    async fn kept(&self, poll: &PollId, owner: UserId) -> Result<Option<String>, StoreError> {
        let row: Option<MessageRow> = self.0.fetch_optional(sql::KEPT_MESSAGE, values![poll, owner]).await?;
        Ok(row.map(|row| row.message))
    }
}
