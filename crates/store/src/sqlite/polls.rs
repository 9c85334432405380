//! Polls and ballots.

use async_trait::async_trait;
use futures::FutureExt;
use sqlx::SqliteConnection;

use ep_kernel::ports::{Closing, Lease, NewPoll, Opened, PollRecord, PollStore, StoreError};
use ep_polling::ballot::Ballot;
use ep_polling::money::{Hold, MicroUsd, Settlement};
use ep_polling::poll_id::PollId;
use ep_polling::time::Timestamp;

use super::Sqlite;
use super::writer::Survives;
use crate::fault::{failed, refused};
use crate::rows::{self, BallotRow, PollRow, WrittenBallot};
use crate::statements::{self as sql, ballot_columns, poll_columns};

/// Keeps an array of ballots of any polls. Only a running poll gives its id.
pub(super) const RECORD: &str = concat!(
    "INSERT INTO ballots (poll_id, ",
    ballot_columns!(),
    ") SELECT (SELECT id FROM polls WHERE id = value ->> 0 AND closing IS NULL), \
     value ->> 1, value ->> 2, value ->> 3, value ->> 4, value ->> 5, value ->> 6, value ->> 7, \
     value ->> 8, value ->> 9, value ->> 10, value ->> 11, value ->> 12 FROM json_each($1)"
);
/// All in one row: handing rows from the connection's thread to ours costs more than JSON does.
const BALLOTS: &str = concat!(
    "SELECT json_group_array(json_array(",
    ballot_columns!(),
    ") ORDER BY seq) FROM ballots WHERE poll_id = $1 AND seq > $2"
);
const ADOPT: &str = concat!(
    "UPDATE polls SET lease_worker = $1, lease_until = $2 WHERE id IN \
     (SELECT id FROM polls WHERE settled = 0 AND lease_until <= $3 ORDER BY lease_until LIMIT $4) RETURNING ",
    poll_columns!()
);
const AVAILABLE: &str = "SELECT posted - held FROM accounts WHERE id = $1";

#[async_trait]
impl PollStore for Sqlite {
    async fn open(&self, poll: &NewPoll, lease: &Lease) -> Result<Opened, StoreError> {
        let plan = rows::json(&poll.plan)?;
        let NewPoll { id, owner, created_at, request_ref, hold, .. } = poll;
        let (id, owner, created_at, request_ref, hold, lease) =
            (id.clone(), *owner, *created_at, request_ref.clone(), *hold, lease.clone());
        self.writer
            .run(Survives::PowerCut, move |db| {
                async move {
                    let owner = owner.map(|owner| owner.to_string());
                    let opened = sqlx::query(sql::OPEN)
                        .bind(id.as_str())
                        .bind(owner.as_deref())
                        .bind(created_at.millis())
                        .bind(i64::from(hold.is_some()))
                        .bind(lease.until.millis())
                        .bind(lease.worker)
                        .bind(request_ref.as_deref())
                        .bind(plan)
                        .execute(&mut *db)
                        .await
                        .map_err(refused)?;
                    if opened.rows_affected() == 0 {
                        let existing: String = sqlx::query_scalar(sql::OPENED_BY)
                            .bind(request_ref)
                            .fetch_one(db)
                            .await
                            .map_err(refused)?;
                        return Ok(Opened::Existing(rows::poll_id(&existing)?));
                    }
                    let held = match hold {
                        Some(hold) => Some(set_aside(db, &id, owner, hold).await?),
                        None => None,
                    };
                    Ok(Opened::New { held })
                }
                .boxed()
            })
            .await
    }

    async fn record(&self, poll: &PollId, ballots: &[Ballot]) -> Result<(), StoreError> {
        if ballots.is_empty() {
            return Ok(());
        }
        let mut elements = String::new();
        for ballot in ballots {
            if !elements.is_empty() {
                elements.push(',');
            }
            elements.push_str(&rows::json(&WrittenBallot::new(poll, ballot))?);
        }
        self.writer.keep(elements).await
    }

    async fn close(
        &self,
        poll: &PollId,
        closing: &Closing,
        settlement: Settlement,
    ) -> Result<(), StoreError> {
        let text = rows::closing_text(closing)?;
        let unused = closing.unused_calls_cost.map(MicroUsd::micro);
        let (poll, at) = (poll.clone(), closing.closed_at);
        self.writer
            .run(Survives::PowerCut, move |db| {
                async move {
                    let closed = sqlx::query(sql::CLOSE)
                        .bind(poll.as_str())
                        .bind(text)
                        .bind(unused)
                        .bind(i64::from(settlement != Settlement::Later))
                        .execute(&mut *db)
                        .await
                        .map_err(refused)?;
                    if closed.rows_affected() == 0 {
                        return Err(StoreError::NotFound("running poll"));
                    }
                    match settlement {
                        Settlement::Capture(amount) => capture(db, &poll, amount, at).await,
                        Settlement::Later => Ok(()),
                    }
                }
                .boxed()
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
        let poll = poll.clone();
        self.writer
            .run(Survives::PowerCut, move |db| {
                async move {
                    let settled = sqlx::query(sql::SETTLE)
                        .bind(poll.as_str())
                        .bind(unused.micro())
                        .execute(&mut *db)
                        .await
                        .map_err(refused)?;
                    if settled.rows_affected() == 1 {
                        capture(db, &poll, amount, at).await?;
                        return Ok(true);
                    }
                    let settled: Option<i64> = sqlx::query_scalar(sql::IS_SETTLED)
                        .bind(poll.as_str())
                        .fetch_optional(db)
                        .await
                        .map_err(refused)?;
                    if settled == Some(1) { Ok(false) } else { Err(StoreError::NotFound("closed poll")) }
                }
                .boxed()
            })
            .await
    }

    async fn poll(&self, id: &PollId) -> Result<Option<PollRecord>, StoreError> {
        let query = sqlx::query_as::<_, PollRow>(sql::POLL).bind(id.as_str().to_owned());
        let row = self.readers.read(|db| query.fetch_optional(db).boxed()).await?;
        row.map(rows::poll).transpose()
    }

    async fn ballots(&self, id: &PollId, after: u32) -> Result<Vec<Ballot>, StoreError> {
        let query =
            sqlx::query_scalar::<_, String>(BALLOTS).bind(id.as_str().to_owned()).bind(i64::from(after));
        let ballots = self.readers.read(|db| query.fetch_one(db).boxed()).await?;
        let ballots: Vec<BallotRow> = serde_json::from_str(&ballots).map_err(failed)?;
        ballots.into_iter().map(rows::ballot).collect()
    }

    async fn adopt(&self, lease: &Lease, now: Timestamp, limit: u32) -> Result<Vec<PollRecord>, StoreError> {
        let lease = lease.clone();
        // Lost in a power cut, the leases are taken again.
        let adopted = self
            .writer
            .run(Survives::Crash, move |db| {
                sqlx::query_as::<_, PollRow>(ADOPT)
                    .bind(lease.worker)
                    .bind(lease.until.millis())
                    .bind(now.millis())
                    .bind(i64::from(limit))
                    .fetch_all(db)
                    .map(|adopted| adopted.map_err(refused))
                    .boxed()
            })
            .await?;
        adopted.into_iter().map(rows::poll).collect()
    }

    async fn renew(&self, lease: &Lease) -> Result<u64, StoreError> {
        let lease = lease.clone();
        self.writer
            .run(Survives::Crash, move |db| {
                async move {
                    let renewed = sqlx::query(sql::RENEW)
                        .bind(lease.worker)
                        .bind(lease.until.millis())
                        .execute(db)
                        .await
                        .map_err(refused)?;
                    Ok(renewed.rows_affected())
                }
                .boxed()
            })
            .await
    }

    async fn ping(&self) -> Result<(), StoreError> {
        // The file answers where it can be read and the writer takes errands.
        self.readers
            .read(|db| sqlx::query("SELECT count(*) FROM accounts LIMIT 1").execute(db).boxed())
            .await?;
        self.writer.run(Survives::Crash, |_| async { Ok(()) }.boxed()).await
    }
}

async fn set_aside(
    db: &mut SqliteConnection,
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

/// Ends the poll's hold, if it has one, and takes what was spent of it.
async fn capture(
    db: &mut SqliteConnection,
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
