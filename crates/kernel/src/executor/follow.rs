//! Follows one poll, whichever process runs it.

use std::sync::Arc;
use std::time::Duration;

use super::PollExecutor;
use super::live::{PollState, Watch};
use crate::fault::Fault;
use crate::ports::PollRecord;
use ep_polling::ballot::Ballot;

/// How often the database is read for a poll that another process runs.
const READ_INTERVAL: Duration = Duration::from_millis(250);

/// Follows one poll to its end: from memory where this process runs it, else from the database.
pub struct Follow {
    executor: PollExecutor,
    source: Source,
}

/// Where the ballots come from.
enum Source {
    /// This process runs the poll.
    Memory(Watch),
    /// Another process runs it.
    Database { state: PollState, seen: usize },
}

impl Follow {
    pub(super) fn in_memory(executor: PollExecutor, watch: Watch) -> Self {
        Self { executor, source: Source::Memory(watch) }
    }

    pub(super) fn in_database(executor: PollExecutor, state: PollState) -> Self {
        Self { executor, source: Source::Database { state, seen: 0 } }
    }

    /// The stored poll: its plan and, once it has ended, how it ended.
    pub fn record(&self) -> Arc<PollRecord> {
        match &self.source {
            Source::Memory(watch) => watch.state().record,
            Source::Database { state, .. } => Arc::clone(&state.record),
        }
    }

    /// The current state.
    pub async fn state(&mut self) -> Result<PollState, Fault> {
        match &mut self.source {
            Source::Memory(watch) => Ok(watch.state()),
            Source::Database { state, .. } => {
                if state.record.closing.is_none() {
                    let id = state.record.id.clone();
                    *state = self.executor.state(&id).await?.ok_or_else(|| super::interrupted(&id))?;
                }
                Ok(state.clone())
            }
        }
    }

    /// Waits for ballots since the last call and returns them; an empty list once the poll has ended.
    pub async fn next(&mut self) -> Result<Vec<Arc<Ballot>>, Fault> {
        loop {
            if let Source::Memory(watch) = &mut self.source {
                let record = watch.state().record;
                if let Some(ballots) = watch.next().await {
                    return Ok(ballots);
                }
                if self.executor.is_stopping() {
                    return Err(super::interrupted(&record.id));
                }
                // Another process has adopted it.
                let seen = watch.seen();
                self.source = Source::Database { state: PollState { record, ballots: Vec::new() }, seen };
            }
            let state = self.state().await?;
            let Source::Database { seen, .. } = &mut self.source else { continue };
            let new = state.ballots.get(*seen..).unwrap_or_default().to_vec();
            if !new.is_empty() || state.record.closing.is_some() {
                *seen += new.len();
                return Ok(new);
            }
            tokio::time::sleep(READ_INTERVAL).await;
        }
    }
}
