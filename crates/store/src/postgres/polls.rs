//! Polls and ballots.

use async_trait::async_trait;
use sqlx::PgConnection;

use ep_kernel::ports::{Closing, Lease, NewPoll, Opened, PollRecord, PollStore, StoreError};
use ep_polling::ballot::Ballot;
use ep_polling::money::{Hold, MicroUsd, Settlement};
use ep_polling::poll_id::PollId;
use ep_polling::time::Timestamp;

use super::Postgres;
use crate::fault::refused;
use crate::rows::{self, BallotRow, PollRow, WrittenBallot};
use crate::statements::{self as sql, ballot_columns, poll_columns};

/// Keeps the ballots of one poll in one statement. The share lock makes it wait for a close, and a close
/// for it: nothing is kept of a poll that does not run.
const RECORD: &str = concat!(
    "INSERT INTO ballots (poll_id, ",
    ballot_columns!(),
    ") SELECT running.id, kept.* FROM \
     (SELECT id FROM polls WHERE id = $1 AND closing IS NULL FOR SHARE) AS running, \
     UNNEST($2::bigint[], $3::bigint[], $4::text[], $5::bigint[], $6::text[], $7::text[], $8::text[], \
     $9::bigint[], $10::bigint[], $11::bigint[], $12::text[], $13::text[]) AS kept"
);
const BALLOTS: &str =
    concat!("SELECT ", ballot_columns!(), " FROM ballots WHERE poll_id = $1 AND seq > $2 ORDER BY seq");
const ADOPT: &str = concat!(
    "UPDATE polls SET lease_worker = $1, lease_until = $2 WHERE id IN \
     (SELECT id FROM polls WHERE settled = 0 AND lease_until <= $3 ORDER BY lease_until LIMIT $4 \
     FOR UPDATE SKIP LOCKED) RETURNING ",
    poll_columns!()
);
/// Locks the account until the hold is taken, since how much it takes depends on what is there.
const AVAILABLE: &str = "SELECT posted - held FROM accounts WHERE id = $1 FOR UPDATE";

#[async_trait]
impl PollStore for Postgres {
    async fn open(&self, poll: &NewPoll, lease: &Lease) -> Result<Opened, StoreError> {
        self.in_time(async {
            let plan = rows::json(&poll.plan)?;
            let owner = poll.owner.map(|owner| owner.to_string());
            let mut work = self.pool.begin().await.map_err(refused)?;
            let opened = sqlx::query(sql::OPEN)
                .bind(poll.id.as_str())
                .bind(owner.as_deref())
                .bind(poll.created_at.millis())
                .bind(i64::from(poll.hold.is_some()))
                .bind(lease.until.millis())
                .bind(&lease.worker)
                .bind(poll.request_ref.as_deref())
                .bind(plan)
                .execute(&mut *work)
                .await
                .map_err(refused)?;
            if opened.rows_affected() == 0 {
                let existing: String = sqlx::query_scalar(sql::OPENED_BY)
                    .bind(poll.request_ref.as_deref())
                    .fetch_one(&mut *work)
                    .await
                    .map_err(refused)?;
                work.rollback().await.map_err(refused)?;
                return Ok(Opened::Existing(rows::poll_id(&existing)?));
            }
            let held = match poll.hold {
                Some(hold) => Some(set_aside(&mut work, &poll.id, owner, hold).await?),
                None => None,
            };
            work.commit().await.map_err(refused)?;
            Ok(Opened::New { held })
        })
        .await
    }

    async fn record(&self, poll: &PollId, ballots: &[Ballot]) -> Result<(), StoreError> {
        self.in_time(async {
            if ballots.is_empty() {
                return Ok(());
            }
            let kept: Vec<WrittenBallot<'_>> =
                ballots.iter().map(|ballot| WrittenBallot::new(poll, ballot)).collect();
            let numbers = |column: fn(&WrittenBallot<'_>) -> i64| kept.iter().map(column).collect::<Vec<_>>();
            let recorded = sqlx::query(RECORD)
                .bind(poll.as_str())
                .bind(numbers(|ballot| ballot.1))
                .bind(numbers(|ballot| ballot.2))
                .bind(kept.iter().map(|ballot| ballot.3).collect::<Vec<_>>())
                .bind(kept.iter().map(|ballot| ballot.4).collect::<Vec<_>>())
                .bind(kept.iter().map(|ballot| ballot.5).collect::<Vec<_>>())
                .bind(kept.iter().map(|ballot| ballot.6).collect::<Vec<_>>())
                .bind(kept.iter().map(|ballot| ballot.7.as_str()).collect::<Vec<_>>())
                .bind(numbers(|ballot| ballot.8))
                .bind(numbers(|ballot| ballot.9))
                .bind(numbers(|ballot| ballot.10))
                .bind(kept.iter().map(|ballot| ballot.11).collect::<Vec<_>>())
                .bind(kept.iter().map(|ballot| ballot.12).collect::<Vec<_>>())
                .execute(&self.pool)
                .await
                .map_err(refused)?;
            let all = recorded.rows_affected() == ballots.len() as u64;
            if all { Ok(()) } else { Err(StoreError::NotFound("running poll")) }
        })
        .await
    }

    async fn close(
        &self,
        poll: &PollId,
        closing: &Closing,
        settlement: Settlement,
    ) -> Result<(), StoreError> {
        self.in_time(async {
            let mut work = self.pool.begin().await.map_err(refused)?;
            let closed = sqlx::query(sql::CLOSE)
                .bind(poll.as_str())
                .bind(rows::closing_text(closing)?)
                .bind(closing.unused_calls_cost.map(MicroUsd::micro))
                .bind(i64::from(settlement != Settlement::Later))
                .execute(&mut *work)
                .await
                .map_err(refused)?;
            if closed.rows_affected() == 0 {
                return Err(StoreError::NotFound("running poll"));
            }
            if let Settlement::Capture(amount) = settlement {
                capture(&mut work, poll, amount, closing.closed_at).await?;
            }
            work.commit().await.map_err(refused)
        })
        .await
    }

    async fn settle(
        &self,
        poll: &PollId,
        amount: MicroUsd,
        unused: MicroUsd,
        at: Timestamp,
    ) -> Result<bool, StoreError> {
        self.in_time(async {
            let mut work = self.pool.begin().await.map_err(refused)?;
            let settled = sqlx::query(sql::SETTLE)
                .bind(poll.as_str())
                .bind(unused.micro())
                .execute(&mut *work)
                .await
                .map_err(refused)?;
            if settled.rows_affected() == 1 {
                capture(&mut work, poll, amount, at).await?;
                work.commit().await.map_err(refused)?;
                return Ok(true);
            }
            let settled: Option<i64> = sqlx::query_scalar(sql::IS_SETTLED)
                .bind(poll.as_str())
                .fetch_optional(&mut *work)
                .await
                .map_err(refused)?;
            if settled == Some(1) { Ok(false) } else { Err(StoreError::NotFound("closed poll")) }
        })
        .await
    }

    async fn poll(&self, id: &PollId) -> Result<Option<PollRecord>, StoreError> {
        self.in_time(async {
            let row: Option<PollRow> = sqlx::query_as(sql::POLL)
                .bind(id.as_str())
                .fetch_optional(&self.pool)
                .await
                .map_err(refused)?;
            row.map(rows::poll).transpose()
        })
        .await
    }

    async fn ballots(&self, id: &PollId, after: u32) -> Result<Vec<Ballot>, StoreError> {
        self.in_time(async {
            let ballots: Vec<BallotRow> = sqlx::query_as(BALLOTS)
                .bind(id.as_str())
                .bind(i64::from(after))
                .fetch_all(&self.pool)
                .await
                .map_err(refused)?;
            ballots.into_iter().map(rows::ballot).collect()
        })
        .await
    }

    async fn adopt(&self, lease: &Lease, now: Timestamp, limit: u32) -> Result<Vec<PollRecord>, StoreError> {
        self.in_time(async {
            let adopted: Vec<PollRow> = sqlx::query_as(ADOPT)
                .bind(&lease.worker)
                .bind(lease.until.millis())
                .bind(now.millis())
                .bind(i64::from(limit))
                .fetch_all(&self.pool)
                .await
                .map_err(refused)?;
            adopted.into_iter().map(rows::poll).collect()
        })
        .await
    }

    async fn renew(&self, lease: &Lease) -> Result<u64, StoreError> {
        self.in_time(async {
            let renewed = sqlx::query(sql::RENEW)
                .bind(&lease.worker)
                .bind(lease.until.millis())
                .execute(&self.pool)
                .await
                .map_err(refused)?;
            Ok(renewed.rows_affected())
        })
        .await
    }

    async fn ping(&self) -> Result<(), StoreError> {
        self.in_time(async { sqlx::query("SELECT 1").execute(&self.pool).await.map(|_| ()).map_err(refused) })
            .await
    }
}

async fn set_aside(
    db: &mut PgConnection,
    poll: &PollId,
    owner: Option<String>,
    hold: Hold,
) -> Result<MicroUsd, StoreError> {
    let owner = owner.ok_or(StoreError::NotFound("account"))?;
    let available: Option<i64> =
        sqlx::query_scalar(AVAILABLE).bind(&owner).fetch_optional(&mut *db).await.map_err(refused)?;
    let available = MicroUsd::new(available.ok_or(StoreError::NotFound("account"))?);
    let amount = rows::to_hold(hold, available)?;
    if !amount.is_zero() {
        // Nobody else knows this poll yet, so taking its hold after the account makes nobody wait.
        sqlx::query(sql::HOLD)
            .bind(poll.as_str())
            .bind(&owner)
            .bind(amount.micro())
            .execute(&mut *db)
            .await
            .map_err(refused)?;
        let taken = sqlx::query(sql::SET_ASIDE).bind(&owner).bind(amount.micro()).execute(db).await;
        rows::exactly_one(taken.map_err(refused)?.rows_affected())?;
    }
    Ok(amount)
}

/// Ends the poll's hold, if it has one, and takes what was spent of it. The account comes last: the
/// account's other polls wait for it.
async fn capture(
    db: &mut PgConnection,
    poll: &PollId,
    amount: MicroUsd,
    at: Timestamp,
) -> Result<(), StoreError> {
    let hold: Option<(String, i64, i64)> = sqlx::query_as(sql::CAPTURE)
        .bind(poll.as_str())
        .bind(amount.micro())
        .fetch_optional(&mut *db)
        .await
        .map_err(refused)?;
    let Some((account, held, captured)) = hold else { return Ok(()) };
    if captured > 0 {
        let moved = sqlx::query(sql::TRANSFER)
            .bind(sql::capture_ref(poll.as_str()))
            .bind(&account)
            .bind(sql::REVENUE)
            .bind(captured)
            .bind(at.millis())
            .execute(&mut *db)
            .await
            .map_err(refused)?;
        rows::exactly_one(moved.rows_affected())?;
    }
    let paid = sqlx::query(sql::PAY_OUT).bind(account).bind(held).bind(captured).execute(db).await;
    rows::exactly_one(paid.map_err(refused)?.rows_affected())
}
