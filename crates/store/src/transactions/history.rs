//! The polls that an account has asked.

use async_trait::async_trait;

use ep_kernel::caller::UserId;
use ep_kernel::ports::{PastPoll, PollHistory, StoreError};

use super::Database;
use crate::engine::{Connection, Engine};
use crate::rows::{self, PastPollRow};
use crate::value::values;

#[async_trait]
impl<E: Engine> PollHistory for Database<E> {
    async fn polls_of(&self, user: UserId, limit: u32, offset: u32) -> Result<Vec<PastPoll>, StoreError> {
        let page = values![user, limit, offset];
        let rows: Vec<PastPollRow> = self.0.fetch_all(E::Connection::POLLS_OF_USER, page).await?;
        rows.chunk_by(|a, b| a.id == b.id).map(rows::past_poll).collect()
    }
}
