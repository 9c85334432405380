//! Batches and their rows.
//!
//! A transaction that changes a batch locks it first: then rows are leased, money is drawn and the end is decided in one
//! order.

use std::time::Duration;

use ep_polling::{Agreement, MicroUsd, Timestamp, TokenUsage};

use super::sql;
use crate::accounts::account;
use crate::batches::BatchId;
use crate::batches::locked::LockedBatch;
use crate::batches::{
    AnswerCounts, AnswerRecord, BatchError, BatchLimits, BatchMoney, BatchRecord, BatchStart, BatchStatus,
    CheckedRows, LeasedRows, NewBatch, RowAnswer, RowBudget, RowEnd, RowKind, RowResult,
};
use crate::connection::{Connection, Durability};
use crate::database::{Database, exactly_one, newest_first};
use crate::files::ListPosition;
use crate::files::transactions::LOCK_FILE;
use crate::handles::Store;
use crate::ids::UserId;
use crate::lease::Lease;
use crate::ledger::holds;
use crate::store_error::{Result, StoreError};
use crate::tasks::endings as tasks;
use crate::value::{day, json, values};
use crate::webhooks::WebhookUrl;

/// Stores batches, their rows' results, and their money.
///
/// A row belongs to a worker while it is asked, under a lease. Rows are numbered like the lines of their file.
impl Store {
    /// Creates a batch, unless its owner has reached a limit. Returns the id of the batch that has the request reference.
    /// [`StoreError::Conflict`] at a limit, [`StoreError::NotFound`] for an unknown or deleted owner or file.
    /// Acknowledged once a power loss cannot undo it.
    pub async fn create_batch(&self, batch: &NewBatch, limits: BatchLimits) -> Result<BatchId> {
        let batch = batch.clone();
        transact!(self.0, PowerLoss, |db| create(db, &batch, limits).await)
    }

    /// Returns the batch that the request with this reference has created.
    pub async fn batch_of_request(&self, request_ref: &str) -> Result<Option<BatchId>> {
        self.0.fetch_optional(sql::BATCH_BY_REQUEST, values![request_ref]).await
    }

    /// Returns a batch of an account.
    pub async fn batch(&self, user: UserId, id: BatchId) -> Result<Option<BatchRecord>> {
        self.0.fetch_optional(sql::BATCH, values![user, id]).await
    }

    /// Returns up to `limit` batches of an account, newest first, after this position.
    pub async fn batches_of(
        &self,
        user: UserId,
        after: Option<ListPosition<BatchId>>,
        limit: u32,
    ) -> Result<Vec<BatchRecord>> {
        newest_first(&self.0, sql::BATCHES_OF, user, after, limit).await
    }

    /// Does the same for ended batches that can have results which were not deleted.
    pub async fn batches_with_results(
        &self,
        user: UserId,
        after: Option<ListPosition<BatchId>>,
        limit: u32,
    ) -> Result<Vec<BatchRecord>> {
        newest_first(&self.0, sql::BATCHES_WITH_RESULTS, user, after, limit).await
    }

    /// Cancels a batch of an account that has not ended.
    pub async fn cancel_batch(&self, user: UserId, id: BatchId, at: Timestamp) -> Result<()> {
        self.0.execute(Durability::PowerLoss, sql::CANCEL_BATCH, values![user, id, at]).await.map(drop)
    }

    /// Leases one batch to be validated to this worker, if there is one without a lease. An account has one at a time.
    pub async fn lease_validation(&self, lease: &Lease) -> Result<Option<BatchRecord>> {
        let values = values![&*lease.worker, lease.lasts, Lease::longest(lease.lasts)];
        let leased: Vec<BatchId> =
            self.0.fetch_changed(Durability::ProcessCrash, sql::LEASE_VALIDATION, values).await?;
        let Some(leased) = leased.first() else { return Ok(None) };
        self.0.fetch_optional(sql::BATCH_BY_ID, values![*leased]).await
    }

    /// Renews the lease of a batch that is being validated. Returns `false` if this worker does not hold the lease.
    pub async fn renew_validation(&self, id: BatchId, lease: &Lease) -> Result<bool> {
        let values = values![id, &*lease.worker, lease.lasts];
        Ok(self.0.execute(Durability::ProcessCrash, sql::RENEW_VALIDATION, values).await? == 1)
    }

    /// Starts a batch with these rows, and sets its money aside.
    /// [`StoreError::InsufficientBalance`] and other errors of money like those of
    /// [`open_all`](crate::PollStore::open_all).
    pub async fn start_batch(
        &self,
        id: BatchId,
        rows: CheckedRows,
        money: BatchMoney,
        at: Timestamp,
    ) -> Result<BatchStart> {
        let CheckedRows { lines, total, model } = rows;
        transact!(self.0, PowerLoss, |db| {
            let batch: Option<LockedBatch> = db.fetch_optional(sql::LOCK_BATCH, values![id]).await?;
            let Some(batch) = batch.filter(|batch| batch.status == BatchStatus::Validating) else {
                return Ok(BatchStart::Ended);
            };
            let (held, budget) = match money {
                BatchMoney::Hold(hold) => (holds::reserve_for_batch(db, &batch, hold, at).await?, None),
                BatchMoney::Budget(most) => (MicroUsd::ZERO, most),
            };
            let day = batch.key.is_some().then(|| day(at));
            let values = values![id, lines, total, held, day, at, budget, model.as_deref()];
            exactly_one(db.execute(sql::START_BATCH, values).await?)?;
            Ok(BatchStart::Started)
        })
    }

    /// Ends a batch that could not be started.
    pub async fn fail_batch(&self, id: BatchId, errors: &[BatchError], at: Timestamp) -> Result<()> {
        let errors = json(&errors)?;
        transact!(self.0, PowerLoss, |db| {
            if db.execute(sql::FAIL_BATCH, values![id, errors, at]).await? == 1 {
                tasks::end_of_batch(db, id, BatchStatus::Failed, at).await?;
            }
            Ok(())
        })
    }

    /// Returns the batches with something to do at `now`, with their owners, oldest first, at most `limit`.
    pub async fn open_batches(&self, limit: u32, now: Timestamp) -> Result<Vec<(BatchId, UserId)>> {
        self.0.fetch_all(sql::OPEN_BATCHES, values![limit, now]).await
    }

    /// Leases up to `limit` rows to this worker: those of ended leases, then further ones, unless the account is frozen. Each
    /// row goes to only one worker.
    pub async fn lease_rows(
        &self,
        id: BatchId,
        lease: &Lease,
        limit: u32,
        now: Timestamp,
    ) -> Result<LeasedRows> {
        let lease = lease.clone();
        // Leases lost in a power loss are taken again.
        transact!(self.0, ProcessCrash, |db| {
            let batch: Option<LockedBatch> = db.fetch_optional(sql::LOCK_BATCH, values![id]).await?;
            let Some(batch) = batch else { return Ok(LeasedRows { numbers: Vec::new(), ending: None }) };
            let ending = if batch.status == BatchStatus::Cancelling {
                Some(BatchStatus::Cancelled)
            } else {
                (batch.expires_at <= now).then_some(BatchStatus::Expired)
            };
            let longest = Lease::longest(lease.lasts);
            let again = values![id, &*lease.worker, lease.lasts, limit, longest];
            let mut numbers: Vec<u32> = db.fetch_all(sql::LEASE_ROWS_AGAIN, again).await?;
            let further =
                limit.saturating_sub(numbers.len() as u32).min(batch.lines.saturating_sub(batch.leased));
            if further > 0 && (!batch.frozen || ending.is_some()) {
                let (from, to) = (batch.leased, batch.leased + further);
                let rows = values![id, &*lease.worker, lease.lasts, from, to];
                numbers.extend(db.fetch_all::<u32>(sql::LEASE_ROWS, rows).await?);
                exactly_one(db.execute(sql::SET_LEASED, values![id, to]).await?)?;
            }
            Ok(LeasedRows { numbers, ending })
        })
    }

    /// Renews the leases of all rows of this worker.
    pub async fn renew_rows(&self, lease: &Lease) -> Result<()> {
        let values = values![&*lease.worker, lease.lasts];
        self.0.execute(Durability::ProcessCrash, sql::RENEW_ROWS, values).await.map(drop)
    }

    /// Ends the leases of this worker.
    pub async fn release_rows(&self, worker: &str) -> Result<()> {
        self.0.execute(Durability::ProcessCrash, sql::RELEASE_VALIDATIONS, values![worker]).await?;
        self.0.execute(Durability::ProcessCrash, sql::RELEASE_ROWS, values![worker]).await.map(drop)
    }

    /// Reserves the highest cost of a row, once, if its batch has a budget. For batches that are not charged.
    pub async fn reserve_row(&self, id: BatchId, number: u32, most: MicroUsd) -> Result<RowBudget> {
        transact!(self.0, ProcessCrash, |db| {
            let batch: Option<LockedBatch> = db.fetch_optional(sql::LOCK_BATCH, values![id]).await?;
            let Some(budget) = batch.and_then(|batch| batch.budget) else { return Ok(RowBudget::Reserved) };
            let (cost, others): (Option<MicroUsd>, u32) =
                db.fetch_one(sql::COST_OF_ROW, values![id, number]).await?;
            if cost.is_some() {
                return Ok(RowBudget::Reserved);
            }
            if budget < most.micro() {
                return Ok(if others > 0 { RowBudget::Waits } else { RowBudget::UsedUp });
            }
            exactly_one(db.execute(sql::CHANGE_BUDGET, values![id, most]).await?)?;
            db.execute(sql::SET_COST_OF_ROW, values![id, number, most]).await?;
            Ok(RowBudget::Reserved)
        })
    }

    /// Stores the cost of a row that is about to end; the rest of what was reserved returns to the budget. For batches that
    /// are not charged.
    pub async fn set_row_cost(&self, id: BatchId, number: u32, cost: MicroUsd) -> Result<()> {
        transact!(self.0, ProcessCrash, |db| {
            let batch: Option<LockedBatch> = db.fetch_optional(sql::LOCK_BATCH, values![id]).await?;
            if batch.is_none() {
                return Ok(());
            }
            let (before, _): (Option<i64>, u32) = db.fetch_one(sql::COST_OF_ROW, values![id, number]).await?;
            // Negative if the row cost less than was reserved.
            let more = cost.micro() - before.unwrap_or_default();
            if db.execute(sql::SET_COST_OF_ROW, values![id, number, cost]).await? == 1 {
                db.execute(sql::CHANGE_BUDGET, values![id, more]).await?;
            }
            Ok(())
        })
    }

    /// Stores the end of a row with its result and answer, once.
    pub async fn end_row(&self, id: BatchId, number: u32, end: RowEnd) -> Result<()> {
        let (outcome, response) = match end {
            RowEnd::Completed(RowResult { line, answer, usage }) => {
                return transact!(self.0, ProcessCrash, |db| {
                    let TokenUsage { prompt_tokens, completion_tokens } = usage;
                    let (prompt, completion) = (prompt_tokens as i64, completion_tokens as i64);
                    let values = values![id, number, outcome(RowKind::Completed), &*line, prompt, completion];
                    if db.execute(sql::END_ROW, values).await? == 0 {
                        return Ok(());
                    }
                    let Some(RowAnswer { option, agreement, contested }) = answer else { return Ok(()) };
                    let values = values![id, number, option.as_deref(), agreement.number(), contested];
                    exactly_one(db.execute(sql::ADD_ANSWER, values).await?)
                });
            }
            RowEnd::Failed(response) => (outcome(RowKind::Failed), Some(response)),
            RowEnd::NotAsked(response) => {
                self.0.execute(Durability::ProcessCrash, sql::CUT_BATCH, values![id]).await?;
                (outcome(RowKind::Failed), Some(response))
            }
            RowEnd::Blank => (BLANK, None),
        };
        // A result lost in a power loss is read again from its polls.
        let none: Option<i64> = None;
        let values = values![id, number, outcome, response.as_deref(), none, none];
        self.0.execute(Durability::ProcessCrash, sql::END_ROW, values).await.map(drop)
    }

    /// Ends the lease of a row after this time, so that it is asked again. Returns the number of polls of its batch whose
    /// money can return to it.
    pub async fn postpone_row(&self, id: BatchId, number: u32, by: Duration) -> Result<u32> {
        self.0.execute(Durability::ProcessCrash, sql::POSTPONE_ROW, values![id, number, by]).await?;
        let holds = self.0.fetch_optional(sql::OPEN_HOLDS_OF, values![id]).await?;
        Ok(holds.unwrap_or_default())
    }

    /// Ends a batch with nothing left to do, and returns its money. Returns its state if this call ended it.
    pub async fn end_batch(&self, id: BatchId, now: Timestamp) -> Result<Option<BatchStatus>> {
        let ended = transact!(self.0, PowerLoss, |db| {
            let batch: Option<LockedBatch> = db.fetch_optional(sql::LOCK_BATCH, values![id]).await?;
            let Some(batch) = batch.filter(|batch| batch.status != BatchStatus::Validating) else {
                return Ok(None);
            };
            let unfinished: u32 = db.fetch_one(sql::UNFINISHED_ROWS, values![id]).await?;
            if unfinished > 0 || batch.leased < batch.lines {
                return Ok(None);
            }
            let status = if batch.status == BatchStatus::Cancelling {
                BatchStatus::Cancelled
            } else if batch.is_cut {
                BatchStatus::Expired
            } else {
                BatchStatus::Completed
            };
            exactly_one(db.execute(sql::END_BATCH, values![id, status.as_str(), now]).await?)?;
            holds::release_from_batch(db, id, &batch, now).await?;
            tasks::end_of_batch(db, id, status, now).await?;
            Ok(Some(status))
        })?;
        if ended.is_some() {
            // After the transaction, because it reads all results. If this fails, they are measured when they are listed.
            if let Err(error) = self.0.measure_results(id).await {
                tracing::debug!(batch = %id, %error, "failed to measure the results of a batch");
            }
        }
        Ok(ended)
    }

    /// Returns up to `limit` results of a batch with numbers above `after`, in order.
    pub async fn batch_results(
        &self,
        id: BatchId,
        kind: RowKind,
        after: u32,
        limit: u32,
    ) -> Result<Vec<(u32, String)>> {
        self.0.fetch_all(sql::RESULTS, values![id, outcome(kind), after, limit]).await
    }

    /// Returns the size of the results of a batch, in bytes, with an end for each line.
    pub async fn results_size(&self, id: BatchId, kind: RowKind) -> Result<u64> {
        let stored = self.0.fetch_optional(sql::STORED_RESULTS_SIZES, values![id]).await?;
        let (output, errors) = match stored {
            Some((Some(output), Some(errors))) => (output, errors),
            Some(_) => self.0.measure_results(id).await?,
            None => (0, 0),
        };
        Ok(match kind {
            RowKind::Completed => output,
            RowKind::Failed => errors,
        })
    }

    /// Deletes results of a batch before their time. The rows stay counted.
    pub async fn erase_results(&self, id: BatchId, kind: RowKind) -> Result<()> {
        self.0.execute(Durability::PowerLoss, sql::ERASE_RESULTS, values![id, outcome(kind)]).await?;
        match kind {
            RowKind::Completed => {
                self.0.execute(Durability::PowerLoss, sql::NO_OUTPUT, values![id]).await?;
                self.0.execute(Durability::PowerLoss, sql::DELETE_ANSWERS, values![id]).await.map(drop)
            }
            RowKind::Failed => {
                self.0.execute(Durability::PowerLoss, sql::NO_ERRORS, values![id]).await.map(drop)
            }
        }
    }

    /// Returns the numbers of answers of a batch.
    pub async fn answer_counts(&self, id: BatchId) -> Result<AnswerCounts> {
        let values = values![id, Agreement::FULL.number()];
        Ok(self.0.fetch_optional(sql::COUNT_ANSWERS, values).await?.unwrap_or_default())
    }

    /// Returns up to `limit` answers of a batch with numbers above `after`, in order.
    pub async fn answers(&self, id: BatchId, after: u32, limit: u32) -> Result<Vec<AnswerRecord>> {
        self.0.fetch_all(sql::ANSWERS, values![id, after, limit]).await
    }

    /// Returns up to `limit` answers of a batch without a review, those in most doubt first, after this agreement and number.
    pub async fn answers_to_review(
        &self,
        id: BatchId,
        after: Option<(Agreement, u32)>,
        limit: u32,
    ) -> Result<Vec<AnswerRecord>> {
        let (agreement, number) = after.unwrap_or((Agreement::NONE, 0));
        self.0.fetch_all(sql::ANSWERS_TO_REVIEW, values![id, agreement.number(), number, limit]).await
    }

    /// Stores the option that a person chose for a row, or removes it. Returns `false` if the row has no answer.
    pub async fn review_row(
        &self,
        id: BatchId,
        number: u32,
        option: Option<&str>,
        at: Timestamp,
    ) -> Result<bool> {
        let values = values![id, number, option, at];
        Ok(self.0.execute(Durability::PowerLoss, sql::REVIEW_ROW, values).await? == 1)
    }

    /// Lets everyone with the link read the page of a batch, or only its owner.
    pub async fn share_batch(&self, user: UserId, id: BatchId, shared: bool) -> Result<()> {
        self.0.execute(Durability::PowerLoss, sql::SHARE_BATCH, values![user, id, shared]).await.map(drop)
    }

    /// Returns a batch that is shared.
    pub async fn shared_batch(&self, id: BatchId) -> Result<Option<BatchRecord>> {
        self.0.fetch_optional(sql::SHARED_BATCH, values![id]).await
    }

    /// Deletes up to `limit` ended batches whose time is over. Returns their number.
    pub async fn delete_old_batches(&self, now: Timestamp, limit: u32) -> Result<u64> {
        let old: Vec<BatchId> = self.0.fetch_all(sql::OLD_BATCHES, values![now, limit]).await?;
        let deleted = old.len() as u64;
        transact!(self.0, ProcessCrash, |db| {
            for id in old {
                erase(db, id).await?;
            }
            Ok(())
        })?;
        Ok(deleted)
    }
}

impl Database {
    /// Returns the sizes of the results and of the errors of a batch, and stores them if it has ended.
    async fn measure_results(&self, id: BatchId) -> Result<(u64, u64)> {
        let kinds = values![id, outcome(RowKind::Completed), outcome(RowKind::Failed)];
        let measured: Option<(Option<u64>, Option<u64>)> =
            self.engine.fetch_optional(sql::RESULTS_SIZES, kinds).await?;
        let (output, errors) = measured.unwrap_or_default();
        let (output, errors) = (output.unwrap_or_default(), errors.unwrap_or_default());
        let values = values![id, output as i64, errors as i64];
        self.engine.execute(Durability::ProcessCrash, sql::STORE_RESULTS_SIZES, values).await?;
        Ok((output, errors))
    }
}

/// The outcome of a line that is no row.
const BLANK: i64 = 2;

const fn outcome(kind: RowKind) -> i64 {
    match kind {
        RowKind::Completed => 0,
        RowKind::Failed => 1,
    }
}

async fn create(db: &mut Connection<'_>, batch: &NewBatch, limits: BatchLimits) -> Result<BatchId> {
    let NewBatch { id, user, file, terms, key, request_ref, created_at, expires_at, keep, notify } = batch;
    // The batches of an account are created one after the other.
    account::lock_live(db, *user).await?;
    if let Some(existing) = db.fetch_optional(sql::BATCH_BY_REQUEST, values![request_ref.as_deref()]).await? {
        return Ok(existing);
    }
    if db.execute(LOCK_FILE, values![*file, *user]).await? == 0 {
        return Err(StoreError::NotFound("file"));
    }
    let open: u32 = db.fetch_one(sql::OPEN_BATCHES_OF, values![*user]).await?;
    if open >= limits.open {
        return Err(StoreError::Conflict(
            "too many batches of this account are open; wait until one has ended, or cancel one",
        ));
    }
    for id in db.fetch_all(sql::SURPLUS_FAILED_BATCHES, values![*user, limits.failed]).await? {
        erase(db, id).await?;
    }
    let results: u64 = db.fetch_one(sql::RESULTS_TOTAL, values![*user]).await?;
    if results > limits.results_bytes {
        return Err(StoreError::Conflict(
            "the results of this account's batches take too much room; delete result files that you have read, or wait until \
             they expire",
        ));
    }
    let (terms, request_ref) = (json(terms)?, request_ref.as_deref());
    let values = values![*id, *user, *file, terms, *key, request_ref, *created_at, *expires_at, *keep];
    exactly_one(db.execute(sql::ADD_BATCH, values).await?)?;
    let url = notify.as_ref().map(WebhookUrl::as_str);
    db.execute(sql::ADD_BATCH_NOTIFICATION, values![*id, *user, url]).await?;
    Ok(*id)
}

/// Deletes an ended batch with its rows. Its private polls follow: see [`super::erased`].
pub(crate) async fn erase(db: &mut Connection<'_>, batch: BatchId) -> Result<()> {
    db.execute(sql::ERASE_POLLS_OF, values![batch]).await?;
    db.execute(sql::DELETE_ANSWERS, values![batch]).await?;
    db.execute(sql::DELETE_ROWS, values![batch]).await?;
    db.execute(sql::DELETE_BATCH_NOTIFICATION, values![batch]).await?;
    db.execute(sql::DELETE_BATCH, values![batch]).await.map(drop)
}
