//! Asks about the rows of a file: one loop over a source of votes, within the cost limit.
//!
//! The loop decides the order of rows, the budget, the rows that are asked again, and the end of a run. A source decides how
//! rows are asked: as polls, or as batches of a server.

pub(crate) mod batches;
mod cost_bound;
mod keeper;
mod labelling;
pub(crate) mod outcome;
mod patience;
pub(crate) mod polls;
pub(crate) mod price;
mod source;

use std::collections::VecDeque;

use ep_polling::MicroUsd;
use futures::future::BoxFuture;

use crate::failed_rows::Failed;
use crate::question::RowQuestion;
pub use batches::OpenBatchFile;
pub use cost_bound::CostBound;
pub use keeper::Counts;
pub(crate) use keeper::Keeper;
pub use labelling::{Labelling, RunOutcome, Way};
use outcome::{Labelled, RowOutcome};
pub use price::{Priced, Quote, duration};
use source::{RowToAsk, Source};

/// An event of a run, for a person who waits.
#[derive(Debug)]
pub enum Event<'e> {
    /// The figures so far.
    Counts(&'e Counts),
    /// A line about the rows that failed.
    Note(&'e str),
    /// The page of the first batch of the run.
    BatchPage(&'e str),
    /// The run was asked to stop while this many rows are in flight.
    Stopping {
        /// The number of rows.
        rows: usize,
        /// True if the rows are cancelled; false if they are asked to the end.
        is_cancelled: bool,
    },
}

/// Receives events.
pub type Listener<'l> = &'l mut dyn FnMut(Event<'_>);

/// Returns a future that ends when the process is asked to stop.
pub type StopSignal = fn() -> BoxFuture<'static, ()>;

/// The end of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RunEnd {
    /// Every row was asked.
    Complete,
    /// The next row could exceed the cost limit.
    CostLimit {
        /// The cost of the file so far.
        spent: MicroUsd,
        /// The most that the next row can cost.
        next: MicroUsd,
    },
    /// The account at the service has too little money for the next row.
    OutOfMoney,
    /// The process was asked to stop.
    Interrupted,
}

/// The questions of the rows that are left.
type Questions<'q> = dyn Iterator<Item = anyhow::Result<RowQuestion>> + 'q;

/// A run over the rows of a file.
pub(crate) struct Run<'r> {
    pub(crate) keeper: Keeper<'r>,
    bound: CostBound,
    /// The limit for the file.
    cap: Option<MicroUsd>,
    stop_signal: StopSignal,
    /// The next signal.
    stopped: BoxFuture<'static, ()>,
    is_stopping: bool,
    /// Rows that were taken, and not asked.
    returned: VecDeque<RowQuestion>,
    end: Option<anyhow::Result<RunEnd>>,
}

/// Rows that are sent together.
struct Parcel {
    rows: Vec<RowToAsk>,
    /// The most that they may cost.
    at_most: MicroUsd,
}

impl<'r> Run<'r> {
    pub(crate) fn new(
        keeper: Keeper<'r>,
        bound: CostBound,
        cap: Option<MicroUsd>,
        stop_signal: StopSignal,
    ) -> Self {
        Self {
            keeper,
            bound,
            cap,
            stop_signal,
            stopped: stop_signal(),
            is_stopping: false,
            returned: VecDeque::new(),
            end: None,
        }
    }

    /// Asks about every row that has no label. First reads what earlier runs left in flight. Whatever ends the run, rows in
    /// flight are written first, except after a second signal. Fails if the input is wrong, or if every further row would
    /// fail.
    pub(crate) async fn all(
        &mut self,
        rows: impl Iterator<Item = anyhow::Result<RowQuestion>>,
        mut source: impl Source,
    ) -> anyhow::Result<RunEnd> {
        let mut rows = rows.fuse();
        if source.rows_in_flight() > 0 {
            if !self.until_idle(None, &mut source).await? {
                return Ok(RunEnd::Interrupted);
            }
            // They come again from the file, if they are in it.
            self.returned.clear();
            self.keeper.forget_failures();
        }
        if !self.until_idle(Some(&mut rows), &mut source).await? || self.is_stopping {
            return Ok(RunEnd::Interrupted);
        }
        self.end.take().unwrap_or(Ok(RunEnd::Complete))
    }

    /// Reads outcomes until no row is in flight, and sends rows meanwhile, if there are any. Returns false after the second
    /// signal.
    async fn until_idle(
        &mut self,
        mut rows: Option<&mut Questions<'_>>,
        source: &mut impl Source,
    ) -> anyhow::Result<bool> {
        loop {
            while let Some(rows) = rows.as_mut().filter(|_| self.end.is_none() && !self.is_stopping) {
                match self.pack(rows, source) {
                    Ok(parcel) if parcel.rows.is_empty() => break,
                    Ok(parcel) => source.send(parcel.rows, self.cap.map(|_| parcel.at_most))?,
                    Err(error) => self.end = Some(Err(error)),
                }
            }
            let in_flight = source.rows_in_flight();
            if in_flight == 0 {
                return Ok(true);
            }
            let news = tokio::select! {
                news = source.next(&mut self.keeper, self.is_stopping) => news?,
                () = &mut self.stopped => {
                    if std::mem::replace(&mut self.is_stopping, true) {
                        return Ok(false);
                    }
                    self.stopped = (self.stop_signal)();
                    self.keeper.tell(Event::Stopping { rows: in_flight, is_cancelled: source.cancels() });
                    continue;
                }
            };
            self.returned.extend(news.returned);
            if let Some(error) = news.stop {
                self.end.get_or_insert(Err(error));
            }
        }
    }

    /// Takes the rows of the next parcel. Money that one of them does not need pays the others, so only the dearest one must
    /// fit into the cost limit.
    fn pack(&mut self, rows: &mut Questions<'_>, source: &impl Source) -> anyhow::Result<Parcel> {
        let capacity = source.capacity();
        let room = self.cap.map(|cap| cap.minus(self.keeper.spent()).minus(source.reserved()));
        let (mut parcel, mut bytes) = (Parcel { rows: Vec::new(), at_most: MicroUsd::ZERO }, 0);
        while parcel.rows.len() < capacity.rows {
            // Rows that failed come after all others. Those of a larger parcel wait for the failures of the others.
            let may_repeat = capacity.rows == 1 || source.rows_in_flight() == 0;
            let question = match self.returned.pop_front() {
                Some(returned) => Some(returned),
                None => self.keeper.next_new(rows)?,
            };
            let again = || if may_repeat { self.keeper.next_again() } else { None };
            let Some(question) = question.or_else(again) else { break };
            let at_most = self.bound.of(&question);
            if room.is_some_and(|room| at_most > room) {
                // Rows in flight cost less than was reserved for them.
                if parcel.rows.is_empty() && source.rows_in_flight() == 0 {
                    self.end = Some(Ok(RunEnd::CostLimit { spent: self.keeper.spent(), next: at_most }));
                }
                self.returned.push_front(question);
                break;
            }
            let row = RowToAsk { earlier: self.keeper.failed.earlier(question.key)?, question, at_most };
            let size = source.size(&row);
            if size > capacity.bytes {
                let reason = format!("the row has {size} bytes, and a batch takes {}", capacity.bytes);
                let outcome = RowOutcome::Failed(Failed {
                    reason,
                    asked_at: None,
                    votes: Vec::new(),
                    simulated: false,
                    reader: None,
                });
                self.keeper.keep(vec![Labelled { question: row.question, cost: MicroUsd::ZERO, outcome }])?;
            } else if bytes + size > capacity.bytes {
                self.returned.push_front(row.question);
                break;
            } else {
                parcel.rows.push(row);
                bytes += size;
                parcel.at_most = parcel.at_most.plus(at_most);
            }
        }
        parcel.at_most = room.map_or(parcel.at_most, |room| parcel.at_most.min(room));
        Ok(parcel)
    }
}
