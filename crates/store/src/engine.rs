//! The two database engines under one interface: running statements and reading rows.
//!
//! Transactions ([`crate::transactions`]) are written once against [`Connection`]. The modules of the engines have what
//! differs: how a transaction begins, waits and commits, how ballots are inserted, and a few statements.

use std::sync::Arc;
use std::time::Duration;

use ep_polling::ballot::Ballot;
use ep_polling::poll_id::PollId;
use futures::FutureExt;
use futures::future::BoxFuture;
use sqlx::postgres::PgRow;
use sqlx::{FromRow, PgConnection};

use crate::error::{UnexpectedData, failed};
use crate::ports::{DatabaseSize, Epoch, IntegrityCheck, StoreError};
use crate::postgres;
use crate::postgres::Postgres;
use crate::sqlite::{Sqlite, SqliteConnection, sqlite_error};
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

/// A statement.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Statement {
    sqlite: &'static str,
    postgres: &'static str,
}

impl Statement {
    /// A statement with a text for each engine.
    pub(crate) const fn of(sqlite: &'static str, postgres: &'static str) -> Self {
        Self { sqlite, postgres }
    }
}

impl From<&'static str> for Statement {
    fn from(text: &'static str) -> Self {
        Self::of(text, text)
    }
}

/// A row that SQLite can return.
pub(crate) trait FromSqlite: Sized {
    /// Decodes a row.
    fn from_sqlite(row: &rusqlite::Row<'_>) -> rusqlite::Result<Self>;
}

/// A row that both engines can return.
pub(crate) trait Record: FromSqlite + for<'r> FromRow<'r, PgRow> + Send + Unpin + 'static {}

impl<R> Record for R where R: FromSqlite + for<'r> FromRow<'r, PgRow> + Send + Unpin + 'static {}

/// A connection inside a transaction. On SQLite, each operation is complete when it is first polled.
pub(crate) enum Connection<'c> {
    Sqlite(&'c mut SqliteConnection),
    Postgres(&'c mut PgConnection),
}

impl Connection<'_> {
    /// Runs a statement; returns the number of changed rows.
    pub(crate) async fn execute(
        &mut self,
        sql: impl Into<Statement>,
        values: &[Value<'_>],
    ) -> Result<u64, StoreError> {
        let sql = sql.into();
        match self {
            Self::Sqlite(db) => db.change(sql.sqlite, values).map_err(sqlite_error),
            Self::Postgres(db) => postgres::execute(db, sql.postgres, values).await,
        }
    }

    /// Runs a statement; returns its row, if any.
    pub(crate) async fn fetch_optional<R: Record>(
        &mut self,
        sql: impl Into<Statement>,
        values: &[Value<'_>],
    ) -> Result<Option<R>, StoreError> {
        let sql = sql.into();
        match self {
            Self::Sqlite(db) => db.row(sql.sqlite, values).map_err(sqlite_error),
            Self::Postgres(db) => postgres::fetch_optional(db, sql.postgres, values).await,
        }
    }

    /// Runs a statement; fails if it returns no row.
    pub(crate) async fn fetch_one<R: Record>(
        &mut self,
        sql: impl Into<Statement>,
        values: &[Value<'_>],
    ) -> Result<R, StoreError> {
        self.fetch_optional(sql, values).await?.ok_or_else(|| failed(UnexpectedData::MissingRow))
    }

    /// Runs a statement; returns all its rows.
    pub(crate) async fn fetch_all<R: Record>(
        &mut self,
        sql: impl Into<Statement>,
        values: &[Value<'_>],
    ) -> Result<Vec<R>, StoreError> {
        let sql = sql.into();
        match self {
            Self::Sqlite(db) => db.rows(sql.sqlite, values).map_err(sqlite_error),
            Self::Postgres(db) => postgres::fetch_all(db, sql.postgres, values).await,
        }
    }

    /// Inserts the ballots of the poll with this number, which this transaction has locked.
    pub(crate) async fn insert_ballots(&mut self, poll: i64, ballots: &[Ballot]) -> Result<(), StoreError> {
        match self {
            Self::Sqlite(db) => db.insert_ballots(poll, ballots).map_err(sqlite_error),
            Self::Postgres(db) => postgres::insert_ballots(db, poll, ballots).await,
        }
    }
}

/// The body of a transaction.
pub(crate) trait TransactionBody<T>:
    for<'a, 'c> FnOnce(&'a mut Connection<'c>) -> BoxFuture<'a, Result<T, StoreError>> + Send + 'static
{
}

impl<T, W> TransactionBody<T> for W where
    W: for<'a, 'c> FnOnce(&'a mut Connection<'c>) -> BoxFuture<'a, Result<T, StoreError>> + Send + 'static
{
}

/// An open database. Every operation ends within the time limit of [`StoreOptions`](crate::StoreOptions), or fails.
pub(crate) enum Engine {
    Sqlite(Sqlite),
    Postgres(Arc<Postgres>),
}

impl Engine {
    /// Returns the engine's name: `sqlite` or `postgres`.
    pub(crate) const fn name(&self) -> &'static str {
        match self {
            Self::Sqlite(_) => "sqlite",
            Self::Postgres(_) => "postgres",
        }
    }

    /// Runs `work` in a transaction, which commits if `work` succeeds.
    pub(crate) fn transact<T: Send + 'static>(
        &self,
        durability: Durability,
        work: impl TransactionBody<T>,
    ) -> BoxFuture<'_, Result<T, StoreError>> {
        match self {
            Self::Sqlite(engine) => engine.transact(durability, work).boxed(),
            Self::Postgres(engine) => engine.transact(work).boxed(),
        }
    }

    /// Runs reads on one consistent snapshot, within [`SNAPSHOT_TIMEOUT`].
    pub(crate) fn snapshot<T: Send + 'static>(
        &self,
        work: impl TransactionBody<T>,
    ) -> BoxFuture<'_, Result<T, StoreError>> {
        match self {
            Self::Sqlite(engine) => engine.snapshot(work).boxed(),
            Self::Postgres(engine) => engine.snapshot(work).boxed(),
        }
    }

    /// Runs one statement as a transaction; returns the number of changed rows.
    pub(crate) async fn execute(
        &self,
        durability: Durability,
        sql: impl Into<Statement>,
        values: &[Value<'_>],
    ) -> Result<u64, StoreError> {
        let sql = sql.into();
        match self {
            Self::Sqlite(engine) => engine.execute(durability, sql.sqlite, values).await,
            Self::Postgres(engine) => engine.execute(sql.postgres, values).await,
        }
    }

    /// Runs one statement as a transaction; returns its rows.
    pub(crate) async fn fetch_changed<R: Record>(
        &self,
        durability: Durability,
        sql: impl Into<Statement>,
        values: &[Value<'_>],
    ) -> Result<Vec<R>, StoreError> {
        let sql = sql.into();
        match self {
            Self::Sqlite(engine) => engine.fetch_changed(durability, sql.sqlite, values).await,
            Self::Postgres(engine) => engine.fetch_all(sql.postgres, values).await,
        }
    }

    /// Runs a read; returns its row, if any.
    pub(crate) async fn fetch_optional<R: Record>(
        &self,
        sql: impl Into<Statement>,
        values: &[Value<'_>],
    ) -> Result<Option<R>, StoreError> {
        let sql = sql.into();
        match self {
            Self::Sqlite(engine) => engine.fetch_optional(sql.sqlite, values).await,
            Self::Postgres(engine) => engine.fetch_optional(sql.postgres, values).await,
        }
    }

    /// Runs a read of one row by its key, which takes microseconds; returns the row, if any.
    pub(crate) async fn fetch_by_key<R: Record>(
        &self,
        sql: impl Into<Statement>,
        values: &[Value<'_>],
    ) -> Result<Option<R>, StoreError> {
        let sql = sql.into();
        match self {
            Self::Sqlite(engine) => engine.fetch_by_key(sql.sqlite, values).await,
            Self::Postgres(engine) => engine.fetch_optional(sql.postgres, values).await,
        }
    }

    /// Runs a read; returns all its rows.
    pub(crate) async fn fetch_all<R: Record>(
        &self,
        sql: impl Into<Statement>,
        values: &[Value<'_>],
    ) -> Result<Vec<R>, StoreError> {
        let sql = sql.into();
        match self {
            Self::Sqlite(engine) => engine.fetch_all(sql.sqlite, values).await,
            Self::Postgres(engine) => engine.fetch_all(sql.postgres, values).await,
        }
    }

    /// See [`PollStore::record`](crate::ports::PollStore::record). `ballots` is not empty.
    pub(crate) async fn insert_ballots(
        &self,
        poll: &PollId,
        epoch: Epoch,
        ballots: &[Ballot],
    ) -> Result<(), StoreError> {
        match self {
            Self::Sqlite(engine) => engine.insert_ballots(poll, epoch, ballots).await,
            Self::Postgres(engine) => engine.insert_ballots(poll, epoch, ballots).await,
        }
    }

    /// See [`KeyStore::touch_keys`](crate::ports::KeyStore::touch_keys). Each key occurs once.
    pub(crate) async fn touch_keys(&self, last_uses: Vec<(String, i64)>) -> Result<(), StoreError> {
        match self {
            Self::Sqlite(engine) => engine.touch_keys(last_uses).await,
            Self::Postgres(engine) => engine.touch_keys(last_uses).await,
        }
    }

    /// Deletes expired rows of engine-specific tables, and ends what an earlier purge could not.
    pub(crate) async fn sweep(&self) -> Result<(), StoreError> {
        match self {
            Self::Sqlite(engine) => engine.sweep().await,
            Self::Postgres(engine) => engine.sweep().await,
        }
    }

    /// See [`UserAdmin::check_integrity`](crate::ports::UserAdmin::check_integrity).
    pub(crate) async fn check_integrity(&self, check: IntegrityCheck) -> Result<Vec<String>, StoreError> {
        match self {
            Self::Sqlite(engine) => engine.check_integrity(check).await,
            Self::Postgres(_) => Ok(Vec::new()),
        }
    }

    /// See [`UserAdmin::database_size`](crate::ports::UserAdmin::database_size).
    pub(crate) async fn database_size(&self) -> Result<DatabaseSize, StoreError> {
        match self {
            Self::Sqlite(engine) => engine.database_size().await,
            Self::Postgres(engine) => engine.database_size().await,
        }
    }

    /// See [`AccountDataStore::purge_deleted`](crate::ports::AccountDataStore::purge_deleted).
    pub(crate) async fn purge_deleted(&self) -> Result<bool, StoreError> {
        match self {
            Self::Sqlite(engine) => engine.purge_deleted().await,
            Self::Postgres(_) => Ok(true),
        }
    }

    /// See [`PollStore::stalled_for`](crate::ports::PollStore::stalled_for).
    pub(crate) fn stalled_for(&self) -> Duration {
        match self {
            Self::Sqlite(engine) => engine.stalled_for(),
            Self::Postgres(_) => Duration::ZERO,
        }
    }

    /// See [`PollStore::ping`](crate::ports::PollStore::ping).
    pub(crate) async fn ping(&self) -> Result<(), StoreError> {
        match self {
            Self::Sqlite(engine) => engine.ping().await,
            Self::Postgres(engine) => engine.ping().await,
        }
    }

    /// Completes pending work and closes the connections.
    pub(crate) async fn close(&self) {
        match self {
            Self::Sqlite(engine) => engine.close().await,
            Self::Postgres(engine) => engine.close().await,
        }
    }
}
