//! A connection to the server.

use futures::TryStreamExt;
use sqlx::postgres::PgArguments;
use sqlx::query::Query;
use sqlx::{PgConnection, PgExecutor, Postgres};

use crate::error::database_error;
use crate::row::{FromRow, Row};
use crate::store_error::Result;
use crate::value::Value;

/// Builds a query from a statement and its values.
pub(super) fn query(sql: &'static str, values: &[Value<'_>]) -> Query<'static, Postgres, PgArguments> {
    values.iter().fold(sqlx::query(sql), |query, value| match value {
        Value::Integer(number) => query.bind(*number),
        Value::Real(number) => query.bind(*number),
        Value::Text(text) => query.bind(text.as_deref()),
        Value::Bytes(bytes) => query.bind(&**bytes),
    })
}

/// Runs a statement; returns the number of changed rows.
pub(crate) async fn execute(db: &mut PgConnection, sql: &'static str, values: &[Value<'_>]) -> Result<u64> {
    let done = query(sql, values).execute(db).await.map_err(database_error)?;
    Ok(done.rows_affected())
}

/// Runs a statement; returns its row, if any.
pub(crate) async fn fetch_optional<R: FromRow + Send + 'static>(
    db: impl PgExecutor<'_>,
    sql: &'static str,
    values: &[Value<'_>],
) -> Result<Option<R>> {
    let row = query(sql, values).fetch_optional(db).await.map_err(database_error)?;
    row.map(|row| Row::Postgres(&row).decode()).transpose()
}

/// Runs a statement; returns all its rows.
pub(crate) async fn fetch_all<R: FromRow + Send + 'static>(
    db: impl PgExecutor<'_>,
    sql: &'static str,
    values: &[Value<'_>],
) -> Result<Vec<R>> {
    let (mut found, mut rows) = (Vec::new(), query(sql, values).fetch(db));
    while let Some(row) = rows.try_next().await.map_err(database_error)? {
        found.push(Row::Postgres(&row).decode()?);
    }
    Ok(found)
}
