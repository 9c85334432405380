//! Ballots on PostgreSQL: all ballots of one poll in one statement.

use ep_polling::{Ballot, PollId};
use sqlx::postgres::PgArguments;
use sqlx::query::Query;
use sqlx::{PgConnection, PgPool, Postgres};

use crate::error::database_error;
use crate::polls::Epoch;
use crate::polls::ballots::NewBallot;
use crate::polls::sql::ballot_columns;
use crate::store_error::{Result, StoreError};

/// `$poll` returns the number of the poll, with the values from `$17` on. The first sixteen are columns.
macro_rules! insert {
    ($poll:literal) => {
        concat!(
            "INSERT INTO votes (poll, ",
            ballot_columns!(),
            ") SELECT poll.number, new.* FROM (",
            $poll,
            ") AS poll (number), \
             UNNEST($1::smallint[], $2::smallint[], $3::smallint[], $4::bigint[], $5::bigint[], $6::bigint[], \
             $7::smallint[], $8::smallint[], $9::smallint[], $10::text[], $11::text[], $12::text[], \
             $13::integer[], $14::integer[], $15::text[], $16::smallint[]) AS new"
        )
    };
}

/// The share lock makes the insert and a concurrent close or adoption wait for each other. A closed poll gets
/// no ballots, and an adopted poll gets none from its previous worker.
const INSERT_INTO_RUNNING: &str =
    insert!("SELECT number FROM polls WHERE id = $17 AND lease_epoch = $18 AND closing IS NULL FOR SHARE");
const INSERT: &str = insert!("SELECT $17::bigint");

/// Inserts ballots of a poll that is running in this epoch, all or none.
pub(super) async fn insert_into_running(
    pool: &PgPool,
    poll: &PollId,
    epoch: Epoch,
    ballots: &[Ballot],
) -> Result<()> {
    let insert = with_columns(INSERT_INTO_RUNNING, ballots).bind(poll.as_str()).bind(epoch.number());
    let inserted = insert.execute(pool).await.map_err(database_error)?;
    let all = inserted.rows_affected() == ballots.len() as u64;
    if all { Ok(()) } else { Err(StoreError::NotFound("running poll")) }
}

/// Inserts ballots of the poll with this number, which the transaction has locked.
pub(crate) async fn insert(db: &mut PgConnection, poll: i64, ballots: &[Ballot]) -> Result<()> {
    with_columns(INSERT, ballots).bind(poll).execute(db).await.map(drop).map_err(database_error)
}

fn with_columns<'a>(sql: &'static str, ballots: &'a [Ballot]) -> Query<'a, Postgres, PgArguments> {
    let rows: Vec<NewBallot<'_>> = ballots.iter().map(NewBallot::new).collect();
    sqlx::query(sql)
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
        .bind(column(&rows, |row| row.prompt_tokens.map(|tokens| tokens as i32)))
        .bind(column(&rows, |row| row.completion_tokens.map(|tokens| tokens as i32)))
        .bind(column(&rows, |row| row.probabilities.clone()))
        .bind(column(&rows, |row| row.asked_again.map(|asked_again| asked_again as i16)))
}

fn column<'r, 'a, T>(rows: &'r [NewBallot<'a>], value: impl Fn(&'r NewBallot<'a>) -> T) -> Vec<T> {
    rows.iter().map(value).collect()
}
