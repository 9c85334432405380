//! Ballots on SQLite, as JSON. Passing values and rows to the connection's thread one by one costs more than
//! JSON does.

use ep_kernel::ports::{Epoch, StoreError};
use ep_polling::ballot::Ballot;
use ep_polling::poll_id::PollId;
use sqlx::SqliteConnection;

use crate::error::{database_error, failed};
use crate::rows::{self, BallotRow, NewBallotRow};
use crate::statements::{ballot_columns, ballots_of_poll};

/// Inserts ballots of any polls. Each element is an array of a poll's id, its epoch, and an array of its
/// ballots. The poll's number is NULL, and the insert fails, unless the poll is running in that epoch.
/// `json_each` would serialise each array again for each of its values.
const INSERT: &str = concat!(
    "WITH running AS MATERIALIZED (SELECT (SELECT number FROM polls \
         WHERE id = value ->> 0 AND lease_epoch = value ->> 1 AND closing IS NULL) AS poll, \
         jsonb_extract(value, '$[2]') AS cast_ballots FROM jsonb_each($1)) \
     INSERT INTO votes (poll, ",
    ballot_columns!(),
    ") SELECT poll, value ->> 0, value ->> 1, value ->> 2, value ->> 3, value ->> 4, value ->> 5, value ->> 6, \
     value ->> 7, value ->> 8, value ->> 9, value ->> 10, value ->> 11 FROM running, jsonb_each(cast_ballots)"
);
/// Selects all ballots in one row, as an array of arrays.
const SELECT: &str = concat!(
    "SELECT json_group_array(json_array(",
    ballot_columns!(),
    ") ORDER BY seq) FROM ",
    ballots_of_poll!()
);

/// Serialises the ballots of one poll as an element of the JSON array of [`insert`].
pub(super) fn element(poll: &PollId, epoch: Epoch, ballots: &[Ballot]) -> Result<String, StoreError> {
    let rows: Vec<_> = ballots
        .iter()
        .map(NewBallotRow::new)
        .map(|row| {
            (
                row.seq,
                row.position,
                row.choice,
                row.latency_ms,
                row.at_ms,
                row.cost,
                row.basis,
                row.mode,
                row.reasoned,
                row.reason,
                row.detail,
                row.answered_by,
            )
        })
        .collect();
    rows::json(&(poll.as_str(), epoch.number(), rows))
}

/// Inserts the ballots of a JSON array, all or none.
pub(super) async fn insert(db: &mut SqliteConnection, array: String) -> Result<(), sqlx::Error> {
    sqlx::query(INSERT).bind(array).execute(db).await.map(drop)
}

pub(super) async fn select(
    db: &mut SqliteConnection,
    poll: &str,
    after: u32,
) -> Result<Vec<Ballot>, StoreError> {
    let query = sqlx::query_scalar::<_, String>(SELECT).bind(poll).bind(i64::from(after));
    let array = query.fetch_one(db).await.map_err(database_error)?;
    let rows: Vec<BallotRow> = serde_json::from_str(&array).map_err(failed)?;
    rows.into_iter().map(TryInto::try_into).collect()
}
