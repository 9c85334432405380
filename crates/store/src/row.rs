//! The decoding of rows from both engines.

use sqlx::FromRow;
use sqlx::postgres::PgRow;

/// A row that SQLite can return.
pub(crate) trait SqliteRow: Sized {
    /// Decodes a row.
    fn from_sqlite(row: &rusqlite::Row<'_>) -> rusqlite::Result<Self>;
}

/// A row that both engines can return.
pub(crate) trait EngineRow: SqliteRow + for<'r> FromRow<'r, PgRow> + Send + Unpin + 'static {}

impl<R> EngineRow for R where R: SqliteRow + for<'r> FromRow<'r, PgRow> + Send + Unpin + 'static {}
