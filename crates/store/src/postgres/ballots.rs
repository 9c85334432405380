//! Ballots on PostgreSQL: all ballots of one poll in one statement.

use ep_kernel::ports::{Epoch, StoreError};
use ep_polling::ballot::Ballot;
use ep_polling::poll_id::PollId;
use sqlx::PgPool;

use crate::error::database_error;
use crate::rows::NewBallotRow;
use crate::statements::ballot_columns;

/// The share lock makes the insert and a concurrent close or adoption wait for each other. A closed poll gets
/// no ballots, and an adopted poll gets none from its previous worker.
const INSERT: &str = concat!(
    "INSERT INTO votes (poll, ",
    ballot_columns!(),
    ") SELECT running.number, new.* FROM \
     (SELECT number FROM polls WHERE id = $1 AND lease_epoch = $14 AND closing IS NULL FOR SHARE) AS running, \
     UNNEST($2::smallint[], $3::smallint[], $4::smallint[], $5::bigint[], $6::bigint[], $7::bigint[], \
     $8::smallint[], $9::smallint[], $10::smallint[], $11::text[], $12::text[], $13::text[]) AS new"
);

/// Inserts ballots, all or none.
pub(super) async fn insert(
    pool: &PgPool,
    poll: &PollId,
    epoch: Epoch,
    ballots: &[Ballot],
) -> Result<(), StoreError> {
    let rows: Vec<NewBallotRow<'_>> = ballots.iter().map(NewBallotRow::new).collect();
    let inserted = sqlx::query(INSERT)
        .bind(poll.as_str())
        .bind(column(&rows, |row| row.seq as i16))
        .bind(column(&rows, |row| row.position as i16))
        .bind(column(&rows, |row| row.choice.map(|choice| choice as i16)))
        .bind(column(&rows, |row| row.latency_ms))
        .bind(column(&rows, |row| row.at_ms))
        .bind(column(&rows, |row| row.cost))
        .bind(column(&rows, |row| row.basis as i16))
        .bind(column(&rows, |row| row.mode.map(|mode| mode as i16)))
        .bind(column(&rows, |row| row.reasoned.map(|reasoned| reasoned as i16)))
        .bind(column(&rows, |row| row.reason))
        .bind(column(&rows, |row| row.detail))
        .bind(column(&rows, |row| row.answered_by))
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
