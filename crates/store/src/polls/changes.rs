//! Changes to polls, announced between processes that share a database.

use async_trait::async_trait;
use ep_polling::PollId;
use futures::stream::BoxStream;
use serde::{Deserialize, Serialize};

use crate::store_error::Result;

/// The kind of a change to a poll.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Change {
    /// New ballots were recorded.
    Ballots,
    /// The poll has ended.
    Ended,
    /// The poll was cancelled.
    Cancelled,
    /// Its process released the poll: another process can adopt it.
    Released,
    /// Its owner deleted the poll.
    Deleted,
}

/// A change to one poll.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct PollChange {
    /// The poll.
    pub poll: PollId,
    /// The kind of the change.
    pub change: Change,
}

/// Maximum number of changes announced together.
pub const MAX_ANNOUNCED: usize = 100;

/// Announces changes to the processes that share a database.
///
/// Announcements are hints: any of them can be lost, so receivers also check periodically.
#[async_trait]
pub trait PollChanges: Send + Sync {
    /// Announces up to [`MAX_ANNOUNCED`] changes to all listeners, including this process.
    async fn announce(&self, changes: &[PollChange]) -> Result<()>;

    /// Returns a stream of the changes announced from now on. It ends when announcements may have been
    /// missed.
    async fn listen(&self) -> Result<BoxStream<'static, PollChange>>;
}
