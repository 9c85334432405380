//! The interface between transactions and database engines: running statements and reading rows.
//!
//! Transactions ([`crate::transactions`]) are written once against these traits. Each engine implements
//! [`Engine`] for what differs: how a transaction begins, waits and commits, how ballots are inserted and
//! read, and a few statements.

use std::time::Duration;

use ep_polling::ballot::Ballot;
use ep_polling::poll_id::PollId;
use futures::future::BoxFuture;
use sqlx::FromRow;
use sqlx::postgres::PgRow;

use crate::error::{UnexpectedData, failed};
use crate::ports::{DatabaseSize, Epoch, IntegrityCheck, StoreError};
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

/// A row that SQLite can return.
pub(crate) trait FromSqlite: Sized {
    /// Decodes a row.
    fn from_sqlite(row: &rusqlite::Row<'_>) -> rusqlite::Result<Self>;
}

/// A row that both engines can return.
pub(crate) trait Record: FromSqlite + for<'r> FromRow<'r, PgRow> + Send + Unpin + 'static {}

impl<R> Record for R where R: FromSqlite + for<'r> FromRow<'r, PgRow> + Send + Unpin + 'static {}

/// A connection inside a transaction.
pub(crate) trait Connection: Send {
    /// Reads the available balance of an account and locks it until the transaction ends.
    const AVAILABLE: &'static str;
    /// Leases polls. Skips polls that another transaction is leasing.
    const ADOPT_POLLS: &'static str;
    /// Lists an account's polls: see [`crate::rows::PastPollRow`].
    const POLLS_OF_USER: &'static str;
    /// Lists an account's polls after a given one.
    const POLLS_AFTER: &'static str;
    /// Lists an account's polls after a given one, including rows of batches.
    const ALL_POLLS_AFTER: &'static str;
    /// Lists the polls of a batch after a given one.
    const POLLS_OF_BATCH_AFTER: &'static str;
    /// Lists an account's polls with given words in their questions.
    const FIND_POLLS: &'static str;
    /// Lists an account's running polls with given words in their questions.
    const FIND_RUNNING: &'static str;
    /// Lists the polls of a batch with given words in their questions.
    const FIND_IN_BATCH: &'static str;
    /// Lists the running polls of a batch with given words in their questions.
    const FIND_RUNNING_IN_BATCH: &'static str;
    /// Returns an account's spending by day.
    const SPENDING_BY_DAY: &'static str;
    /// Finds settled polls with a capture that differs from their cost.
    const WRONG_CAPTURES: &'static str;
    /// Claims due notifications. Skips those that another transaction is claiming.
    const DUE_NOTIFICATIONS: &'static str;
    /// Claims due notifications of batches. Skips those that another transaction is claiming.
    const DUE_BATCH_NOTIFICATIONS: &'static str;
    /// Claims due task push notifications. Skips those that another transaction is claiming.
    const DUE_PUSHES: &'static str;
    /// Adds to the sums of models.
    const ADD_MODEL_SUMS: &'static str;
    /// Adds to the votes of models per ballot position.
    const ADD_SLOT_SUMS: &'static str;
    /// Renews leases with an unchanged epoch; returns the ids of their polls.
    const RENEW_LEASES: &'static str;
    /// Leases a batch to be validated. Skips those that another transaction is leasing.
    const LEASE_VALIDATION: &'static str;
    /// Returns the sizes of the results and of the errors of a batch.
    const RESULTS_SIZES: &'static str;
    /// Finds a roster by its hash and keeps it from being deleted until the transaction ends.
    const ROSTER_BY_HASH: &'static str;

    /// Runs a statement; returns the number of changed rows.
    fn execute(
        &mut self,
        sql: &'static str,
        values: &[Value<'_>],
    ) -> impl Future<Output = Result<u64, StoreError>> + Send;

    /// Runs a statement; returns its row, if any.
    fn fetch_optional<R: Record>(
        &mut self,
        sql: &'static str,
        values: &[Value<'_>],
    ) -> impl Future<Output = Result<Option<R>, StoreError>> + Send;

    /// Runs a statement; returns all its rows.
    fn fetch_all<R: Record>(
        &mut self,
        sql: &'static str,
        values: &[Value<'_>],
    ) -> impl Future<Output = Result<Vec<R>, StoreError>> + Send;

    /// Inserts the ballots of the poll with this number, which this transaction has locked.
    fn insert_ballots(
        &mut self,
        poll: i64,
        ballots: &[Ballot],
    ) -> impl Future<Output = Result<(), StoreError>> + Send;

    /// Runs a statement; fails if it returns no row.
    fn fetch_one<R: Record>(
        &mut self,
        sql: &'static str,
        values: &[Value<'_>],
    ) -> impl Future<Output = Result<R, StoreError>> + Send {
        let row = self.fetch_optional(sql, values);
        async { row.await?.ok_or_else(|| failed(UnexpectedData::MissingRow)) }
    }
}

/// The body of a transaction.
pub(crate) trait TransactionBody<C, T>:
    for<'c> FnOnce(&'c mut C) -> BoxFuture<'c, Result<T, StoreError>> + Send + 'static
{
}

impl<C, T, W> TransactionBody<C, T> for W where
    W: for<'c> FnOnce(&'c mut C) -> BoxFuture<'c, Result<T, StoreError>> + Send + 'static
{
}

/// A database engine. Every operation ends within the time limit of
/// [`StoreOptions`](crate::StoreOptions), or fails.
pub(crate) trait Engine: Send + Sync + 'static {
    /// The engine's name: `sqlite` or `postgres`.
    const NAME: &'static str;
    /// The engine's connection type.
    type Connection: Connection;

    /// Runs `work` in a transaction, which commits if `work` succeeds.
    fn transact<T, W>(
        &self,
        durability: Durability,
        work: W,
    ) -> impl Future<Output = Result<T, StoreError>> + Send
    where
        T: Send + 'static,
        W: TransactionBody<Self::Connection, T>;

    /// Runs reads on one consistent snapshot, within [`SNAPSHOT_TIMEOUT`].
    fn snapshot<T, W>(&self, work: W) -> impl Future<Output = Result<T, StoreError>> + Send
    where
        T: Send + 'static,
        W: TransactionBody<Self::Connection, T>;

    /// Runs one statement as a transaction; returns the number of changed rows.
    fn execute(
        &self,
        durability: Durability,
        sql: &'static str,
        values: &[Value<'_>],
    ) -> impl Future<Output = Result<u64, StoreError>> + Send;

    /// Runs one statement as a transaction; returns its rows.
    fn fetch_changed<R: Record>(
        &self,
        durability: Durability,
        sql: &'static str,
        values: &[Value<'_>],
    ) -> impl Future<Output = Result<Vec<R>, StoreError>> + Send;

    /// Runs a read; returns its row, if any.
    fn fetch_optional<R: Record>(
        &self,
        sql: &'static str,
        values: &[Value<'_>],
    ) -> impl Future<Output = Result<Option<R>, StoreError>> + Send;

    /// Runs a read of one row by its key, which takes microseconds; returns the row, if any.
    fn fetch_by_key<R: Record>(
        &self,
        sql: &'static str,
        values: &[Value<'_>],
    ) -> impl Future<Output = Result<Option<R>, StoreError>> + Send {
        self.fetch_optional(sql, values)
    }

    /// Runs a read; returns all its rows.
    fn fetch_all<R: Record>(
        &self,
        sql: &'static str,
        values: &[Value<'_>],
    ) -> impl Future<Output = Result<Vec<R>, StoreError>> + Send;

    /// See [`PollStore::record`](crate::ports::PollStore::record). `ballots` is not empty.
    fn insert_ballots(
        &self,
        poll: &PollId,
        epoch: Epoch,
        ballots: &[Ballot],
    ) -> impl Future<Output = Result<(), StoreError>> + Send;

    /// See [`KeyStore::touch_keys`](crate::ports::KeyStore::touch_keys). Each key occurs once.
    fn touch_keys(
        &self,
        last_uses: Vec<(String, i64)>,
    ) -> impl Future<Output = Result<(), StoreError>> + Send;

    /// Deletes expired rows of engine-specific tables.
    fn sweep(&self) -> impl Future<Output = Result<(), StoreError>> + Send {
        async { Ok(()) }
    }

    /// See [`UserAdmin::check_integrity`](crate::ports::UserAdmin::check_integrity).
    fn check_integrity(
        &self,
        _: IntegrityCheck,
    ) -> impl Future<Output = Result<Vec<String>, StoreError>> + Send {
        async { Ok(Vec::new()) }
    }

    /// See [`UserAdmin::database_size`](crate::ports::UserAdmin::database_size).
    fn database_size(&self) -> impl Future<Output = Result<DatabaseSize, StoreError>> + Send;

    /// See [`AccountDataStore::purge_deleted`](crate::ports::AccountDataStore::purge_deleted).
    fn purge_deleted(&self) -> impl Future<Output = Result<bool, StoreError>> + Send {
        async { Ok(true) }
    }

    /// See [`PollStore::stalled_for`](crate::ports::PollStore::stalled_for).
    fn stalled_for(&self) -> Duration {
        Duration::ZERO
    }

    /// See [`PollStore::ping`](crate::ports::PollStore::ping).
    fn ping(&self) -> impl Future<Output = Result<(), StoreError>> + Send;

    /// Completes pending work and closes the connections.
    fn close(&self) -> impl Future<Output = ()> + Send;
}
