//! Follows one poll, regardless of the process that runs it.

use std::sync::Arc;

use super::PollExecutor;
use super::live::{PollState, Watch};
use crate::fault::{Fault, Kind, Result};
use ep_polling::Ballot;
use ep_store::PollRecord;

/// Follows one poll to its end.
pub struct Follow {
    executor: PollExecutor,
    watch: Watch,
}

impl Follow {
    pub(super) const fn new(executor: PollExecutor, watch: Watch) -> Self {
        Self { executor, watch }
    }

    /// Returns the stored poll: its plan and, once it has ended, its closing.
    pub fn record(&self) -> Arc<PollRecord> {
        self.watch.record()
    }

    /// Returns the current state.
    pub fn state(&self) -> PollState {
        self.watch.state()
    }

    /// Waits for ballots since the last call and returns them; an empty list once the poll has ended.
    pub async fn next(&mut self) -> Result<Vec<Arc<Ballot>>> {
        loop {
            if let Some(ballots) = self.watch.next().await {
                return Ok(ballots);
            }
            let id = self.record().id.clone();
            if self.executor.is_stopping() {
                let message = format!(
                    "this server is stopping; poll {id} keeps its votes and continues in another process or after the restart: \
                     request it again in a few seconds"
                );
                return Err(Fault::new(Kind::PollFailed, message));
            }
            // Another process or this one has adopted it.
            let missing = || Fault::new(Kind::NotFound, format!("poll {id} has been deleted"));
            let watch = self.executor.watch(&id).await?.ok_or_else(missing)?;
            self.watch = watch.after(self.watch.seen());
        }
    }
}
