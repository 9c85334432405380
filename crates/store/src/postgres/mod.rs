//! PostgreSQL: any number of identical replicas on one server; every transaction is READ COMMITTED.

pub(crate) mod ballots;
mod changes;
pub(crate) mod connection;
mod limiter;

use std::time::Duration;

use ep_polling::{Ballot, PollId};
use sqlx::pool::PoolConnection;
use sqlx::postgres::{PgConnectOptions, PgPoolOptions};
use sqlx::{ConnectOptions, Connection as _, PgConnection, PgPool, Postgres as Driver};

use self::connection::query;
use crate::connect_error::ConnectError;
use crate::connection::{Connection, SNAPSHOT_TIMEOUT, TransactionBody};
use crate::error::{TimedOut, database_error, failed};
use crate::maintenance::DatabaseSize;
use crate::maintenance::PING;
use crate::polls::Epoch;
use crate::row::FromRow;
use crate::store_error::Result;
use crate::value::Value;
use crate::{StoreOptions, migrations};

/// Idle connections are closed after this time.
const IDLE_TIMEOUT: Duration = Duration::from_mins(10);
/// The maximum age of a connection. It is limited so that load spreads again after a failover.
const MAX_CONNECTION_AGE: Duration = Duration::from_hours(1);

const TOUCH_KEYS: &str = "UPDATE api_keys SET last_used_at = used.at \
     FROM UNNEST($1::text[], $2::bigint[]) AS used (id, at) \
     WHERE api_keys.id = used.id AND (last_used_at IS NULL OR last_used_at < used.at)";

const DATABASE_SIZE: &str = "SELECT pg_database_size(current_database()) AS count";

/// A pool of connections.
pub(crate) struct Postgres {
    pool: PgPool,
    /// Options of the connection that listens.
    server: PgConnectOptions,
    timeout: Duration,
}

impl Postgres {
    pub(crate) async fn open(
        server: &PgConnectOptions,
        options: &StoreOptions,
    ) -> Result<Self, ConnectError> {
        let failed = |error| ConnectError::server(server, error);
        let server = server.clone().application_name("ensemble-poll");
        migrate(&server, options.timeout).await?;
        let statement = options.timeout.as_millis().to_string();
        // A paused process keeps its locks until this timeout. It is half of the other one, so that statements that wait for
        // the locks succeed.
        let idle = (options.timeout / 2).as_millis().to_string();
        let limited = server.clone().options([
            ("statement_timeout", statement.as_str()),
            ("idle_in_transaction_session_timeout", idle.as_str()),
        ]);
        let pool = PgPoolOptions::new()
            .max_connections(options.connections.max(1))
            .acquire_timeout(options.timeout)
            .idle_timeout(IDLE_TIMEOUT)
            .max_lifetime(MAX_CONNECTION_AGE)
            // A connection is tested when it is returned; one that fails in between fails one operation.
            .test_before_acquire(false)
            .connect_with(limited.clone())
            .await
            .map_err(failed)?;
        Ok(Self { pool, server: limited, timeout: options.timeout })
    }

    /// Runs an operation within the time limit. The server has the same limit for each statement; this one
    /// also ends the wait for an unresponsive server.
    async fn within_timeout<T>(&self, operation: impl Future<Output = Result<T>> + Send) -> Result<T> {
        within(self.timeout, operation).await
    }
}

/// A pool connection used by one transaction. It is closed unless [`Self::return_to_pool`] is called: sqlx
/// 0.9 does not roll back a transaction that is cancelled while it begins, so the connection's next user
/// would unknowingly write into it.
struct TransactionConnection(Option<PoolConnection<Driver>>);

impl TransactionConnection {
    async fn from(pool: &PgPool) -> Result<Self> {
        Ok(Self(Some(pool.acquire().await.map_err(database_error)?)))
    }

    fn connection(&mut self) -> Result<&mut PgConnection> {
        self.0.as_deref_mut().ok_or_else(|| database_error(sqlx::Error::PoolClosed))
    }

    fn return_to_pool(mut self) {
        drop(self.0.take());
    }
}

impl Drop for TransactionConnection {
    fn drop(&mut self) {
        drop(self.0.take().map(PoolConnection::detach));
    }
}

async fn within<T>(limit: Duration, operation: impl Future<Output = Result<T>> + Send) -> Result<T> {
    tokio::time::timeout(limit, operation).await.map_err(|_| failed(TimedOut))?
}

/// Returns `true` if the database has been migrated.
pub(crate) async fn is_in_use(server: &PgConnectOptions, timeout: Duration) -> Result<bool, ConnectError> {
    let mut db = connect(server, timeout).await?;
    let found = has_migrations(&mut db);
    let found = tokio::time::timeout(timeout, found).await.unwrap_or(Err(sqlx::Error::PoolTimedOut));
    let found = found.map_err(|error| ConnectError::server(server, error))?;
    let _ = sqlx::Connection::close(db).await;
    Ok(found)
}

async fn has_migrations(db: &mut PgConnection) -> sqlx::Result<bool> {
    sqlx::query_scalar("SELECT to_regclass('_sqlx_migrations') IS NOT NULL").fetch_one(db).await
}

async fn applied(db: &mut PgConnection) -> sqlx::Result<migrations::Applied> {
    if !has_migrations(db).await? {
        return Ok(Vec::new());
    }
    sqlx::query_as(migrations::APPLIED).fetch_all(db).await
}

async fn connect(server: &PgConnectOptions, timeout: Duration) -> Result<PgConnection, ConnectError> {
    let connected = tokio::time::timeout(timeout, server.connect()).await;
    let connected = connected.unwrap_or(Err(sqlx::Error::PoolTimedOut));
    connected.map_err(|error| ConnectError::server(server, error))
}

/// Migrates on a connection without time limits, one replica at a time (under an advisory lock).
async fn migrate(server: &PgConnectOptions, timeout: Duration) -> Result<(), ConnectError> {
    let mut db = connect(server, timeout).await?;
    let all = migrations::postgres();
    let applied = applied(&mut db).await.map_err(|error| ConnectError::server(server, error))?;
    migrations::check(&all, &applied).map_err(ConnectError::migration)?;
    all.run(&mut db).await.map_err(ConnectError::migration)?;
    let _ = sqlx::Connection::close(db).await;
    Ok(())
}

impl Postgres {
    pub(crate) async fn transact<T: Send + 'static>(&self, work: impl TransactionBody<T>) -> Result<T> {
        self.within_timeout(async {
            let mut pooled = TransactionConnection::from(&self.pool).await?;
            let mut transaction = pooled.connection()?.begin().await.map_err(database_error)?;
            let result = match work(&mut Connection::Postgres(&mut transaction)).await {
                Ok(result) => transaction.commit().await.map(|()| Ok(result)),
                Err(error) => transaction.rollback().await.map(|()| Err(error)),
            };
            let result = result.map_err(database_error)?;
            pooled.return_to_pool();
            result
        })
        .await
    }

    pub(crate) async fn snapshot<T: Send + 'static>(&self, work: impl TransactionBody<T>) -> Result<T> {
        let reading = async {
            let begin = "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY";
            let mut pooled = TransactionConnection::from(&self.pool).await?;
            let begun = pooled.connection()?.begin_with(begin).await;
            let mut transaction = begun.map_err(database_error)?;
            let limit = sqlx::query("SELECT set_config('statement_timeout', $1, TRUE)");
            let limit = limit.bind(SNAPSHOT_TIMEOUT.as_millis().to_string());
            limit.execute(&mut *transaction).await.map_err(database_error)?;
            let read = work(&mut Connection::Postgres(&mut transaction)).await?;
            transaction.rollback().await.map_err(database_error)?;
            pooled.return_to_pool();
            Ok(read)
        };
        within(SNAPSHOT_TIMEOUT, reading).await
    }

    pub(crate) async fn execute(&self, sql: &'static str, values: &[Value<'_>]) -> Result<u64> {
        let done = async { query(sql, values).execute(&self.pool).await.map_err(database_error) };
        Ok(self.within_timeout(done).await?.rows_affected())
    }

    pub(crate) async fn fetch_optional<R: FromRow + Send + 'static>(
        &self,
        sql: &'static str,
        values: &[Value<'_>],
    ) -> Result<Option<R>> {
        self.within_timeout(connection::fetch_optional(&self.pool, sql, values)).await
    }

    pub(crate) async fn fetch_all<R: FromRow + Send + 'static>(
        &self,
        sql: &'static str,
        values: &[Value<'_>],
    ) -> Result<Vec<R>> {
        self.within_timeout(connection::fetch_all(&self.pool, sql, values)).await
    }

    pub(crate) async fn insert_ballots(&self, poll: &PollId, epoch: Epoch, ballots: &[Ballot]) -> Result<()> {
        self.within_timeout(ballots::insert_into_running(&self.pool, poll, epoch, ballots)).await
    }

    pub(crate) async fn touch_keys(&self, last_uses: Vec<(String, i64)>) -> Result<()> {
        let (keys, times): (Vec<String>, Vec<i64>) = last_uses.into_iter().unzip();
        let touched = async {
            let query = sqlx::query(TOUCH_KEYS).bind(keys).bind(times);
            query.execute(&self.pool).await.map(drop).map_err(database_error)
        };
        self.within_timeout(touched).await
    }

    pub(crate) async fn sweep(&self) -> Result<()> {
        self.within_timeout(limiter::sweep(&self.pool)).await
    }

    pub(crate) async fn database_size(&self) -> Result<DatabaseSize> {
        let size: Option<u64> = self.fetch_optional(DATABASE_SIZE, &[]).await?;
        Ok(DatabaseSize { bytes: size.unwrap_or_default(), free: None })
    }

    pub(crate) async fn ping(&self) -> Result<()> {
        self.execute(PING, &[]).await.map(drop)
    }

    pub(crate) async fn close(&self) {
        self.pool.close().await;
    }
}

#[cfg(test)]
mod tests;
