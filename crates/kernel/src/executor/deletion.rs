//! The cache of settled polls, and deleting polls.
//!
//! A settled poll never changes, but its owner can delete it. The process that deletes it drops it from its
//! own cache and announces the deletion. A process that misses the announcement notices within [`VALID`].

use std::time::Duration;

use quick_cache::sync::Cache;
use tokio::time::Instant;

use super::{Inner, PollExecutor, PollState};
use crate::fault::{Fault, Kind, Result};
use crate::idempotency::reply_of_deleted_poll;
use ep_polling::PollId;
use ep_store::{Change, PollDeletion};

/// Maximum number of cached polls, of about 20 kB each.
const CACHED: usize = 500;
/// Maximum number of remembered deletions.
const REMEMBERED: usize = 10_000;
/// The age at which a cached poll is checked against the database again.
const VALID: Duration = Duration::from_secs(60);

/// Settled polls that were read or deleted recently.
pub(super) struct SettledPolls {
    cached: Cache<PollId, CachedPoll>,
    deleted: Cache<PollId, ()>,
}

#[derive(Clone)]
struct CachedPoll {
    state: PollState,
    read_at: Instant,
}

impl Default for SettledPolls {
    fn default() -> Self {
        Self { cached: Cache::new(CACHED), deleted: Cache::new(REMEMBERED) }
    }
}

impl SettledPolls {
    /// Adds a poll that was just read, unless it was deleted meanwhile.
    pub(super) fn add(&self, id: &PollId, state: &PollState) {
        self.cached.insert(id.clone(), CachedPoll { state: state.clone(), read_at: Instant::now() });
        if self.deleted.get(id).is_some() {
            self.cached.remove(id);
        }
    }
}

impl Inner {
    /// Drops a deleted poll from the cache.
    pub(super) fn forget(&self, id: &PollId) {
        self.settled.deleted.insert(id.clone(), ());
        self.settled.cached.remove(id);
    }
}

impl PollExecutor {
    /// Deletes a settled poll for good; the ledger keeps its cost. [`Kind::NotFound`] for an unknown poll,
    /// [`Kind::Conflict`] while it runs or is not charged yet.
    pub async fn delete(&self, id: &PollId) -> Result<()> {
        let inner = &self.0;
        match inner.polls.delete(id, inner.clock.now(), &reply_of_deleted_poll()).await? {
            PollDeletion::Deleted => {
                inner.forget(id);
                inner.changed(id, Change::Deleted);
                Ok(())
            }
            PollDeletion::Unsettled => Err(Fault::new(
                Kind::Conflict,
                format!(
                    "poll {id} is still running or being charged; cancel it or wait until it ends, then delete it"
                ),
            )),
        }
    }

    /// Returns true if this process knows that a poll was deleted recently.
    pub fn is_deleted(&self, id: &PollId) -> bool {
        self.0.settled.deleted.get(id).is_some()
    }

    /// Returns a settled poll from the cache. While the database is unavailable, an outdated entry is
    /// returned too.
    pub(super) async fn cached(&self, id: &PollId) -> Option<PollState> {
        let CachedPoll { state, read_at } = self.0.settled.cached.get(id)?;
        if read_at.elapsed() < VALID {
            return Some(state);
        }
        match self.0.polls.progress(id).await {
            Ok(None) => {
                self.0.settled.cached.remove(id);
                return None;
            }
            Ok(Some(_)) => self.0.settled.add(id, &state),
            Err(_) => {}
        }
        Some(state)
    }
}
