//! Ballots on PostgreSQL: all ballots of one poll in one statement.

use ep_kernel::ports::{Epoch, StoreError};
use ep_polling::ballot::Ballot;
use ep_polling::poll_id::PollId;
use sqlx::PgPool;

use crate::engine::Engine;
use crate::error::database_error;
use crate::rows::{BallotRow, NewBallotRow};
use crate::statements::ballot_columns;
use crate::value::values;

/// The share lock makes the insert and a concurrent close or adoption wait for each other. A closed poll gets
/// no ballots, and an adopted poll gets none from its previous worker.
const INSERT: &str = concat!(
    "INSERT INTO ballots (poll_id, ",
    ballot_columns!(),
    ") SELECT running.id, new.* FROM \
     (SELECT id FROM polls WHERE id = $1 AND lease_epoch = $16 AND closing IS NULL FOR SHARE) AS running, \
     UNNEST($2::bigint[], $3::bigint[], $4::text[], $5::bigint[], $6::text[], $7::text[], $8::text[], \
     $9::bigint[], $10::bigint[], $11::bigint[], $12::text[], $13::text[], $14::text[], $15::bigint[]) AS new"
);
const SELECT: &str =
    concat!("SELECT ", ballot_columns!(), " FROM ballots WHERE poll_id = $1 AND seq > $2 ORDER BY seq");

/// Inserts ballots, all or none.
pub(super) async fn insert(
    pool: &PgPool,
    poll: &PollId,
    epoch: Epoch,
    ballots: &[Ballot],
) -> Result<(), StoreError> {
    let rows: Vec<NewBallotRow<'_>> = ballots.iter().map(|ballot| NewBallotRow::new(poll, ballot)).collect();
    let inserted = sqlx::query(INSERT)
        .bind(poll.as_str())
        .bind(column(&rows, |row| row.seq))
        .bind(column(&rows, |row| row.position))
        .bind(column(&rows, |row| row.model))
        .bind(column(&rows, |row| row.choice))
        .bind(column(&rows, |row| row.reason))
        .bind(column(&rows, |row| row.detail))
        .bind(column(&rows, |row| row.option_order.as_str()))
        .bind(column(&rows, |row| row.latency_ms))
        .bind(column(&rows, |row| row.at_ms))
        .bind(column(&rows, |row| row.cost))
        .bind(column(&rows, |row| row.basis))
        .bind(column(&rows, |row| row.answered_by))
        .bind(column(&rows, |row| row.ballot_mode))
        .bind(column(&rows, |row| row.reasoned))
        .bind(epoch.number())
        .execute(pool)
        .await
        .map_err(database_error)?;
    let all = inserted.rows_affected() == ballots.len() as u64;
    if all { Ok(()) } else { Err(StoreError::NotFound("running poll")) }
}

fn column<'r, 'a, T>(rows: &'r [NewBallotRow<'a>], value: impl Fn(&'r NewBallotRow<'a>) -> T) -> Vec<T> {
    rows.iter().map(value).collect()
}

/// Returns the ballots of a poll with a sequence number above `after`, in order.
pub(super) async fn select(
    engine: &super::Postgres,
    poll: &PollId,
    after: u32,
) -> Result<Vec<Ballot>, StoreError> {
    let rows: Vec<BallotRow> = engine.fetch_all(SELECT, values![poll, after]).await?;
    rows.into_iter().map(TryInto::try_into).collect()
}
