//! Changes to polls, announced among the processes that share a database.

use async_trait::async_trait;
use futures::stream::BoxStream;
use serde::{Deserialize, Serialize};

use super::StoreError;
use ep_polling::poll_id::PollId;

/// What has happened to a poll.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Change {
    /// It has new ballots.
    Ballots,
    /// It has ended.
    Ended,
    /// It is to be ended.
    Cancelled,
    /// Whoever ran it has given it up: another process can adopt it.
    Released,
    /// Its owner has deleted it.
    Deleted,
}

/// A change to one poll.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct PollChange {
    /// The poll.
    pub poll: PollId,
    /// What has happened to it.
    pub change: Change,
}

/// The most changes announced together.
pub const MAX_ANNOUNCED: usize = 100;

/// Announces changes to the processes that share a database.
///
/// Announcements are hints: any of them can be lost, so whoever acts on one also looks by itself from time to time.
#[async_trait]
pub trait PollChanges: Send + Sync {
    /// Announces up to [`MAX_ANNOUNCED`] changes to whoever listens, this process included.
    async fn announce(&self, changes: &[PollChange]) -> Result<(), StoreError>;

    /// What is announced from now on. The stream ends when announcements may have been missed.
    async fn listen(&self) -> Result<BoxStream<'static, PollChange>, StoreError>;
}
