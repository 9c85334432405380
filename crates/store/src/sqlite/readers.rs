//! Connections for reading.
//!
//! A general pool tests a connection when it is acquired and returned, and each test is a round trip to the
//! connection's thread. A connection to a file does not go stale, so this pool does not test.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use ep_kernel::ports::StoreError;
use futures::future::BoxFuture;
use sqlx::sqlite::SqliteConnectOptions;
use sqlx::{ConnectOptions, Connection, SqliteConnection};
use tokio::sync::Semaphore;

use super::file::OpenFile;
use crate::error::{Closed, TimedOut, database_error, failed};

pub(super) struct Readers {
    options: SqliteConnectOptions,
    file: Arc<OpenFile>,
    connections: u32,
    permits: Semaphore,
    idle: Mutex<Vec<SqliteConnection>>,
    timeout: Duration,
}

impl Readers {
    pub(super) fn new(
        options: SqliteConnectOptions,
        file: Arc<OpenFile>,
        connections: u32,
        timeout: Duration,
    ) -> Self {
        let connections = connections.max(1);
        let permits = Semaphore::new(connections as usize);
        Self { options, file, connections, permits, idle: Mutex::default(), timeout }
    }

    /// Reads within the time limit of the store.
    pub(super) async fn read<T>(
        &self,
        read: impl for<'c> FnOnce(&'c mut SqliteConnection) -> BoxFuture<'c, Result<T, StoreError>> + Send,
    ) -> Result<T, StoreError> {
        self.read_within(self.timeout, read).await
    }

    /// Reads within `timeout`.
    pub(super) async fn read_within<T>(
        &self,
        timeout: Duration,
        read: impl for<'c> FnOnce(&'c mut SqliteConnection) -> BoxFuture<'c, Result<T, StoreError>> + Send,
    ) -> Result<T, StoreError> {
        let reading = async {
            self.file.check()?;
            let _permit = self.permits.acquire().await.map_err(|_| failed(Closed))?;
            let idle = self.idle().pop();
            let mut db = if let Some(db) = idle {
                db
            } else {
                // A new connection could open another file under the same name.
                self.file.verify()?;
                self.options.connect().await.map_err(database_error)?
            };
            let result = read(&mut db).await;
            // After a failed or cancelled read, the connection may still be busy, so it is dropped.
            if result.is_ok() {
                self.idle().push(db);
            }
            result
        };
        tokio::time::timeout(timeout, reading).await.map_err(|_| failed(TimedOut))?
    }

    /// Waits for running reads, then closes the connections.
    pub(super) async fn close(&self) {
        let all = self.permits.acquire_many(self.connections).await;
        self.permits.close();
        drop(all);
        let idle = std::mem::take(&mut *self.idle());
        for db in idle {
            let _ = db.close().await;
        }
    }

    fn idle(&self) -> MutexGuard<'_, Vec<SqliteConnection>> {
        self.idle.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
