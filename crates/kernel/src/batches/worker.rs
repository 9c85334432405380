//! Works through the batches of all accounts, beside the other processes that share the database.
//!
//! A process takes a few rows of each account in turn, under leases. A row that is asked twice gets the same polls, so a
//! lease that ends too early costs nothing.

use std::collections::HashMap;
use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::Duration;

use futures::FutureExt;
use tokio::task::JoinSet;
use tokio::time::Instant;

use super::Batches;
use super::line;
use super::runner::RowRunner;
use super::validation::is_temporary;
use crate::batch_id::BatchId;
use crate::caller::{RequestId, UserId};
use crate::fault::{Fault, Kind};
use crate::ports::{BatchRecord, Lease, RowEnd, StoreError};
use crate::tasks::Tasks;

/// Interval of looking for work that no signal announced: that of other processes.
const INTERVAL: Duration = Duration::from_secs(1);
/// Rows that an account gets in its turn.
const TURN: u32 = 4;
/// Maximum number of open batches that are looked at.
const MAX_BATCHES: u32 = 10_000;
/// Lease of a batch that is being validated.
const VALIDATION: Duration = Duration::from_mins(2);
/// Time after which a row is asked again that another attempt can help.
const AGAIN: Duration = Duration::from_secs(5);
/// Time after which a row is asked again that waits for the money of others.
const WAIT_FOR_MONEY: Duration = Duration::from_millis(500);

/// The rows that this process asks.
struct Work {
    batches: Arc<Batches>,
    runner: Arc<dyn RowRunner>,
    rows: JoinSet<()>,
    validations: JoinSet<()>,
    /// Open batches of which this process has asked rows.
    known: HashMap<BatchId, Arc<BatchRecord>>,
    renewed: Instant,
}

impl Batches {
    /// Works until the service stops. Rows in flight are left to other processes or to the next start.
    pub async fn work(self: Arc<Self>, runner: Arc<dyn RowRunner>, tasks: Tasks) {
        let mut work = Work {
            batches: self,
            runner,
            rows: JoinSet::new(),
            validations: JoinSet::new(),
            known: HashMap::new(),
            renewed: Instant::now(),
        };
        let mut ticks = tokio::time::interval(INTERVAL);
        ticks.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
        loop {
            tokio::select! {
                () = tasks.stopping() => break,
                _ = ticks.tick() => {}
                () = work.batches.changed.notified() => {}
                Some(_) = work.rows.join_next() => while work.rows.try_join_next().is_some() {},
                Some(_) = work.validations.join_next() => {}
            }
            if let Err(error) = work.step().await {
                tracing::warn!(%error, "failed to look for rows of batches");
                tokio::time::sleep(INTERVAL).await;
            }
        }
        // Other processes can take its rows at once.
        let ended = Lease { lasts: Duration::ZERO, ..work.batches.lease() };
        if let Err(error) = work.batches.store.renew_rows(&ended).await {
            tracing::warn!(%error, "failed to end the leases on rows of batches; others take them when they have passed");
        }
    }

    fn lease(&self) -> Lease {
        Lease { worker: self.worker.clone(), lasts: self.lasts }
    }
}

impl Work {
    async fn step(&mut self) -> Result<(), StoreError> {
        if self.renewed.elapsed() > self.batches.lasts / 3 && !self.rows.is_empty() {
            self.batches.store.renew_rows(&self.batches.lease()).await?;
            self.renewed = Instant::now();
        }
        if self.validations.is_empty() {
            self.begin_validation().await?;
        }
        let room = self.batches.at_once.saturating_sub(self.rows.len());
        // Several rows are taken at a time, so that not every end of a row is followed by a look at all batches.
        if room * 8 >= self.batches.at_once { self.fill(room as u32).await } else { Ok(()) }
    }

    async fn begin_validation(&mut self) -> Result<(), StoreError> {
        let lease = Lease { lasts: VALIDATION, ..self.batches.lease() };
        let Some(batch) = self.batches.store.lease_validation(&lease).await? else { return Ok(()) };
        let (batches, runner) = (Arc::clone(&self.batches), Arc::clone(&self.runner));
        self.validations.spawn(async move {
            let validated = AssertUnwindSafe(batches.validate(&batch, &*runner)).catch_unwind().await;
            let fault = match validated {
                Ok(Ok(())) => return batches.changed.notify_one(),
                Ok(Err(fault)) => fault,
                Err(_) => Fault::internal("the validation of a batch panicked"),
            };
            tracing::warn!(batch = %batch.id, error = %fault, causes = fault.causes(), "failed to validate a batch; it is tried again");
        });
        Ok(())
    }

    /// Takes up to `room` rows, a few of each account in turn.
    async fn fill(&mut self, mut room: u32) -> Result<(), StoreError> {
        let open = self.batches.store.open_batches(MAX_BATCHES).await?;
        self.known.retain(|id, _| open.iter().any(|(known, _)| known == id));
        let mut accounts: Vec<(UserId, Vec<BatchId>)> = Vec::new();
        for (id, user) in open {
            match accounts.iter_mut().find(|(known, _)| *known == user) {
                Some((_, batches)) => batches.push(id),
                None => accounts.push((user, vec![id])),
            }
        }
        // Oldest last, to take it from the end.
        accounts.iter_mut().for_each(|(_, batches)| batches.reverse());
        while room > 0 && !accounts.is_empty() {
            let mut index = 0;
            while index < accounts.len() && room > 0 {
                let (user, batches) = &mut accounts[index];
                let Some(id) = batches.last().copied() else {
                    accounts.remove(index);
                    continue;
                };
                let user = *user;
                let taken = self.take(user, id, TURN.min(room)).await?;
                room -= taken;
                if taken < TURN.min(room + taken) {
                    accounts[index].1.pop();
                } else {
                    index += 1;
                }
            }
        }
        Ok(())
    }

    /// Takes rows of a batch, or ends it. Returns their number.
    async fn take(&mut self, user: UserId, id: BatchId, limit: u32) -> Result<u32, StoreError> {
        let store = Arc::clone(&self.batches.store);
        let now = self.batches.clock.now();
        let numbers = store.lease_rows(id, &self.batches.lease(), limit, now).await?;
        if numbers.is_empty() {
            if let Some(status) = store.end_batch(id, now).await? {
                self.batches.ended.notify_one();
                tracing::info!(batch = %id, status = status.as_str(), "batch ended");
            }
            return Ok(0);
        }
        let batch = match self.known.get(&id) {
            Some(batch) => Arc::clone(batch),
            None => {
                let Some(batch) = store.batch(user, id).await? else { return Ok(0) };
                let batch = Arc::new(batch);
                self.known.insert(id, Arc::clone(&batch));
                batch
            }
        };
        for number in &numbers {
            let row = Row {
                batches: Arc::clone(&self.batches),
                runner: Arc::clone(&self.runner),
                batch: Arc::clone(&batch),
                number: *number,
            };
            self.rows.spawn(async move {
                if let Err(error) = row.ask().await {
                    tracing::warn!(batch = %row.batch.id, row = row.number, %error, "failed to store a row of a batch; it is asked again");
                }
            });
        }
        Ok(numbers.len() as u32)
    }
}

/// A row that this process has leased.
struct Row {
    batches: Arc<Batches>,
    runner: Arc<dyn RowRunner>,
    batch: Arc<BatchRecord>,
    number: u32,
}

impl Row {
    /// Asks the row, and stores its end. A row that cannot be asked now is postponed.
    async fn ask(&self) -> Result<(), StoreError> {
        let Self { batches, batch, number, .. } = self;
        let lines = batches.files.lines(batch.file, number - 1, 1).await?;
        let text =
            lines.into_iter().find(|(found, _)| found == number).map_or(String::new(), |(_, text)| text);
        if text.trim().is_empty() {
            return batches.store.end_row(batch.id, *number, RowEnd::Blank).await;
        }
        let row = match line::read(&text, &batch.terms.endpoint) {
            Ok(row) => row,
            // It was valid when the batch started.
            Err(error) => {
                let name = line::custom_id(&text).unwrap_or_default();
                return self.fail(&name, Fault::invalid("line", error.message)).await;
            }
        };
        let request = RequestId::from_random(batches.entropy.bytes());
        for attempt in 1.. {
            match self.run(&row, request).await {
                Ok(body) => {
                    let end = self.line(&row.custom_id, (200, request), &body)?;
                    return batches.store.end_row(batch.id, *number, RowEnd::Completed(end)).await;
                }
                Err(fault) if is_temporary(fault.kind()) => {
                    let wait = fault.retry_after_seconds().map_or(AGAIN, Duration::from_secs);
                    return batches.store.postpone_row(batch.id, *number, wait).await.map(drop);
                }
                Err(fault) if fault.kind() == Kind::InsufficientBalance => {
                    let others = batches.store.postpone_row(batch.id, *number, WAIT_FOR_MONEY).await?;
                    if others > 0 {
                        return Ok(());
                    }
                    // Their money has returned by now.
                    if attempt > 1 {
                        return self.fail(&row.custom_id, fault).await;
                    }
                }
                Err(fault) => return self.fail(&row.custom_id, fault).await,
            }
        }
        Ok(())
    }

    async fn run(&self, row: &line::BatchLine, request: RequestId) -> Result<serde_json::Value, Fault> {
        let reference = format!("{}-{}", self.batch.id, self.number);
        let running = AssertUnwindSafe(self.runner.run(&self.batch, row, reference, request));
        running.catch_unwind().await.unwrap_or_else(|_| Err(Fault::internal("a row of a batch panicked")))
    }

    async fn fail(&self, custom_id: &str, fault: Fault) -> Result<(), StoreError> {
        let request = RequestId::from_random(self.batches.entropy.bytes());
        let body = self.runner.error(&self.batch, &fault, request);
        let end = self.line(custom_id, (fault.kind().row().http, request), &body)?;
        self.batches.store.end_row(self.batch.id, self.number, RowEnd::Failed(end)).await
    }

    fn line(
        &self,
        custom_id: &str,
        (status, request): (u16, RequestId),
        body: &serde_json::Value,
    ) -> Result<String, StoreError> {
        let row = (self.batch.id, self.number);
        line::responded(row, custom_id, (status, request.to_string()), body)
            .map_err(|error| StoreError::Failed(error.into()))
    }
}
