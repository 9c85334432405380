//! Asks about the rows of a file by batches of a service: a few at a time, within the cost limit.
//!
//! A batch is on disk before the service gets it, and stays there until its results are in the journal. So a run that was
//! killed reads the results of its batches, and no row is paid twice.

mod flight;
mod interrupt;
mod open_batch;
mod pack;
mod service;

use std::collections::{HashMap, VecDeque};
use std::iter::Fuse;

use anyhow::anyhow;
use ep_kernel::fault::{Fault, Kind};
use ep_polling::counted::counted;
use ep_store::{BatchError, BatchId, BatchStatus};

use super::journal::Key;
use super::question::RowQuestion;
use super::rows::Rows;
use super::run::{Run, RunEnd};
use flight::Flight;
use interrupt::Interrupt;
pub(super) use open_batch::OpenBatchFile;
use open_batch::{OpenBatch, SentRow};
pub(super) use service::BatchService;
use service::{Created, PAGE, Page};

/// The most batches in flight. A service asks the rows of an account's first batch first.
const MAX_IN_FLIGHT: usize = 3;

/// Asks about every row that has no label, by batches. First reads the results of batches of earlier runs. Fails if the
/// input is wrong, or if every further row would fail; batches in flight are read to their ends before.
pub(super) async fn ask_all<'r>(
    run: &mut Run<'r>,
    rows: Rows<'r>,
    service: BatchService<'_>,
    mut file: OpenBatchFile,
) -> anyhow::Result<RunEnd> {
    let mut in_flight = Vec::new();
    for batch in file.take() {
        in_flight.push(Flight::of_earlier_run(batch, run.journal, &run.failed)?);
    }
    let mut batches = Batches {
        run,
        service,
        file,
        in_flight,
        abandoned: Vec::new(),
        returned: VecDeque::new(),
        repetitions: HashMap::new(),
        waits_for_money: false,
        names_page: false,
        end: None,
    };
    let mut interrupt = Interrupt::new();
    let mut rows = rows.fuse();
    if !batches.in_flight.is_empty() {
        if batches.until_read(None, &mut interrupt).await?.is_none() {
            return Ok(RunEnd::Interrupted);
        }
        // They come again from the file, if they are in it.
        batches.returned.clear();
        batches.run.forget_failures();
    }
    if batches.until_read(Some(&mut rows), &mut interrupt).await?.is_none() || interrupt.is_asked() {
        return Ok(RunEnd::Interrupted);
    }
    batches.end.unwrap_or(Ok(RunEnd::Complete))
}

/// The batches of a run.
struct Batches<'b, 'r> {
    run: &'b mut Run<'r>,
    service: BatchService<'b>,
    file: OpenBatchFile,
    in_flight: Vec<Flight>,
    /// Batches that could not be read. The next run reads them.
    abandoned: Vec<OpenBatch>,
    /// Rows that were in a batch, and not asked.
    returned: VecDeque<RowQuestion>,
    /// The number of batches of this run with the same request.
    repetitions: HashMap<Key, u32>,
    /// True if the account's money is set aside for the batches in flight.
    waits_for_money: bool,
    /// True if the page of a batch was named.
    names_page: bool,
    end: Option<anyhow::Result<RunEnd>>,
}

impl<'r> Batches<'_, 'r> {
    /// Sends rows, and reads results until no batch is in flight. `None` after the second Ctrl-C.
    async fn until_read(
        &mut self,
        mut rows: Option<&mut Fuse<Rows<'r>>>,
        interrupt: &mut Interrupt,
    ) -> anyhow::Result<Option<()>> {
        loop {
            if let Some(rows) = &mut rows
                && !interrupt.is_asked()
            {
                self.send(rows)?;
            }
            let is_cancelling = interrupt.is_asked();
            if is_cancelling {
                self.drop_unsent()?;
            }
            let next = self.in_flight.iter().enumerate().min_by_key(|(_, flight)| {
                if is_cancelling { flight.due_when_cancelling() } else { flight.next_look }
            });
            let Some((place, flight)) = next else { return Ok(Some(())) };
            let due = if is_cancelling { flight.due_when_cancelling() } else { flight.next_look };
            match interrupt.sleep_until(due).await {
                None => return Ok(None),
                Some(()) if interrupt.is_asked() != is_cancelling => continue,
                Some(()) => {}
            }
            match interrupt.during(self.look(place, is_cancelling)).await {
                None => return Ok(None),
                Some(Ok(false)) => {}
                Some(Ok(true)) => {
                    self.in_flight.remove(place);
                    self.store()?;
                }
                Some(Err(error)) => {
                    let flight = self.in_flight.remove(place);
                    if !flight.is_refused {
                        self.abandoned.push(flight.batch);
                    }
                    self.store()?;
                    self.end.get_or_insert(Err(error));
                }
            }
        }
    }

    /// Drops the batches that the service has not got.
    fn drop_unsent(&mut self) -> anyhow::Result<()> {
        let before = self.in_flight.len();
        self.in_flight.retain(|flight| flight.is_old || flight.batch.batch_id.is_some());
        if self.in_flight.len() < before { self.store() } else { Ok(()) }
    }

    /// Looks at a batch: creates it, or reads its new results. Returns true if it has ended, and all of it is read.
    async fn look(&mut self, place: usize, is_cancelling: bool) -> anyhow::Result<bool> {
        let id = self.created(place).await?;
        let Some(flight) = self.in_flight.get_mut(place) else { return Ok(true) };
        if is_cancelling && !flight.is_cancelled {
            self.service.cancel(id).await?;
            flight.cancelled();
        }
        let Page { status, results, next_after } = match self.service.results(id, false, flight.cursor).await
        {
            Err(fault) if fault.kind() == Kind::NotFound => return Err(self.lost(place)),
            page => page?,
        };
        flight.cursor = next_after.unwrap_or(flight.cursor);
        let (has_news, has_more) = (!results.is_empty(), results.len() == PAGE);
        flight.schedule(has_news, has_more);
        self.keep(place, results)?;
        if has_more || status.is_open() {
            return Ok(false);
        }
        for errors in [false, true] {
            self.read_rest(place, id, errors).await?;
        }
        self.ended(place, id, status, is_cancelling).await?;
        Ok(true)
    }

    /// Returns the id of a batch, which is created if the service does not have it.
    async fn created(&mut self, place: usize) -> anyhow::Result<BatchId> {
        let flight = self.in_flight.get_mut(place).ok_or_else(|| anyhow!("a batch is missing"))?;
        if let Some(id) = flight.batch.batch_id {
            return Ok(id);
        }
        let found = if flight.is_old { self.service.find(&flight.batch.reference).await? } else { None };
        let Created { id, is_old, page } = match found {
            Some(id) => Created { id, is_old: true, page: None },
            None => match self.service.create(&flight.batch).await {
                Ok(created) => created,
                Err(fault) => {
                    // The same rows under another name of the file.
                    let is_renamed = fault.kind() == Kind::IdempotencyMismatch;
                    let reference = &flight.batch.reference;
                    let found = if is_renamed { self.service.find(reference).await? } else { None };
                    // After a failure of the server, the batch may exist.
                    flight.is_refused = fault.kind().row().http < 500 && fault.kind() != Kind::InProgress;
                    let Some(id) = found else { return Err(fault.into()) };
                    flight.is_refused = false;
                    Created { id, is_old: true, page: None }
                }
            },
        };
        (flight.batch.batch_id, flight.is_old) = (Some(id), is_old);
        self.store()?;
        if let Some(page) = page.filter(|_| !std::mem::replace(&mut self.names_page, true)) {
            self.run
                .progress
                .note(&format!("the rows in doubt are on {page}; your account lists the other batches"));
        }
        Ok(id)
    }

    /// Reads the results that came after those of later rows.
    async fn read_rest(&mut self, place: usize, id: BatchId, errors: bool) -> anyhow::Result<()> {
        let mut after = self.in_flight.get(place).and_then(Flight::before_first_missing);
        while let Some(number) = after {
            let page = self.service.results(id, errors, number).await?;
            after = page.next_after.filter(|next| page.results.len() == PAGE && *next > number);
            self.keep(place, page.results)?;
        }
        Ok(())
    }

    /// Writes results. Fails if every further row would fail like one of them.
    fn keep(&mut self, place: usize, results: Vec<service::RowResult>) -> anyhow::Result<()> {
        let Some(flight) = self.in_flight.get_mut(place) else { return Ok(()) };
        let done = flight.read(results, &self.run.failed)?;
        if done.is_empty() {
            return Ok(());
        }
        if let Some(fault) = self.run.keep(done)? {
            self.end.get_or_insert(Err(fault.into()));
        }
        Ok(())
    }

    /// Decides about the rows of an ended batch that were not asked.
    async fn ended(
        &mut self,
        place: usize,
        id: BatchId,
        status: BatchStatus,
        is_cancelling: bool,
    ) -> anyhow::Result<()> {
        let refusal = match status {
            BatchStatus::Failed => Some(self.service.refusal(id).await?),
            _ => None,
        };
        let is_alone = self.in_flight.len() == 1;
        self.waits_for_money = false;
        let Some(flight) = self.in_flight.get_mut(place) else { return Ok(()) };
        let (unpaid, left_out) = (std::mem::take(&mut flight.unpaid), std::mem::take(&mut flight.left_out));
        let (rows, total) = (flight.take_missing(), flight.batch.rows.len());
        let (is_old, reason) = (flight.is_old, std::mem::take(&mut flight.reason));
        let stop = if let Some(refusal) = refusal {
            let fault = refused(refusal, &rows);
            // The money can return when another batch ends, or has returned since an earlier run.
            let can_wait = fault.kind() == Kind::InsufficientBalance && !is_alone;
            self.waits_for_money = can_wait;
            (!can_wait && !is_old).then_some(fault)
        } else if !rows.is_empty() {
            let text =
                format!("the service has no result for {} of {id}; run again", counted(rows.len(), "row"));
            Some(Fault::new(Kind::NotFound, text))
        } else if unpaid.len() == total && !is_old {
            let text = "the account has insufficient balance for the next row; add funds, then run again";
            Some(Fault::new(Kind::InsufficientBalance, text))
        } else if !left_out.is_empty() && !is_old && !is_cancelling {
            let text = format!("{reason} Run again to ask {} of {id}.", counted(left_out.len(), "other row"));
            Some(Fault::new(Kind::Conflict, text))
        } else {
            None
        };
        let again = rows.into_iter().chain(unpaid).chain(left_out);
        self.returned.extend(again.map(|row| row.question));
        if let Some(fault) = stop {
            self.end.get_or_insert(Err(fault.into()));
        }
        Ok(())
    }

    /// Returns the error of a batch that the account does not have.
    fn lost(&self, place: usize) -> anyhow::Error {
        let batch = self.in_flight.get(place).map(|flight| &flight.batch);
        let (id, rows) = batch.map_or((None, 0), |batch| (batch.batch_id, batch.rows.len()));
        let id = id.map(|id| id.to_string()).unwrap_or_default();
        anyhow!(
            "the account has no batch {id}; use a key of the account that created it, or remove {} to ask its {rows} rows again",
            self.file.name()
        )
    }

    /// Writes the file of open batches.
    fn store(&self) -> anyhow::Result<()> {
        self.file.write(self.in_flight.iter().map(|flight| &flight.batch).chain(&self.abandoned))
    }
}

/// Returns the fault of a batch that was refused.
fn refused(error: BatchError, rows: &[SentRow]) -> Fault {
    let row = error.line.and_then(|line| rows.get(usize::try_from(line).ok()?.checked_sub(1)?));
    let place = row.map_or_else(String::new, |row| format!("row {}: ", row.question.row.number));
    let kind = Kind::from_code(&error.code).unwrap_or(Kind::InvalidInput);
    Fault::new(kind, format!("{place}{}", error.message))
}
