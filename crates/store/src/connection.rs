//! A connection of either engine inside a transaction.
//!
//! The transactions of all nouns are written once against [`Connection`]. The modules of the engines have what
//! differs: how a transaction begins, waits and commits, and how ballots are inserted.

use std::time::Duration;

use ep_polling::Ballot;
use futures::FutureExt;
use futures::future::BoxFuture;
use sqlx::PgConnection;

use crate::error::{UnexpectedData, failed};
use crate::postgres::{ballots, connection as server};
use crate::row::FromRow;
use crate::sqlite::connection::{SqliteConnection, sqlite_error};
use crate::statement::Statement;
use crate::store_error::Result;
use crate::value::Value;

/// The time limit of an audit, which reads the whole database.
pub(crate) const SNAPSHOT_TIMEOUT: Duration = Duration::from_mins(10);

/// The failures that an acknowledged change survives. PostgreSQL always gives [`Durability::PowerLoss`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Durability {
    /// A crash of the process.
    ProcessCrash,
    /// A power loss.
    PowerLoss,
}

/// A connection inside a transaction. On SQLite, each operation is complete when it is first polled.
pub(crate) enum Connection<'c> {
    Sqlite(&'c mut SqliteConnection),
    Postgres(&'c mut PgConnection),
}

impl Connection<'_> {
    /// Runs a statement; returns the number of changed rows.
    pub(crate) async fn execute(&mut self, sql: impl Into<Statement>, values: &[Value<'_>]) -> Result<u64> {
        let sql = sql.into();
        match self {
            Self::Sqlite(db) => db.change(sql.sqlite, values).map_err(sqlite_error),
            Self::Postgres(db) => server::execute(db, sql.postgres, values).await,
        }
    }

    /// Runs a statement; returns its row, if any.
    pub(crate) async fn fetch_optional<R: FromRow + Send + 'static>(
        &mut self,
        sql: impl Into<Statement>,
        values: &[Value<'_>],
    ) -> Result<Option<R>> {
        let sql = sql.into();
        match self {
            Self::Sqlite(db) => db.row(sql.sqlite, values),
            Self::Postgres(db) => server::fetch_optional(&mut **db, sql.postgres, values).await,
        }
    }

    /// Runs a statement; fails if it returns no row.
    pub(crate) async fn fetch_one<R: FromRow + Send + 'static>(
        &mut self,
        sql: impl Into<Statement>,
        values: &[Value<'_>],
    ) -> Result<R> {
        self.fetch_optional(sql, values).await?.ok_or_else(|| failed(UnexpectedData::MissingRow))
    }

    /// Runs a statement; returns all its rows.
    pub(crate) async fn fetch_all<R: FromRow + Send + 'static>(
        &mut self,
        sql: impl Into<Statement>,
        values: &[Value<'_>],
    ) -> Result<Vec<R>> {
        let sql = sql.into();
        match self {
            Self::Sqlite(db) => db.rows(sql.sqlite, values),
            Self::Postgres(db) => server::fetch_all(&mut **db, sql.postgres, values).await,
        }
    }

    /// Inserts the ballots of the poll with this number, which this transaction has locked.
    pub(crate) async fn insert_ballots(&mut self, poll: i64, ballots: &[Ballot]) -> Result<()> {
        match self {
            Self::Sqlite(db) => db.insert_ballots(poll, ballots).map_err(sqlite_error),
            Self::Postgres(db) => ballots::insert(db, poll, ballots).await,
        }
    }
}

/// The body of a transaction.
pub(crate) trait TransactionBody<T>:
    for<'a, 'c> FnOnce(&'a mut Connection<'c>) -> BoxFuture<'a, Result<T>> + Send + 'static
{
}

impl<T, W> TransactionBody<T> for W where
    W: for<'a, 'c> FnOnce(&'a mut Connection<'c>) -> BoxFuture<'a, Result<T>> + Send + 'static
{
}

/// Runs the body of a transaction on SQLite, where its operations are complete when they are first polled.
pub(crate) fn run_on_sqlite<T>(db: &mut SqliteConnection, work: impl TransactionBody<T>) -> Result<T> {
    let mut connection = Connection::Sqlite(db);
    work(&mut connection)
        .now_or_never()
        .ok_or_else(|| failed("a transaction waited for something else than the database"))?
}
