//! A run over rows, from its price to its outcome.

use std::collections::HashSet;
use std::path::Path;

use anyhow::bail;
use ep_kernel::{Clock, Fault, Kind};
use ep_polling::MicroUsd;
use ep_tools::entry_of;
use ep_tools::polls::PollQuestion;

use super::batches::{BatchService, Batches, OpenBatchFile};
use super::keeper::Keeper;
use super::polls::Polls;
use super::price::{Priced, price};
use super::{CostBound, Event, Listener, Run, RunEnd, StopSignal};
use crate::entry::Key;
use crate::failed_rows::FailedRows;
use crate::journal::Journal;
use crate::operations::Operations;
use crate::question::RowQuestion;
use crate::rows::{InputCounts, Rows};
use crate::settings::LabelSettings;

/// The advice for models that are too slow for the service of this process.
const SLOW_HERE: &str = "ask about fewer rows at once (--at-once), or give a poll and its calls more time \
                         (EP_POLL_DEADLINE_MS, EP_UPSTREAM_TIMEOUT_MS)";
/// The advice for models that are too slow for a server.
const SLOW_AT_SERVER: &str = "take faster models, or ask the operator of the service for more time";

/// The way rows are asked.
#[derive(Debug, Clone, Copy)]
pub enum Way<'w> {
    /// As polls, at most `at_once` at a time.
    Polls {
        /// The most rows in flight.
        at_once: u16,
    },
    /// As batches of the server with this URL, which decides how many rows it asks at once.
    Batches {
        /// The URL.
        url: &'w str,
    },
}

impl<'w> Way<'w> {
    /// Returns the URL of the server of batches.
    pub const fn server(self) -> Option<&'w str> {
        match self {
            Self::Polls { .. } => None,
            Self::Batches { url } => Some(url),
        }
    }
}

/// A run over rows.
pub struct Labelling<'l, O> {
    /// The service.
    pub operations: &'l O,
    /// The way rows are asked.
    pub way: Way<'l>,
    /// The settings that all rows share.
    pub settings: &'l LabelSettings,
    /// The file of the rows.
    pub input: &'l Path,
    /// The file of the labels.
    pub out: &'l Path,
    /// The most to spend for the file in all its runs.
    pub max_cost: Option<MicroUsd>,
    /// The clock.
    pub clock: &'l dyn Clock,
    /// The signal that stops the run.
    pub stop_signal: StopSignal,
}

/// The rows after a run.
pub struct RunOutcome {
    /// The end of the run.
    pub end: RunEnd,
    /// Rows that are known: of standard input, those that were reached.
    pub keys: HashSet<Key>,
    /// Rows of the input, if that is known.
    pub rows: Option<u64>,
    /// Rows that another run may label.
    pub unfinished: usize,
    /// Rows that failed in this run.
    pub failed: u64,
    /// The cost of the file in all its runs.
    pub cost: MicroUsd,
}

impl<O: Operations> Labelling<'_, O> {
    /// Prices the rows by the first one. `None` without a row.
    ///
    /// # Errors
    ///
    /// The row cannot be asked, or a cost limit cannot hold.
    pub async fn price(
        &self,
        first: Option<&RowQuestion>,
        journal: &Journal,
    ) -> anyhow::Result<Option<Priced>> {
        let is_server = self.way.server().is_some();
        let priced = price(self.operations, is_server, self.settings, first, journal).await?;
        if let Some(priced) = priced.as_ref().filter(|_| self.max_cost.is_some())
            && priced.quote.unpriced > 0
        {
            bail!(
                "{} of the models have no listed price, so no cost limit can hold; choose others",
                priced.quote.unpriced
            );
        }
        Ok(priced)
    }

    /// Returns the cost of the file in earlier runs.
    ///
    /// # Errors
    ///
    /// The file of rows that failed cannot be read.
    pub fn spent(&self, journal: &Journal) -> anyhow::Result<MicroUsd> {
        Ok(journal.cost().plus(FailedRows::open(self.out)?.cost(journal)))
    }

    /// Returns the batches of earlier runs, whose results are read first.
    ///
    /// # Errors
    ///
    /// The file cannot be read, or its batches are at another server.
    pub fn open_batches(&self) -> anyhow::Result<OpenBatchFile> {
        OpenBatchFile::read(self.out, self.way.server())
    }

    /// Asks about the rows without a label.
    ///
    /// # Errors
    ///
    /// The input is wrong, a file cannot be written, or every further row would fail.
    pub async fn ask(
        &self,
        rows: Rows<'_>,
        input: Option<InputCounts>,
        bound: CostBound,
        open: OpenBatchFile,
        journal: &mut Journal,
        listener: Listener<'_>,
    ) -> anyhow::Result<RunOutcome> {
        let failed = FailedRows::open(self.out)?;
        let keeper = Keeper::new(journal, failed, listener, self.clock);
        let mut run = Run::new(keeper, bound, self.max_cost, self.stop_signal);
        let Self { operations, settings, .. } = *self;
        let (ended, advice) = match self.way {
            Way::Polls { at_once } => {
                let polls =
                    Polls::new(operations, entry_of::<PollQuestion>()?, settings, usize::from(at_once));
                (run.all(rows, polls).await, SLOW_HERE)
            }
            Way::Batches { url } => {
                let service = BatchService::new(operations, url, self.input)?;
                let ended = match Batches::new(service, settings, open, &run.keeper) {
                    Ok(batches) => run.all(rows, batches).await,
                    Err(error) => Err(error),
                };
                (ended, SLOW_AT_SERVER)
            }
        };
        let cost = run.keeper.spent();
        let Keeper { journal, failed, seen, listener, .. } = run.keeper;
        let rows = input.as_ref().map(|input| input.keys.len() as u64);
        let keys = input.map_or(seen, |input| input.keys);
        let (unfinished, failed_rows) = (failed.unfinished(&keys, journal), failed.count(journal));
        for line in failed.reasons(journal, advice) {
            listener(Event::Note(&line));
        }
        let end = match ended {
            Err(error) if is_out_of_money(&error) => Ok(RunEnd::OutOfMoney),
            ended => ended,
        };
        let (end, ()) = (end?, failed.finish(journal)?);
        Ok(RunOutcome { end, keys, rows, unfinished, failed: failed_rows, cost })
    }
}

fn is_out_of_money(error: &anyhow::Error) -> bool {
    error.downcast_ref::<Fault>().is_some_and(|fault| fault.kind() == Kind::InsufficientBalance)
}
