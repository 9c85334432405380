//! The polls that an account has asked.

use async_trait::async_trait;

use ep_kernel::caller::UserId;
use ep_kernel::ports::{PastPoll, PollHistory, StoreError};
use ep_polling::poll_id::PollId;
use ep_polling::time::Timestamp;

use super::Database;
use crate::engine::{Connection, Engine};
use crate::rows::{self, PastPollRow};
use crate::value::values;

#[async_trait]
impl<E: Engine> PollHistory for Database<E> {
    async fn polls_of(&self, user: UserId, limit: u32, offset: u32) -> Result<Vec<PastPoll>, StoreError> {
        let page = values![user, limit, offset];
        past_polls(self.0.fetch_all(E::Connection::POLLS_OF_USER, page).await?)
    }

    async fn polls_after(
        &self,
        user: UserId,
        limit: u32,
        after: Option<(Timestamp, &PollId)>,
    ) -> Result<Vec<PastPoll>, StoreError> {
        let (at, id) = after.map_or((i64::MAX, ""), |(at, id)| (at.millis(), id.as_str()));
        let page = values![user, limit, at, id];
        past_polls(self.0.fetch_all(E::Connection::POLLS_AFTER, page).await?)
    }
}

fn past_polls(rows: Vec<PastPollRow>) -> Result<Vec<PastPoll>, StoreError> {
    rows.chunk_by(|a, b| a.id == b.id).map(rows::past_poll).collect()
}
