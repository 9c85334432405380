//! Connections for reading: a handful that take turns.
//!
//! A general pool tests a connection whenever it is taken and given back, each time with a trip to the
//! connection's own thread. A connection to a file does not go stale, so these are simply kept.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use ep_kernel::ports::StoreError;
use futures::future::BoxFuture;
use sqlx::sqlite::SqliteConnectOptions;
use sqlx::{ConnectOptions, Connection, SqliteConnection};
use tokio::sync::Semaphore;

use crate::fault::{Closed, TooSlow, failed, refused};

pub(super) struct Readers {
    options: SqliteConnectOptions,
    connections: u32,
    turns: Semaphore,
    idle: Mutex<Vec<SqliteConnection>>,
    timeout: Duration,
}

impl Readers {
    pub(super) fn new(options: SqliteConnectOptions, connections: u32, timeout: Duration) -> Self {
        let connections = connections.max(1);
        let turns = Semaphore::new(connections as usize);
        Self { options, connections, turns, idle: Mutex::default(), timeout }
    }

    /// Reads, within the time limit.
    pub(super) async fn read<T>(
        &self,
        query: impl for<'c> FnOnce(&'c mut SqliteConnection) -> BoxFuture<'c, Result<T, sqlx::Error>> + Send,
    ) -> Result<T, StoreError> {
        self.read_within(self.timeout, query).await
    }

    /// Reads, within this time.
    pub(super) async fn read_within<T>(
        &self,
        timeout: Duration,
        query: impl for<'c> FnOnce(&'c mut SqliteConnection) -> BoxFuture<'c, Result<T, sqlx::Error>> + Send,
    ) -> Result<T, StoreError> {
        let reading = async {
            let _turn = self.turns.acquire().await.map_err(|_| failed(Closed))?;
            let idle = self.idle().pop();
            let mut db = match idle {
                Some(db) => db,
                None => self.options.connect().await.map_err(refused)?,
            };
            let read = query(&mut db).await;
            // Whoever gave up half-way has dropped the connection instead: it may still be at work.
            if !matches!(read, Err(sqlx::Error::WorkerCrashed)) {
                self.idle().push(db);
            }
            read.map_err(refused)
        };
        tokio::time::timeout(timeout, reading).await.map_err(|_| failed(TooSlow))?
    }

    /// Lets those who read finish, then closes.
    pub(super) async fn close(&self) {
        let everyone = self.turns.acquire_many(self.connections).await;
        self.turns.close();
        drop(everyone);
        let idle = std::mem::take(&mut *self.idle());
        for db in idle {
            let _ = db.close().await;
        }
    }

    fn idle(&self) -> MutexGuard<'_, Vec<SqliteConnection>> {
        self.idle.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
