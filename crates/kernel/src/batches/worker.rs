//! Works through the batches of all accounts, beside the other processes that share the database.
//!
//! A process takes a few rows of each account in turn, under leases. A row that is asked twice gets the same polls, so a
//! lease that ends too early costs nothing.

use std::collections::{BTreeMap, HashMap, HashSet, VecDeque};
use std::ops::Bound::{Excluded, Unbounded};
use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::Duration;

use futures::FutureExt;
use serde_json::Value;
use tokio::task::{JoinError, JoinSet};
use tokio::time::Instant;

use super::Batches;
use super::line;
use super::runner::{RowResponse, RowRunner};
use super::validation::is_temporary;
use crate::fault::{Fault, Kind, Result};
use crate::tasks::Tasks;
use ep_store::{
    BatchId, BatchRecord, BatchStatus, Lease, LeasedRows, RequestId, RowBudget, RowEnd, RowResult,
    StoreError, UserId,
};

/// Interval at which work of other processes is looked for: no signal announces it.
const INTERVAL: Duration = Duration::from_secs(1);
/// Rows that an account gets in its turn.
const TURN: u32 = 4;
/// Maximum number of open batches that are looked at.
const MAX_BATCHES: u32 = 10_000;
/// Maximum number of batches that are validated at once.
const VALIDATIONS: usize = 4;
/// Time until a row is tried again after a temporary fault.
const AGAIN: Duration = Duration::from_secs(5);
/// Time until a row is tried again that waits for money of other rows.
const WAIT_FOR_MONEY: Duration = Duration::from_millis(500);

/// The rows that this process asks.
struct Work {
    batches: Arc<Batches>,
    runner: Arc<dyn RowRunner>,
    rows: JoinSet<RowOutcome>,
    validations: JoinSet<()>,
    /// Open batches with rows that this process has asked.
    known: HashMap<BatchId, Arc<BatchRecord>>,
    /// Batches that wait for money, and the time when their rows are taken again.
    waiting: HashMap<BatchId, Instant>,
    /// The account that was served last.
    last: Option<UserId>,
    renewed: Instant,
}

/// The outcome of asking a row.
enum RowOutcome {
    /// It has ended, or is asked again later.
    Done,
    /// Its batch has too little money until one of its polls ends.
    WaitsForMoney(BatchId),
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
            waiting: HashMap::new(),
            last: None,
            renewed: Instant::now(),
        };
        let mut ticks = tokio::time::interval(INTERVAL);
        ticks.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
        loop {
            tokio::select! {
                () = tasks.stopping() => break,
                _ = ticks.tick() => {}
                () = work.batches.changed.notified() => {}
                Some(outcome) = work.rows.join_next() => {
                    work.note(outcome);
                    while let Some(outcome) = work.rows.try_join_next() {
                        work.note(outcome);
                    }
                }
                Some(_) = work.validations.join_next() => {}
            }
            if let Err(error) = work.step().await {
                tracing::warn!(%error, "failed to look for rows of batches");
                tokio::time::sleep(INTERVAL).await;
            }
        }
        // Other processes can continue at once.
        if let Err(error) = work.batches.ports.store.release_rows(&work.batches.settings.worker).await {
            tracing::warn!(%error, "failed to release the leases on rows of batches; other processes take the rows when the leases expire");
        }
    }

    pub(super) fn lease(&self) -> Lease {
        Lease { worker: self.settings.worker.clone(), lasts: self.settings.lease }
    }
}

impl Work {
    async fn step(&mut self) -> Result<(), StoreError> {
        if self.renewed.elapsed() > self.batches.settings.lease / 3 && !self.rows.is_empty() {
            self.batches.ports.store.renew_rows(&self.batches.lease()).await?;
            self.renewed = Instant::now();
        }
        while self.validations.len() < VALIDATIONS && self.begin_validation().await? {}
        let room = self.batches.settings.at_once.saturating_sub(self.rows.len());
        // Several rows are taken at a time, so that not every end of a row is followed by a look at all batches.
        if room * 8 >= self.batches.settings.at_once { self.fill(room as u32).await } else { Ok(()) }
    }

    /// Notes the outcome of a row.
    fn note(&mut self, outcome: Result<RowOutcome, JoinError>) {
        if let Ok(RowOutcome::WaitsForMoney(batch)) = outcome {
            self.waiting.insert(batch, Instant::now() + WAIT_FOR_MONEY);
        }
    }

    /// Begins to validate a batch. Returns `false` if there is none.
    async fn begin_validation(&mut self) -> Result<bool, StoreError> {
        let batch = self.batches.ports.store.lease_validation(&self.batches.lease()).await?;
        let Some(batch) = batch else { return Ok(false) };
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
        Ok(true)
    }

    /// Takes up to `room` rows, a few of each account in turn.
    async fn fill(&mut self, mut room: u32) -> Result<(), StoreError> {
        let now = self.batches.ports.clock.now();
        let open = self.batches.ports.store.open_batches(MAX_BATCHES, now).await?;
        let ids: HashSet<BatchId> = open.iter().map(|(id, _)| *id).collect();
        self.known.retain(|id, _| ids.contains(id));
        self.waiting.retain(|_, until| *until > Instant::now());
        let mut accounts: BTreeMap<UserId, VecDeque<BatchId>> = BTreeMap::new();
        for (id, user) in open {
            if !self.waiting.contains_key(&id) {
                accounts.entry(user).or_default().push_back(id);
            }
        }
        // The turn after the account that was served last, also of an earlier call.
        while room > 0 && !accounts.is_empty() {
            let next = self.last.and_then(|last| accounts.range((Excluded(last), Unbounded)).next());
            let Some((user, batches)) = next.or_else(|| accounts.iter().next()) else { break };
            let (user, batch) = (*user, batches.front().copied());
            self.last = Some(user);
            let limit = TURN.min(room);
            let taken = match batch {
                Some(id) => self.take(user, id, limit).await?,
                None => 0,
            };
            room -= taken.min(room);
            if taken < limit
                && let Some(batches) = accounts.get_mut(&user)
            {
                batches.pop_front();
                if batches.is_empty() {
                    accounts.remove(&user);
                }
            }
        }
        Ok(())
    }

    /// Takes rows of a batch, or ends it. Returns their number.
    async fn take(&mut self, user: UserId, id: BatchId, limit: u32) -> Result<u32, StoreError> {
        let store = self.batches.ports.store.clone();
        let now = self.batches.ports.clock.now();
        let LeasedRows { numbers, ending } = store.lease_rows(id, &self.batches.lease(), limit, now).await?;
        if numbers.is_empty() {
            if let Some(status) = store.end_batch(id, now).await? {
                self.batches.has_ended();
                tracing::info!(batch = %id, status = status.as_str(), "batch ended");
            }
            return Ok(0);
        }
        let batch = if let Some(batch) = self.known.get(&id) {
            Arc::clone(batch)
        } else {
            let Some(batch) = store.batch(user, id).await? else { return Ok(0) };
            let batch = Arc::new(batch);
            self.known.insert(id, Arc::clone(&batch));
            batch
        };
        for number in &numbers {
            let row = Row {
                batches: Arc::clone(&self.batches),
                runner: Arc::clone(&self.runner),
                batch: Arc::clone(&batch),
                number: *number,
                ending,
            };
            self.rows.spawn(async move {
                row.ask().await.unwrap_or_else(|error| {
                    tracing::warn!(batch = %row.batch.id, row = row.number, %error, "failed to store a row of a batch; it is asked again");
                    RowOutcome::Done
                })
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
    /// The final state, if the batch ends early.
    ending: Option<BatchStatus>,
}

impl Row {
    /// Asks the row, and stores its end. A row that cannot be asked now is postponed.
    async fn ask(&self) -> Result<RowOutcome, StoreError> {
        let Self { batches, batch, number, .. } = self;
        let lines = batches.ports.store.lines(batch.file, number - 1, 1).await?;
        let text =
            lines.into_iter().find(|(found, _)| found == number).map_or(String::new(), |(_, text)| text);
        if text.trim().is_empty() {
            return self.end(RowEnd::Blank).await;
        }
        if let Some(ending) = self.ending {
            match self.runner.has_begun(&self.reference()).await {
                Ok(true) => {}
                Ok(false) => return self.leave_out(ending, text).await,
                // Its polls may exist, and are paid.
                Err(_) => return self.postpone(AGAIN).await,
            }
        }
        let row = match line::read_beside(text.clone(), &batch.terms.endpoint).await {
            Ok(Ok(row)) => row,
            // It was valid when the batch started.
            Ok(Err(error)) => {
                let name = line::custom_id(text).await.unwrap_or_default();
                return self.fail(&name, Fault::invalid("line", error.message)).await;
            }
            Err(fault) => return self.fail("", fault).await,
        };
        let request = RequestId::from_random(batches.ports.entropy.bytes());
        for attempt in 1.. {
            let run = match self.reserve(&row).await? {
                Ok(RowBudget::Reserved) => self.run(&row, request).await,
                Ok(RowBudget::Waits) => {
                    batches.ports.store.postpone_row(batch.id, *number, WAIT_FOR_MONEY).await?;
                    return Ok(RowOutcome::WaitsForMoney(batch.id));
                }
                Ok(RowBudget::UsedUp) => return self.fail(&row.custom_id, budget_used_up()).await,
                Err(fault) => Err(fault),
            };
            match run {
                Ok(RowResponse { body, answer, usage }) => {
                    let line = self.line(&row.custom_id, (200, request), &body)?;
                    return self.end(RowEnd::Completed(RowResult { line, answer, usage })).await;
                }
                Err(fault) if is_temporary(fault.kind()) => {
                    let wait = fault.retry_after_seconds().map_or(AGAIN, Duration::from_secs);
                    return self.postpone(wait).await;
                }
                Err(fault) if fault.kind() == Kind::InsufficientBalance => {
                    if batches.ports.store.postpone_row(batch.id, *number, WAIT_FOR_MONEY).await? > 0 {
                        return Ok(RowOutcome::WaitsForMoney(batch.id));
                    }
                    // The money of the last poll can have returned meanwhile.
                    if attempt > 1 {
                        return self.fail(&row.custom_id, fault).await;
                    }
                }
                Err(fault) => return self.fail(&row.custom_id, fault).await,
            }
        }
        Ok(RowOutcome::Done)
    }

    /// Reserves the highest cost of the row, if its batch has a budget.
    async fn reserve(&self, row: &line::BatchLine) -> Result<Result<RowBudget>, StoreError> {
        let Self { batches, batch, number, .. } = self;
        if batches.settings.billing || batch.terms.max_cost.is_none() {
            return Ok(Ok(RowBudget::Reserved));
        }
        match self.runner.at_most(batch, row).await {
            Ok(most) => batches.ports.store.reserve_row(batch.id, *number, most).await.map(Ok),
            Err(fault) => Ok(Err(fault)),
        }
    }

    /// Ends the lease after this time, so that the row is asked again.
    async fn postpone(&self, wait: Duration) -> Result<RowOutcome, StoreError> {
        self.batches.ports.store.postpone_row(self.batch.id, self.number, wait).await?;
        Ok(RowOutcome::Done)
    }

    /// Stores the end of the row, and before it the cost, unless its polls are charged. A row whose cost cannot be read now is
    /// postponed.
    async fn end(&self, end: RowEnd) -> Result<RowOutcome, StoreError> {
        let Self { batches, batch, number, .. } = self;
        if !batches.settings.billing && end != RowEnd::Blank {
            let Ok(cost) = self.runner.cost(&self.reference()).await else {
                return self.postpone(AGAIN).await;
            };
            batches.ports.store.set_row_cost(batch.id, *number, cost).await?;
        }
        let outcome = match &end {
            RowEnd::Completed(..) => "completed",
            RowEnd::Failed(_) => "failed",
            RowEnd::NotAsked(_) => "not_asked",
            RowEnd::Blank => "blank",
        };
        batches.ports.store.end_row(batch.id, *number, end).await?;
        metrics::counter!("ep_batch_rows_total", "outcome" => outcome).increment(1);
        Ok(RowOutcome::Done)
    }

    /// Returns the reference of the row's polls.
    fn reference(&self) -> String {
        self.batch.id.reference(self.number)
    }

    /// Ends the row without asking it, because the batch ends early.
    async fn leave_out(&self, ending: BatchStatus, text: String) -> Result<RowOutcome, StoreError> {
        let reason = match ending {
            BatchStatus::Expired => {
                ("batch_expired", "The time of the batch was over before this row was asked.")
            }
            _ => ("batch_cancelled", "The batch was cancelled before this row was asked."),
        };
        let id = line::custom_id(text).await.unwrap_or_default();
        let line = line::not_asked((self.batch.id, self.number), &id, reason)
            .map_err(|error| StoreError::Failed(error.into()))?;
        self.end(RowEnd::NotAsked(line)).await
    }

    async fn run(&self, row: &line::BatchLine, request: RequestId) -> Result<RowResponse> {
        let running = AssertUnwindSafe(self.runner.run(&self.batch, row, self.reference(), request));
        running.catch_unwind().await.unwrap_or_else(|_| Err(Fault::internal("a row of a batch panicked")))
    }

    async fn fail(&self, custom_id: &str, fault: Fault) -> Result<RowOutcome, StoreError> {
        let request = RequestId::from_random(self.batches.ports.entropy.bytes());
        let body = self.runner.error(&self.batch, &fault, request);
        let end = self.line(custom_id, (fault.kind().row().http, request), &body)?;
        self.end(RowEnd::Failed(end)).await
    }

    fn line(
        &self,
        custom_id: &str,
        (status, request): (u16, RequestId),
        body: &Value,
    ) -> Result<String, StoreError> {
        let row = (self.batch.id, self.number);
        line::responded(row, custom_id, (status, request.to_string()), body)
            .map_err(|error| StoreError::Failed(error.into()))
    }
}

/// Returns the fault of a row that the maximum of its batch does not cover.
fn budget_used_up() -> Fault {
    let message =
        "max_cost_usd of the batch does not cover this row any more; create another batch with this row";
    Fault::new(Kind::InsufficientBalance, message)
}
