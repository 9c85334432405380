//! Follows one poll, whoever runs it.

use std::sync::Arc;
use std::time::Duration;

use super::PollExecutor;
use super::live::{PollState, Watch};
use crate::fault::Fault;
use crate::ports::PollRecord;
use ep_polling::ballot::Ballot;

/// How often a poll that another process runs is looked at.
const LOOK: Duration = Duration::from_millis(250);

/// Follows one poll to its end: through memory where this process runs it, through the database where
/// another does.
pub struct Follow {
    executor: PollExecutor,
    place: Place,
}

enum Place {
    Here(Watch),
    Elsewhere { state: PollState, seen: usize },
}

impl Follow {
    pub(super) fn here(executor: PollExecutor, watch: Watch) -> Self {
        Self { executor, place: Place::Here(watch) }
    }

    pub(super) fn elsewhere(executor: PollExecutor, state: PollState) -> Self {
        Self { executor, place: Place::Elsewhere { state, seen: 0 } }
    }

    /// What was fixed when the poll opened.
    pub fn record(&self) -> Arc<PollRecord> {
        match &self.place {
            Place::Here(watch) => watch.state().record,
            Place::Elsewhere { state, .. } => Arc::clone(&state.record),
        }
    }

    /// The poll as it stands.
    pub async fn state(&mut self) -> Result<PollState, Fault> {
        match &mut self.place {
            Place::Here(watch) => Ok(watch.state()),
            Place::Elsewhere { state, .. } => {
                if state.record.closing.is_none() {
                    let id = state.record.id.clone();
                    *state = self.executor.state(&id).await?.ok_or_else(|| super::broken_off(&id))?;
                }
                Ok(state.clone())
            }
        }
    }

    /// The ballots since the last call, as soon as there are any; none once the poll has ended.
    pub async fn next(&mut self) -> Result<Vec<Arc<Ballot>>, Fault> {
        loop {
            if let Place::Here(watch) = &mut self.place {
                return watch.next().await;
            }
            let state = self.state().await?;
            let Place::Elsewhere { seen, .. } = &mut self.place else { continue };
            let new = state.ballots[*seen..].to_vec();
            if !new.is_empty() || state.record.closing.is_some() {
                *seen += new.len();
                return Ok(new);
            }
            tokio::time::sleep(LOOK).await;
        }
    }
}
