//! Rows that both engines can return.

use sqlx::FromRow;
use sqlx::postgres::PgRow;

/// A row that SQLite can return.
pub(crate) trait FromSqlite: Sized {
    /// Decodes a row.
    fn from_sqlite(row: &rusqlite::Row<'_>) -> rusqlite::Result<Self>;
}

/// A row that both engines can return.
pub(crate) trait Record: FromSqlite + for<'r> FromRow<'r, PgRow> + Send + Unpin + 'static {}

impl<R> Record for R where R: FromSqlite + for<'r> FromRow<'r, PgRow> + Send + Unpin + 'static {}
