//! Rows asked by batches of a service: a few at a time.
//!
//! A batch is on disk before the service gets it, and stays there until its results are in the journal. So a run that was
//! killed reads the results of its batches, and no row is paid twice.

mod flight;
mod open_batch;
mod service;

use std::collections::HashMap;

use anyhow::anyhow;
use ep_kernel::{Fault, Kind};
use ep_polling::counted::counted;
use ep_polling::{MicroUsd, Usd};
use ep_store::{BatchError, BatchId, BatchStatus};
use ep_tools::batches::{MAX_BODY, MAX_INLINE_ROWS};

use super::Event;
use super::keeper::Keeper;
use super::source::{Capacity, News, RowToAsk, Source};
use crate::asking::outcome::left_to_ask;
use crate::entry::Key;
use crate::operations::Operations;
use crate::settings::LabelSettings;
use flight::Flight;
pub use open_batch::OpenBatchFile;
use open_batch::{OpenBatch, SentRow};
pub(crate) use service::BatchService;
use service::{Created, PAGE, Page, RowResult};

/// The most batches in flight. A service asks the rows of an account's first batch first.
const MAX_IN_FLIGHT: usize = 3;
/// The most bytes of the rows of a batch. A request has room for the commas between them, and for its other arguments.
const MAX_BYTES: usize = MAX_BODY / 8 * 7;

/// The batches of a run.
pub(crate) struct Batches<'b, O> {
    service: BatchService<'b, O>,
    settings: &'b LabelSettings,
    file: OpenBatchFile,
    in_flight: Vec<Flight>,
    /// Batches that could not be read. The next run reads them.
    abandoned: Vec<OpenBatch>,
    /// The number of batches of this run with the same request.
    repetitions: HashMap<Key, u32>,
    /// True if the account's money is set aside for the batches in flight.
    waits_for_money: bool,
    /// True if the page of a batch was named.
    names_page: bool,
    /// News that `next` has not returned yet.
    news: News,
}

impl<O: Operations> Source for Batches<'_, O> {
    fn cancels(&self) -> bool {
        true
    }

    fn capacity(&self) -> Capacity {
        let is_full = self.waits_for_money || self.in_flight.len() >= MAX_IN_FLIGHT;
        Capacity { rows: if is_full { 0 } else { MAX_INLINE_ROWS }, bytes: MAX_BYTES }
    }

    fn size(&self, row: &RowToAsk) -> usize {
        self.sent(row).request().to_string().len()
    }

    fn reserved(&self) -> MicroUsd {
        self.in_flight.iter().map(|flight| flight.batch.at_most().0).sum()
    }

    fn rows_in_flight(&self) -> usize {
        self.in_flight.iter().map(|flight| flight.batch.rows.len()).sum()
    }

    fn send(&mut self, rows: Vec<RowToAsk>, limit: Option<MicroUsd>) -> anyhow::Result<()> {
        let rows = rows.iter().map(|row| self.sent(row)).collect();
        let most = limit.map(|limit| Usd(limit.max(MicroUsd::new(1))));
        let repetitions = &mut self.repetitions;
        let repetition = |request| {
            let next = repetitions.entry(request).or_default();
            *next += 1;
            *next - 1
        };
        let rule = (&self.settings.panel, self.settings.on_tie);
        let batch = OpenBatch::new(self.service.url, self.service.name.clone(), rule, most, rows, repetition);
        self.in_flight.push(Flight::new(batch));
        self.store()
    }

    async fn next(&mut self, keeper: &mut Keeper<'_>, is_stopping: bool) -> anyhow::Result<News> {
        if is_stopping {
            self.drop_unsent()?;
        }
        let due = |flight: &Flight| if is_stopping { flight.due_when_stopping() } else { flight.next_look };
        let next = self.in_flight.iter().map(due).enumerate().min_by_key(|(_, due)| *due);
        let Some((place, due)) = next else { return Ok(News::default()) };
        tokio::time::sleep_until(due).await;
        match self.look(place, keeper, is_stopping).await {
            Ok(false) => {}
            Ok(true) => {
                self.in_flight.remove(place);
                self.store()?;
            }
            Err(error) => {
                let flight = self.in_flight.remove(place);
                if !flight.is_refused {
                    self.abandoned.push(flight.batch);
                }
                self.store()?;
                self.news.stop.get_or_insert(error);
            }
        }
        Ok(std::mem::take(&mut self.news))
    }
}

impl<'b, O: Operations> Batches<'b, O> {
    /// Creates the source, with the batches of earlier runs in flight.
    pub(crate) fn new(
        service: BatchService<'b, O>,
        settings: &'b LabelSettings,
        mut file: OpenBatchFile,
        keeper: &Keeper<'_>,
    ) -> anyhow::Result<Self> {
        let earlier = file.take().into_iter().map(|batch| Flight::of_earlier_run(batch, keeper));
        Ok(Self {
            service,
            settings,
            in_flight: earlier.collect::<anyhow::Result<_>>()?,
            file,
            abandoned: Vec::new(),
            repetitions: HashMap::new(),
            waits_for_money: false,
            names_page: false,
            news: News::default(),
        })
    }

    /// Returns a row as a batch has it.
    fn sent(&self, row: &RowToAsk) -> SentRow {
        let whole = &self.settings.panel;
        let panel = Some(left_to_ask(whole, &row.earlier.votes)).filter(|panel| panel != whole);
        SentRow {
            attempts: row.earlier.attempts,
            panel,
            max_cost_usd: Usd(row.at_most.max(MicroUsd::new(1))),
            question: row.question.clone(),
        }
    }

    /// Drops the batches that the service has not got.
    fn drop_unsent(&mut self) -> anyhow::Result<()> {
        let before = self.in_flight.len();
        self.in_flight.retain(|flight| flight.is_old || flight.is_sent);
        if self.in_flight.len() < before { self.store() } else { Ok(()) }
    }

    /// Looks at a batch: creates it, or reads its new results. Returns true if it has ended, and all of it is read.
    async fn look(
        &mut self,
        place: usize,
        keeper: &mut Keeper<'_>,
        is_stopping: bool,
    ) -> anyhow::Result<bool> {
        let id = self.created(place, keeper).await?;
        let Some(flight) = self.in_flight.get_mut(place) else { return Ok(true) };
        if is_stopping && !flight.is_cancelled {
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
        self.keep(place, results, keeper)?;
        if has_more || status.is_open() {
            return Ok(false);
        }
        for errors in [false, true] {
            self.read_rest(place, id, errors, keeper).await?;
        }
        self.ended(place, id, status, is_stopping).await?;
        Ok(true)
    }

    /// Returns the id of a batch, which is created if the service does not have it.
    async fn created(&mut self, place: usize, keeper: &mut Keeper<'_>) -> anyhow::Result<BatchId> {
        let flight = self.in_flight.get_mut(place).ok_or_else(|| anyhow!("a batch is missing"))?;
        if let Some(id) = flight.batch.batch_id {
            return Ok(id);
        }
        let found = if flight.is_old { self.service.find(&flight.batch.reference).await? } else { None };
        let Created { id, is_old, page } = match found {
            Some(id) => Created { id, is_old: true, page: None },
            None => match self.service.create(flight.sent()).await {
                Ok(created) => created,
                Err(fault) => {
                    // After a failure of the server, the batch may exist.
                    flight.is_refused = fault.kind().row().http < 500 && fault.kind() != Kind::InProgress;
                    // The same rows under another name of the file.
                    let is_renamed = fault.kind() == Kind::IdempotencyMismatch;
                    let reference = &flight.batch.reference;
                    let found = if is_renamed { self.service.find(reference).await? } else { None };
                    let Some(id) = found else { return Err(fault.into()) };
                    flight.is_refused = false;
                    Created { id, is_old: true, page: None }
                }
            },
        };
        (flight.batch.batch_id, flight.is_old) = (Some(id), is_old);
        self.store()?;
        if let Some(page) = page.filter(|_| !std::mem::replace(&mut self.names_page, true)) {
            keeper.tell(Event::BatchPage(&page));
        }
        Ok(id)
    }

    /// Reads the results that came after those of later rows.
    async fn read_rest(
        &mut self,
        place: usize,
        id: BatchId,
        errors: bool,
        keeper: &mut Keeper<'_>,
    ) -> anyhow::Result<()> {
        let mut after = self.in_flight.get(place).and_then(Flight::before_first_missing);
        while let Some(number) = after {
            let page = self.service.results(id, errors, number).await?;
            after = page.next_after.filter(|next| page.results.len() == PAGE && *next > number);
            self.keep(place, page.results, keeper)?;
        }
        Ok(())
    }

    /// Writes results. Fails if every further row would fail like one of them.
    fn keep(&mut self, place: usize, results: Vec<RowResult>, keeper: &mut Keeper<'_>) -> anyhow::Result<()> {
        let Some(flight) = self.in_flight.get_mut(place) else { return Ok(()) };
        let done = flight.read(results, keeper)?;
        if !done.is_empty()
            && let Some(fault) = keeper.keep(done)?
        {
            self.news.stop.get_or_insert(fault.into());
        }
        Ok(())
    }

    /// Decides about the rows of an ended batch that were not asked.
    async fn ended(
        &mut self,
        place: usize,
        id: BatchId,
        status: BatchStatus,
        is_stopping: bool,
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
        } else if !left_out.is_empty() && !is_old && !is_stopping {
            let text = format!("{reason} Run again to ask {} of {id}.", counted(left_out.len(), "other row"));
            Some(Fault::new(Kind::Conflict, text))
        } else {
            None
        };
        let again = rows.into_iter().chain(unpaid).chain(left_out);
        self.news.returned.extend(again.map(|row| row.question));
        if let Some(fault) = stop {
            self.news.stop.get_or_insert(fault.into());
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

#[cfg(test)]
mod tests {
    use std::path::Path;
    use std::time::Duration;

    use ep_kernel::Clock;
    use ep_kernel::Entry as Operation;
    use ep_polling::{TieRule, Timestamp};
    use serde_json::{Map, Value, json};

    use super::*;
    use crate::asking::Event;
    use crate::failed_rows::FailedRows;
    use crate::files::table::Row;
    use crate::journal::Journal;
    use crate::operations::OnceReply;
    use crate::question::RowQuestion;
    use crate::settings::{Panel, Questions, RequestForm};

    /// A server that never responds.
    struct Silent;

    impl Operations for Silent {
        async fn call(&self, _: &'static Operation, _: Value) -> Result<Value, Fault> {
            std::future::pending().await
        }

        async fn call_once(&self, _: &'static Operation, _: Value, _: &str) -> Result<OnceReply, Fault> {
            std::future::pending().await
        }
    }

    struct Epoch;

    impl Clock for Epoch {
        fn now(&self) -> Timestamp {
            Timestamp::from_millis(0)
        }
    }

    /// The first signal can arrive while a batch is created. The server creates it all the same.
    #[tokio::test(start_paused = true)]
    async fn a_batch_that_the_server_may_have_is_not_dropped() {
        let folder = tempfile::tempdir().unwrap();
        let out = folder.path().join("labels.jsonl");
        let settings = LabelSettings {
            questions: Questions::Requests { requests: RequestForm::BatchLines },
            panel: Panel::Models(vec!["a".to_owned(), "b".to_owned()]),
            on_tie: TieRule::Report,
            round: 1,
            asks_empty: false,
            read_request: |_| unreachable!("no row is read"),
        };
        let (mut journal, mut listener) = (Journal::open(&out).unwrap(), |_: Event<'_>| {});
        let failed = FailedRows::open(&out).unwrap();
        let mut keeper = Keeper::new(&mut journal, failed, &mut listener, &Epoch);
        let service = BatchService::new(&Silent, "http://server", Path::new("rows.jsonl")).unwrap();
        let file = OpenBatchFile::read(&out, Some("http://server")).unwrap();
        let mut batches = Batches::new(service, &settings, file, &keeper).unwrap();
        let row = |number: u64| RowToAsk {
            question: RowQuestion {
                row: Row { number, fields: Map::new() },
                id: json!(number),
                key: Key([7; 16]),
                question: "Which one is it?".to_owned(),
                options: vec!["x".to_owned(), "y".to_owned()],
                is_empty: false,
            },
            at_most: MicroUsd::new(1),
            earlier: crate::failed_rows::Earlier::default(),
        };
        batches.send(vec![row(1)], None).unwrap();
        let create = tokio::time::timeout(Duration::from_secs(1), batches.next(&mut keeper, false));
        assert!(create.await.is_err(), "the server has responded");
        batches.send(vec![row(2)], None).unwrap();
        batches.drop_unsent().unwrap();
        assert_eq!(batches.rows_in_flight(), 1, "only the batch that was not sent is dropped");
    }
}
