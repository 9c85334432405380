//! Connections for reading.
//!
//! A read runs on a thread that may block, except that of a row by its key. A connection to a file does not go stale, so it is not tested.

use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::Semaphore;

use super::connection::{Access, SqliteConnection, sqlite_error};
use super::file::OpenFile;
use crate::error::{Closed, TimedOut, failed};
use crate::store_error::Result;

pub(super) struct Readers {
    path: PathBuf,
    busy_timeout: Duration,
    file: Arc<OpenFile>,
    connections: u32,
    permits: Arc<Semaphore>,
    idle: Arc<Mutex<Vec<SqliteConnection>>>,
    timeout: Duration,
}

impl Readers {
    pub(super) fn new(
        path: PathBuf,
        busy_timeout: Duration,
        file: Arc<OpenFile>,
        connections: u32,
        timeout: Duration,
    ) -> Self {
        let connections = connections.max(1);
        let permits = Arc::new(Semaphore::new(connections as usize));
        Self { path, busy_timeout, file, connections, permits, idle: Arc::default(), timeout }
    }

    /// Reads within the time limit of the store.
    pub(super) async fn read<T: Send + 'static>(
        &self,
        read: impl FnOnce(&mut SqliteConnection) -> Result<T> + Send + 'static,
    ) -> Result<T> {
        self.read_within(self.timeout, read).await
    }

    /// Reads within `timeout`.
    pub(super) async fn read_within<T: Send + 'static>(
        &self,
        timeout: Duration,
        read: impl FnOnce(&mut SqliteConnection) -> Result<T> + Send + 'static,
    ) -> Result<T> {
        let reading = async {
            self.file.check()?;
            let permit = Arc::clone(&self.permits).acquire_owned().await.map_err(|_| failed(Closed))?;
            let idle = self.idle().pop();
            if idle.is_none() {
                // A new connection could open another file under the same name.
                self.file.verify()?;
            }
            let (path, busy_timeout, pool) = (self.path.clone(), self.busy_timeout, Arc::clone(&self.idle));
            let result = super::blocking(move || {
                // A read that is no longer waited for keeps its permit until it ends.
                let _permit = permit;
                let mut db = match idle {
                    Some(db) => db,
                    None => {
                        SqliteConnection::open(&path, Access::Read, busy_timeout).map_err(sqlite_error)?
                    }
                };
                let result = read(&mut db);
                // After a failed read, the connection may be in any state, so it is dropped.
                if result.is_ok() {
                    lock(&pool).push(db);
                }
                result
            });
            result.await?
        };
        tokio::time::timeout(timeout, reading).await.map_err(|_| failed(TimedOut))?
    }

    /// Reads on the current thread, because waking another one takes longer than reading a row by its key. Returns
    /// `None` if no connection is idle, the file is lost, or the read fails, for example because it would wait.
    pub(super) fn read_here<T>(&self, read: impl FnOnce(&SqliteConnection) -> Result<T>) -> Option<T> {
        self.file.check().ok()?;
        let _permit = self.permits.try_acquire().ok()?;
        let db = self.idle().pop()?;
        db.wait_at_most(Duration::ZERO).ok()?;
        let found = read(&db).ok()?;
        db.wait_at_most(self.busy_timeout).ok()?;
        self.idle().push(db);
        Some(found)
    }

    /// Waits for running reads, then closes the connections.
    pub(super) async fn close(&self) {
        let all = self.permits.acquire_many(self.connections).await;
        self.permits.close();
        drop(all);
        for db in std::mem::take(&mut *self.idle()) {
            let _ = db.close();
        }
    }

    fn idle(&self) -> MutexGuard<'_, Vec<SqliteConnection>> {
        lock(&self.idle)
    }
}

fn lock(idle: &Mutex<Vec<SqliteConnection>>) -> MutexGuard<'_, Vec<SqliteConnection>> {
    idle.lock().unwrap_or_else(PoisonError::into_inner)
}
