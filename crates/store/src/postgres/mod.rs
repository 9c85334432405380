//! PostgreSQL: any number of identical replicas on one server.
//!
//! READ COMMITTED everywhere: every change of money is a guarded UPDATE, which looks again once it has
//! the row. Rows are taken in one order, so that nobody waits in a circle: the poll, its hold, its
//! account.

mod accounts;
mod idempotency;
mod limiter;
mod memory;
mod polls;

use std::time::Duration;

use ep_kernel::ports::StoreError;
use sqlx::postgres::{PgConnectOptions, PgPoolOptions};
use sqlx::{ConnectOptions, PgPool};

use crate::fault::{ConnectError, TooSlow, failed};
use crate::{Options, migrations};

/// An idle connection is closed after this long.
const IDLE: Duration = Duration::from_mins(10);
/// No connection gets older than this, so that load spreads after a failover.
const OLDEST: Duration = Duration::from_hours(1);

/// A pool of connections.
pub(crate) struct Postgres {
    pool: PgPool,
    timeout: Duration,
}

impl Postgres {
    pub(crate) async fn open(server: &PgConnectOptions, options: &Options) -> Result<Self, ConnectError> {
        let failed = |error| ConnectError::server(server, error);
        let server = server.clone().application_name("ensemble-poll");
        migrate(&server, options.timeout).await?;
        let millis = options.timeout.as_millis().to_string();
        let limited = server.clone().options([
            ("statement_timeout", millis.as_str()),
            ("idle_in_transaction_session_timeout", millis.as_str()),
        ]);
        let pool = PgPoolOptions::new()
            .max_connections(options.connections.max(1))
            .acquire_timeout(options.timeout)
            .idle_timeout(IDLE)
            .max_lifetime(OLDEST)
            // It is tested when it comes back; one that dies in between fails one operation.
            .test_before_acquire(false)
            .connect_with(limited)
            .await
            .map_err(failed)?;
        Ok(Self { pool, timeout: options.timeout })
    }

    /// One operation, within the time limit. The server has the same limit for each statement; this one
    /// also ends the wait for a server that no longer answers.
    async fn in_time<T>(
        &self,
        operation: impl Future<Output = Result<T, StoreError>> + Send,
    ) -> Result<T, StoreError> {
        tokio::time::timeout(self.timeout, operation).await.map_err(|_| failed(TooSlow))?
    }

    pub(crate) async fn close(&self) {
        self.pool.close().await;
    }
}

/// Migrates on a connection without time limits, one replica at a time (under an advisory lock).
async fn migrate(server: &PgConnectOptions, timeout: Duration) -> Result<(), ConnectError> {
    let failed = |error| ConnectError::server(server, error);
    let connected = tokio::time::timeout(timeout, server.connect()).await;
    let mut db = connected.map_err(|_| failed(sqlx::Error::PoolTimedOut))?.map_err(failed)?;
    migrations::postgres().run(&mut db).await.map_err(ConnectError::migration)?;
    let _ = sqlx::Connection::close(db).await;
    Ok(())
}
