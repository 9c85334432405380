//! The two database engines under one interface.

use std::sync::Arc;
use std::time::Duration;

use ep_polling::{Ballot, PollId};
use futures::FutureExt;
use futures::future::BoxFuture;

use crate::connection::{Durability, TransactionBody};
use crate::maintenance::{DatabaseSize, IntegrityCheck};
use crate::polls::Epoch;
use crate::postgres::Postgres;
use crate::row::FromRow;
use crate::sqlite::Sqlite;
use crate::statement::Statement;
use crate::store_error::Result;
#[cfg(feature = "testing")]
use crate::testing::Interruption;
use crate::value::Value;

/// An open database. Every operation ends within the time limit of [`StoreOptions`](crate::StoreOptions), or fails.
#[derive(Clone)]
pub(crate) struct Engine {
    backend: Backend,
    #[cfg(feature = "testing")]
    interruption: Option<Arc<Interruption>>,
}

#[derive(Clone)]
enum Backend {
    Sqlite(Arc<Sqlite>),
    Postgres(Arc<Postgres>),
}

impl Engine {
    pub(crate) fn sqlite(sqlite: Sqlite) -> Self {
        Self::of(Backend::Sqlite(Arc::new(sqlite)))
    }

    pub(crate) const fn postgres(postgres: Arc<Postgres>) -> Self {
        Self::of(Backend::Postgres(postgres))
    }

    const fn of(backend: Backend) -> Self {
        Self {
            backend,
            #[cfg(feature = "testing")]
            interruption: None,
        }
    }

    /// Returns the same database, whose operations this interrupts.
    #[cfg(feature = "testing")]
    pub(crate) fn interrupted(&self, by: Arc<Interruption>) -> Self {
        Self { interruption: Some(by), ..self.clone() }
    }

    /// Runs an operation, which a test may interrupt.
    async fn run<T>(&self, operation: impl Future<Output = Result<T>> + Send) -> Result<T> {
        #[cfg(feature = "testing")]
        if let Some(interruption) = &self.interruption {
            return interruption.around(operation).await;
        }
        operation.await
    }

    /// Returns the engine's name: `sqlite` or `postgres`.
    pub(crate) const fn name(&self) -> &'static str {
        match &self.backend {
            Backend::Sqlite(_) => "sqlite",
            Backend::Postgres(_) => "postgres",
        }
    }

    /// Runs `work` in a transaction, which commits if `work` succeeds.
    pub(crate) fn transact<T: Send + 'static>(
        &self,
        durability: Durability,
        work: impl TransactionBody<T>,
    ) -> BoxFuture<'_, Result<T>> {
        match &self.backend {
            Backend::Sqlite(engine) => self.run(engine.transact(durability, work)).boxed(),
            Backend::Postgres(engine) => self.run(engine.transact(work)).boxed(),
        }
    }

    /// Runs reads on one consistent snapshot, within [`SNAPSHOT_TIMEOUT`](crate::connection::SNAPSHOT_TIMEOUT).
    pub(crate) fn snapshot<T: Send + 'static>(
        &self,
        work: impl TransactionBody<T>,
    ) -> BoxFuture<'_, Result<T>> {
        match &self.backend {
            Backend::Sqlite(engine) => self.run(engine.snapshot(work)).boxed(),
            Backend::Postgres(engine) => self.run(engine.snapshot(work)).boxed(),
        }
    }

    /// Runs one statement as a transaction; returns the number of changed rows.
    pub(crate) async fn execute(
        &self,
        durability: Durability,
        sql: impl Into<Statement>,
        values: &[Value<'_>],
    ) -> Result<u64> {
        let sql = sql.into();
        match &self.backend {
            Backend::Sqlite(engine) => self.run(engine.execute(durability, sql.sqlite, values)).await,
            Backend::Postgres(engine) => self.run(engine.execute(sql.postgres, values)).await,
        }
    }

    /// Runs one statement as a transaction; returns its rows.
    pub(crate) async fn fetch_changed<R: FromRow + Send + 'static>(
        &self,
        durability: Durability,
        sql: impl Into<Statement>,
        values: &[Value<'_>],
    ) -> Result<Vec<R>> {
        let sql = sql.into();
        match &self.backend {
            Backend::Sqlite(engine) => self.run(engine.fetch_changed(durability, sql.sqlite, values)).await,
            Backend::Postgres(engine) => self.run(engine.fetch_all(sql.postgres, values)).await,
        }
    }

    /// Runs a read; returns its row, if any.
    pub(crate) async fn fetch_optional<R: FromRow + Send + 'static>(
        &self,
        sql: impl Into<Statement>,
        values: &[Value<'_>],
    ) -> Result<Option<R>> {
        let sql = sql.into();
        match &self.backend {
            Backend::Sqlite(engine) => self.run(engine.fetch_optional(sql.sqlite, values)).await,
            Backend::Postgres(engine) => self.run(engine.fetch_optional(sql.postgres, values)).await,
        }
    }

    /// Runs a read of one row by its key, which takes microseconds; returns the row, if any.
    pub(crate) async fn fetch_by_key<R: FromRow + Send + 'static>(
        &self,
        sql: impl Into<Statement>,
        values: &[Value<'_>],
    ) -> Result<Option<R>> {
        let sql = sql.into();
        match &self.backend {
            Backend::Sqlite(engine) => self.run(engine.fetch_by_key(sql.sqlite, values)).await,
            Backend::Postgres(engine) => self.run(engine.fetch_optional(sql.postgres, values)).await,
        }
    }

    /// Runs a read; returns all its rows.
    pub(crate) async fn fetch_all<R: FromRow + Send + 'static>(
        &self,
        sql: impl Into<Statement>,
        values: &[Value<'_>],
    ) -> Result<Vec<R>> {
        let sql = sql.into();
        match &self.backend {
            Backend::Sqlite(engine) => self.run(engine.fetch_all(sql.sqlite, values)).await,
            Backend::Postgres(engine) => self.run(engine.fetch_all(sql.postgres, values)).await,
        }
    }

    /// See [`PollStore::record`](crate::PollStore::record). `ballots` is not empty.
    pub(crate) async fn insert_ballots(&self, poll: &PollId, epoch: Epoch, ballots: &[Ballot]) -> Result<()> {
        match &self.backend {
            Backend::Sqlite(engine) => self.run(engine.insert_ballots(poll, epoch, ballots)).await,
            Backend::Postgres(engine) => self.run(engine.insert_ballots(poll, epoch, ballots)).await,
        }
    }

    /// See [`Vault::touch_keys`](crate::Vault::touch_keys). Each key occurs once.
    pub(crate) async fn touch_keys(&self, last_uses: Vec<(String, i64)>) -> Result<()> {
        match &self.backend {
            Backend::Sqlite(engine) => self.run(engine.touch_keys(last_uses)).await,
            Backend::Postgres(engine) => self.run(engine.touch_keys(last_uses)).await,
        }
    }

    /// Deletes expired rows of engine-specific tables, and ends what an earlier purge could not.
    pub(crate) async fn sweep(&self) -> Result<()> {
        match &self.backend {
            Backend::Sqlite(engine) => self.run(engine.sweep()).await,
            Backend::Postgres(engine) => self.run(engine.sweep()).await,
        }
    }

    /// See [`Treasury::check_integrity`](crate::Treasury::check_integrity).
    pub(crate) async fn check_integrity(&self, check: IntegrityCheck) -> Result<Vec<String>> {
        match &self.backend {
            Backend::Sqlite(engine) => self.run(engine.check_integrity(check)).await,
            Backend::Postgres(_) => Ok(Vec::new()),
        }
    }

    /// See [`Treasury::database_size`](crate::Treasury::database_size).
    pub(crate) async fn database_size(&self) -> Result<DatabaseSize> {
        match &self.backend {
            Backend::Sqlite(engine) => self.run(engine.database_size()).await,
            Backend::Postgres(engine) => self.run(engine.database_size()).await,
        }
    }

    /// See [`Store::purge_deleted`](crate::Store::purge_deleted).
    pub(crate) async fn purge_deleted(&self) -> Result<bool> {
        match &self.backend {
            Backend::Sqlite(engine) => self.run(engine.purge_deleted()).await,
            Backend::Postgres(_) => Ok(true),
        }
    }

    /// See [`PollStore::stalled_for`](crate::PollStore::stalled_for).
    pub(crate) fn stalled_for(&self) -> Duration {
        match &self.backend {
            Backend::Sqlite(engine) => engine.stalled_for(),
            Backend::Postgres(_) => Duration::ZERO,
        }
    }

    /// See [`PollStore::ping`](crate::PollStore::ping).
    pub(crate) async fn ping(&self) -> Result<()> {
        match &self.backend {
            Backend::Sqlite(engine) => self.run(engine.ping()).await,
            Backend::Postgres(engine) => self.run(engine.ping()).await,
        }
    }

    /// Completes pending work and closes the connections.
    pub(crate) async fn close(&self) {
        match &self.backend {
            Backend::Sqlite(engine) => engine.close().await,
            Backend::Postgres(engine) => engine.close().await,
        }
    }
}
