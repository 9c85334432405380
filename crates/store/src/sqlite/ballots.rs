//! Ballots on SQLite, as JSON. Passing values and rows to the connection's thread one by one costs more than
//! JSON does.

use ep_kernel::ports::{Epoch, StoreError};
use ep_polling::ballot::Ballot;
use ep_polling::poll_id::PollId;
use sqlx::SqliteConnection;

use crate::error::{database_error, failed};
use crate::rows::{self, BallotRow, NewBallotRow};
use crate::statements::ballot_columns;

/// Inserts an array of ballots of any polls; each ballot is an array that ends with the epoch. The poll id is
/// NULL, and the insert fails, unless the poll is running in that epoch. `json_each` would serialise each
/// array again for each of its values.
const INSERT: &str = concat!(
    "INSERT INTO ballots (poll_id, ",
    ballot_columns!(),
    ") SELECT (SELECT id FROM polls \
         WHERE id = value ->> 0 AND lease_epoch = value ->> '$[#-1]' AND closing IS NULL), \
     value ->> 1, value ->> 2, value ->> 3, value ->> 4, value ->> 5, value ->> 6, value ->> 7, \
     value ->> 8, value ->> 9, value ->> 10, value ->> 11, value ->> 12, \
     value ->> 13, value ->> 14 FROM jsonb_each($1)"
);
/// Selects all ballots in one row, as an array of arrays.
const SELECT: &str = concat!(
    "SELECT json_group_array(json_array(",
    ballot_columns!(),
    ") ORDER BY seq) FROM ballots WHERE poll_id = $1 AND seq > $2"
);

/// Serialises ballots as the elements of a JSON array, for [`insert`].
pub(super) fn elements(poll: &PollId, epoch: Epoch, ballots: &[Ballot]) -> Result<String, StoreError> {
    let mut elements = String::new();
    for ballot in ballots {
        if !elements.is_empty() {
            elements.push(',');
        }
        let row = NewBallotRow::new(poll, ballot);
        elements.push_str(&rows::json(&(
            row.poll_id,
            row.seq,
            row.position,
            row.model,
            row.choice,
            row.reason,
            row.detail,
            row.option_order,
            row.latency_ms,
            row.at_ms,
            row.cost,
            row.basis,
            row.answered_by,
            row.ballot_mode,
            row.reasoned,
            epoch.number(),
        ))?);
    }
    Ok(elements)
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
