//! SQLite: one file, one process, one writer, several readers.

mod backup;
pub(crate) mod connection;
mod file;
mod integrity;
mod migration;
mod readers;
mod writer;

use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use ep_polling::{Ballot, PollId};
use futures::FutureExt;
use tempfile::TempDir;

use crate::StoreOptions;
use crate::connect_error::ConnectError;
use crate::connection::{Durability, SNAPSHOT_TIMEOUT, TransactionBody, run_on_sqlite};
use crate::error::failed;
use crate::maintenance::{DatabaseSize, FreePages, IntegrityCheck};
use crate::polls::Epoch;
use crate::row::FromRow;
use crate::store_error::{Result, StoreError};
use crate::value::{Value, owned, values};
pub(crate) use backup::back_up;
use connection::{Access, SqliteConnection, sqlite_error};
use file::OpenFile;
use readers::Readers;
use writer::Writer;

/// The time to wait for another process that writes to the same file, such as an operator's command.
const BUSY_TIMEOUT: Duration = Duration::from_secs(5);

const TOUCH_KEY: &str = "UPDATE api_keys SET last_used_at = $2 \
     WHERE id = $1 AND (last_used_at IS NULL OR last_used_at < $2)";

/// An open SQLite database.
pub(crate) struct Sqlite {
    file: Arc<OpenFile>,
    writer: Writer,
    readers: Readers,
    /// The folder of a temporary file.
    temporary: Mutex<Option<TempDir>>,
}

impl Sqlite {
    /// Opens the file, or a temporary one if none is given.
    pub(crate) async fn open(file: Option<&Path>, options: &StoreOptions) -> Result<Self, ConnectError> {
        let Some(file) = file else {
            let folder = std::env::temp_dir();
            let temporary = tempfile::tempdir().map_err(|source| ConnectError::Folder { folder, source })?;
            return Self::open_file(&temporary.path().join("ep.db"), Some(temporary), options).await;
        };
        if let Some(folder) = file.parent() {
            file::create_folder(folder)
                .map_err(|source| ConnectError::Folder { folder: folder.to_owned(), source })?;
        }
        Self::open_file(file, None, options).await
    }

    async fn open_file(
        file: &Path,
        temporary: Option<TempDir>,
        options: &StoreOptions,
    ) -> Result<Self, ConnectError> {
        let busy_timeout = BUSY_TIMEOUT.min(options.timeout);
        file::restrict_access(file).map_err(|error| ConnectError::file(file, error))?;
        let path = file.to_owned();
        let opening = blocking(move || {
            let db = SqliteConnection::open(&path, Access::Write, busy_timeout)
                .map_err(|error| ConnectError::file(&path, error))?;
            db.migrate(&path, busy_timeout)?;
            Ok::<_, ConnectError>(db)
        });
        let db = opening.await.map_err(|error| ConnectError::file(file, error))??;
        let opened = OpenFile::new(file).map_err(|error| ConnectError::file(file, error))?;
        let opened = Arc::new(opened);
        let writer = Writer::start(db, Arc::clone(&opened), options.timeout, temporary.is_none());
        Ok(Self {
            writer: writer.map_err(|error| ConnectError::file(file, error))?,
            readers: Readers::new(
                file.to_owned(),
                busy_timeout,
                Arc::clone(&opened),
                options.connections,
                options.timeout,
            ),
            file: opened,
            temporary: Mutex::new(temporary),
        })
    }
}

/// Runs work on a thread that may block.
async fn blocking<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> Result<T> {
    tokio::task::spawn_blocking(work).await.map_err(failed)
}

/// Returns `true` if the database file has content. A temporary database never has.
pub(crate) fn is_in_use(file: Option<&Path>) -> Result<bool, ConnectError> {
    let Some(file) = file else { return Ok(false) };
    match std::fs::metadata(file) {
        Ok(metadata) => Ok(!metadata.is_file() || metadata.len() > 0),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(false),
        // Opening the file then fails with a message.
        Err(error) if error.kind() == std::io::ErrorKind::NotADirectory => Ok(false),
        Err(error) => Err(ConnectError::file(file, error)),
    }
}

// One connection writes, so no row changes between two statements of a transaction.
impl Sqlite {
    pub(crate) async fn transact<T: Send + 'static>(
        &self,
        durability: Durability,
        work: impl TransactionBody<T>,
    ) -> Result<T> {
        self.writer.run(durability, work).await
    }

    pub(crate) async fn snapshot<T: Send + 'static>(&self, work: impl TransactionBody<T>) -> Result<T> {
        let reading = self.readers.read_within(SNAPSHOT_TIMEOUT, |db| {
            db.batch("BEGIN").map_err(sqlite_error)?;
            let read = run_on_sqlite(db, work)?;
            db.batch("ROLLBACK").map_err(sqlite_error)?;
            Ok(read)
        });
        reading.await
    }

    pub(crate) async fn execute(
        &self,
        durability: Durability,
        sql: &'static str,
        values: &[Value<'_>],
    ) -> Result<u64> {
        let values = owned(values);
        self.writer.run(durability, move |db| Box::pin(async move { db.execute(sql, &values).await })).await
    }

    pub(crate) async fn fetch_changed<R: FromRow + Send + 'static>(
        &self,
        durability: Durability,
        sql: &'static str,
        values: &[Value<'_>],
    ) -> Result<Vec<R>> {
        let values = owned(values);
        // As on PostgreSQL, the change stays if a row is unreadable: otherwise one row could stop a queue for good.
        let changed = self
            .writer
            .run(durability, move |db| async move { Ok(db.fetch_all(sql, &values).await) }.boxed());
        changed.await?
    }

    pub(crate) async fn fetch_optional<R: FromRow + Send + 'static>(
        &self,
        sql: &'static str,
        values: &[Value<'_>],
    ) -> Result<Option<R>> {
        let values = owned(values);
        self.readers.read(move |db| db.row(sql, &values)).await
    }

    pub(crate) async fn fetch_by_key<R: FromRow + Send + 'static>(
        &self,
        sql: &'static str,
        values: &[Value<'_>],
    ) -> Result<Option<R>> {
        match self.readers.read_here(|db| db.row(sql, values)) {
            Some(row) => Ok(row),
            None => self.fetch_optional(sql, values).await,
        }
    }

    pub(crate) async fn fetch_all<R: FromRow + Send + 'static>(
        &self,
        sql: &'static str,
        values: &[Value<'_>],
    ) -> Result<Vec<R>> {
        let values = owned(values);
        self.readers.read(move |db| db.rows(sql, &values)).await
    }

    pub(crate) async fn insert_ballots(&self, poll: &PollId, epoch: Epoch, ballots: &[Ballot]) -> Result<()> {
        let (poll, ballots) = (poll.clone(), ballots.to_vec());
        self.writer
            .run(Durability::ProcessCrash, move |db| {
                async move {
                    let running: Option<i64> =
                        db.fetch_optional(crate::polls::sql::RUNNING_POLL, values![&poll, epoch]).await?;
                    let number = running.ok_or(StoreError::NotFound("running poll"))?;
                    db.insert_ballots(number, &ballots).await
                }
                .boxed()
            })
            .await
    }

    pub(crate) async fn touch_keys(&self, last_uses: Vec<(String, i64)>) -> Result<()> {
        self.writer
            .run(Durability::ProcessCrash, |db| {
                async move {
                    for (key, at) in &last_uses {
                        db.execute(TOUCH_KEY, values![&**key, *at]).await?;
                    }
                    Ok(())
                }
                .boxed()
            })
            .await
    }

    pub(crate) fn stalled_for(&self) -> Duration {
        self.writer.stalled_for()
    }

    pub(crate) async fn ping(&self) -> Result<()> {
        // The read comes first: it fails once the store is closed, and closing deletes the write-ahead log.
        self.readers.read(|db| db.batch("SELECT 1 FROM accounts LIMIT 1").map_err(sqlite_error)).await?;
        self.file.verify()?;
        self.file.check_room()?;
        self.execute(Durability::ProcessCrash, crate::maintenance::PING, &[]).await.map(drop)
    }

    pub(crate) async fn check_integrity(&self, check: IntegrityCheck) -> Result<Vec<String>> {
        self.readers.read_within(SNAPSHOT_TIMEOUT, move |db| Ok(integrity::check(db, check))).await
    }

    pub(crate) async fn database_size(&self) -> Result<DatabaseSize> {
        let read = |db: &mut SqliteConnection| {
            let number = |pragma| db.number(pragma).map(i64::unsigned_abs).map_err(sqlite_error);
            let (page, free) = (number("PRAGMA page_size")?, number("PRAGMA freelist_count")?);
            let bytes = number("PRAGMA page_count")? * page;
            Ok(DatabaseSize { bytes, free: Some(FreePages { pages: free, bytes: free * page }) })
        };
        self.readers.read(read).await
    }

    pub(crate) async fn purge_deleted(&self) -> Result<bool> {
        self.writer.truncate_log().await
    }

    pub(crate) async fn sweep(&self) -> Result<()> {
        if self.writer.owes_truncation() {
            self.writer.truncate_log().await?;
        }
        Ok(())
    }

    pub(crate) async fn close(&self) {
        self.readers.close().await;
        self.writer.close().await;
        let temporary = self.temporary.lock().ok().and_then(|mut temporary| temporary.take());
        drop(temporary);
    }
}
