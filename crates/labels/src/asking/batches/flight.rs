//! A batch in flight: the rows whose results are missing, and the time of the next look.

use std::time::Duration;

use ep_kernel::{Fault, Kind};
use ep_tools::polls::reply::PollResponse;
use tokio::time::Instant;

use super::open_batch::{OpenBatch, SentRow};
use super::service::{NotAsked, RowResult};
use crate::asking::Keeper;
use crate::asking::outcome::{Labelled, concerns_the_row, ended_poll};
use crate::decision::LabelRule;

/// Time until the first look at a batch, which grows until there are results.
const FIRST_LOOK: Duration = Duration::from_millis(250);
/// Time between two looks at a batch with new results.
const WITH_NEWS: Duration = Duration::from_secs(2);
/// The longest time between two looks.
const LONGEST: Duration = Duration::from_secs(15);

/// A batch whose results are being read.
pub(crate) struct Flight {
    pub(crate) batch: OpenBatch,
    /// The numbers of the rows without a result, from 1.
    missing: Vec<u32>,
    /// Rows up to this number have been read.
    pub(crate) cursor: u32,
    /// True if this run may not have created it.
    pub(crate) is_old: bool,
    /// True if the service may have it.
    pub(crate) is_sent: bool,
    pub(crate) is_cancelled: bool,
    /// True if the service has refused to create it.
    pub(crate) is_refused: bool,
    /// Rows that failed because the money of the batch was spent.
    pub(crate) unpaid: Vec<SentRow>,
    /// Rows that were not asked, because the batch ended early.
    pub(crate) left_out: Vec<SentRow>,
    /// The reason why rows were left out.
    pub(crate) reason: String,
    pub(crate) next_look: Instant,
    wait: Duration,
}

impl Flight {
    /// Creates the flight of a batch of this run.
    pub(crate) fn new(batch: OpenBatch) -> Self {
        let missing = (1..).take(batch.rows.len()).collect();
        Self {
            batch,
            missing,
            cursor: 0,
            is_old: false,
            is_sent: false,
            is_cancelled: false,
            is_refused: false,
            unpaid: Vec::new(),
            left_out: Vec::new(),
            reason: String::new(),
            next_look: Instant::now(),
            wait: FIRST_LOOK,
        }
    }

    /// Creates the flight of a batch of an earlier run, which may have stored some of its results.
    pub(crate) fn of_earlier_run(batch: OpenBatch, keeper: &Keeper<'_>) -> anyhow::Result<Self> {
        let mut flight = Self { is_old: true, ..Self::new(batch) };
        let mut missing = Vec::new();
        for (number, row) in (1..).zip(&flight.batch.rows) {
            let key = row.question.key;
            if !keeper.journal.has(key) && keeper.failed.earlier(key)?.attempts <= row.attempts {
                missing.push(number);
            }
        }
        flight.missing = missing;
        Ok(flight)
    }

    /// Returns the number before the first row without a result; `None` if there is none.
    pub(crate) fn before_first_missing(&self) -> Option<u32> {
        self.missing.iter().min().map(|number| number - 1)
    }

    /// Returns the batch to create, which the service may have from now on.
    pub(crate) const fn sent(&mut self) -> &OpenBatch {
        self.is_sent = true;
        &self.batch
    }

    /// Takes the rows without a result.
    pub(crate) fn take_missing(&mut self) -> Vec<SentRow> {
        let numbers = std::mem::take(&mut self.missing);
        numbers.into_iter().filter_map(|number| self.row(number).cloned()).collect()
    }

    /// Sets the time of the next look.
    pub(crate) fn schedule(&mut self, has_news: bool, has_more: bool) {
        self.wait = if has_news { WITH_NEWS } else { (self.wait * 3 / 2).min(LONGEST) };
        let wait = if has_more { Duration::ZERO } else { self.wait };
        self.next_look = Instant::now() + wait;
    }

    /// Notes that it is cancelled, and will end soon.
    pub(crate) fn cancelled(&mut self) {
        (self.is_cancelled, self.wait) = (true, FIRST_LOOK);
    }

    /// Returns the time of the next look while the run stops: at once, if this one is not.
    pub(crate) fn due_when_stopping(&self) -> Instant {
        if self.is_cancelled { self.next_look } else { Instant::now() }
    }

    fn row(&self, number: u32) -> Option<&SentRow> {
        self.batch.rows.get(usize::try_from(number).ok()?.checked_sub(1)?)
    }

    /// Reads the results of rows that have none yet. Rows that were not asked are set apart.
    pub(crate) fn read(
        &mut self,
        results: Vec<RowResult>,
        keeper: &Keeper<'_>,
    ) -> anyhow::Result<Vec<Labelled>> {
        let mut done = Vec::new();
        for result in results {
            let is_row = |number: &u32| self.row(*number).is_some_and(|row| row.has_name(&result.custom_id));
            let Some(place) = self.missing.iter().position(is_row) else { continue };
            let number = self.missing.swap_remove(place);
            let Some(row) = self.row(number).cloned() else { continue };
            match outcome(result) {
                // The reason of an earlier run may be gone.
                Outcome::Poll(Err(fault))
                    if fault.kind() == Kind::InsufficientBalance
                        || (self.is_old && !concerns_the_row(&fault)) =>
                {
                    self.unpaid.push(row);
                }
                Outcome::Poll(reply) => {
                    let earlier = keeper.failed.earlier(row.question.key)?;
                    let rule = LabelRule { panel: &self.batch.panel, on_tie: self.batch.on_tie };
                    done.push(rule.labelled(row.question, earlier, reply.map(|poll| *poll)));
                }
                Outcome::NotAsked(NotAsked { message }) => {
                    self.reason = message;
                    self.left_out.push(row);
                }
            }
        }
        Ok(done)
    }
}

/// The outcome of a row.
enum Outcome {
    Poll(Result<Box<PollResponse>, Fault>),
    NotAsked(NotAsked),
}

fn outcome(result: RowResult) -> Outcome {
    match (result.response, result.error) {
        (Some(response), _) if response.status_code < 400 => {
            Outcome::Poll(ended_poll(response.body).map(Box::new))
        }
        (Some(response), _) => Outcome::Poll(Err(Fault::from_problem(&response.body))),
        (None, Some(reason)) => Outcome::NotAsked(reason),
        (None, None) => Outcome::Poll(Err(Fault::internal("a row has neither a response nor an error"))),
    }
}
